// RUN: gradc-opt -gradc-schedule %s | FileCheck %s

// Products of a batch of matrices whose sums run along the rows of both factors.
module attributes {exec.level = "x86-64-v4"} {

// Columns of one matrix are turned at a time, for all its rows. Of batch, heads and columns, what there is most of is the units.

// CHECK-LABEL: exec.kernel @heads(
// CHECK-SAME: tile = [1, 1, 8, 32], order = [1, 0, 3, 2], grain = 1, turned = <operand = 1, dim = 2, tiles = 1>
exec.kernel @heads(%q: tensor<2x12x196x64xf32>, %k: tensor<2x12x196x64xf32>) attributes {flops = 118013952 : i64, bytes = 6142464 : i64} {
  %0 = grad.matmul %q, %k transpose_rhs : tensor<2x12x196x64xf32>, tensor<2x12x196x64xf32>
  exec.yield %0 : tensor<2x12x196x196xf32>
}
// CHECK-LABEL: exec.kernel @long_sequences(
// CHECK-SAME: order = [2, 0, 1], grain = 1, turned = <operand = 1, dim = 1, tiles = 1>
exec.kernel @long_sequences(%q: tensor<4x784x32xf32>, %k: tensor<4x784x32xf32>) attributes {flops = 157351936 : i64, bytes = 10637312 : i64} {
  %0 = grad.matmul %q, %k transpose_rhs : tensor<4x784x32xf32>, tensor<4x784x32xf32>
  exec.yield %0 : tensor<4x784x784xf32>
}

// A tile of rows turns what it reads itself. Few rows are summed along the lanes.

// CHECK-LABEL: exec.kernel @one_tile(
// CHECK-NOT: turned
// CHECK-SAME: {
exec.kernel @one_tile(%q: tensor<100x8x64xf32>, %k: tensor<100x64x64xf32>) attributes {flops = 6553600 : i64, bytes = 2048000 : i64} {
  %0 = grad.matmul %q, %k transpose_rhs : tensor<100x8x64xf32>, tensor<100x64x64xf32>
  exec.yield %0 : tensor<100x8x64xf32>
}
// CHECK-LABEL: exec.kernel @few_rows(
// CHECK-SAME: tile = [1, 4, 6], order = [2, 0, 1], grain = {{[0-9]+}}, lane_sums
exec.kernel @few_rows(%q: tensor<16x4x128xf32>, %k: tensor<16x256x128xf32>) attributes {flops = 4194304 : i64, bytes = 2195456 : i64} {
  %0 = grad.matmul %q, %k transpose_rhs : tensor<16x4x128xf32>, tensor<16x256x128xf32>
  exec.yield %0 : tensor<16x4x256xf32>
}

// The part of a batch that a run has is known to its loops alone, but columns and steps have to be all there.

// CHECK-LABEL: exec.kernel @batch_of_a_run(
// CHECK-SAME: turned = <operand = 1, dim = 1, tiles = 1>
exec.kernel @batch_of_a_run(%q: tensor<16x49x32xf32>, %k: tensor<16x49x32xf32>) attributes {flops = 2458624 : i64, bytes = 354368 : i64, rows = array<i64: 1, 0, 0>, extents = [array<i64: 1, 0, 0>, array<i64: 1, 0, 0>]} {
  %0 = grad.matmul %q, %k transpose_rhs : tensor<16x49x32xf32>, tensor<16x49x32xf32>
  exec.yield %0 : tensor<16x49x49xf32>
}
// CHECK-LABEL: exec.kernel @columns_of_a_run(
// CHECK-NOT: turned
// CHECK-SAME: {
exec.kernel @columns_of_a_run(%q: tensor<16x49x32xf32>, %k: tensor<16x49x32xf32>) attributes {flops = 2458624 : i64, bytes = 354368 : i64, rows = array<i64: 0, 0, 1>, extents = [array<i64: 0, 0, 0>, array<i64: 0, 1, 0>]} {
  %0 = grad.matmul %q, %k transpose_rhs : tensor<16x49x32xf32>, tensor<16x49x32xf32>
  exec.yield %0 : tensor<16x49x49xf32>
}

}
