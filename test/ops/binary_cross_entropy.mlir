// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: grad.binary_cross_entropy %{{.*}}, %{{.*}} : tensor<3xf32>
  // DECOMPOSED-DAG: grad.relu
  // DECOMPOSED-DAG: grad.log1p
  %0 = grad.binary_cross_entropy %x, %y : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// GRAD-LABEL: @gradient
func.func @gradient(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  // GRAD: %[[P:.*]] = grad.sigmoid %[[X:.*]] :
  // GRAD: grad.sub %[[P]], %arg1
  %0 = grad.binary_cross_entropy %x, %y : tensor<f32>
  %1 = grad.gradient %0 wrt %x : tensor<f32>, tensor<f32>
  return %1 : tensor<f32>
}

// FOLD-LABEL: @stable
func.func @stable() -> tensor<2xf32> {
  %x = grad.constant dense<[-1.0e4, 1.0e4]> : tensor<2xf32>
  %y = grad.constant dense<1.0> : tensor<2xf32>
  // FOLD: dense<[1.000000e+04, 0.000000e+00]> : tensor<2xf32>
  %0 = grad.binary_cross_entropy %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}
