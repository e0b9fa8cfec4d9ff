// RUN: gradc-opt %s | gradc-opt | FileCheck %s --check-prefix=TRIP
// RUN: gradc-opt %s --canonicalize | FileCheck %s
// RUN: gradc-opt %s --gradc-differentiate --gradc-simplify-algebra --canonicalize --cse | FileCheck %s --check-prefix=GRAD

// TRIP-LABEL: @trip
// TRIP: %[[C:.*]] = grad.compare lt %{{.*}}, %{{.*}} : tensor<3xf32>
// TRIP: grad.select %[[C]], %{{.*}}, %{{.*}} : tensor<3xf32>
// TRIP: grad.clamp %{{.*}}, -1.000000e+00, 0x7FF0000000000000 : tensor<3xf32>
// TRIP: grad.is_finite %{{.*}} : tensor<3xf32>
func.func @trip(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xi1>) {
  %c = grad.compare lt %x, %y : tensor<3xf32>
  %0 = grad.select %c, %x, %y : tensor<3xf32>
  %1 = grad.clamp %x, -1.0, 0x7FF0000000000000 : tensor<3xf32>
  %2 = grad.is_finite %x : tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xi1>
}

// Comparisons with NaN are false, except `ne`; -0 equals 0.
// CHECK-LABEL: @floats
func.func @floats() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %a = grad.constant dense<[0x7FC00000, -0.0, 1.0, 0xFF800000]> : tensor<4xf32>
  %b = grad.constant dense<[0x7FC00000, 0.0, 2.0, 0.0]> : tensor<4xf32>
  // CHECK: %[[EQ:.*]] = grad.constant dense<[false, true, false, false]>
  %0 = grad.compare eq %a, %b : tensor<4xf32>
  // CHECK: %[[NE:.*]] = grad.constant dense<[true, false, true, true]>
  %1 = grad.compare ne %a, %b : tensor<4xf32>
  // CHECK: %[[LT:.*]] = grad.constant dense<[false, false, true, true]>
  %2 = grad.compare lt %a, %b : tensor<4xf32>
  // CHECK-NOT: grad.compare
  %3 = grad.compare ge %a, %b : tensor<4xf32>
  // CHECK: return %[[EQ]], %[[NE]], %[[LT]], %[[EQ]]
  return %0, %1, %2, %3 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: @integers
func.func @integers() -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>) {
  %u = grad.constant dense<[18446744073709551615, 1]> : tensor<2xui64>
  %v = grad.constant dense<2> : tensor<2xui64>
  // CHECK-DAG: dense<[true, false]>
  %0 = grad.compare gt %u, %v : tensor<2xui64>
  %s = grad.constant dense<[-1, 1]> : tensor<2xi64>
  %t = grad.constant dense<0> : tensor<2xi64>
  // CHECK-DAG: dense<[false, true]>
  %1 = grad.compare gt %s, %t : tensor<2xi64>
  %b = grad.constant dense<[true, false]> : tensor<2xi1>
  %c = grad.constant dense<[false, true]> : tensor<2xi1>
  %2 = grad.compare gt %b, %c : tensor<2xi1>
  return %0, %1, %2 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>
}

// NaN is preserved; integer limits out of range become those of the type.
// CHECK-LABEL: @clamps
func.func @clamps() -> (tensor<4xf32>, tensor<3xui8>, tensor<3xi1>) {
  %x = grad.constant dense<[0x7FC00000, -2.0, 2.0, 0.5]> : tensor<4xf32>
  // CHECK-DAG: dense<[0x7FC00000, -1.000000e+00, 1.000000e+00, 5.000000e-01]>
  %0 = grad.clamp %x, -1.0, 1.0 : tensor<4xf32>
  %u = grad.constant dense<[0, 100, 255]> : tensor<3xui8>
  // CHECK-DAG: dense<[7, 100, 255]> : tensor<3xui8>
  %1 = grad.clamp %u, 7.0, 1.0e9 : tensor<3xui8>
  %y = grad.constant dense<[0x7FC00000, 0xFF800000, 3.0e38]> : tensor<3xf32>
  // CHECK-DAG: dense<[false, false, true]>
  %2 = grad.is_finite %y : tensor<3xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<3xui8>, tensor<3xi1>
}

// GRAD-LABEL: @grad_select
// GRAD-SAME: (%[[C:.*]]: tensor<i1>,
// GRAD-DAG: %[[ONE:.*]] = grad.constant dense<1.0
// GRAD-DAG: %[[ZERO:.*]] = grad.constant dense<0.0
// GRAD-DAG: %[[A:.*]] = grad.select %[[C]], %[[ONE]], %[[ZERO]]
// GRAD-DAG: %[[B:.*]] = grad.select %[[C]], %[[ZERO]], %[[ONE]]
// GRAD: return %[[A]], %[[B]]
func.func @grad_select(%c: tensor<i1>, %a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %y = grad.select %c, %a, %b : tensor<f32>
  %g:2 = grad.gradient %y wrt %a, %b : tensor<f32>, tensor<f32>, tensor<f32>
  return %g#0, %g#1 : tensor<f32>, tensor<f32>
}

// The limits themselves have no gradient, like ReLU at 0, and as in PyTorch and JAX.
// GRAD-LABEL: @grad_clamp
// GRAD: dense<[0.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00]>
func.func @grad_clamp() -> tensor<4xf32> {
  %x = grad.constant dense<[-2.0, -1.0, 0.5, 1.0]> : tensor<4xf32>
  %c = grad.clamp %x, -1.0, 1.0 : tensor<4xf32>
  %y = grad.reduce_sum %c dims [0] : tensor<4xf32>
  %g = grad.gradient %y wrt %x : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}
