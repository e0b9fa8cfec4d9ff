// RUN: gradc-opt %s | FileCheck %s
// RUN: gradc-opt %s -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: grad.squared_error %{{.*}}, %{{.*}} : tensor<3xf32>
  // DECOMPOSED: %[[D:.*]] = grad.sub %arg0, %arg1
  // DECOMPOSED: grad.mul %[[D]], %[[D]]
  %0 = grad.squared_error %x, %y : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// GRAD-LABEL: @gradient
func.func @gradient(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // GRAD: %[[D:.*]] = grad.sub %arg0, %arg1
  // GRAD: %[[TWICE:.*]] = grad.mul %{{.*}}, %{{.*}}
  // GRAD: grad.neg
  %0 = grad.squared_error %x, %y : tensor<f32>
  %1:2 = grad.gradient %0 wrt %x, %y : tensor<f32>, tensor<f32>, tensor<f32>
  return %1#0, %1#1 : tensor<f32>, tensor<f32>
}

// FOLD-LABEL: @values
func.func @values() -> tensor<2xf32> {
  %x = grad.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %y = grad.constant dense<[3.0, 1.0]> : tensor<2xf32>
  // FOLD: dense<[4.000000e+00, 9.000000e+00]> : tensor<2xf32>
  %0 = grad.squared_error %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}
