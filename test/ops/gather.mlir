// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD

// CHECK-LABEL: @inference
func.func @inference(%table: tensor<50x8xf32>, %tokens: tensor<4x6xi64>, %a: tensor<2x3x5xi1>, %i: tensor<2x4xi32>)
    -> (tensor<4x6x8xf32>, tensor<2x4x5xi1>, tensor<2x4xi1>) {
  // CHECK: grad.gather %{{.*}}[%{{.*}}] dims [-1, 2] index_dims [0, 1] : tensor<50x8xf32>, tensor<4x6xi64>
  %0 = grad.gather %table[%tokens] dims [-1, 2] index_dims [0, 1] : tensor<50x8xf32>, tensor<4x6xi64>
  %1 = grad.gather %a[%i] dims [0, -1, 2] index_dims [0, 1] : tensor<2x3x5xi1>, tensor<2x4xi32>
  // CHECK: grad.gather %{{.*}}[%{{.*}}, %{{.*}}] dims [0, -2, -1] index_dims [0, 1] : tensor<2x3x5xi1>, tensor<2x4xi32>, tensor<2x4xi32>
  %2 = grad.gather %a[%i, %i] dims [0, -2, -1] index_dims [0, 1] : tensor<2x3x5xi1>, tensor<2x4xi32>, tensor<2x4xi32>
  return %0, %1, %2 : tensor<4x6x8xf32>, tensor<2x4x5xi1>, tensor<2x4xi1>
}

// Negative indices count from the end; an index out of range reads the nearest element, or nothing if there is none.

// FOLD-LABEL: @values
func.func @values() -> (tensor<5x2xi32>, tensor<2xi32>) {
  %x = grad.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = grad.constant dense<[0, -1, -3, 7, -9]> : tensor<5xi64>
  // FOLD-DAG: dense<{{\[\[}}1, 2], [5, 6], [1, 2], [5, 6], [1, 2]]> : tensor<5x2xi32>
  %0 = grad.gather %x[%i] dims [-1, 1] index_dims [0] : tensor<3x2xi32>, tensor<5xi64>
  %none = grad.constant dense<> : tensor<0xi32>
  %j = grad.constant dense<[0, 1]> : tensor<2xi64>
  // FOLD-DAG: dense<0> : tensor<2xi32>
  %1 = grad.gather %none[%j] dims [-1] index_dims [0] : tensor<0xi32>, tensor<2xi64>
  return %0, %1 : tensor<5x2xi32>, tensor<2xi32>
}

// GRAD-LABEL: @gradient
func.func @gradient(%table: tensor<50x8xf32>, %tokens: tensor<4xi64>) -> tensor<50x8xf32> {
  %0 = grad.gather %table[%tokens] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<4xi64>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<4x8xf32>
  // GRAD: %[[ZERO:.*]] = grad.constant dense<0.000000e+00> : tensor<50x8xf32>
  // GRAD: grad.scatter %[[ZERO]][%{{.*}}] add %{{.*}} dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<4x8xf32>, tensor<4xi64>
  %2 = grad.gradient %1 wrt %table : tensor<f32>, tensor<50x8xf32>
  return %2 : tensor<50x8xf32>
}

// At known indices, elements read the gradient where they were read: by their first reader, and by their second. Position 1 has none,
// and the last index is out of range.

// GRAD-LABEL: @known_indices
func.func @known_indices(%x: tensor<2x4x3xf32>, %y: tensor<5x2x3xf32>) -> tensor<2x4x3xf32> {
  // GRAD-DAG: %[[FIRST:.*]] = grad.constant dense<[1, 0, 0, 3]> : tensor<4xi64>
  // GRAD-DAG: %[[HAS_FIRST:.*]] = grad.constant dense<{{\[\[\[}}true, true, true], [false, false, false], [true, true, true], [true, true, true]], {{.*}} : tensor<2x4x3xi1>
  // GRAD-DAG: %[[SECOND:.*]] = grad.constant dense<[1, 0, 2, 3]> : tensor<4xi64>
  // GRAD-DAG: %[[HAS_SECOND:.*]] = grad.constant dense<{{\[\[\[}}false, false, false], [false, false, false], [true, true, true], [false, false, false]], {{.*}} : tensor<2x4x3xi1>
  // GRAD-DAG: %[[A:.*]] = grad.gather %{{.*}}[%[[FIRST]]] dims [-1, 0, 2] index_dims [1] : tensor<5x2x3xf32>, tensor<4xi64>
  // GRAD-DAG: %[[B:.*]] = grad.gather %{{.*}}[%[[SECOND]]] dims [-1, 0, 2] index_dims [1] : tensor<5x2x3xf32>, tensor<4xi64>
  // GRAD-DAG: grad.select %[[HAS_FIRST]], %[[A]]
  // GRAD-DAG: grad.select %[[HAS_SECOND]], %[[B]]
  // GRAD-NOT: grad.scatter
  // GRAD: return
  %i = grad.constant dense<[2, 0, 2, -1, 9]> : tensor<5xi64>
  %0 = grad.gather %x[%i] dims [1, -1, 2] index_dims [0] : tensor<2x4x3xf32>, tensor<5xi64>
  %1 = grad.mul %0, %y : tensor<5x2x3xf32>
  %2 = grad.reduce_sum %1 dims [0, 1, 2] : tensor<5x2x3xf32>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<2x4x3xf32>
  return %3 : tensor<2x4x3xf32>
}

