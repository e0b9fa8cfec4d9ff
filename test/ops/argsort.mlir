// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED

// The decomposition counts, for each element, those before it, and writes its position to that place.

// CHECK-LABEL: @trip
// DECOMPOSED-LABEL: @trip
func.func @trip(%x: tensor<2x5x3xf32>) -> (tensor<2x5x3xi64>, tensor<2x2x3xi64>) {
  // CHECK: grad.argsort %arg0 dim 1 : tensor<2x5x3xf32> -> tensor<2x5x3xi64>
  // DECOMPOSED: %[[COUNT:.*]] = grad.reduce_sum %{{.*}} dims [2] : tensor<2x5x5x3xi32>
  // DECOMPOSED: grad.scatter %{{.*}}[%[[COUNT]]] replace %{{.*}} dims [0, -1, 2] index_dims [0, 1, 2] : tensor<2x5x3xi64>, tensor<2x5x3xi64>, tensor<2x5x3xi32>
  %0 = grad.argsort %x dim 1 : tensor<2x5x3xf32> -> tensor<2x5x3xi64>
  // CHECK: grad.argsort %arg0 dim 1 descending : tensor<2x5x3xf32> -> tensor<2x2x3xi64>
  // DECOMPOSED: grad.scatter %{{.*}} : tensor<2x2x3xi64>, tensor<2x5x3xi64>, tensor<2x5x3xi32>
  %1 = grad.argsort %x dim 1 descending : tensor<2x5x3xf32> -> tensor<2x2x3xi64>
  return %0, %1 : tensor<2x5x3xi64>, tensor<2x2x3xi64>
}

// NaN is the largest number; -0 equals 0; equal elements keep their order.

// FOLD-LABEL: @values
func.func @values() -> (tensor<6xi64>, tensor<6xi64>, tensor<2x2xi64>, tensor<3xi64>) {
  %x = grad.constant dense<[0.0, 0x7FC00000, -1.0, -0.0, 0x7F800000, 0.0]> : tensor<6xf32>
  // FOLD-DAG: dense<[2, 0, 3, 5, 4, 1]>
  %0 = grad.argsort %x dim 0 : tensor<6xf32> -> tensor<6xi64>
  // FOLD-DAG: dense<[1, 4, 0, 3, 5, 2]>
  %1 = grad.argsort %x dim 0 descending : tensor<6xf32> -> tensor<6xi64>
  %y = grad.constant dense<[[3, 1, 2], [-4, 7, -5]]> : tensor<2x3xi8>
  // FOLD-DAG: dense<{{\[}}[1, 2], [2, 0]]>
  %2 = grad.argsort %y dim 1 : tensor<2x3xi8> -> tensor<2x2xi64>
  %z = grad.constant dense<[1, 18446744073709551615, 2]> : tensor<3xui64>
  // FOLD-DAG: dense<[1, 2, 0]>
  %3 = grad.argsort %z dim 0 descending : tensor<3xui64> -> tensor<3xi64>
  return %0, %1, %2, %3 : tensor<6xi64>, tensor<6xi64>, tensor<2x2xi64>, tensor<3xi64>
}

// -----

// C1.

func.func @dim(%x: tensor<5x3xf32>) {
  // expected-error @+1 {{expected a dim from 0 to 1, found 2}}
  %0 = grad.argsort %x dim 2 : tensor<5x3xf32> -> tensor<5x3xi64>
  return
}

// -----

// C2.

func.func @more(%x: tensor<5x3xf32>) {
  // expected-error @+1 {{expected i64 of the operand's shape with at most 3 elements along dim 1, found 'tensor<5x4xi64>'}}
  %0 = grad.argsort %x dim 1 : tensor<5x3xf32> -> tensor<5x4xi64>
  return
}

// -----

func.func @other(%x: tensor<5x3xf32>) {
  // expected-error @+1 {{expected i64 of the operand's shape with at most 3 elements along dim 1, found 'tensor<4x3xi64>'}}
  %0 = grad.argsort %x dim 1 : tensor<5x3xf32> -> tensor<4x3xi64>
  return
}

// -----

func.func @narrow(%x: tensor<5x3xf32>) {
  // expected-error @+1 {{expected i64 of the operand's shape with at most 3 elements along dim 1, found 'tensor<5x3xi32>'}}
  %0 = grad.argsort %x dim 1 : tensor<5x3xf32> -> tensor<5x3xi32>
  return
}
