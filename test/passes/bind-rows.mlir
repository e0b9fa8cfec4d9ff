// RUN: gradc-opt %s --gradc-bind-rows | FileCheck %s
// RUN: gradc-opt %s --gradc-bind-rows="judge" | FileCheck %s --check-prefix=JUDGE

// The number of rows is the input `rows`; a count of elements is that times the elements per row; other counts are constants.
// CHECK-LABEL: func.func @counts
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<32x10x4xf32>
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: tensor<f32> {grad.name = "rows", grad.role = "rows"}
// CHECK-DAG: %[[FOUR:.*]] = grad.constant dense<4.000000e+00> : tensor<f32>
// CHECK-DAG: %[[N:.*]] = grad.mul %[[ROWS]], %[[FOUR]] : tensor<f32>
// CHECK-DAG: %[[C:.*]] = grad.constant dense<4.000000e+01> : tensor<f32>
// CHECK: return %[[N]], %[[C]]
func.func @counts(%x: tensor<32x10x4xf32> {grad.batched}) -> (tensor<f32>, tensor<f32>)
    attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [0, 2] : tensor<32x10x4xf32>
  %1 = grad.count %x dims [1, 2] : tensor<32x10x4xf32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// A row has 4 elements, so 1 row is enough for a count of at least 2 elements; a count of at least 2 rows needs 2.
// CHECK-LABEL: func.func @least
// CHECK-SAME: grad.least_rows = 2 : i64, grad.least_rows_node = "bn1"
func.func @least(%x: tensor<32x4xf32> {grad.batched}) -> (tensor<f32>, tensor<f32>)
    attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [0, 1] least 2 : tensor<32x4xf32>
  %1 = grad.count %x dims [0] least 2 : tensor<32x4xf32> loc("bn1")
  return %0, %1 : tensor<f32>, tensor<f32>
}

// Products, transposes, reshapes that keep rows outermost, and sums over rows preserve the rows.
// JUDGE-LABEL: func.func @any
// JUDGE-SAME: grad.rows
func.func @any(%x: tensor<32x10x4xf32> {grad.batched}, %t: tensor<32x4xf32> {grad.batched}, %w: tensor<4x8xf32>)
    -> (tensor<320x8xf32>, tensor<4xf32>, tensor<4x8xf32>) attributes {grad.batch = 32 : i64} {
  %0 = grad.reshape %x : tensor<32x10x4xf32> -> tensor<320x4xf32>
  %1 = grad.matmul %0, %w : tensor<320x4xf32>, tensor<4x8xf32>
  %2 = grad.transpose %t permutation [1, 0] : tensor<32x4xf32>
  %3 = grad.reduce_sum %2 dims [1] : tensor<4x32xf32>
  %4 = grad.matmul %0, %1 transpose_lhs : tensor<320x4xf32>, tensor<320x8xf32>
  return %1, %3, %4 : tensor<320x8xf32>, tensor<4xf32>, tensor<4x8xf32>
}
// The twin for a smaller last batch is not needed.
// JUDGE-NOT: @any.tail
func.func @any.tail(%x: tensor<5x4xf32> {grad.batched}) -> tensor<5x4xf32> attributes {grad.batch = 5 : i64} {
  return %x : tensor<5x4xf32>
}

// Pairs of rows are as many as the square of the rows.
// CHECK-LABEL: func.func @pairs
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: tensor<f32> {grad.name = "rows", grad.role = "rows"}
// CHECK: %[[N:.*]] = grad.mul {{.*}}%[[ROWS]]
// CHECK: %[[SQUARE:.*]] = grad.mul %[[N]], %[[ROWS]]
// CHECK: return %[[SQUARE]]
func.func @pairs(%x: tensor<32x4xf32> {grad.batched}) -> tensor<f32> attributes {grad.batch = 32 : i64} {
  %0 = grad.matmul %x, %x transpose_rhs : tensor<32x4xf32>, tensor<32x4xf32>
  %1 = grad.count %0 dims [0, 1] : tensor<32x32xf32>
  return %1 : tensor<f32>
}

// Two rows have 4 pairs, so 3 pairs take 2 rows.
// CHECK-LABEL: func.func @least_pairs
// CHECK-SAME: grad.least_rows = 2 : i64
func.func @least_pairs(%x: tensor<32x4xf32> {grad.batched}) -> tensor<f32> attributes {grad.batch = 32 : i64} {
  %0 = grad.matmul %x, %x transpose_rhs : tensor<32x4xf32>, tensor<32x4xf32>
  %1 = grad.count %0 dims [0, 1] least 3 : tensor<32x32xf32> loc("bn")
  return %1 : tensor<f32>
}

// A requested gradient has the type of its target, so rows are counted after it, too.
// CHECK-LABEL: func.func @requests
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: tensor<f32> {grad.name = "rows", grad.role = "rows"}
// CHECK: %[[G:.*]] = grad.gradient
// CHECK-NOT: grad.count
// CHECK: grad.mul %[[ROWS]]
func.func @requests(%x: tensor<32x4xf32> {grad.batched}) -> (tensor<32x4xf32>, tensor<f32>)
    attributes {grad.batch = 32 : i64} {
  %0 = grad.reduce_sum %x dims [0, 1] : tensor<32x4xf32>
  %1 = grad.gradient %0 wrt %x : tensor<f32>, tensor<32x4xf32>
  %2 = grad.count %1 dims [0] : tensor<32x4xf32>
  return %1, %2 : tensor<32x4xf32>, tensor<f32>
}

// No number of rows has 2 elements.
// CHECK-LABEL: func.func @least_of_none
// CHECK-NOT: grad.count
// CHECK: return
func.func @least_of_none(%x: tensor<32x0xf32> {grad.batched}) -> tensor<f32> attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [0, 1] least 2 : tensor<32x0xf32>
  return %0 : tensor<f32>
}
