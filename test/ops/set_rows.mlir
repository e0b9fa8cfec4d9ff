// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate -canonicalize | FileCheck %s --check-prefix=GRAD

// CHECK-LABEL: @trip
// DECOMPOSED-LABEL: @trip
func.func @trip(%t: tensor<5x3x2xf32>, %i: tensor<4xi32>, %v: tensor<4x3x2xf32>) -> tensor<5x3x2xf32> {
  // CHECK: grad.set_rows %arg0[%arg1], %arg2 : tensor<5x3x2xf32>, tensor<4x3x2xf32>, tensor<4xi32>
  // DECOMPOSED: grad.scatter %arg0[%arg1] replace %arg2 dims [-1, 1, 2] index_dims [0]
  %0 = grad.set_rows %t[%i], %v : tensor<5x3x2xf32>, tensor<4x3x2xf32>, tensor<4xi32>
  return %0 : tensor<5x3x2xf32>
}

// Negative indices count from the end; an index out of range has no effect.

// FOLD-LABEL: @values
func.func @values() -> (tensor<4x2xf32>, tensor<3xi8>) {
  %t = grad.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %i = grad.constant dense<[2, 4, -4, -5]> : tensor<4xi64>
  %v = grad.constant dense<[[-1.0, -2.0], [9.0, 9.0], [0x7FC00000, -0.0], [9.0, 9.0]]> : tensor<4x2xf32>
  // FOLD-DAG: dense<{{\[}}[0x7FC00000, -0.000000e+00], [3.000000e+00, 4.000000e+00], [-1.000000e+00, -2.000000e+00], [7.000000e+00, 8.000000e+00]]>
  %0 = grad.set_rows %t[%i], %v : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4xi64>
  %list = grad.constant dense<[1, 2, 3]> : tensor<3xi8>
  %j = grad.constant dense<[1]> : tensor<1xi32>
  %new = grad.constant dense<[5]> : tensor<1xi8>
  // FOLD-DAG: dense<[1, 5, 3]> : tensor<3xi8>
  %1 = grad.set_rows %list[%j], %new : tensor<3xi8>, tensor<1xi8>, tensor<1xi32>
  return %0, %1 : tensor<4x2xf32>, tensor<3xi8>
}

// A replaced row has no gradient; the values that replace it have.

// GRAD-LABEL: @gradient
func.func @gradient() -> (tensor<3xf32>, tensor<1xf32>) {
  %t = grad.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %i = grad.constant dense<[1]> : tensor<1xi64>
  %v = grad.constant dense<[4.0]> : tensor<1xf32>
  %0 = grad.set_rows %t[%i], %v : tensor<3xf32>, tensor<1xf32>, tensor<1xi64>
  %1 = grad.reduce_sum %0 dims [0] : tensor<3xf32>
  // GRAD-DAG: %[[OF_TABLE:.*]] = grad.constant dense<[1.000000e+00, 0.000000e+00, 1.000000e+00]> : tensor<3xf32>
  // GRAD: return %[[OF_TABLE]], %
  %2:2 = grad.gradient %1 wrt %t, %v : tensor<f32>, tensor<3xf32>, tensor<1xf32>
  return %2#0, %2#1 : tensor<3xf32>, tensor<1xf32>
}

// -----

// C1.

func.func @scalar(%t: tensor<f32>, %i: tensor<4xi32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{expected a table and a list of i32 or i64, found 'tensor<f32>' and 'tensor<4xi32>'}}
  %0 = grad.set_rows %t[%i], %v : tensor<f32>, tensor<4xf32>, tensor<4xi32>
  return
}

// -----

func.func @no_list(%t: tensor<5x3xf32>, %i: tensor<2x2xi32>, %v: tensor<2x2x3xf32>) {
  // expected-error @+1 {{expected a table and a list of i32 or i64, found 'tensor<5x3xf32>' and 'tensor<2x2xi32>'}}
  %0 = grad.set_rows %t[%i], %v : tensor<5x3xf32>, tensor<2x2x3xf32>, tensor<2x2xi32>
  return
}

// -----

func.func @narrow(%t: tensor<5x3xf32>, %i: tensor<2xi8>, %v: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a table and a list of i32 or i64, found 'tensor<5x3xf32>' and 'tensor<2xi8>'}}
  %0 = grad.set_rows %t[%i], %v : tensor<5x3xf32>, tensor<2x3xf32>, tensor<2xi8>
  return
}

// -----

// C2.

func.func @values(%t: tensor<5x3xf32>, %i: tensor<2xi32>, %v: tensor<2x4xf32>) {
  // expected-error @+1 {{expected values 'tensor<2x3xf32>', found 'tensor<2x4xf32>'}}
  %0 = grad.set_rows %t[%i], %v : tensor<5x3xf32>, tensor<2x4xf32>, tensor<2xi32>
  return
}
