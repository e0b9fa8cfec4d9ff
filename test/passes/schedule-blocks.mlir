// RUN: gradc-opt -gradc-schedule %s | FileCheck %s

module attributes {exec.level = "cuda:sm_90"} {

// Four elements per thread: 128 bits.

// CHECK-LABEL: exec.kernel @pointwise(
// CHECK-SAME: blocks = #exec.blocks<threads = 256, team = 1, adjacent = false, rows = 2>
// CHECK-SAME: schedule = #exec.schedule<lanes = 4, tile = [1, 4], order = [0, 1], grain = 1>
exec.kernel @pointwise(%x: tensor<256x64xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.relu %x : tensor<256x64xf32>
  exec.yield %0 : tensor<256x64xf32>
}

// A convolution without pictures has a tile.

// CHECK-LABEL: exec.kernel @no_pictures(
// CHECK-SAME: tile = [1, 1, 1, 4]
exec.kernel @no_pictures(%x: tensor<31x31x0x3xf32>, %w: tensor<3x3x3x16xf32>) attributes {flops = 0 : i64, bytes = 1728 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] stride [2, 2] low [1, 1] high [1, 1]> : tensor<31x31x0x3xf32>, tensor<3x3x3x16xf32>
  exec.yield %0 : tensor<16x16x0x16xf32>
}

// A warp sums a row; a block sums a long one.

// CHECK-LABEL: exec.kernel @row_sums(
// CHECK-SAME: blocks = #exec.blocks<threads = 256, team = 32, adjacent = true, rows = 1>
exec.kernel @row_sums(%x: tensor<256x64xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.reduce_sum %x dims [1] : tensor<256x64xf32>
  exec.yield %0 : tensor<256xf32>
}

// CHECK-LABEL: exec.kernel @long_sum(
// CHECK-SAME: blocks = #exec.blocks<threads = 256, team = 256, adjacent = true, rows = 0>
exec.kernel @long_sum(%x: tensor<100000xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.reduce_sum %x dims [0] : tensor<100000xf32>
  exec.yield %0 : tensor<f32>
}

// Neighbouring threads have neighbouring columns, and a team shares the rows of each column.

// CHECK-LABEL: exec.kernel @column_sums(
// CHECK-SAME: blocks = #exec.blocks<threads = 256, team = 32, adjacent = false, rows = 1>
// CHECK-SAME: schedule = #exec.schedule<lanes = 4, tile = [4], order = [0], grain = 1>
exec.kernel @column_sums(%x: tensor<4096x64xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.reduce_sum %x dims [0] : tensor<4096x64xf32>
  exec.yield %0 : tensor<64xf32>
}

// A team's common work divides its dims: 10 columns are not a multiple of a vector.

// CHECK-LABEL: exec.kernel @odd_columns(
// CHECK-SAME: schedule = #exec.schedule<lanes = 1, tile = [1], order = [0], grain = 1>
exec.kernel @odd_columns(%x: tensor<4096x10xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.reduce_sum %x dims [0] : tensor<4096x10xf32>
  exec.yield %0 : tensor<10xf32>
}

// A team keeps its row between the statistics and the results.

// CHECK-LABEL: exec.kernel @normalized_rows(
// CHECK-SAME: blocks = #exec.blocks<threads = 256, team = 32, adjacent = true, rows = 1>
// CHECK-SAME: schedule = #exec.schedule<lanes = 4, tile = [1, 4], order = [0, 1], grain = 1>
exec.kernel @normalized_rows(%x: tensor<256x64xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.reduce_sum %x dims [1] : tensor<256x64xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<256xf32> -> tensor<256x64xf32>
  %2 = grad.div %x, %1 : tensor<256x64xf32>
  exec.yield %2 : tensor<256x64xf32>
}

// Sixteen accumulators per thread; with few tiles, the other threads share the sums.

// CHECK-LABEL: exec.kernel @contraction(
// CHECK-SAME: blocks = #exec.blocks<threads = 256, team = 16, adjacent = false, rows = 2>
// CHECK-SAME: schedule = #exec.schedule<lanes = 4, tile = [4, 4], order = [0, 1], grain = 1>
exec.kernel @contraction(%x: tensor<256x1024xf32>, %w: tensor<1024x512xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.matmul %x, %w : tensor<256x1024xf32>, tensor<1024x512xf32>
  exec.yield %0 : tensor<256x512xf32>
}

// Large products go through shared memory, 16 steps of the sum at a time.

// CHECK-LABEL: exec.kernel @large(
// CHECK-SAME: blocks = #exec.blocks<threads = 256, team = 1, adjacent = false, rows = 2>
// CHECK-SAME: schedule = #exec.schedule<lanes = 4, tile = [4, 4], order = [0, 1], grain = 1, block = [16]>
exec.kernel @large(%x: tensor<4096x64xf32>, %w: tensor<64x4096xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.matmul %x, %w : tensor<4096x64xf32>, tensor<64x4096xf32>
  exec.yield %0 : tensor<4096x4096xf32>
}

// A filter gradient sums over pictures and windows: all threads of a block share it.

// CHECK-LABEL: exec.kernel @filter_gradient(
// CHECK-SAME: blocks = #exec.blocks<threads = 256, team = 256, adjacent = false, rows = 4>
exec.kernel @filter_gradient(%x: tensor<32x32x64x3xf32>, %g: tensor<32x32x64x32xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.convolution %x, %g dims "nc,no->co" window <[32, 32] low [1, 1] high [1, 1]> : tensor<32x32x64x3xf32>, tensor<32x32x64x32xf32>
  exec.yield %0 : tensor<3x3x3x32xf32>
}

}
