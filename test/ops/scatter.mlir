// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate -canonicalize | FileCheck %s --check-prefix=EXACT

// CHECK-LABEL: @trip
func.func @trip(%x: tensor<5x3xf32>, %i: tensor<4xi64>, %u: tensor<4x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>) {
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] add %{{.*}} dims [-1, 1] index_dims [0] : tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>
  %0 = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [0] : tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] replace %{{.*}}
  %1 = grad.scatter %x[%i] replace %u dims [-1, 1] index_dims [0] : tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>
  return %0, %1 : tensor<5x3xf32>, tensor<5x3xf32>
}

// Duplicates are combined in order of position, and the last one replaces; an index out of range has no effect.

// FOLD-LABEL: @values
func.func @values() -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<3xf32>) {
  %x = grad.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %i = grad.constant dense<[0, -1, 0, 9, -5]> : tensor<5xi32>
  %u = grad.constant dense<[5, 6, -7, 8, 9]> : tensor<5xi32>
  // FOLD-DAG: dense<[-7, 2, 3, 6]> : tensor<4xi32>
  %0 = grad.scatter %x[%i] replace %u dims [-1] index_dims [0] : tensor<4xi32>, tensor<5xi32>, tensor<5xi32>
  // FOLD-DAG: dense<[-1, 2, 3, 10]> : tensor<4xi32>
  %1 = grad.scatter %x[%i] add %u dims [-1] index_dims [0] : tensor<4xi32>, tensor<5xi32>, tensor<5xi32>
  // FOLD-DAG: dense<[-35, 2, 3, 24]> : tensor<4xi32>
  %2 = grad.scatter %x[%i] mul %u dims [-1] index_dims [0] : tensor<4xi32>, tensor<5xi32>, tensor<5xi32>
  // FOLD-DAG: dense<[5, 2, 3, 6]> : tensor<4xi32>
  %3 = grad.scatter %x[%i] max %u dims [-1] index_dims [0] : tensor<4xi32>, tensor<5xi32>, tensor<5xi32>
  // FOLD-DAG: dense<[-7, 2, 3, 4]> : tensor<4xi32>
  %4 = grad.scatter %x[%i] min %u dims [-1] index_dims [0] : tensor<4xi32>, tensor<5xi32>, tensor<5xi32>
  // NaN wins.
  %f = grad.constant dense<[1.0, 0x7FC00000, 2.0]> : tensor<3xf32>
  %j = grad.constant dense<[0, 1]> : tensor<2xi64>
  %v = grad.constant dense<[0x7FC00000, 3.0]> : tensor<2xf32>
  // FOLD-DAG: dense<[0x7FC00000, 0x7FC00000, 2.000000e+00]> : tensor<3xf32>
  %5 = grad.scatter %f[%j] max %v dims [-1] index_dims [0] : tensor<3xf32>, tensor<2xf32>, tensor<2xi64>
  return %0, %1, %2, %3, %4, %5 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<3xf32>
}

// An index that is the same for all elements of a row is read once per row.

// FOLD-LABEL: @index_of_row
func.func @index_of_row(%x: tensor<5x2x3xf32>, %i: tensor<4xi64>, %u: tensor<4x2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>) {
  // FOLD: %[[ROWS:.*]] = grad.constant dense<{{\[\[}}0, 1], [0, 2], [0, 3], [0, 4]]> : tensor<4x2xi64>
  %0 = grad.broadcast %i dims [0] : tensor<4xi64> -> tensor<4x2x3xi64>
  // FOLD: grad.scatter %arg0[%arg1] add %arg2 dims [-1, 1, 2] index_dims [0]
  %1 = grad.scatter %x[%0] add %u dims [-1, 1, 2] index_dims [0, 1, 2] : tensor<5x2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xi64>
  %2 = grad.constant dense<[[[0, 0, 0], [1, 1, 1]], [[0, 0, 0], [2, 2, 2]], [[0, 0, 0], [3, 3, 3]], [[0, 0, 0], [4, 4, 4]]]> : tensor<4x2x3xi64>
  // FOLD: grad.scatter %arg0[%[[ROWS]]] max %arg2 dims [-1, 1, 2] index_dims [0, 1]
  %3 = grad.scatter %x[%2] max %u dims [-1, 1, 2] index_dims [0, 1, 2] : tensor<5x2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xi64>
  return %1, %3 : tensor<5x2x3xf32>, tensor<5x2x3xf32>
}

