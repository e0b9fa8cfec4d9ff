// RUN: sed s/LEVEL/x86-64-v3/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V3
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V4

module attributes {exec.level = "LEVEL"} {

// A contraction's tile is that of the level: rows x vectors. Column tiles are outermost if there are enough
// of them to share, or at least as many as row tiles.

// V3-LABEL: exec.kernel @contraction(
// V3-SAME: #exec.schedule<lanes = 8, tile = [6, 16], order = [1, 0], grain = 1>
// V4-LABEL: exec.kernel @contraction(
// V4-SAME: #exec.schedule<lanes = 16, tile = [8, 32], order = [1, 0], grain = 1>
exec.kernel @contraction(%x: tensor<256x64xf32>, %w: tensor<64x128xf32>) attributes {flops = 4194304 : i64, bytes = 229376 : i64} {
  %0 = grad.matmul %x, %w : tensor<256x64xf32>, tensor<64x128xf32>
  exec.yield %0 : tensor<256x128xf32>
}

// Panels that stay in cache are read for each row tile, unless rows a multiple of 2 KB apart are stored after
// short sums.

// V4-LABEL: exec.kernel @longer_sums(
// V4-SAME: order = [0, 1]
exec.kernel @longer_sums(%x: tensor<4096x17xf32>, %w: tensor<17x512xf32>) attributes {flops = 71303168 : i64, bytes = 8701952 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32>, unit]} {
  %0 = grad.matmul %x, %w : tensor<4096x17xf32>, tensor<17x512xf32>
  exec.yield %0 : tensor<4096x512xf32>
}
// V4-LABEL: exec.kernel @kept(
// V4-SAME: order = [0, 1]
exec.kernel @kept(%x: tensor<4096x8xf32>, %w: tensor<8x1056xf32>) attributes {flops = 69206016 : i64, bytes = 17466368 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32>, unit]} {
  %0 = grad.matmul %x, %w : tensor<4096x8xf32>, tensor<8x1056xf32>
  exec.yield %0 : tensor<4096x1056xf32>
}
// V4-LABEL: exec.kernel @colliding(
// V4-SAME: order = [1, 0]
exec.kernel @colliding(%x: tensor<4096x16xf32>, %w: tensor<16x512xf32>) attributes {flops = 67108864 : i64, bytes = 8683520 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32>, unit]} {
  %0 = grad.matmul %x, %w : tensor<4096x16xf32>, tensor<16x512xf32>
  exec.yield %0 : tensor<4096x512xf32>
}
// Blocks that the kernel adds up are terms of a sum, too.
// V4-LABEL: exec.kernel @sums_of_blocks(
// V4-SAME: order = [0, 1]
exec.kernel @sums_of_blocks(%x: tensor<4x4096x16xf32>, %w: tensor<4x16x512xi8>) attributes {flops = 276824064 : i64, bytes = 9469952 : i64, layouts = [unit, #exec.panel<dim = 2, width = 32>, unit]} {
  %0 = grad.matmul %x, %w wide : tensor<4x4096x16xf32>, tensor<4x16x512xi8>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4x4096x512xf32>
  exec.yield %1 : tensor<4096x512xf32>
}
// V4-LABEL: exec.kernel @colliding_panels(
// V4-SAME: order = [0, 1]
exec.kernel @colliding_panels(%x: tensor<4096x16xf32>, %w: tensor<16x512xf32>) attributes {flops = 67108864 : i64, bytes = 8683520 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32>, #exec.panel<dim = 1, width = 32>]} {
  %0 = grad.matmul %x, %w : tensor<4096x16xf32>, tensor<16x512xf32>
  exec.yield %0 : tensor<4096x512xf32>
}

// With one vector of columns, registers hold twice as many rows.

// V3-LABEL: exec.kernel @narrow(
// V3-SAME: #exec.schedule<lanes = 8, tile = [12, 8], order = [0, 1], grain = 10>
exec.kernel @narrow(%x: tensor<256x64xf32>, %w: tensor<64x8xf32>) attributes {flops = 262144 : i64, bytes = 75776 : i64} {
  %0 = grad.matmul %x, %w : tensor<256x64xf32>, tensor<64x8xf32>
  exec.yield %0 : tensor<256x8xf32>
}
// V4-LABEL: exec.kernel @narrow16(
// V4-SAME: #exec.schedule<lanes = 16, tile = [16, 16], order = [0, 1], grain = 6>
exec.kernel @narrow16(%x: tensor<256x64xf32>, %w: tensor<64x12xf32>) attributes {flops = 393216 : i64, bytes = 80896 : i64} {
  %0 = grad.matmul %x, %w : tensor<256x64xf32>, tensor<64x12xf32>
  exec.yield %0 : tensor<256x12xf32>
}

// V3-LABEL: exec.kernel @tall(
// V3-SAME: #exec.schedule<lanes = 8, tile = [6, 16], order = [0, 1], grain = 7>
// V4-LABEL: exec.kernel @tall(
// V4-SAME: #exec.schedule<lanes = 16, tile = [8, 32], order = [0, 1], grain = 6>
exec.kernel @tall(%x: tensor<256x64xf32>, %w: tensor<64x32xf32>) attributes {flops = 1048576 : i64, bytes = 106496 : i64} {
  %0 = grad.matmul %x, %w : tensor<256x64xf32>, tensor<64x32xf32>
  exec.yield %0 : tensor<256x32xf32>
}

// With one row, registers hold more columns: whole panels of 2 vectors.

// V3-LABEL: exec.kernel @row(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 48], order = [1, 0], grain = 1, block = [8]>
// V4-LABEL: exec.kernel @row(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 128], order = [1, 0], grain = 1, block = [8]>
exec.kernel @row(%x: tensor<1x768xf32>, %w: tensor<768x2304xf32>) attributes {flops = 3538944 : i64, bytes = 7090176 : i64} {
  %0 = grad.matmul %x, %w : tensor<1x768xf32>, tensor<768x2304xf32>
  exec.yield %0 : tensor<1x2304xf32>
}

// If all columns are one tile, it may end inside a panel.

// V4-LABEL: exec.kernel @few_columns(
// V4-SAME: tile = [1, 48]
exec.kernel @few_columns(%x: tensor<1x768xf32>, %w: tensor<768x48xf32>) attributes {flops = 73728 : i64, bytes = 150720 : i64} {
  %0 = grad.matmul %x, %w : tensor<1x768xf32>, tensor<768x48xf32>
  exec.yield %0 : tensor<1x48xf32>
}

// If the batch is a single sample, other dims are shared: heads and positions.

// V3-LABEL: exec.kernel @heads(
// V3-SAME: order = [1, 0, 2, 3]
// V4-LABEL: exec.kernel @heads(
// V4-SAME: order = [1, 0, 2, 3]
exec.kernel @heads(%x: tensor<1x12x64x64xf32>, %y: tensor<1x12x64x64xf32>) attributes {flops = 6291456 : i64, bytes = 589824 : i64} {
  %0 = grad.matmul %x, %y : tensor<1x12x64x64xf32>, tensor<1x12x64x64xf32>
  exec.yield %0 : tensor<1x12x64x64xf32>
}

// V3-LABEL: exec.kernel @positions(
// V3-SAME: order = [1, 0, 2]
// V4-LABEL: exec.kernel @positions(
// V4-SAME: order = [1, 0, 2]
exec.kernel @positions(%x: tensor<1x64x768xf32>) attributes {flops = 1000000 : i64, bytes = 393216 : i64} {
  %0 = grad.exp %x : tensor<1x64x768xf32>
  %1 = grad.reduce_sum %0 dims [2] : tensor<1x64x768xf32>
  exec.yield %0, %1 : tensor<1x64x768xf32>, tensor<1x64xf32>
}

// Not if another result would then need its own loop.

// V3-LABEL: exec.kernel @samples(
// V3-SAME: order = [0, 1, 2]
// V4-LABEL: exec.kernel @samples(
// V4-SAME: order = [0, 1, 2]
exec.kernel @samples(%x: tensor<2x64x768xf32>) attributes {flops = 1000000 : i64, bytes = 786432 : i64} {
  %0 = grad.exp %x : tensor<2x64x768xf32>
  %1 = grad.reduce_sum %0 dims [1, 2] : tensor<2x64x768xf32>
  exec.yield %0, %1 : tensor<2x64x768xf32>, tensor<2xf32>
}

// Batches are outermost, and are units already.

// V3-LABEL: exec.kernel @batched(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 6, 16], order = [0, 1, 2], grain = 1>
// V4-LABEL: exec.kernel @batched(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 8, 32], order = [0, 1, 2], grain = 1>
exec.kernel @batched(%x: tensor<4x256x64xf32>, %w: tensor<4x64x128xf32>) attributes {flops = 16777216 : i64, bytes = 917504 : i64} {
  %0 = grad.matmul %x, %w : tensor<4x256x64xf32>, tensor<4x64x128xf32>
  exec.yield %0 : tensor<4x256x128xf32>
}

// V3-LABEL: exec.kernel @few_rows(
// V3-SAME: #exec.schedule<lanes = 8, tile = [2, 32], order = [1, 0], grain = 4>
// V4-LABEL: exec.kernel @few_rows(
// V4-SAME: #exec.schedule<lanes = 16, tile = [2, 64], order = [1, 0], grain = 2>
exec.kernel @few_rows(%x: tensor<2x64xf32>, %w: tensor<64x128xf32>) attributes {flops = 32768 : i64, bytes = 34304 : i64} {
  %0 = grad.matmul %x, %w : tensor<2x64xf32>, tensor<64x128xf32>
  exec.yield %0 : tensor<2x128xf32>
}

// Vectors run along the rows of few columns, also along those of a single column with dims of one element behind it. With a lhs across
// the sum, as many vectors as accumulators hide their latency.

// V4-LABEL: exec.kernel @three_columns(
// V4-SAME: tile = [16, 3], order = [0, 1]
exec.kernel @three_columns(%x: tensor<512x256xf32>, %w: tensor<256x3xf32>) attributes {flops = 786432 : i64, bytes = 533504 : i64} {
  %0 = grad.matmul %x, %w : tensor<512x256xf32>, tensor<256x3xf32>
  exec.yield %0 : tensor<512x3xf32>
}
// V4-LABEL: exec.kernel @one_column(
// V4-SAME: tile = [64, 1], order = [0, 1], grain = {{[0-9]+}}, block = [8]
exec.kernel @one_column(%x: tensor<4096x256xf32>, %g: tensor<4096x1xf32>) attributes {flops = 2097152 : i64, bytes = 4211712 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<4096x256xf32>, tensor<4096x1xf32>
  exec.yield %0 : tensor<256x1xf32>
}
// V4-LABEL: exec.kernel @loss_of_one_column(
// V4-SAME: tile = [64, 1], order = [0, 1]
exec.kernel @loss_of_one_column(%x: tensor<4096x1xf32>) attributes {flops = 4096 : i64, bytes = 32768 : i64} {
  %0 = grad.tanh %x : tensor<4096x1xf32>
  exec.yield %0 : tensor<4096x1xf32>
}
// Threads share the rows, also behind a dim of one element.

// V4-LABEL: exec.kernel @one_batch(
// V4-SAME: tile = [1, 16, 8], order = [1, 0, 2]
exec.kernel @one_batch(%x: tensor<1x4096x64xf32>, %w: tensor<1x64x8xf32>) attributes {flops = 4194304 : i64, bytes = 1181696 : i64} {
  %0 = grad.matmul %x, %w : tensor<1x4096x64xf32>, tensor<1x64x8xf32>
  exec.yield %0 : tensor<1x4096x8xf32>
}
// V4-LABEL: exec.kernel @one_line(
// V4-SAME: tile = [1, 64, 1], order = [1, 0, 2]
exec.kernel @one_line(%x: tensor<1x4096x1xf32>) attributes {flops = 4096 : i64, bytes = 32768 : i64} {
  %0 = grad.tanh %x : tensor<1x4096x1xf32>
  exec.yield %0 : tensor<1x4096x1xf32>
}

// Neither dot products nor few rows have vectors along their rows.

// V4-LABEL: exec.kernel @bf16_of_three(
// V4-SAME: tile = [16, 16]
exec.kernel @bf16_of_three(%x: tensor<512x256xbf16>, %w: tensor<256x3xbf16>) attributes {flops = 786432 : i64, bytes = 266752 : i64} {
  %0 = grad.matmul %x, %w : tensor<512x256xbf16>, tensor<256x3xbf16>
  exec.yield %0 : tensor<512x3xbf16>
}
// V4-LABEL: exec.kernel @few_rows_of_three(
// V4-SAME: tile = [8, 16]
exec.kernel @few_rows_of_three(%x: tensor<8x256xf32>, %w: tensor<256x3xf32>) attributes {flops = 12288 : i64, bytes = 11360 : i64} {
  %0 = grad.matmul %x, %w : tensor<8x256xf32>, tensor<256x3xf32>
  exec.yield %0 : tensor<8x3xf32>
}

// f64 has half as many lanes.

// V3-LABEL: exec.kernel @contraction64(
// V3-SAME: #exec.schedule<lanes = 4, tile = [6, 8], order = [1, 0], grain = 1, panels = [0, 16]>
// V4-LABEL: exec.kernel @contraction64(
// V4-SAME: #exec.schedule<lanes = 8, tile = [8, 16], order = [1, 0], grain = 1, panels = [0, 8]>
exec.kernel @contraction64(%x: tensor<256x64xf64>, %w: tensor<64x128xf64>) attributes {flops = 4194304 : i64, bytes = 458752 : i64} {
  %0 = grad.matmul %x, %w : tensor<256x64xf64>, tensor<64x128xf64>
  exec.yield %0 : tensor<256x128xf64>
}

// A product with both operands across a long sum is walked in blocks, but not one with rows along it. Factors whose rows are multiples of 1 KB or
// longer than 2 are copied in panels, block by block; units that share copies of an inner tile are not taken one by one.
// Where the lhs is not copied, a tile has as many rows as registers hold.

// V3-LABEL: exec.kernel @long(
// V3-SAME: #exec.schedule<lanes = 8, tile = [6, 16], order = [1, 0], grain = 1, block = [128], panels = [0, 16]>
// V4-LABEL: exec.kernel @long(
// V4-SAME: #exec.schedule<lanes = 16, tile = [13, 32], order = [1, 0], grain = 1, block = [128], panels = [0, 8]>
exec.kernel @long(%x: tensor<1024x64xf32>, %g: tensor<1024x256xf32>) attributes {flops = 33554432 : i64, bytes = 1376256 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<1024x64xf32>, tensor<1024x256xf32>
  exec.yield %0 : tensor<64x256xf32>
}

// Units are tiles of the longer dim.

// V3-LABEL: exec.kernel @longer(
// V3-SAME: tile = [6, 16], order = [0, 1], grain = 4, panels = [85, 1]>
// V4-LABEL: exec.kernel @longer(
// V4-SAME: tile = [8, 32], order = [0, 1], grain = 3, block = [128], panels = [64, 1]>
exec.kernel @longer(%x: tensor<1024x768xf32>, %g: tensor<1024x256xf32>) attributes {flops = 402653184 : i64, bytes = 4980736 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<1024x768xf32>, tensor<1024x256xf32>
  exec.yield %0 : tensor<768x256xf32>
}

// Of a sum over several dims, the innermost ones fill a block: four steps of 32 rows.

// V3-LABEL: exec.kernel @steps(
// V3-SAME: tile = [6, 16], order = [1, 0], grain = 1, block = [4, 32]>
// V4-LABEL: exec.kernel @steps(
// V4-SAME: tile = [8, 32], order = [1, 0], grain = 1, block = [4, 32]>
exec.kernel @steps(%x: tensor<40x32x64xf32>, %g: tensor<40x32x256xf32>) attributes {flops = 41943040 : i64, bytes = 1703936 : i64} {
  %0 = grad.convolution %x, %g dims "tnk,tno->ko" window <[]> : tensor<40x32x64xf32>, tensor<40x32x256xf32>
  exec.yield %0 : tensor<64x256xf32>
}

// V4-LABEL: exec.kernel @along(
// V4-NOT: block
// V4: grad.matmul
exec.kernel @along(%x: tensor<64x1024xf32>, %g: tensor<1024x256xf32>) attributes {flops = 33554432 : i64, bytes = 1376256 : i64} {
  %0 = grad.matmul %x, %g : tensor<64x1024xf32>, tensor<1024x256xf32>
  exec.yield %0 : tensor<64x256xf32>
}

// If all tensors of an elementwise kernel have the same panels, a unit is a panel, walked from end to end. If another operand is
// row-major, it is a row.

// V4-LABEL: exec.kernel @in_panels(
// V4-SAME: tile = [2, 32], order = [1, 0]
exec.kernel @in_panels(%w: tensor<96x64xf32>, %g: tensor<96x64xf32>, %rate: tensor<f32>) attributes {
    layouts = [#exec.panel<dim = 1, width = 32>, #exec.panel<dim = 1, width = 32>, unit, #exec.panel<dim = 1, width = 32>]} {
  %0 = grad.broadcast %rate dims [] : tensor<f32> -> tensor<96x64xf32>
  %1 = grad.mul %g, %0 : tensor<96x64xf32>
  %2 = grad.sub %w, %1 : tensor<96x64xf32>
  exec.yield %2 : tensor<96x64xf32>
}

// V4-LABEL: exec.kernel @from_rows(
// V4-SAME: tile = [1, 64], order = [0, 1]
exec.kernel @from_rows(%w: tensor<96x64xf32>, %g: tensor<96x64xf32>) attributes {
    layouts = [#exec.panel<dim = 1, width = 32>, unit, #exec.panel<dim = 1, width = 32>]} {
  %0 = grad.sub %w, %g : tensor<96x64xf32>
  exec.yield %0 : tensor<96x64xf32>
}

// Panels along rows hold a vector of rows.

// V4-LABEL: exec.kernel @panels_of_rows(
// V4-SAME: tile = [32, 16], order = [0, 1]
exec.kernel @panels_of_rows(%w: tensor<96x64xf32>) attributes {
    layouts = [#exec.panel<dim = 0, width = 32>, #exec.panel<dim = 0, width = 32>]} {
  %0 = grad.relu %w : tensor<96x64xf32>
  exec.yield %0 : tensor<96x64xf32>
}

// Panels of pairs are written by both rows of a pair together, a few panels at a time; rows of pairs are written in squares. Sums of
// factors in pairs have blocks of twice as many steps.

// V4-LABEL: exec.kernel @paired(
// V4-SAME: tile = [2, 64], order = [1, 0]
exec.kernel @paired(%x: tensor<1024x384xbf16>) attributes {layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>]} {
  exec.yield %x : tensor<1024x384xbf16>
}

// V4-LABEL: exec.kernel @turned(
// V4-SAME: tile = [1, 16, 32], order = [1, 0, 2]
exec.kernel @turned(%x: tensor<4x128x64xbf16>) attributes {layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 2>]} {
  exec.yield %x : tensor<4x128x64xbf16>
}

// V4-LABEL: exec.kernel @gradient_of_pairs(
// V4-SAME: block = [256]
exec.kernel @gradient_of_pairs(%x: tensor<1024x384xbf16>, %y: tensor<1024x384xbf16>) attributes {flops = 301989888 : i64, layouts = [#exec.panel<dim = 1, width = 32, pairs = 0>, #exec.panel<dim = 1, width = 32, pairs = 0>, unit]} {
  %0 = grad.matmul %x, %y transpose_lhs wide : tensor<1024x384xbf16>, tensor<1024x384xbf16>
  exec.yield %0 : tensor<384x384xf32>
}

// V4-LABEL: exec.kernel @gradient_of_rows(
// V4-SAME: block = [128]
exec.kernel @gradient_of_rows(%x: tensor<1024x384xbf16>, %y: tensor<1024x384xbf16>) attributes {flops = 301989888 : i64} {
  %0 = grad.matmul %x, %y transpose_lhs wide : tensor<1024x384xbf16>, tensor<1024x384xbf16>
  exec.yield %0 : tensor<384x384xf32>
}
}
