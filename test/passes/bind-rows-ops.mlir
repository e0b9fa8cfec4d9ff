// RUN: gradc-opt %s --gradc-bind-rows="judge" --verify-diagnostics | FileCheck %s

// Entries with ops of every family take any number of rows, wherever the batch dim is in between. No op is known by name: the
// answers come from loops and decompositions. The batch is 6, and no other dim is a multiple of it.

// CHECK: func.func @convolutions
// CHECK-SAME: grad.rows
func.func @convolutions(%x: tensor<6x8x8x3xf32> {grad.batched}, %w: tensor<3x3x3x16xf32>, %dy: tensor<6x8x8x16xf32> {grad.batched})
    -> (tensor<6x1024xf32>, tensor<3x3x3x16xf32>) attributes {grad.batch = 6 : i64} {
  %0 = grad.transpose %x permutation [1, 2, 0, 3] : tensor<6x8x8x3xf32>
  %1 = grad.convolution %0, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<8x8x6x3xf32>, tensor<3x3x3x16xf32>
  %2 = grad.transpose %1 permutation [2, 0, 1, 3] : tensor<8x8x6x16xf32>
  %3 = grad.reshape %2 : tensor<6x8x8x16xf32> -> tensor<6x1024xf32>
  // The filter gradient sums over the batch.
  %4 = grad.transpose %dy permutation [1, 2, 0, 3] : tensor<6x8x8x16xf32>
  %5 = grad.convolution %0, %4 dims "nc,no->co" window <[8, 8] low [1, 1] high [1, 1]> : tensor<8x8x6x3xf32>, tensor<8x8x6x16xf32>
  return %3, %5 : tensor<6x1024xf32>, tensor<3x3x3x16xf32>
}

// CHECK: func.func @pools
// CHECK-SAME: grad.rows
func.func @pools(%x: tensor<6x8x8x3xf32> {grad.batched}) -> tensor<6x4x4x3xf32> attributes {grad.batch = 6 : i64} {
  %0 = grad.transpose %x permutation [1, 2, 0, 3] : tensor<6x8x8x3xf32>
  %1 = grad.window_sum %0 window <[2, 2] stride [2, 2]> : tensor<8x8x6x3xf32>
  %2 = grad.transpose %1 permutation [2, 0, 1, 3] : tensor<4x4x6x3xf32>
  return %2 : tensor<6x4x4x3xf32>
}

// CHECK: func.func @normalizations
// CHECK-SAME: grad.rows
func.func @normalizations(%x: tensor<6x5x7xf32> {grad.batched}) -> (tensor<6x5x7xf32>, tensor<7xf32>, tensor<6x5x7xf32>, tensor<6x5x7xf32>)
    attributes {grad.batch = 6 : i64} {
  // Reductions over the batch, and within a row.
  %0:3 = grad.normalize %x dims [0, 1] epsilon 1.0e-05 : tensor<6x5x7xf32>
  %1:3 = grad.normalize %x dims [2] epsilon 1.0e-05 : tensor<6x5x7xf32>
  %2 = grad.softmax %x dim 2 : tensor<6x5x7xf32>
  return %0#0, %0#1, %1#0, %2 : tensor<6x5x7xf32>, tensor<7xf32>, tensor<6x5x7xf32>, tensor<6x5x7xf32>
}

// Exporters repeat positions for each row of the batch, and what repeats is not of the batch.
// CHECK: func.func @repeated_constants
// CHECK-SAME: grad.rows
func.func @repeated_constants(%x: tensor<6x2xf32> {grad.batched}, %w: tensor<5x2xf32>) -> (tensor<6x2xf32>, tensor<6x2xf32>)
    attributes {grad.batch = 6 : i64} {
  %0 = grad.constant dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]> : tensor<6x2xf32>
  %1 = grad.mul %x, %0 : tensor<6x2xf32>
  %2 = grad.constant dense<[[3, 4], [3, 4], [3, 4], [3, 4], [3, 4], [3, 4]]> : tensor<6x2xi64>
  %3 = grad.gather %w[%2] dims [-1, 1] index_dims [0, 1] : tensor<5x2xf32>, tensor<6x2xi64>
  %4 = grad.add %1, %3 : tensor<6x2xf32>
  return %1, %4 : tensor<6x2xf32>, tensor<6x2xf32>
}

// CHECK: func.func @losses
// CHECK-SAME: grad.rows
func.func @losses(%x: tensor<6x10xf32> {grad.batched}, %labels: tensor<6xi64> {grad.batched}, %seed: tensor<i32>, %step: tensor<i32>)
    -> (tensor<f32>, tensor<6x10xf32>, tensor<6xi64>) attributes {grad.batch = 6 : i64} {
  %0 = grad.dropout %x, %seed, %step stream 7 ratio 0.25 : tensor<6x10xf32>, tensor<i32>
  %1 = grad.softmax_cross_entropy %0, %labels : tensor<6x10xf32>, tensor<6xi64>
  %2 = grad.reduce_sum %1 dims [0] : tensor<6xf32>
  %3 = grad.softmax_cross_entropy_grad %0, %labels, %1 : tensor<6x10xf32>, tensor<6xi64>, tensor<6xf32>
  %4 = grad.argmax %x dim 1 : tensor<6x10xf32>
  return %2, %3, %4 : tensor<f32>, tensor<6x10xf32>, tensor<6xi64>
}

