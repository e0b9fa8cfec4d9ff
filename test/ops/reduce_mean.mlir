// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED

// CHECK-LABEL: @inference
func.func @inference(%x: tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<f32>, tensor<2x3x4xf32>) {
  // CHECK: grad.reduce_mean %{{.*}} dims [0, 2] : tensor<2x3x4xf32>
  %0 = grad.reduce_mean %x dims [0, 2] : tensor<2x3x4xf32>
  // CHECK: grad.reduce_mean %{{.*}} dims [0, 1, 2] : tensor<2x3x4xf32>
  %1 = grad.reduce_mean %x dims [0, 1, 2] : tensor<2x3x4xf32>
  // CHECK: grad.reduce_mean %{{.*}} dims [] : tensor<2x3x4xf32>
  %2 = grad.reduce_mean %x dims [] : tensor<2x3x4xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<f32>, tensor<2x3x4xf32>
}

// FOLD-LABEL: @values
func.func @values() -> (tensor<2xf32>, tensor<1xf32>) {
  %x = grad.constant dense<[[1.0, 2.0], [3.0, -0.5]]> : tensor<2x2xf32>
  %e = grad.constant dense<> : tensor<1x0xf32>
  // FOLD-DAG: dense<[1.500000e+00, 1.250000e+00]> : tensor<2xf32>
  %0 = grad.reduce_mean %x dims [1] : tensor<2x2xf32>
  // The mean of no elements is NaN, with either sign.
  // FOLD-DAG: dense<0x{{[7F]}}FC00000> : tensor<1xf32>
  %1 = grad.reduce_mean %e dims [1] : tensor<1x0xf32>
  return %0, %1 : tensor<2xf32>, tensor<1xf32>
}

// GRAD-LABEL: @gradient
func.func @gradient(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = grad.reduce_mean %x dims [0, 1] : tensor<2x4xf32>
  // GRAD: grad.constant dense<1.250000e-01> : tensor<2x4xf32>
  %1 = grad.gradient %0 wrt %x : tensor<f32>, tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

func.func @c1_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found 2}}
  %0 = grad.reduce_mean %x dims [2] : tensor<2x3xf32>
}

// -----

func.func @c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found -1}}
  %0 = grad.reduce_mean %x dims [-1] : tensor<2x3xf32>
}

// -----

func.func @c1_unsorted(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sorted and distinct dims, found 0 after 1}}
  %0 = grad.reduce_mean %x dims [1, 0] : tensor<2x3xf32>
}

// -----

func.func @c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sorted and distinct dims, found 1 after 1}}
  %0 = grad.reduce_mean %x dims [1, 1] : tensor<2x3xf32>
}

// -----

// DECOMPOSED-LABEL: @decomposed
func.func @decomposed(%x: tensor<2x4xf32>) -> tensor<2xf32> {
  // DECOMPOSED: %[[SUM:.*]] = grad.reduce_sum %{{.*}} dims [1]
  // DECOMPOSED: %[[SHARE:.*]] = grad.constant dense<2.500000e-01>
  // DECOMPOSED: grad.mul %[[SUM]], %[[SHARE]]
  %0 = grad.reduce_mean %x dims [1] : tensor<2x4xf32>
  return %0 : tensor<2xf32>
}

// -----

// 16-bit floats are summed and divided in f32.

// DECOMPOSED-LABEL: @short
func.func @short(%x: tensor<2x4xf16>) -> tensor<2xf16> {
  // DECOMPOSED: %[[WIDE:.*]] = grad.cast %{{.*}} : tensor<2x4xf16> -> tensor<2x4xf32>
  // DECOMPOSED: %[[SUM:.*]] = grad.reduce_sum %[[WIDE]] dims [1]
  // DECOMPOSED: %[[MEAN:.*]] = grad.mul %[[SUM]], %{{.*}} : tensor<2xf32>
  // DECOMPOSED: grad.cast %[[MEAN]] : tensor<2xf32> -> tensor<2xf16>
  %0 = grad.reduce_mean %x dims [1] : tensor<2x4xf16>
  return %0 : tensor<2xf16>
}
