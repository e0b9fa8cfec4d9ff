// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: grad.softmax %{{.*}} dim 0 : tensor<2x3xf32>
  // DECOMPOSED: %[[MAX:.*]] = grad.reduce_max %[[X:.*]] dims [0]
  // DECOMPOSED: %[[ALL:.*]] = grad.broadcast %[[MAX]] dims [1]
  // DECOMPOSED: %[[SHIFTED:.*]] = grad.sub %[[X]], %[[ALL]]
  // DECOMPOSED: %[[E:.*]] = grad.exp %[[SHIFTED]]
  // DECOMPOSED: grad.reduce_sum %[[E]] dims [0]
  %0 = grad.softmax %x dim 0 : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// GRAD-LABEL: @gradient
func.func @gradient(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // The gradient uses the result, so nothing is computed twice.
  // GRAD: %[[Y:.*]] = grad.softmax
  // GRAD-NOT: grad.softmax
  // GRAD: grad.reduce_sum %{{.*}} dims [1]
  %0 = grad.softmax %x dim 1 : tensor<2x3xf32>
  %1 = grad.mul %0, %0 : tensor<2x3xf32>
  %2 = grad.reduce_sum %1 dims [0, 1] : tensor<2x3xf32>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// Large logits do not overflow.

// FOLD-LABEL: @stable
func.func @stable() -> tensor<2xf32> {
  %x = grad.constant dense<[1.0e4, -1.0e4]> : tensor<2xf32>
  // FOLD: dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf32>
  %0 = grad.softmax %x dim 0 : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dim in [0, 2), found 2}}
  %0 = grad.softmax %x dim 2 : tensor<2x3xf32>
}

// -----

func.func @c2(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{expected at least one element to normalize, found dim 1 of size 0}}
  %0 = grad.softmax %x dim 1 : tensor<2x0xf32>
}
