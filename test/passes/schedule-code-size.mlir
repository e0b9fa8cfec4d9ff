// RUN: gradc-opt -gradc-schedule %s | FileCheck %s

// A tile's code is unrolled, so it is bounded: a tile that became more than some thousand instructions is halved until it has fewer, or
// cannot be smaller.
module attributes {exec.level = "x86-64-v4"} {

// Lanes run along the rows that the kernel folds: each result has 16 vectors of its own, whose ops are repeated for both reductions.

// CHECK-LABEL: exec.kernel @statistics_of_rows(
// CHECK-SAME: tile = [16], order = [0]
exec.kernel @statistics_of_rows(%x: tensor<256x256xf32>, %labels: tensor<256xi64>) attributes {flops = 589824 : i64, bytes = 266240 : i64} {
  %0 = grad.constant dense<1.000000e+09> : tensor<256x256xf32>
  %1 = grad.constant dense<0.000000e+00> : tensor<256x256xf32>
  %2 = grad.sqrt %x : tensor<256x256xf32>
  %3 = grad.broadcast %labels dims [0] : tensor<256xi64> -> tensor<256x256xi64>
  %4 = grad.broadcast %labels dims [1] : tensor<256xi64> -> tensor<256x256xi64>
  %5 = grad.compare eq %3, %4 : tensor<256x256xi64>
  %6 = grad.select %5, %2, %1 : tensor<256x256xf32>
  %7 = grad.reduce_max %6 dims [1] : tensor<256x256xf32>
  %8 = grad.select %5, %0, %2 : tensor<256x256xf32>
  %9 = grad.reduce_min %8 dims [1] : tensor<256x256xf32>
  exec.yield %7, %9 : tensor<256xf32>, tensor<256xf32>
}

// Long rows are folded in a vector of results, too.

// CHECK-LABEL: exec.kernel @long_rows(
// CHECK-SAME: tile = [16], order = [0]
exec.kernel @long_rows(%x: tensor<256x50257xf32>) attributes {flops = 25731584 : i64, bytes = 51464192 : i64} {
  %0 = grad.exp %x : tensor<256x50257xf32>
  %1 = grad.reduce_sum %0 dims [1] : tensor<256x50257xf32>
  exec.yield %1 : tensor<256xf32>
}

// Sums of windows of each channel, of two pictures.

// CHECK-LABEL: exec.kernel @means_of_windows(
// CHECK-SAME: tile = [2, 16], order =
exec.kernel @means_of_windows(%x: tensor<16x64x9x9xf32>) attributes {flops = 1492992 : i64, bytes = 331776 : i64} {
  %0 = grad.exp %x : tensor<16x64x9x9xf32>
  %1 = grad.reduce_sum %0 dims [2, 3] : tensor<16x64x9x9xf32>
  %2 = grad.log1p %x : tensor<16x64x9x9xf32>
  %3 = grad.reduce_max %2 dims [2, 3] : tensor<16x64x9x9xf32>
  exec.yield %1, %3 : tensor<16x64xf32>, tensor<16x64xf32>
}

// Sums of sums: the inner ones are repeated for each vector of the outer ones.

// CHECK-LABEL: exec.kernel @sums_of_sums(
// CHECK-SAME: tile = [16], order = [0]
exec.kernel @sums_of_sums(%x: tensor<64x64x128xf32>) attributes {flops = 524288 : i64, bytes = 2097408 : i64} {
  %0 = grad.reduce_sum %x dims [2] : tensor<64x64x128xf32>
  %1 = grad.sqrt %0 : tensor<64x64xf32>
  %2 = grad.reduce_max %1 dims [1] : tensor<64x64xf32>
  exec.yield %2 : tensor<64xf32>
}

// Elements that an index chooses are loaded one by one, so that the tile need not be a square. All 16 tiles of a row with statistics are
// unrolled.

// CHECK-LABEL: exec.kernel @gathered(
// CHECK-SAME: tile = [2, 1, 16]
exec.kernel @gathered(%x: tensor<4x256x256xf32>, %table: tensor<511x4xf32>, %at: tensor<256x256xi64>) attributes {flops = 786432 : i64, bytes = 2629616 : i64} {
  %0 = grad.gather %table[%at] dims [-1, 2] index_dims [0, 1] : tensor<511x4xf32>, tensor<256x256xi64>
  %1 = grad.transpose %0 permutation [2, 0, 1] : tensor<256x256x4xf32>
  %2 = grad.add %x, %1 : tensor<4x256x256xf32>
  %3 = grad.reduce_max %2 dims [2] : tensor<4x256x256xf32>
  %4 = grad.broadcast %3 dims [0, 1] : tensor<4x256xf32> -> tensor<4x256x256xf32>
  %5 = grad.sub %2, %4 : tensor<4x256x256xf32>
  exec.yield %5 : tensor<4x256x256xf32>
}

// Rows of a table are loaded as vectors.

// CHECK-LABEL: exec.kernel @rows_of_a_table(
// CHECK-SAME: tile = [1, 256]
exec.kernel @rows_of_a_table(%table: tensor<1000x256xf32>, %at: tensor<64xi64>) attributes {flops = 32768 : i64, bytes = 131584 : i64} {
  %0 = grad.gather %table[%at] dims [-1, 1] index_dims [0] : tensor<1000x256xf32>, tensor<64xi64>
  %1 = grad.reduce_max %0 dims [1] : tensor<64x256xf32>
  %2 = grad.broadcast %1 dims [0] : tensor<64xf32> -> tensor<64x256xf32>
  %3 = grad.sub %0, %2 : tensor<64x256xf32>
  exec.yield %3 : tensor<64x256xf32>
}

// Tiles with less code stay, and so do squares, which are loaded faster than their rows.

// CHECK-LABEL: exec.kernel @little_code(
// CHECK-SAME: tile = [64], order = [0]
exec.kernel @little_code(%x: tensor<256xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.sqrt %x : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
// CHECK-LABEL: exec.kernel @squares(
// CHECK-SAME: tile = [16, 16]
exec.kernel @squares(%x: tensor<256x64xf32>) attributes {flops = 49152 : i64, bytes = 131072 : i64} {
  %0 = grad.transpose %x permutation [1, 0] : tensor<256x64xf32>
  %1 = grad.exp %0 : tensor<64x256xf32>
  %2 = grad.reduce_max %1 dims [1] : tensor<64x256xf32>
  %3 = grad.broadcast %2 dims [0] : tensor<64xf32> -> tensor<64x256xf32>
  %4 = grad.sub %1, %3 : tensor<64x256xf32>
  exec.yield %4 : tensor<64x256xf32>
}

// Of a search, each tile reads all indices: it stays wide.

// CHECK-LABEL: exec.kernel @search(
// CHECK-SAME: tile = [1, 512]
exec.kernel @search(%init: tensor<50x512xf32>, %at: tensor<24xi64>, %u: tensor<24x512xf32>) attributes {flops = 12288 : i64, bytes = 151744 : i64} {
  %0 = grad.scatter %init[%at] add %u dims [-1, 1] index_dims [0] : tensor<50x512xf32>, tensor<24x512xf32>, tensor<24xi64>
  %1 = grad.sin %0 : tensor<50x512xf32>
  %2 = grad.cos %1 : tensor<50x512xf32>
  exec.yield %2 : tensor<50x512xf32>
}

// Vectors run along the rows of a product with few columns unless it updates many matrices, which would be read and written lane by lane.

// CHECK-LABEL: exec.kernel @updates(
// CHECK-SAME: tile = [16, 4]
exec.kernel @updates(%x: tensor<64x16xf32>, %w: tensor<16x4xf32>, %p0: tensor<64x4xf32>, %p1: tensor<64x4xf32>, %p2: tensor<64x4xf32>, %p3: tensor<64x4xf32>, %p4: tensor<64x4xf32>, %p5: tensor<64x4xf32>, %p6: tensor<64x4xf32>, %p7: tensor<64x4xf32>) attributes {flops = 10240 : i64, bytes = 20736 : i64} {
  %g = grad.matmul %x, %w : tensor<64x16xf32>, tensor<16x4xf32>
  %0 = grad.sub %p0, %g : tensor<64x4xf32>
  %1 = grad.sub %p1, %g : tensor<64x4xf32>
  %2 = grad.sub %p2, %g : tensor<64x4xf32>
  %3 = grad.sub %p3, %g : tensor<64x4xf32>
  %4 = grad.sub %p4, %g : tensor<64x4xf32>
  %5 = grad.sub %p5, %g : tensor<64x4xf32>
  %6 = grad.sub %p6, %g : tensor<64x4xf32>
  %7 = grad.sub %p7, %g : tensor<64x4xf32>
  exec.yield %0, %1, %2, %3, %4, %5, %6, %7 : tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>
}
// CHECK-LABEL: exec.kernel @many_updates(
// CHECK-SAME: tile = [16, 16]
exec.kernel @many_updates(%x: tensor<64x16xf32>, %w: tensor<16x4xf32>, %p0: tensor<64x4xf32>, %p1: tensor<64x4xf32>, %p2: tensor<64x4xf32>, %p3: tensor<64x4xf32>, %p4: tensor<64x4xf32>, %p5: tensor<64x4xf32>, %p6: tensor<64x4xf32>, %p7: tensor<64x4xf32>, %p8: tensor<64x4xf32>) attributes {flops = 10496 : i64, bytes = 22784 : i64} {
  %g = grad.matmul %x, %w : tensor<64x16xf32>, tensor<16x4xf32>
  %0 = grad.sub %p0, %g : tensor<64x4xf32>
  %1 = grad.sub %p1, %g : tensor<64x4xf32>
  %2 = grad.sub %p2, %g : tensor<64x4xf32>
  %3 = grad.sub %p3, %g : tensor<64x4xf32>
  %4 = grad.sub %p4, %g : tensor<64x4xf32>
  %5 = grad.sub %p5, %g : tensor<64x4xf32>
  %6 = grad.sub %p6, %g : tensor<64x4xf32>
  %7 = grad.sub %p7, %g : tensor<64x4xf32>
  %8 = grad.sub %p8, %g : tensor<64x4xf32>
  exec.yield %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>
}
}
