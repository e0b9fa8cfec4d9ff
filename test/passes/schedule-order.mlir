// RUN: sed s/LEVEL/x86-64-v3/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V3
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V4

// Which dims a tile has rows of, and which loop is outermost, where memory decides.
module attributes {exec.level = "LEVEL"} {

// A square of a transpose lies along the dims that the last dims of operand and result become.

// V3-LABEL: exec.kernel @transpose_of_dims(
// V3-SAME: tile = [1, 8, 1, 8], order = [0, 1, 2, 3]
// V4-LABEL: exec.kernel @transpose_of_dims(
// V4-SAME: tile = [1, 16, 1, 16], order = [0, 1, 2, 3]
exec.kernel @transpose_of_dims(%x: tensor<8x8x16x192xf32>) attributes {flops = 196608 : i64, bytes = 1572864 : i64} {
  %0 = grad.transpose %x permutation [2, 3, 0, 1] : tensor<8x8x16x192xf32>
  exec.yield %0 : tensor<16x192x8x8xf32>
}

// Panels of the result are written one after another.

// V4-LABEL: exec.kernel @into_panels(
// V4-SAME: tile = [16, 16], order = [1, 0]
exec.kernel @into_panels(%x: tensor<1024x256xf32>) attributes {flops = 0 : i64, bytes = 2097152 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32>]} {
  %0 = grad.transpose %x permutation [1, 0] : tensor<1024x256xf32>
  exec.yield %0 : tensor<256x1024xf32>
}

// Sums of rows: many columns together, but units for eight threads.

// V3-LABEL: exec.kernel @columns(
// V3-SAME: tile = [64]
// V4-LABEL: exec.kernel @columns(
// V4-SAME: tile = [256]
exec.kernel @columns(%x: tensor<1024x4096xf32>) attributes {flops = 4194304 : i64, bytes = 16793600 : i64} {
  %0 = grad.reduce_sum %x dims [0] : tensor<1024x4096xf32>
  exec.yield %0 : tensor<4096xf32>
}
// V4-LABEL: exec.kernel @fewer_columns(
// V4-SAME: tile = [128]
exec.kernel @fewer_columns(%x: tensor<1024x1024xf32>) attributes {flops = 1048576 : i64, bytes = 4198400 : i64} {
  %0 = grad.reduce_sum %x dims [0] : tensor<1024x1024xf32>
  exec.yield %0 : tensor<1024xf32>
}
// V4-LABEL: exec.kernel @rows(
// V4-SAME: tile = [16]
exec.kernel @rows(%x: tensor<4096x1024xf32>) attributes {flops = 4194304 : i64, bytes = 16793600 : i64} {
  %0 = grad.reduce_sum %x dims [1] : tensor<4096x1024xf32>
  exec.yield %0 : tensor<4096xf32>
}

// Nothing is summed, or there is nothing to sum into.

// V4-LABEL: exec.kernel @no_columns(
// V4-SAME: tile = [16]
exec.kernel @no_columns(%x: tensor<4x0xf32>) attributes {flops = 0 : i64, bytes = 0 : i64} {
  %0 = grad.reduce_sum %x dims [0] : tensor<4x0xf32>
  exec.yield %0 : tensor<0xf32>
}
// V4-LABEL: exec.kernel @no_rows(
// V4-SAME: tile = [
exec.kernel @no_rows(%x: tensor<512x0xf32>, %g: tensor<512x64xf32>) attributes {flops = 0 : i64, bytes = 131072 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<512x0xf32>, tensor<512x64xf32>
  exec.yield %0 : tensor<0x64xf32>
}

// Neighbouring columns of a depthwise convolution share what they read; pictures do not.

// V3-LABEL: exec.kernel @depthwise(
// V3-SAME: tile = [1, 6, 1, 16]
// V4-LABEL: exec.kernel @depthwise(
// V4-SAME: tile = [1, 7, 1, 32], order = [0, 2, 3, 1]
exec.kernel @depthwise(%x: tensor<28x28x8x64xf32>, %w: tensor<7x7x64xf32>) attributes {flops = 35471360 : i64, bytes = 3224064 : i64} {
  %0 = grad.convolution %x, %w dims "nc,c->nc" window <[7, 7] low [3, 3] high [3, 3]> : tensor<28x28x8x64xf32>, tensor<7x7x64xf32>
  exec.yield %0 : tensor<28x28x8x64xf32>
}
// V4-LABEL: exec.kernel @dense(
// V4-SAME: tile = [1, 1, 8, 32]
exec.kernel @dense(%x: tensor<28x28x8x16xf32>, %w: tensor<3x3x16x64xf32>) attributes {flops = 115605504 : i64, bytes = 2060000 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<28x28x8x16xf32>, tensor<3x3x16x64xf32>
  exec.yield %0 : tensor<28x28x8x64xf32>
}

// Panels that all stay in cache are read for each tile of rows, so that the lhs is read once and results are written row by row.

// V4-LABEL: exec.kernel @small_weight(
// V4-SAME: order = [0, 1]
exec.kernel @small_weight(%x: tensor<6272x64xf32>, %w: tensor<64x256xf32>) attributes {flops = 205520896 : i64, bytes = 8093696 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32>, unit]} {
  %0 = grad.matmul %x, %w : tensor<6272x64xf32>, tensor<64x256xf32>
  exec.yield %0 : tensor<6272x256xf32>
}
// V4-LABEL: exec.kernel @larger_weight(
// V4-SAME: order = [1, 0]
exec.kernel @larger_weight(%x: tensor<1024x256xf32>, %w: tensor<256x1024xf32>) attributes {flops = 536870912 : i64, bytes = 6291456 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32>, unit]} {
  %0 = grad.matmul %x, %w : tensor<1024x256xf32>, tensor<256x1024xf32>
  exec.yield %0 : tensor<1024x1024xf32>
}
// V4-LABEL: exec.kernel @few_rows(
// V4-SAME: order = [1, 0]
exec.kernel @few_rows(%x: tensor<32x64xf32>, %w: tensor<64x256xf32>) attributes {flops = 1048576 : i64, bytes = 106496 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32>, unit]} {
  %0 = grad.matmul %x, %w : tensor<32x64xf32>, tensor<64x256xf32>
  exec.yield %0 : tensor<32x256xf32>
}
// A product whose batch is reduced has tiles of the reduction's result: all blocks of some columns, which stay in registers.

// V3-LABEL: exec.kernel @blocks_of_codes(
// V3-SAME: tile = [1, 48], order = [1, 0]
// V4-LABEL: exec.kernel @blocks_of_codes(
// V4-SAME: tile = [1, 128], order = [1, 0]
exec.kernel @blocks_of_codes(%x: tensor<128x1x32xf32>, %codes: tensor<128x32x4096xi8>, %scales: tensor<128x4096xf32>) attributes {flops = 35127296 : i64, bytes = 18907136 : i64, layouts = [unit, #exec.panel<dim = 2, width = 32>, unit, unit]} {
  %0 = grad.matmul %x, %codes wide : tensor<128x1x32xf32>, tensor<128x32x4096xi8>
  %1 = grad.broadcast %scales dims [0, 2] : tensor<128x4096xf32> -> tensor<128x1x4096xf32>
  %2 = grad.mul %0, %1 : tensor<128x1x4096xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<128x1x4096xf32>
  exec.yield %3 : tensor<1x4096xf32>
}
}
