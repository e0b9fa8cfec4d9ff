// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @inference
func.func @inference(%x: tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<f32>, tensor<2x3x4xf32>) {
  // CHECK: grad.reduce_sum %{{.*}} dims [0, 2] : tensor<2x3x4xf32>
  %0 = grad.reduce_sum %x dims [0, 2] : tensor<2x3x4xf32>
  // CHECK: grad.reduce_sum %{{.*}} dims [0, 1, 2] : tensor<2x3x4xf32>
  %1 = grad.reduce_sum %x dims [0, 1, 2] : tensor<2x3x4xf32>
  // CHECK: grad.reduce_sum %{{.*}} dims [] : tensor<2x3x4xf32>
  %2 = grad.reduce_sum %x dims [] : tensor<2x3x4xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<f32>, tensor<2x3x4xf32>
}

// FOLD-LABEL: @values
func.func @values() -> (tensor<2xf32>, tensor<ui8>, tensor<2xf32>) {
  %x = grad.constant dense<[[1.0, 2.0], [3.0, -0.5]]> : tensor<2x2xf32>
  %n = grad.constant dense<[200, 100]> : tensor<2xui8>
  %e = grad.constant dense<> : tensor<2x0xf32>
  // FOLD-DAG: dense<[3.000000e+00, 2.500000e+00]> : tensor<2xf32>
  %0 = grad.reduce_sum %x dims [1] : tensor<2x2xf32>
  // Integers wrap.
  // FOLD-DAG: dense<44> : tensor<ui8>
  %1 = grad.reduce_sum %n dims [0] : tensor<2xui8>
  // The sum of no elements is 0.
  // FOLD-DAG: dense<0.000000e+00> : tensor<2xf32>
  %2 = grad.reduce_sum %e dims [1] : tensor<2x0xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<ui8>, tensor<2xf32>
}

// GRAD-LABEL: @gradient
func.func @gradient(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = grad.reduce_sum %x dims [1] : tensor<2x3xf32>
  // GRAD: %[[S:.*]] = grad.reduce_sum %{{.*}} dims [1]
  // GRAD: %[[D:.*]] = grad.exp %[[S]]
  // GRAD: %[[DX:.*]] = grad.broadcast %{{.*}} dims [0] : tensor<2xf32> -> tensor<2x3xf32>
  // GRAD: return %[[DX]]
  %1 = grad.exp %0 : tensor<2xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<2xf32>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// -----

func.func @c1_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found 2}}
  %0 = grad.reduce_sum %x dims [2] : tensor<2x3xf32>
}

// -----

func.func @c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found -1}}
  %0 = grad.reduce_sum %x dims [-1] : tensor<2x3xf32>
}

// -----

func.func @c1_unsorted(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sorted and distinct dims, found 0 after 1}}
  %0 = grad.reduce_sum %x dims [1, 0] : tensor<2x3xf32>
}

// -----

func.func @c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sorted and distinct dims, found 1 after 1}}
  %0 = grad.reduce_sum %x dims [1, 1] : tensor<2x3xf32>
}
