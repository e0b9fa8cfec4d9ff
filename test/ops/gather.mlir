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
