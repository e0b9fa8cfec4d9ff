// RUN: gradc-opt %s --gradc-bind-rows="judge" --verify-diagnostics | FileCheck %s

// CHECK: func.func @across
// CHECK-SAME: grad.exact
func.func @across(%x: tensor<32x4xf32> {grad.batched}) -> tensor<8x4x4xf32> attributes {grad.batch = 32 : i64} {
  %0 = grad.slice %x starts [0, 0] sizes [32, 4] strides [1, 1] : tensor<32x4xf32>
  // expected-remark @+1 {{entry "across" takes no other number of rows than 32: it reads or writes the batch elsewhere than row by row}}
  %1 = grad.slice %0 starts [8, 0] sizes [8, 4] strides [1, 1] : tensor<32x4xf32>
  %2 = grad.broadcast %1 dims [0, 2] : tensor<8x4xf32> -> tensor<8x4x4xf32>
  return %2 : tensor<8x4x4xf32>
}

// CHECK: func.func @inner
// CHECK-SAME: grad.exact
func.func @inner(%x: tensor<32x4xf32> {grad.batched}) -> tensor<128xf32> attributes {grad.batch = 32 : i64} {
  %0 = grad.transpose %x permutation [1, 0] : tensor<32x4xf32>
  // expected-remark @+1 {{it reshapes across rows of the batch}}
  %1 = grad.reshape %0 : tensor<4x32xf32> -> tensor<128xf32>
  return %1 : tensor<128xf32>
}

// The parameter has one row per row of the batch, so it fits no other batch size.
// CHECK: func.func @fixed
// CHECK-SAME: grad.exact
func.func @fixed(%x: tensor<32x4xf32> {grad.batched}, %w: tensor<32x4xf32>) -> tensor<32x4xf32>
    attributes {grad.batch = 32 : i64} {
  // expected-remark @+1 {{a dim of 32 is the batch in one operand and not in another}}
  %0 = grad.add %x, %w : tensor<32x4xf32>
  return %0 : tensor<32x4xf32>
}

// A repeated value has no rows to count: it may be repeated once per row.
// CHECK: func.func @repeated
// CHECK-SAME: grad.exact
func.func @repeated(%x: tensor<32x4xf32> {grad.batched}, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<32x4xf32>)
    attributes {grad.batch = 32 : i64} {
  %0 = grad.broadcast %w dims [1] : tensor<4xf32> -> tensor<32x4xf32>
  // expected-remark @+1 {{it sums what is repeated 32 times, which may be for each row of the batch}}
  %1 = grad.reduce_sum %0 dims [0] : tensor<32x4xf32>
  return %1, %x : tensor<4xf32>, tensor<32x4xf32>
}

// A slice that ends at the number of rows less 8 was compiled for 24.
// CHECK: func.func @compiled
// CHECK-SAME: grad.exact
func.func @compiled(%x: tensor<32x64xf32> {grad.batched}) -> tensor<32x24xf32> attributes {grad.batch = 32 : i64} {
  // expected-remark @+1 {{entry "compiled" takes no other number of rows than 32: node "cut" is compiled for a number that follows the rows}}
  %0 = grad.count %x dims [0] {grad.read_by = "cut"} : tensor<32x64xf32>
  %1 = grad.slice %x starts [0, 0] sizes [32, 24] strides [1, 1] : tensor<32x64xf32>
  return %1 : tensor<32x24xf32>
}

// The other dim is no rows, though it might be.
// CHECK: func.func @columns
// CHECK-SAME: grad.rows
// CHECK-NOT: grad.count
func.func @columns(%x: tensor<32x64xf32> {grad.batched}) -> tensor<32x56xf32> attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [1] {grad.read_by = "cut"} : tensor<32x64xf32>
  %1 = grad.slice %x starts [0, 0] sizes [32, 56] strides [1, 1] : tensor<32x64xf32>
  return %1 : tensor<32x56xf32>
}

// x[:, :rows] takes all columns only of the largest batch.
// CHECK: func.func @columns_of_rows
// CHECK-SAME: grad.exact
// CHECK-NOT: grad.count
func.func @columns_of_rows(%x: tensor<32x32xf32> {grad.batched}) -> tensor<32x32xf32> attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [0] {grad.sizes = array<i64: 0>} : tensor<32x32xf32>
  // expected-remark @+1 {{entry "columns_of_rows" takes no other number of rows than 32: node "cut" is compiled for a number that follows the rows}}
  %1 = grad.count %x dims [1] {grad.read_by = "cut", grad.sized_by = 0 : i64} : tensor<32x32xf32>
  %2 = grad.exp %x : tensor<32x32xf32>
  return %2 : tensor<32x32xf32>
}