// Where one of two indices differs along the row, or a dim has its size from the indices alone, nothing changes.

// FOLD-LABEL: @index_of_element
func.func @index_of_element(%x: tensor<5x6x3xf32>, %i: tensor<4xi64>, %j: tensor<4x3xi64>, %u: tensor<4x3xf32>) -> (tensor<5x6x3xf32>, tensor<5x6x3xf32>) {
  %0 = grad.broadcast %i dims [0] : tensor<4xi64> -> tensor<4x3xi64>
  // FOLD: grad.scatter %arg0[%[[I:.*]], %arg2] add %arg3 dims [-1, -2, 1] index_dims [0, 1]
  %1 = grad.scatter %x[%0, %j] add %u dims [-1, -2, 1] index_dims [0, 1] : tensor<5x6x3xf32>, tensor<4x3xf32>, tensor<4x3xi64>, tensor<4x3xi64>
  %w = grad.constant dense<1.0> : tensor<4x7x3xf32>
  %2 = grad.broadcast %i dims [0] : tensor<4xi64> -> tensor<4x7xi64>
  // FOLD: grad.scatter %arg0[%{{.*}}, %{{.*}}] add %{{.*}} dims [-1, -2, 2] index_dims [0, 1]
  %3 = grad.scatter %x[%2, %2] add %w dims [-1, -2, 2] index_dims [0, 1] : tensor<5x6x3xf32>, tensor<4x7x3xf32>, tensor<4x7xi64>, tensor<4x7xi64>
  return %1, %3 : tensor<5x6x3xf32>, tensor<5x6x3xf32>
}

// GRAD-LABEL: @of_sum
func.func @of_sum(%x: tensor<5xf32>, %i: tensor<4xi64>, %u: tensor<4xf32>, %w: tensor<5xf32>) -> (tensor<5xf32>, tensor<4xf32>) {
  %0 = grad.scatter %x[%i] add %u dims [-1] index_dims [0] : tensor<5xf32>, tensor<4xf32>, tensor<4xi64>
  %y = grad.mul %0, %w : tensor<5xf32>
  %1 = grad.reduce_sum %y dims [0] : tensor<5xf32>
  // GRAD: %[[DY:.*]] = grad.mul %arg3,
  // GRAD: %[[DU:.*]] = grad.gather %[[DY]]
  // GRAD: return %[[DY]], %[[DU]]
  %2:2 = grad.gradient %1 wrt %x, %u : tensor<f32>, tensor<5xf32>, tensor<4xf32>
  return %2#0, %2#1 : tensor<5xf32>, tensor<4xf32>
}

// Of two updates of one element, the overwritten one has no gradient.

// EXACT-LABEL: @of_replaced
func.func @of_replaced() -> (tensor<3xf32>, tensor<3xf32>) {
  %x = grad.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %i = grad.constant dense<[0, 2, 0]> : tensor<3xi64>
  %u = grad.constant dense<[4.0, 5.0, 6.0]> : tensor<3xf32>
  %0 = grad.scatter %x[%i] replace %u dims [-1] index_dims [0] : tensor<3xf32>, tensor<3xf32>, tensor<3xi64>
  %1 = grad.reduce_sum %0 dims [0] : tensor<3xf32>
  // EXACT: %[[DX:.*]] = grad.constant dense<[0.000000e+00, 1.000000e+00, 0.000000e+00]> : tensor<3xf32>
  // EXACT: %[[LAST:.*]] = grad.scatter %{{.*}} max %[[POSITION:.*]] dims
  // EXACT: %[[OF_TARGET:.*]] = grad.gather %[[LAST]]
  // EXACT: %[[WINS:.*]] = grad.compare eq %[[OF_TARGET]], %[[POSITION]]
  // EXACT: %[[DU:.*]] = grad.select %[[WINS]]
  // EXACT: return %[[DX]], %[[DU]]
  %2:2 = grad.gradient %1 wrt %x, %u : tensor<f32>, tensor<3xf32>, tensor<3xf32>
  return %2#0, %2#1 : tensor<3xf32>, tensor<3xf32>
}