// What is repeated for each row may merge with dims behind it, as the keys of heads do.
// CHECK: func.func @repeats
// CHECK-SAME: grad.rows
func.func @repeats(%x: tensor<6x4x5xf32> {grad.batched}, %keys: tensor<4x5x7xf32>) -> tensor<24x1x7xf32> attributes {grad.batch = 6 : i64} {
  %0 = grad.reshape %x : tensor<6x4x5xf32> -> tensor<24x1x5xf32>
  %1 = grad.broadcast %keys dims [1, 2, 3] : tensor<4x5x7xf32> -> tensor<6x4x5x7xf32>
  %2 = grad.reshape %1 : tensor<6x4x5x7xf32> -> tensor<24x5x7xf32>
  %3 = grad.matmul %0, %2 : tensor<24x1x5xf32>, tensor<24x5x7xf32>
  return %3 : tensor<24x1x7xf32>
}

// One key for each row of a batch of 6 fits no other batch; what is repeated behind it says nothing of rows.
// CHECK: func.func @repeats_within
// CHECK-SAME: grad.exact
func.func @repeats_within(%x: tensor<6x4x5xf32> {grad.batched}, %keys: tensor<6x5x7xf32>) -> tensor<24x1x7xf32> attributes {grad.batch = 6 : i64} {
  %0 = grad.reshape %x : tensor<6x4x5xf32> -> tensor<24x1x5xf32>
  %1 = grad.broadcast %keys dims [0, 2, 3] : tensor<6x5x7xf32> -> tensor<6x4x5x7xf32>
  %2 = grad.reshape %1 : tensor<6x4x5x7xf32> -> tensor<24x5x7xf32>
  // expected-remark @+1 {{a dim of 24 is the batch in one operand and not in another}}
  %3 = grad.matmul %0, %2 : tensor<24x1x5xf32>, tensor<24x5x7xf32>
  return %3 : tensor<24x1x7xf32>
}

// Dims other than the batch may be sliced, concatenated and padded.
// CHECK: func.func @moves
// CHECK-SAME: grad.rows
func.func @moves(%x: tensor<6x8xf32> {grad.batched}) -> tensor<6x10xf32> attributes {grad.batch = 6 : i64} {
  %0 = grad.slice %x starts [0, 2] sizes [6, 4] strides [1, 1] : tensor<6x8xf32>
  %1 = grad.slice %x starts [0, 7] sizes [6, 4] strides [1, -2] : tensor<6x8xf32>
  %2 = grad.concatenate %0, %1 dim 1 : tensor<6x4xf32>, tensor<6x4xf32>
  %3 = grad.pad %2 low [0, 1] high [0, 1] interior [0, 0] : tensor<6x8xf32>
  return %3 : tensor<6x10xf32>
}

// CHECK: func.func @joined
// CHECK-NOT: grad.rows
func.func @joined(%x: tensor<6x8xf32> {grad.batched}) -> tensor<12x8xf32> attributes {grad.batch = 6 : i64} {
  // expected-remark @+1 {{it places rows of the batch among others}}
  %0 = grad.concatenate %x, %x dim 0 : tensor<6x8xf32>, tensor<6x8xf32>
  return %0 : tensor<12x8xf32>
}

// An entry may have a list of rows with a fixed length and take any number of rows; not if the list's length is the batch.

// CHECK: func.func @sets
// CHECK-SAME: grad.rows
func.func @sets(%x: tensor<6x8xf32> {grad.batched}, %t: tensor<50x8xf32>, %i: tensor<4xi32>, %v: tensor<4x8xf32>) -> (tensor<6x8xf32>, tensor<50x8xf32>)
    attributes {grad.batch = 6 : i64} {
  %0 = grad.set_rows %t[%i], %v : tensor<50x8xf32>, tensor<4x8xf32>, tensor<4xi32>
  %1 = grad.exp %x : tensor<6x8xf32>
  return %1, %0 : tensor<6x8xf32>, tensor<50x8xf32>
}

// CHECK: func.func @sets_batch
// CHECK-NOT: grad.rows
func.func @sets_batch(%t: tensor<50x8xf32>, %i: tensor<6xi32> {grad.batched}, %v: tensor<6x8xf32> {grad.batched}) -> tensor<50x8xf32>
    attributes {grad.batch = 6 : i64} {
  // expected-remark @+1 {{it writes rows of a table, as many as the batch has}}
  %0 = grad.set_rows %t[%i], %v : tensor<50x8xf32>, tensor<6x8xf32>, tensor<6xi32>
  return %0 : tensor<50x8xf32>
}