// Here the size follows the columns, and x[:rows] are all rows of any run.
// CHECK: func.func @rows_of_rows
// CHECK-SAME: grad.rows
// CHECK-NOT: grad.count
func.func @rows_of_rows(%x: tensor<32x32xf32> {grad.batched}) -> tensor<32x32xf32> attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [1] {grad.sizes = array<i64: 0>} : tensor<32x32xf32>
  %1 = grad.count %x dims [1] {grad.read_by = "columns", grad.sized_by = 0 : i64} : tensor<32x32xf32>
  %2 = grad.count %x dims [0] {grad.sizes = array<i64: 1>} : tensor<32x32xf32>
  %3 = grad.count %x dims [0] {grad.read_by = "rows", grad.sized_by = 1 : i64} : tensor<32x32xf32>
  %4 = grad.exp %x : tensor<32x32xf32>
  return %4 : tensor<32x32xf32>
}

// Of rows that are repeated for each row, a sum has as many terms as the run has rows. Any reader that meets rows there takes those of the run.
// CHECK: func.func @sum_of_pairs
// CHECK-SAME: grad.exact
func.func @sum_of_pairs(%x: tensor<32x4xf32> {grad.batched}) -> tensor<32x4xf32> attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [0] {grad.sizes = array<i64: 0>} : tensor<32x4xf32>
  %1 = grad.broadcast %x dims [1, 2] : tensor<32x4xf32> -> tensor<32x32x4xf32>
  %2 = grad.count %1 dims [0] {grad.read_by = "expand", grad.sized_by = 0 : i64} : tensor<32x32x4xf32>
  // expected-remark @+1 {{it sums what is repeated 32 times, which may be for each row of the batch}}
  %3 = grad.reduce_sum %1 dims [0] : tensor<32x32x4xf32>
  return %3 : tensor<32x4xf32>
}

// CHECK: func.func @sum_of_differences
// CHECK-SAME: grad.rows
func.func @sum_of_differences(%x: tensor<32x4xf32> {grad.batched}) -> tensor<32x4xf32> attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [0] {grad.sizes = array<i64: 0, 1>} : tensor<32x4xf32>
  %1 = grad.broadcast %x dims [1, 2] : tensor<32x4xf32> -> tensor<32x32x4xf32>
  %2 = grad.count %1 dims [0] {grad.read_by = "expand", grad.sized_by = 0 : i64} : tensor<32x32x4xf32>
  %3 = grad.broadcast %x dims [0, 2] : tensor<32x4xf32> -> tensor<32x32x4xf32>
  %4 = grad.count %3 dims [1] {grad.read_by = "beside", grad.sized_by = 1 : i64} : tensor<32x32x4xf32>
  %5 = grad.sub %1, %3 : tensor<32x32x4xf32>
  %6 = grad.reduce_sum %5 dims [1] : tensor<32x32x4xf32>
  return %6 : tensor<32x4xf32>
}

// x.repeat(rows, 1) in one dim: of n rows it has n * n elements.
// CHECK: func.func @tiles
// CHECK-SAME: grad.exact
func.func @tiles(%x: tensor<32x4xf32> {grad.batched}) -> tensor<4xf32> attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [0] {grad.sizes = array<i64: 0>} : tensor<32x4xf32>
  %1 = grad.broadcast %x dims [1, 2] : tensor<32x4xf32> -> tensor<32x32x4xf32>
  %2 = grad.count %1 dims [0] {grad.read_by = "tile", grad.sized_by = 0 : i64} : tensor<32x32x4xf32>
  // expected-remark @+1 {{it merges rows of the batch with what is repeated for each of them}}
  %3 = grad.reshape %1 : tensor<32x32x4xf32> -> tensor<1024x4xf32>
  %4 = grad.reduce_sum %3 dims [0] : tensor<1024x4xf32>
  return %4 : tensor<4xf32>
}

// A mark without the name of a node, which an import always gives.
// CHECK: func.func @unnamed
// CHECK-SAME: grad.exact
func.func @unnamed(%x: tensor<32x32xf32> {grad.batched}) -> tensor<32x32xf32> attributes {grad.batch = 32 : i64} {
  %0 = grad.count %x dims [0] {grad.sizes = array<i64: 0>} : tensor<32x32xf32>
  // expected-remark @+1 {{entry "unnamed" takes no other number of rows than 32: node "" is compiled for a number that follows the rows}}
  %1 = grad.count %x dims [1] {grad.sized_by = 0 : i64} : tensor<32x32xf32>
  return %x : tensor<32x32xf32>
}
