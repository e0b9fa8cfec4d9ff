// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate -canonicalize | FileCheck %s --check-prefix=EXACT

// CHECK-LABEL: @inference
func.func @inference(%x: tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<f32>, tensor<2x3x4xf32>) {
  // CHECK: grad.reduce_prod %{{.*}} dims [0, 2] : tensor<2x3x4xf32>
  %0 = grad.reduce_prod %x dims [0, 2] : tensor<2x3x4xf32>
  // CHECK: grad.reduce_prod %{{.*}} dims [0, 1, 2] : tensor<2x3x4xf32>
  %1 = grad.reduce_prod %x dims [0, 1, 2] : tensor<2x3x4xf32>
  // CHECK: grad.reduce_prod %{{.*}} dims [] : tensor<2x3x4xf32>
  %2 = grad.reduce_prod %x dims [] : tensor<2x3x4xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<f32>, tensor<2x3x4xf32>
}

// FOLD-LABEL: @values
func.func @values() -> (tensor<2xf32>, tensor<2xf32>) {
  %x = grad.constant dense<[[1.0, 2.0], [3.0, -0.5]]> : tensor<2x2xf32>
  %e = grad.constant dense<> : tensor<2x0xf32>
  // FOLD-DAG: dense<[2.000000e+00, -1.500000e+00]> : tensor<2xf32>
  %0 = grad.reduce_prod %x dims [1] : tensor<2x2xf32>
  // FOLD-DAG: dense<1.000000e+00> : tensor<2xf32>
  %1 = grad.reduce_prod %e dims [1] : tensor<2x0xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// The gradient needs no division, so zeros are not special.

// GRAD-LABEL: @gradient
func.func @gradient(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = grad.reduce_prod %x dims [0] : tensor<5xf32>
  // GRAD: grad.reduce_prod
  // GRAD-DAG: %[[BEFORE:.*]] = grad.cumulative prod %[[X:.*]] dim 0 exclusive : tensor<5xf32>
  // GRAD-DAG: %[[BEHIND:.*]] = grad.cumulative prod %[[X]] dim 0 exclusive reverse : tensor<5xf32>
  // GRAD: grad.mul %[[BEFORE]], %[[BEHIND]]
  // GRAD-NOT: grad.div
  // GRAD: return
  %1 = grad.gradient %0 wrt %x : tensor<f32>, tensor<5xf32>
  return %1 : tensor<5xf32>
}

// One dim stays in its place; several become one.

// GRAD-LABEL: @gradient_along_a_dim
func.func @gradient_along_a_dim(%x: tensor<2x5x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x5x3xf32> {
  %0 = grad.reduce_prod %x dims [1] : tensor<2x5x3xf32>
  // GRAD-NOT: grad.transpose
  // GRAD: grad.cumulative prod %arg0 dim 1 exclusive : tensor<2x5x3xf32>
  // GRAD: return
  %1 = grad.mul %0, %g : tensor<2x3xf32>
  %2 = grad.reduce_sum %1 dims [0, 1] : tensor<2x3xf32>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<2x5x3xf32>
  return %3 : tensor<2x5x3xf32>
}

// GRAD-LABEL: @gradient_along_dims
func.func @gradient_along_dims(%x: tensor<2x5x3xf32>, %g: tensor<5xf32>) -> tensor<2x5x3xf32> {
  %0 = grad.reduce_prod %x dims [0, 2] : tensor<2x5x3xf32>
  // GRAD: grad.cumulative prod %{{.*}} dim 1 exclusive : tensor<5x6xf32>
  %1 = grad.mul %0, %g : tensor<5xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<5xf32>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<2x5x3xf32>
  return %3 : tensor<2x5x3xf32>
}

// EXACT-LABEL: @gradient_at_zero
func.func @gradient_at_zero() -> tensor<3xf32> {
  %x = grad.constant dense<[3.0, 0.0, -2.0]> : tensor<3xf32>
  // EXACT: dense<[{{-?}}0.000000e+00, -6.000000e+00, 0.000000e+00]> : tensor<3xf32>
  %0 = grad.reduce_prod %x dims [0] : tensor<3xf32>
  %1 = grad.gradient %0 wrt %x : tensor<f32>, tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

func.func @c1_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found 2}}
  %0 = grad.reduce_prod %x dims [2] : tensor<2x3xf32>
}

// -----

func.func @c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found -1}}
  %0 = grad.reduce_prod %x dims [-1] : tensor<2x3xf32>
}

// -----

func.func @c1_unsorted(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sorted and distinct dims, found 0 after 1}}
  %0 = grad.reduce_prod %x dims [1, 0] : tensor<2x3xf32>
}

// -----

func.func @c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sorted and distinct dims, found 1 after 1}}
  %0 = grad.reduce_prod %x dims [1, 1] : tensor<2x3xf32>
}
