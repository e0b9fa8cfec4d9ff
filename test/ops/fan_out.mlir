// RUN: gradc-opt %s -split-input-file | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-differentiate -canonicalize -cse | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -gradc-differentiate -gradc-decompose -canonicalize | FileCheck %s --check-prefix=LOWER

// CHECK-LABEL: @inference
// CHECK: grad.fan_out %{{.*}} : tensor<2x3xf32>
// LOWER-LABEL: @inference
// LOWER-NEXT: return %arg0
func.func @inference(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = grad.fan_out %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// Each rank has only the gradient of its shards. Rounding to 16 bits happens once.
// GRAD-LABEL: @gradient
// GRAD-SAME: (%[[X:.*]]: tensor<4xbf16>, %[[Y:.*]]: tensor<4xbf16>
// GRAD: %[[PART:.*]] = grad.cast %{{.*}} : tensor<4xbf16> -> tensor<4xf32>
// GRAD: %[[SUM:.*]] = grad.sum_shards %[[PART]] : tensor<4xf32>
// GRAD: %[[G:.*]] = grad.cast %[[SUM]] : tensor<4xf32> -> tensor<4xbf16>
// GRAD: return %[[G]]
func.func @gradient(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = grad.fan_out %x : tensor<4xbf16>
  %1 = grad.mul %0, %y : tensor<4xbf16>
  %2 = grad.reduce_sum %1 dims [0] : tensor<4xbf16>
  %3 = grad.gradient %2 wrt %x : tensor<bf16>, tensor<4xbf16>
  return %3 : tensor<4xbf16>
}
