// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate -canonicalize -cse | FileCheck %s --check-prefix=GRAD

// CHECK-LABEL: @inference
// CHECK: grad.sum_shards %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<4xf32>
func.func @inference(%x: tensor<2x3xf32>, %y: tensor<4xf32>) -> (tensor<2x3xf32>, tensor<4xf32>) {
  %0:2 = grad.sum_shards %x, %y : tensor<2x3xf32>, tensor<4xf32>
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<4xf32>
}

// -----

// All ranks have one objective, so the gradient of a term is that of the sum. Readers of the term read a shard.
// GRAD-LABEL: @gradient
// GRAD-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
// GRAD: %[[PART:.*]] = grad.mul %[[Y]], %{{.*}} : tensor<4xf32>
// GRAD: %[[G:.*]] = grad.fan_out %[[PART]] : tensor<4xf32>
// GRAD-NOT: grad.all_reduce
// GRAD: return %[[G]]
func.func @gradient(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = grad.sum_shards %x, %y : tensor<4xf32>, tensor<4xf32>
  %1 = grad.mul %0#0, %y : tensor<4xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<4xf32>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

func.func @c1_type(%x: tensor<4xf16>) {
  // expected-error @+1 {{expected f32, f64, i32 or i64, found 'f16'}}
  %0 = grad.sum_shards %x : tensor<4xf16>
  return
}

// -----

func.func @c1_types(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+1 {{expected operands of one element type, found 'f32' and 'f64'}}
  %0:2 = grad.sum_shards %x, %y : tensor<4xf32>, tensor<4xf64>
  return
}

// -----

func.func @c2() {
  // expected-error @+1 {{expected an operand, found none}}
  "grad.sum_shards"() : () -> ()
  return
}
