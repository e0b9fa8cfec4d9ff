// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%x: tensor<3x4xf32>, %y: tensor<3xi32>, %g: tensor<3xf32>) -> tensor<3x4xf32> {
  // CHECK: grad.softmax_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}} : tensor<3x4xf32>, tensor<3xi32>, tensor<3xf32>
  // DECOMPOSED: %[[LABEL:.*]] = grad.compare {{ ?}}eq
  // DECOMPOSED: %[[DIFFERENCE:.*]] = grad.select %[[LABEL]]
  // DECOMPOSED: grad.mul %[[DIFFERENCE]]
  %0 = grad.softmax_cross_entropy_grad %x, %y, %g : tensor<3x4xf32>, tensor<3xi32>, tensor<3xf32>
  return %0 : tensor<3x4xf32>
}

// The second derivative has no formula of its own; it follows from the primitives.

// GRAD-LABEL: @gradient
func.func @gradient(%x: tensor<3x4xf32>, %y: tensor<3xi32>, %v: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // GRAD: grad.softmax_cross_entropy_grad
  // GRAD-NOT: grad.softmax_cross_entropy_grad
  // GRAD: grad.exp
  // GRAD: return
  %0 = grad.softmax_cross_entropy %x, %y : tensor<3x4xf32>, tensor<3xi32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<3xf32>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<3x4xf32>
  %3 = grad.mul %2, %v : tensor<3x4xf32>
  %4 = grad.reduce_sum %3 dims [0, 1] : tensor<3x4xf32>
  %5 = grad.gradient %4 wrt %x : tensor<f32>, tensor<3x4xf32>
  return %5 : tensor<3x4xf32>
}

// FOLD-LABEL: @values
func.func @values() -> tensor<1x2xf32> {
  %x = grad.constant dense<1.0> : tensor<1x2xf32>
  %y = grad.constant dense<1> : tensor<1xi32>
  %g = grad.constant dense<4.0> : tensor<1xf32>
  // FOLD: dense<{{\[\[}}2.000000e+00, -2.000000e+00]]> : tensor<1x2xf32>
  %0 = grad.softmax_cross_entropy_grad %x, %y, %g : tensor<1x2xf32>, tensor<1xi32>, tensor<1xf32>
  return %0 : tensor<1x2xf32>
}

// -----

func.func @c2(%x: tensor<3x4xf32>, %y: tensor<2xi32>, %g: tensor<3xf32>) {
  // expected-error @+1 {{expected integer labels tensor<3xi32>, found tensor<2xi32>}}
  %0 = grad.softmax_cross_entropy_grad %x, %y, %g : tensor<3x4xf32>, tensor<2xi32>, tensor<3xf32>
}

// -----

func.func @c3(%x: tensor<3x4xf32>, %y: tensor<3xi32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{expected gradient 'tensor<3xf32>', found 'tensor<4xf32>'}}
  %0 = grad.softmax_cross_entropy_grad %x, %y, %g : tensor<3x4xf32>, tensor<3xi32>, tensor<4xf32>
}