// Of a permutation, each element has one reader. Halves are added up in f32.

// GRAD-LABEL: @permuted
func.func @permuted(%x: tensor<2x3xf16>, %y: tensor<2x3xf16>, %z: tensor<2x4xf16>) -> (tensor<2x3xf16>, tensor<2x3xf16>) {
  // GRAD-DAG: %[[BACK:.*]] = grad.constant dense<[1, 2, 0]> : tensor<3xi64>
  // GRAD-DAG: grad.gather %{{.*}}[%[[BACK]]] dims [0, -1] index_dims [1] : tensor<2x3xf16>, tensor<3xi64>
  // GRAD-DAG: grad.add %{{.*}}, %{{.*}} : tensor<2x3xf32>
  // GRAD-NOT: grad.scatter
  // GRAD: return
  %i = grad.constant dense<[2, 0, 1]> : tensor<3xi64>
  %0 = grad.gather %x[%i] dims [0, -1] index_dims [1] : tensor<2x3xf16>, tensor<3xi64>
  %1 = grad.mul %0, %y : tensor<2x3xf16>
  %2 = grad.reduce_sum %1 dims [0, 1] : tensor<2x3xf16>
  %3 = grad.gradient %2 wrt %x : tensor<f16>, tensor<2x3xf16>
  %j = grad.constant dense<[2, 0, 1, 1]> : tensor<4xi64>
  %4 = grad.gather %x[%j] dims [0, -1] index_dims [1] : tensor<2x3xf16>, tensor<4xi64>
  %5 = grad.mul %4, %z : tensor<2x4xf16>
  %6 = grad.reduce_sum %5 dims [0, 1] : tensor<2x4xf16>
  %7 = grad.gradient %6 wrt %x : tensor<f16>, tensor<2x3xf16>
  return %3, %7 : tensor<2x3xf16>, tensor<2x3xf16>
}

// A scatter adds up what would be many gathers, or reads of many elements for few updates, and updates at indices of several dims, of
// each row, or out of range.

// GRAD-LABEL: @known_but_many
func.func @known_but_many(%x: tensor<8xf32>, %long: tensor<100xf32>, %rows: tensor<2x4xf32>)
    -> (tensor<8xf32>, tensor<100xf32>, tensor<8xf32>, tensor<2x4xf32>, tensor<8xf32>) {
  // GRAD-COUNT-5: grad.scatter
  %i = grad.constant dense<3> : tensor<33xi64>
  %0 = grad.gather %x[%i] dims [-1] index_dims [0] : tensor<8xf32>, tensor<33xi64>
  %1 = grad.reduce_sum %0 dims [0] : tensor<33xf32>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<8xf32>
  %j = grad.constant dense<3> : tensor<20xi64>
  %3 = grad.gather %long[%j] dims [-1] index_dims [0] : tensor<100xf32>, tensor<20xi64>
  %4 = grad.reduce_sum %3 dims [0] : tensor<20xf32>
  %5 = grad.gradient %4 wrt %long : tensor<f32>, tensor<100xf32>
  %k = grad.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  %6 = grad.gather %x[%k] dims [-1] index_dims [0, 1] : tensor<8xf32>, tensor<2x2xi64>
  %7 = grad.reduce_sum %6 dims [0, 1] : tensor<2x2xf32>
  %8 = grad.gradient %7 wrt %x : tensor<f32>, tensor<8xf32>
  %l = grad.constant dense<[1, 2]> : tensor<2xi64>
  %9 = grad.gather %rows[%l] dims [0, -1] index_dims [0] : tensor<2x4xf32>, tensor<2xi64>
  %10 = grad.reduce_sum %9 dims [0] : tensor<2xf32>
  %11 = grad.gradient %10 wrt %rows : tensor<f32>, tensor<2x4xf32>
  %m = grad.constant dense<[8, 9]> : tensor<2xi64>
  %12 = grad.gather %x[%m] dims [-1] index_dims [0] : tensor<8xf32>, tensor<2xi64>
  %13 = grad.reduce_sum %12 dims [0] : tensor<2xf32>
  %14 = grad.gradient %13 wrt %x : tensor<f32>, tensor<8xf32>
  return %2, %5, %8, %11, %14 : tensor<8xf32>, tensor<100xf32>, tensor<8xf32>, tensor<2x4xf32>, tensor<8xf32>
}

