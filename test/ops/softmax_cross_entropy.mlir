// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @classes
// DECOMPOSED-LABEL: @classes
func.func @classes(%x: tensor<3x4xf32>, %y: tensor<3xi64>) -> tensor<3xf32> {
  // CHECK: grad.softmax_cross_entropy %{{.*}}, %{{.*}} : tensor<3x4xf32>, tensor<3xi64>
  // DECOMPOSED: grad.reduce_max
  // DECOMPOSED: grad.log
  // DECOMPOSED: %[[CLASS:.*]] = grad.iota dim 1 : tensor<3x4xi32>
  // DECOMPOSED: grad.compare {{ ?}}eq %[[CLASS]]
  %0 = grad.softmax_cross_entropy %x, %y : tensor<3x4xf32>, tensor<3xi64>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @distribution
// DECOMPOSED-LABEL: @distribution
func.func @distribution(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3xf32> {
  // CHECK: grad.softmax_cross_entropy %{{.*}}, %{{.*}} : tensor<3x4xf32>, tensor<3x4xf32>
  // DECOMPOSED-NOT: grad.iota
  // DECOMPOSED: return
  %0 = grad.softmax_cross_entropy %x, %y : tensor<3x4xf32>, tensor<3x4xf32>
  return %0 : tensor<3xf32>
}

// GRAD-LABEL: @gradient_is_one_op
// GRAD-SAME: (%[[X:.*]]: tensor<3x4xf32>, %[[Y:.*]]: tensor<3xi64>
func.func @gradient_is_one_op(%x: tensor<3x4xf32>, %y: tensor<3xi64>) -> tensor<3x4xf32> {
  // GRAD: grad.softmax_cross_entropy_grad %[[X]], %[[Y]], %{{.*}} : tensor<3x4xf32>, tensor<3xi64>, tensor<3xf32>
  // GRAD-NEXT: return
  %0 = grad.softmax_cross_entropy %x, %y : tensor<3x4xf32>, tensor<3xi64>
  %1 = grad.reduce_sum %0 dims [0] : tensor<3xf32>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// GRAD-LABEL: @gradient_to_distribution
func.func @gradient_to_distribution(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // GRAD-NOT: softmax_cross_entropy_grad
  // GRAD: grad.log_softmax %arg0 dim 1
  %0 = grad.softmax_cross_entropy %x, %y : tensor<3x4xf32>, tensor<3x4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<3xf32>
  %2 = grad.gradient %1 wrt %y : tensor<f32>, tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// FOLD-LABEL: @stable
func.func @stable() -> tensor<2xf32> {
  %x = grad.constant dense<[[1.0e4, -1.0e4], [1.0e4, -1.0e4]]> : tensor<2x2xf32>
  %y = grad.constant dense<[1, 0]> : tensor<2xui8>
  // FOLD: dense<[2.000000e+04, 0.000000e+00]> : tensor<2xf32>
  %0 = grad.softmax_cross_entropy %x, %y : tensor<2x2xf32>, tensor<2xui8>
  return %0 : tensor<2xf32>
}

// -----

func.func @c1_rank(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{expected logits of rank 2, found tensor<4xf32>}}
  %0 = grad.softmax_cross_entropy %x, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @c1_no_class(%x: tensor<4x0xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{expected at least one class, found logits tensor<4x0xf32>}}
  %0 = grad.softmax_cross_entropy %x, %y : tensor<4x0xf32>, tensor<4xi32>
}

// -----

func.func @c2_integers(%x: tensor<3x4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{expected integer labels tensor<3xi32>, found tensor<4xi32>}}
  %0 = grad.softmax_cross_entropy %x, %y : tensor<3x4xf32>, tensor<4xi32>
}

// -----

func.func @c2_floats(%x: tensor<3x4xf32>, %y: tensor<3x4xf64>) {
  // expected-error @+1 {{expected float labels tensor<3x4xf32>, found tensor<3x4xf64>}}
  %0 = grad.softmax_cross_entropy %x, %y : tensor<3x4xf32>, tensor<3x4xf64>
}
