// RUN: sed s/LEVEL/x86-64-v3/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V3
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V4

// Factors across a sum are copied in panels (those of sums in blocks: schedule.mlir).
module attributes {exec.level = "LEVEL"} {

// With the whole sum. If both factors are, panels of columns are in the inner loop, for 512 rows at a time; long sums are in blocks of
// 1,024 steps or more.

// V3-LABEL: exec.kernel @whole_sum(
// V3-SAME: tile = [6, 16], order = [0, 1], grain = 6, panels = [85, 1]>
// V4-LABEL: exec.kernel @whole_sum(
// V4-SAME: tile = [8, 32], order = [0, 1], grain = 4, panels = [64, 1]>
exec.kernel @whole_sum(%x: tensor<256x1024xf32>, %g: tensor<256x2048xf32>, %w: tensor<1024x2048xf32>) attributes {flops = 1075838976 : i64, bytes = 19922944 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<256x1024xf32>, tensor<256x2048xf32>
  %1 = grad.sub %w, %0 : tensor<1024x2048xf32>
  exec.yield %1 : tensor<1024x2048xf32>
}

// V3-LABEL: exec.kernel @long_sum(
// V3-SAME: tile = [6, 16], order = [0, 1], grain = 6, block = [1024], panels = [85, 1]>
// V4-LABEL: exec.kernel @long_sum(
// V4-SAME: tile = [8, 32], order = [0, 1], grain = 4, block = [1024], panels = [64, 1]>
exec.kernel @long_sum(%x: tensor<2048x1024xf32>, %g: tensor<2048x1024xf32>) attributes {flops = 4294967296 : i64, bytes = 20971520 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<2048x1024xf32>, tensor<2048x1024xf32>
  exec.yield %0 : tensor<1024x1024xf32>
}

// Ops behind a sum need all of it, so such a kernel does not add up blocks in memory.

// V3-LABEL: exec.kernel @rounded_sum(
// V3-NOT: block =
// V3: grad.matmul
// V4-LABEL: exec.kernel @rounded_sum(
// V4-NOT: block =
// V4: grad.matmul
exec.kernel @rounded_sum(%x: tensor<2048x1024xf32>, %g: tensor<2048x1024xf32>) attributes {flops = 4294967296 : i64, bytes = 18874368 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs wide : tensor<2048x1024xf32>, tensor<2048x1024xf32>
  %1 = grad.cast %0 : tensor<1024x1024xf32> -> tensor<1024x1024xf16>
  exec.yield %1 : tensor<1024x1024xf16>
}

// A factor that is no state is copied, too. A few long panels take all of the second-level cache.

// V3-LABEL: exec.kernel @columns(
// V3-SAME: order = [1, 0], grain = 1, panels = [0, 4]>
// V4-LABEL: exec.kernel @columns(
// V4-SAME: order = [1, 0], grain = 1, panels = [0, 4]>
exec.kernel @columns(%x: tensor<512x1024xf32>, %y: tensor<1024x2048xf32>) attributes {flops = 2147483648 : i64, bytes = 14680064 : i64} {
  %0 = grad.matmul %x, %y : tensor<512x1024xf32>, tensor<1024x2048xf32>
  exec.yield %0 : tensor<512x2048xf32>
}

// Factors are read in place if a sum has few steps, if few tiles read them, or if something else reads them, too.

// V4-LABEL: exec.kernel @few_steps(
// V4-NOT: panels
// V4: grad.matmul
exec.kernel @few_steps(%x: tensor<32x1024xf32>, %g: tensor<32x2048xf32>) attributes {flops = 134217728 : i64, bytes = 8781824 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<32x1024xf32>, tensor<32x2048xf32>
  exec.yield %0 : tensor<1024x2048xf32>
}
// V4-LABEL: exec.kernel @read_twice(
// V4-NOT: panels
// V4: grad.matmul
exec.kernel @read_twice(%x: tensor<512x512xf32>) attributes {flops = 268435456 : i64, bytes = 2097152 : i64} {
  %0 = grad.matmul %x, %x transpose_lhs : tensor<512x512xf32>, tensor<512x512xf32>
  exec.yield %0 : tensor<512x512xf32>
}

// Few row tiles read a wide rhs, larger than the cache, in short blocks, unless something follows the product.

// V4-LABEL: exec.kernel @few_readers(
// V4-SAME: order = [1, 0], grain = 1, block = [8]>
exec.kernel @few_readers(%x: tensor<16x1024xf32>, %y: tensor<1024x2048xf32>) attributes {flops = 67108864 : i64, bytes = 8585216 : i64} {
  %0 = grad.matmul %x, %y : tensor<16x1024xf32>, tensor<1024x2048xf32>
  exec.yield %0 : tensor<16x2048xf32>
}
// V4-LABEL: exec.kernel @few_readers_and_more(
// V4-NOT: block =
// V4: grad.matmul
exec.kernel @few_readers_and_more(%x: tensor<16x1024xf32>, %y: tensor<1024x2048xf32>) attributes {flops = 67108864 : i64, bytes = 8585216 : i64} {
  %0 = grad.matmul %x, %y : tensor<16x1024xf32>, tensor<1024x2048xf32>
  %1 = grad.tanh %0 : tensor<16x2048xf32>
  exec.yield %1 : tensor<16x2048xf32>
}

// A rhs with the sum along its rows is turned once for all row tiles, unless its rows are shorter than a vector or are rows of the run.

// V3-LABEL: exec.kernel @rows(
// V3-SAME: order = [1, 0], grain = 1, turned = <operand = 1, dim = 0, tiles = 4>>
// V4-LABEL: exec.kernel @rows(
// V4-SAME: order = [1, 0], grain = 1, turned = <operand = 1, dim = 0, tiles = 4>>
exec.kernel @rows(%x: tensor<64x100xf32>, %y: tensor<300x100xf32>) attributes {flops = 3840000 : i64, bytes = 222400 : i64} {
  %0 = grad.matmul %x, %y transpose_rhs : tensor<64x100xf32>, tensor<300x100xf32>
  %1 = grad.tanh %0 : tensor<64x300xf32>
  exec.yield %1 : tensor<64x300xf32>
}
// V4-LABEL: exec.kernel @short_rows(
// V4-NOT: turned
// V4: grad.matmul
exec.kernel @short_rows(%x: tensor<64x12xf32>, %y: tensor<300x12xf32>) attributes {flops = 460800 : i64, bytes = 94272 : i64} {
  %0 = grad.matmul %x, %y transpose_rhs : tensor<64x12xf32>, tensor<300x12xf32>
  exec.yield %0 : tensor<64x300xf32>
}
// V4-LABEL: exec.kernel @rows_of_the_run(
// V4-NOT: turned
// V4: grad.matmul
exec.kernel @rows_of_the_run(%x: tensor<64x100xf32>, %y: tensor<300x100xf32>) attributes {flops = 3840000 : i64, bytes = 222400 : i64, extents = [array<i64: 0, 0>, array<i64: 1, 0>], rows = array<i64: 0, 1>} {
  %0 = grad.matmul %x, %y transpose_rhs : tensor<64x100xf32>, tensor<300x100xf32>
  exec.yield %0 : tensor<64x300xf32>
}

// With few rows, results are summed along the lanes: all rows, and as many columns as there are registers for sums. With more rows a factor is
// turned, and a short sum is not worth adding up lanes.

// V3-LABEL: exec.kernel @three_rows(
// V3-SAME: tile = [3, 4], order = [1, 0], grain = {{[0-9]+}}, lane_sums>
// V4-LABEL: exec.kernel @three_rows(
// V4-SAME: tile = [3, 8], order = [1, 0], grain = {{[0-9]+}}, lane_sums>
exec.kernel @three_rows(%x: tensor<3x256xf32>, %y: tensor<300x256xf32>) attributes {flops = 460800 : i64, bytes = 313872 : i64} {
  %0 = grad.matmul %x, %y transpose_rhs : tensor<3x256xf32>, tensor<300x256xf32>
  exec.yield %0 : tensor<3x300xf32>
}
// V3-LABEL: exec.kernel @eight_rows(
// V3-SAME: turned
// V4-LABEL: exec.kernel @eight_rows(
// V4-SAME: tile = [8, 3], order = [1, 0], grain = {{[0-9]+}}, lane_sums>
exec.kernel @eight_rows(%x: tensor<8x256xf32>, %y: tensor<300x256xf32>) attributes {flops = 1228800 : i64, bytes = 324992 : i64} {
  %0 = grad.matmul %x, %y transpose_rhs : tensor<8x256xf32>, tensor<300x256xf32>
  exec.yield %0 : tensor<8x300xf32>
}
// V4-LABEL: exec.kernel @three_rows_of_short_sums(
// V4-SAME: turned
exec.kernel @three_rows_of_short_sums(%x: tensor<3x100xf32>, %y: tensor<300x100xf32>) attributes {flops = 180000 : i64, bytes = 124800 : i64} {
  %0 = grad.matmul %x, %y transpose_rhs : tensor<3x100xf32>, tensor<300x100xf32>
  exec.yield %0 : tensor<3x300xf32>
}

// A sum of the rows of a matrix, weighted, and heads of one column, whose tiles of rows in each picture are units.

// V4-LABEL: exec.kernel @weighted_rows(
// V4-SAME: tile = [8], order = [0], grain = {{[0-9]+}}, lane_sums>
exec.kernel @weighted_rows(%x: tensor<4096xf32>, %y: tensor<300x4096xf32>) attributes {flops = 2457600 : i64, bytes = 4932784 : i64} {
  %0 = grad.convolution %x, %y dims "k,nk->n" window <[]> : tensor<4096xf32>, tensor<300x4096xf32>
  exec.yield %0 : tensor<300xf32>
}
// V4-LABEL: exec.kernel @heads(
// V4-SAME: order = [0, 1, 2], grain = 1, lane_sums>
exec.kernel @heads(%x: tensor<32x512x64xf32>, %y: tensor<32x64x1xf32>) attributes {flops = 2097152 : i64, bytes = 4268032 : i64} {
  %0 = grad.matmul %x, %y : tensor<32x512x64xf32>, tensor<32x64x1xf32>
  exec.yield %0 : tensor<32x512x1xf32>
}

// A dot product for each row, with both factors' rows, is a row sum like others.

// V4-LABEL: exec.kernel @dot_of_each_row(
// V4-NOT: lane_sums
// V4: grad.convolution
exec.kernel @dot_of_each_row(%x: tensor<4x4096xf32>, %y: tensor<4x4096xf32>) attributes {flops = 32768 : i64, bytes = 131088 : i64} {
  %0 = grad.convolution %x, %y dims "nk,nk->n" window <[]> : tensor<4x4096xf32>, tensor<4x4096xf32>
  exec.yield %0 : tensor<4xf32>
}

// Results and sums of no elements have schedules.

// V4-LABEL: exec.kernel @no_columns(
// V4-SAME: schedule
exec.kernel @no_columns(%x: tensor<4x64xf32>, %y: tensor<4x0xf32>) attributes {flops = 0 : i64, bytes = 1024 : i64} {
  %0 = grad.matmul %x, %y transpose_lhs : tensor<4x64xf32>, tensor<4x0xf32>
  exec.yield %0 : tensor<64x0xf32>
}
// V4-LABEL: exec.kernel @no_rows(
// V4-SAME: schedule
exec.kernel @no_rows(%x: tensor<64x0xf32>, %y: tensor<64x1xf32>) attributes {flops = 0 : i64, bytes = 256 : i64} {
  %0 = grad.matmul %x, %y transpose_lhs : tensor<64x0xf32>, tensor<64x1xf32>
  exec.yield %0 : tensor<0x1xf32>
}
// V4-LABEL: exec.kernel @no_elements(
// V4-SAME: schedule
exec.kernel @no_elements(%x: tensor<2x0x1xf32>) attributes {flops = 0 : i64, bytes = 0 : i64} {
  %0 = grad.tanh %x : tensor<2x0x1xf32>
  exec.yield %0 : tensor<2x0x1xf32>
}
// V4-LABEL: exec.kernel @no_steps(
// V4-SAME: schedule
exec.kernel @no_steps(%x: tensor<0x1024xf32>, %y: tensor<0x1024xf32>) attributes {flops = 0 : i64, bytes = 4194304 : i64} {
  %0 = grad.matmul %x, %y transpose_lhs : tensor<0x1024xf32>, tensor<0x1024xf32>
  exec.yield %0 : tensor<1024x1024xf32>
}
// V4-LABEL: exec.kernel @no_rows_of_many_columns(
// V4-NOT: block =
// V4: grad.matmul
exec.kernel @no_rows_of_many_columns(%x: tensor<0x1024xf32>, %y: tensor<1024x2048xf32>) attributes {flops = 0 : i64, bytes = 8388608 : i64} {
  %0 = grad.matmul %x, %y : tensor<0x1024xf32>, tensor<1024x2048xf32>
  exec.yield %0 : tensor<0x2048xf32>
}
// V4-LABEL: exec.kernel @no_pictures(
// V4-SAME: tile = [1, 1, 1, 16]
exec.kernel @no_pictures(%x: tensor<4x4x0x3xf32>, %w: tensor<3x3x3x16xf32>) attributes {flops = 0 : i64, bytes = 1728 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<4x4x0x3xf32>, tensor<3x3x3x16xf32>
  exec.yield %0 : tensor<4x4x0x16xf32>
}
// V4-LABEL: exec.kernel @no_targets(
// V4-SAME: tile = [1, 1,
exec.kernel @no_targets(%i: tensor<2x5x0xi32>) attributes {flops = 0 : i64, bytes = 0 : i64} {
  %0 = grad.constant dense<0> : tensor<2x5x0xi64>
  %1 = grad.iota dim 1 : tensor<2x5x0xi64>
  %2 = grad.scatter %0[%i] replace %1 dims [0, -1, 2] index_dims [0, 1, 2] : tensor<2x5x0xi64>, tensor<2x5x0xi64>, tensor<2x5x0xi32>
  exec.yield %2 : tensor<2x5x0xi64>
}
// V4-LABEL: exec.kernel @no_pairs(
// V4-SAME: tile = [1,
exec.kernel @no_pairs(%w: tensor<3x0xbf16>) attributes {flops = 0 : i64, bytes = 0 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>]} {
  exec.yield %w : tensor<3x0xbf16>
}
}