// An index that is the same for all elements of a row is read once per row.

// FOLD-LABEL: @index_of_row
func.func @index_of_row(%x: tensor<5x3xf32>, %i: tensor<4xi64>) -> tensor<4x3xf32> {
  %0 = grad.broadcast %i dims [0] : tensor<4xi64> -> tensor<4x3xi64>
  // FOLD: grad.gather %arg0[%arg1] dims [-1, 1] index_dims [0]
  %1 = grad.gather %x[%0] dims [-1, 1] index_dims [0, 1] : tensor<5x3xf32>, tensor<4x3xi64>
  return %1 : tensor<4x3xf32>
}

// A constant without elements has no index to read.

// FOLD-LABEL: @index_of_no_element
func.func @index_of_no_element(%x: tensor<5x0xf32>) -> tensor<4x0xf32> {
  %0 = grad.constant dense<> : tensor<4x0xi64>
  // FOLD: grad.gather %arg0[%{{.*}}] dims [-1, 1] index_dims [0, 1]
  %1 = grad.gather %x[%0] dims [-1, 1] index_dims [0, 1] : tensor<5x0xf32>, tensor<4x0xi64>
  return %1 : tensor<4x0xf32>
}

// -----

func.func @c1_one_a_dim(%x: tensor<3x2xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected one entry of dims for each of 2 dims, found [-1]}}
  %0 = grad.gather %x[%i] dims [-1] index_dims [0] : tensor<3x2xf32>, tensor<4xi64>
}

// -----

func.func @c1_unused_index(%x: tensor<3x2xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected each of -1 to -2 once in dims, found [-1, 1]}}
  %0 = grad.gather %x[%i, %i] dims [-1, 1] index_dims [0] : tensor<3x2xf32>, tensor<4xi64>, tensor<4xi64>
}

// -----

func.func @c1_missing_index(%x: tensor<3x2xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected each of -1 to -1 once in dims, found [-1, -2]}}
  %0 = grad.gather %x[%i] dims [-1, -2] index_dims [0] : tensor<3x2xf32>, tensor<4xi64>
}

// -----

func.func @c1_twice(%x: tensor<3x2x2xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected distinct dims, found [-1, 1, 1]}}
  %0 = grad.gather %x[%i] dims [-1, 1, 1] index_dims [0] : tensor<3x2x2xf32>, tensor<4xi64>
}

// -----

func.func @c2_type(%x: tensor<3x2xf32>, %i: tensor<4xi8>) {
  // expected-error @+1 {{expected indices of i32 or i64, found 'i8'}}
  %0 = grad.gather %x[%i] dims [-1, 1] index_dims [0] : tensor<3x2xf32>, tensor<4xi8>
}

// -----

func.func @c2_shapes(%x: tensor<3x2xf32>, %i: tensor<4xi64>, %j: tensor<5xi64>) {
  // expected-error @+1 {{expected indices of one shape, found [4] and [5]}}
  %0 = grad.gather %x[%i, %j] dims [-1, -2] index_dims [0] : tensor<3x2xf32>, tensor<4xi64>, tensor<5xi64>
}

// -----

func.func @c2_index_dims(%x: tensor<3x2xf32>, %i: tensor<4x5xi64>) {
  // expected-error @+1 {{expected one distinct entry of index_dims for each of 2 dims, found [0, 0]}}
  %0 = grad.gather %x[%i] dims [-1, 1] index_dims [0, 0] : tensor<3x2xf32>, tensor<4x5xi64>
}

// -----

func.func @c3_sizes(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected dim 0 to have one size, found 2 in the data and 4 in the indices}}
  %0 = grad.gather %x[%i] dims [0, -1] index_dims [0] : tensor<2x3xf32>, tensor<4xi64>
}

// -----

func.func @c3_hole(%x: tensor<3x2xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected dim 1 in dims or index_dims}}
  %0 = grad.gather %x[%i] dims [-1, 2] index_dims [0] : tensor<3x2xf32>, tensor<4xi64>
}

// -----

func.func @c3_far(%x: tensor<3x2xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected dims and index_dims below 3, found 4294967296}}
  %0 = grad.gather %x[%i] dims [-1, 4294967296] index_dims [0] : tensor<3x2xf32>, tensor<4xi64>
}

// -----

// The result's type is inferred before the types of operands are verified.
func.func @unranked(%x: tensor<3x2xf32>, %i: tensor<*xi64>) {
  // expected-error @+1 {{expected operands to be ranked tensors, found 'tensor<*xi64>'}}
  %0 = grad.gather %x[%i] dims [-1, 1] index_dims [0] : tensor<3x2xf32>, tensor<*xi64>
}
