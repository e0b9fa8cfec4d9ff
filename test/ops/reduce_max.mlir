// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @inference
func.func @inference(%x: tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<f32>, tensor<2x3x4xf32>) {
  // CHECK: grad.reduce_max %{{.*}} dims [0, 2] : tensor<2x3x4xf32>
  %0 = grad.reduce_max %x dims [0, 2] : tensor<2x3x4xf32>
  // CHECK: grad.reduce_max %{{.*}} dims [0, 1, 2] : tensor<2x3x4xf32>
  %1 = grad.reduce_max %x dims [0, 1, 2] : tensor<2x3x4xf32>
  // CHECK: grad.reduce_max %{{.*}} dims [] : tensor<2x3x4xf32>
  %2 = grad.reduce_max %x dims [] : tensor<2x3x4xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<f32>, tensor<2x3x4xf32>
}

// FOLD-LABEL: @values
func.func @values() -> (tensor<2xf32>, tensor<ui8>) {
  %x = grad.constant dense<[[1.0, 2.0], [3.0, 0x7FC00000]]> : tensor<2x2xf32>
  %n = grad.constant dense<[200, 100]> : tensor<2xui8>
  // A NaN wins.
  // FOLD-DAG: dense<[2.000000e+00, 0x7FC00000]> : tensor<2xf32>
  %0 = grad.reduce_max %x dims [1] : tensor<2x2xf32>
  // Unsigned numbers are compared as unsigned.
  // FOLD-DAG: dense<200> : tensor<ui8>
  %1 = grad.reduce_max %n dims [0] : tensor<2xui8>
  return %0, %1 : tensor<2xf32>, tensor<ui8>
}

// Ties share the gradient.

// GRAD-LABEL: @gradient
func.func @gradient(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // GRAD: %[[Y:.*]] = grad.reduce_max %[[X:.*]] dims [0, 1]
  // GRAD: %[[ALL:.*]] = grad.broadcast %[[Y]]
  // GRAD: %[[CHOSEN:.*]] = grad.compare {{ ?}}eq %[[X]], %[[ALL]]
  // GRAD: %[[ONES:.*]] = grad.cast %[[CHOSEN]]
  // GRAD: %[[TIES:.*]] = grad.reduce_sum %[[ONES]] dims [0, 1]
  // GRAD: grad.div %{{.*}}, %[[TIES]]
  // GRAD: grad.select %[[CHOSEN]]
  %0 = grad.reduce_max %x dims [0, 1] : tensor<2x3xf32>
  %1 = grad.gradient %0 wrt %x : tensor<f32>, tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

func.func @c2(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{expected at least one element to reduce, found dim 1 of size 0}}
  %0 = grad.reduce_max %x dims [1] : tensor<2x0xf32>
}

// -----

func.func @c1_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found 2}}
  %0 = grad.reduce_max %x dims [2] : tensor<2x3xf32>
}

// -----

func.func @c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found -1}}
  %0 = grad.reduce_max %x dims [-1] : tensor<2x3xf32>
}

// -----

func.func @c1_unsorted(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sorted and distinct dims, found 0 after 1}}
  %0 = grad.reduce_max %x dims [1, 0] : tensor<2x3xf32>
}

// -----

func.func @c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sorted and distinct dims, found 1 after 1}}
  %0 = grad.reduce_max %x dims [1, 1] : tensor<2x3xf32>
}