// A single zero factor gets the product of the others; two zeros get 0.

// EXACT-LABEL: @of_product
func.func @of_product() -> (tensor<2xf32>, tensor<4xf32>) {
  %x = grad.constant dense<[2.0, 0.0]> : tensor<2xf32>
  %i = grad.constant dense<[0, 0, 1, 1]> : tensor<4xi64>
  %u = grad.constant dense<[0.0, 3.0, 0.0, 5.0]> : tensor<4xf32>
  %0 = grad.scatter %x[%i] mul %u dims [-1] index_dims [0] : tensor<2xf32>, tensor<4xf32>, tensor<4xi64>
  %1 = grad.reduce_sum %0 dims [0] : tensor<2xf32>
  // EXACT-DAG: dense<0.000000e+00> : tensor<2xf32>
  // EXACT-DAG: dense<[6.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<4xf32>
  %2:2 = grad.gradient %1 wrt %x, %u : tensor<f32>, tensor<2xf32>, tensor<4xf32>
  return %2#0, %2#1 : tensor<2xf32>, tensor<4xf32>
}

// All elements equal to the extreme share its gradient.

// EXACT-LABEL: @of_extreme
func.func @of_extreme() -> (tensor<2xf32>, tensor<3xf32>) {
  %x = grad.constant dense<[4.0, 1.0]> : tensor<2xf32>
  %i = grad.constant dense<[0, 1, 0]> : tensor<3xi64>
  %u = grad.constant dense<[4.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = grad.scatter %x[%i] max %u dims [-1] index_dims [0] : tensor<2xf32>, tensor<3xf32>, tensor<3xi64>
  %1 = grad.reduce_sum %0 dims [0] : tensor<2xf32>
  // EXACT-DAG: dense<[5.000000e-01, 0.000000e+00]> : tensor<2xf32>
  // EXACT-DAG: dense<[5.000000e-01, 1.000000e+00, 0.000000e+00]> : tensor<3xf32>
  %2:2 = grad.gradient %1 wrt %x, %u : tensor<f32>, tensor<2xf32>, tensor<3xf32>
  return %2#0, %2#1 : tensor<2xf32>, tensor<3xf32>
}

// -----

func.func @c1_dims(%x: tensor<5x3xf32>, %i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{expected each of -1 to -1 once in dims, found [0, 1]}}
  %0 = grad.scatter %x[%i] add %u dims [0, 1] index_dims [0] : tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>
}

// -----

func.func @c2_index_dims(%x: tensor<5x3xf32>, %i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{expected one distinct entry of index_dims for each of 1 dims, found []}}
  %0 = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [] : tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>
}

// -----

func.func @c3_updates(%x: tensor<5x3xf32>, %i: tensor<4xi64>, %u: tensor<4x2xf32>) {
  // expected-error @+1 {{expected updates 'tensor<4x3xf32>', found 'tensor<4x2xf32>'}}
  %0 = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [0] : tensor<5x3xf32>, tensor<4x2xf32>, tensor<4xi64>
}

// -----

func.func @c4_bools(%x: tensor<5xi1>, %i: tensor<4xi64>, %u: tensor<4xi1>) {
  // expected-error @+1 {{expected numbers to combine, found 'tensor<5xi1>'}}
  %0 = grad.scatter %x[%i] add %u dims [-1] index_dims [0] : tensor<5xi1>, tensor<4xi1>, tensor<4xi64>
}
