// RUN: sed s/LEVEL/x86-64-v3/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V3
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V4

module attributes {exec.level = "LEVEL"} {

// The rows of a convolution are pictures. A filter that fits in a cache is walked pixel by pixel ...

// V3-LABEL: exec.kernel @pixels(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 1, 6, 16], order = [0, 1, 3, 2], grain = 1>
// V4-LABEL: exec.kernel @pixels(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 1, 8, 32], order = [0, 1, 3, 2], grain = 1>
exec.kernel @pixels(%x: tensor<16x16x32x64xf32>, %w: tensor<3x3x64x64xf32>) attributes {flops = 575668224 : i64, bytes = 4341760 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<16x16x32x64xf32>, tensor<3x3x64x64xf32>
  exec.yield %0 : tensor<16x16x32x64xf32>
}

// ... and each panel of a large filter meets all pixels.

// V3-LABEL: exec.kernel @panels(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 1, 6, 16], order = [3, 0, 1, 2], grain = 1>
// V4-LABEL: exec.kernel @panels(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 1, 8, 32], order = [3, 0, 1, 2], grain = 1>
exec.kernel @panels(%x: tensor<4x4x32x256xf32>, %w: tensor<3x3x256x256xf32>) attributes {flops = 419430400 : i64, bytes = 3407872 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<4x4x32x256xf32>, tensor<3x3x256x256xf32>
  exec.yield %0 : tensor<4x4x32x256xf32>
}

// Of few pictures that are dilated, the rows are positions that see the same taps, of a dim inside the outermost one. Long
// signals with many filters are walked filter by filter; a single row is left where filters are few.

// V3-LABEL: exec.kernel @dilated(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 6, 1, 16], order = [3, 0, 1, 2], grain = 1, spacing = [1, 2, 1, 1]>
// V4-LABEL: exec.kernel @dilated(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 8, 1, 32], order = [0, 1, 3, 2], grain = 1, spacing = [1, 2, 1, 1]>
exec.kernel @dilated(%x: tensor<16x16x1x128xf32>, %w: tensor<4x4x128x64xf32>) attributes {flops = 63307776 : i64, bytes = 918016 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[4, 4] low [2, 2] high [2, 2] base [2, 2] reversed> : tensor<16x16x1x128xf32>, tensor<4x4x128x64xf32>
  exec.yield %0 : tensor<32x32x1x64xf32>
}
// V3-LABEL: exec.kernel @signal(
// V3-SAME: order = [2, 0, 1], grain = 1, spacing = [8, 1, 1]>
// V4-LABEL: exec.kernel @signal(
// V4-SAME: order = [2, 0, 1], grain = 1, spacing = [8, 1, 1]>
exec.kernel @signal(%x: tensor<100x1x512xf32>, %w: tensor<16x512x256xf32>) attributes {flops = 419430400 : i64, bytes = 9400000 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[16] low [11] high [11] base [8] reversed> : tensor<100x1x512xf32>, tensor<16x512x256xf32>
  exec.yield %0 : tensor<800x1x256xf32>
}
// V4-LABEL: exec.kernel @few_filters(
// V4-NOT: spacing
// V4: exec.yield
exec.kernel @few_filters(%x: tensor<100x1x64xf32>, %w: tensor<4x64x32xf32>) attributes {flops = 1638400 : i64, bytes = 80000 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[4] low [2] high [2] base [2] reversed> : tensor<100x1x64xf32>, tensor<4x64x32xf32>
  exec.yield %0 : tensor<200x1x32xf32>
}

// So are those of a sum of 16-bit numbers that is rounded to 16 bits.
// V4-LABEL: exec.kernel @rounded(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 8, 1, 32],
exec.kernel @rounded(%x: tensor<16x16x1x64xbf16>, %w: tensor<3x3x64x64xbf16>) attributes {flops = 17989632 : i64, bytes = 139264 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> wide : tensor<16x16x1x64xbf16>, tensor<3x3x64x64xbf16>
  %1 = grad.cast %0 : tensor<16x16x1x64xf32> -> tensor<16x16x1x64xbf16>
  exec.yield %1 : tensor<16x16x1x64xbf16>
}

// For pictures of odd size, a filter gradient walks the pictures in blocks of a sum that is long enough to pay for its accumulators.
// Units are tiles of filters or, if there are few, of channels, or the taps of the longest dim.

// V3-LABEL: exec.kernel @blocks(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 1, 6, 16], order = [2, 3, 0, 1], grain = 1, block = [1, 4]>
// V4-LABEL: exec.kernel @blocks(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 1, 8, 32], order = [2, 3, 0, 1], grain = 1, block = [1, 4]>
exec.kernel @blocks(%x: tensor<15x15x32x64xf32>, %g: tensor<15x15x32x64xf32>) attributes {flops = 575668224 : i64, bytes = 4341760 : i64} {
  %0 = grad.convolution %x, %g dims "nc,no->co" window <[15, 15] low [1, 1] high [1, 1]> : tensor<15x15x32x64xf32>, tensor<15x15x32x64xf32>
  exec.yield %0 : tensor<3x3x64x64xf32>
}

// V3-LABEL: exec.kernel @few_channels_and_filters(
// V3-SAME: tile = [1, 1, 3, 16], order = [0, 3, 1, 2], grain = 1
// V4-LABEL: exec.kernel @few_channels_and_filters(
// V4-SAME: tile = [1, 1, 3, 16], order = [0, 3, 1, 2], grain = 1
exec.kernel @few_channels_and_filters(%x: tensor<32x32x64x3xf32>, %g: tensor<32x32x64x16xf32>) attributes {flops = 54288384 : i64, bytes = 4982784 : i64} {
  %0 = grad.convolution %x, %g dims "nc,no->co" window <[32, 32] low [1, 1] high [1, 1]> : tensor<32x32x64x3xf32>, tensor<32x32x64x16xf32>
  exec.yield %0 : tensor<3x3x3x16xf32>
}

// V4-LABEL: exec.kernel @taps_in_a_row(
// V4-SAME: tile = [1, 1, 3, 16], order = [1, 3, 0, 2], grain = 1
exec.kernel @taps_in_a_row(%x: tensor<32x32x64x3xf32>, %g: tensor<32x32x64x16xf32>) attributes {flops = 42205184 : i64, bytes = 4981760 : i64} {
  %0 = grad.convolution %x, %g dims "nc,no->co" window <[32, 32] low [0, 3] high [0, 3]> : tensor<32x32x64x3xf32>, tensor<32x32x64x16xf32>
  exec.yield %0 : tensor<1x7x3x16xf32>
}
// Filters are transformed in f32 alone, gradients of any floats that are summed in f32.
// V4-LABEL: exec.kernel @forward_of_bf16(
// V4-NOT: winograd
// V4-LABEL: exec.kernel @gradient_of_bf16(
// V4-SAME: winograd4x4
exec.kernel @forward_of_bf16(%x: tensor<16x16x32x64xbf16>, %w: tensor<3x3x64x64xbf16>) attributes {flops = 575668224 : i64, bytes = 2170880 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> wide : tensor<16x16x32x64xbf16>, tensor<3x3x64x64xbf16>
  exec.yield %0 : tensor<16x16x32x64xf32>
}
exec.kernel @gradient_of_bf16(%x: tensor<16x16x32x64xbf16>, %g: tensor<16x16x32x64xbf16>) attributes {flops = 575668224 : i64, bytes = 2170880 : i64} {
  %0 = grad.convolution %x, %g dims "nc,no->co" window <[16, 16] low [1, 1] high [1, 1]> wide : tensor<16x16x32x64xbf16>, tensor<16x16x32x64xbf16>
  exec.yield %0 : tensor<3x3x64x64xf32>
}

// V3-LABEL: exec.kernel @many_filters(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 1, 6, 16], order = [3, 0, 1, 2], grain = 1, block = [1, 4]>
// V4-LABEL: exec.kernel @many_filters(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 1, 8, 32], order = [3, 0, 1, 2], grain = 1, block = [1, 4]>
exec.kernel @many_filters(%x: tensor<15x15x32x64xf32>, %g: tensor<15x15x32x256xf32>) attributes {flops = 2302672896 : i64, bytes = 9658368 : i64} {
  %0 = grad.convolution %x, %g dims "nc,no->co" window <[15, 15] low [1, 1] high [1, 1]> : tensor<15x15x32x64xf32>, tensor<15x15x32x256xf32>
  exec.yield %0 : tensor<3x3x64x256xf32>
}

// Other filter gradients use Winograd's algorithm: a unit is a number of input channels.

// V3-LABEL: exec.kernel @gradient(
// V3-SAME: #exec.schedule<lanes = 8, tile = [3, 3, 16, 64], order = [2, 3, 0, 1], grain = 1, block = [4, 4, 8], winograd4x4>
// A larger second-level cache holds the sums of more filters.
// V4-LABEL: exec.kernel @gradient(
// V4-SAME: #exec.schedule<lanes = 16, tile = [3, 3, 16, 128], order = [2, 3, 0, 1], grain = 1, block = [4, 4, 16], winograd4x4>
exec.kernel @gradient(%x: tensor<16x16x32x64xf32>, %g: tensor<16x16x32x128xf32>) attributes {flops = 1151336448 : i64, bytes = 6586368 : i64} {
  %0 = grad.convolution %x, %g dims "nc,no->co" window <[16, 16] low [1, 1] high [1, 1]> : tensor<16x16x32x64xf32>, tensor<16x16x32x128xf32>
  exec.yield %0 : tensor<3x3x64x128xf32>
}

// With few pictures, their positions are rows as well, as many in each tile.

// V3-LABEL: exec.kernel @few(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 3, 2, 16], order = [0, 1, 3, 2], grain = 1>
// V4-LABEL: exec.kernel @few(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 4, 2, 32], order = [0, 1, 3, 2], grain = 1>
exec.kernel @few(%x: tensor<8x8x2x16xf32>, %w: tensor<3x3x16x64xf32>) attributes {flops = 2359296 : i64, bytes = 118784 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<8x8x2x16xf32>, tensor<3x3x16x64xf32>
  exec.yield %0 : tensor<8x8x2x64xf32>
}

// V3-LABEL: exec.kernel @one(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 5, 1, 16], order = [0, 1, 3, 2], grain = 1>
// V4-LABEL: exec.kernel @one(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 7, 1, 32], order = [0, 1, 3, 2], grain = 2>
exec.kernel @one(%x: tensor<14x14x1x64xf32>, %w: tensor<1x1x64x64xf32>) attributes {flops = 1605632 : i64, bytes = 116736 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[1, 1]> : tensor<14x14x1x64xf32>, tensor<1x1x64x64xf32>
  exec.yield %0 : tensor<14x14x1x64xf32>
}

// With few rows, registers hold more columns.

// V3-LABEL: exec.kernel @alone(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 1, 2, 32], order = [0, 1, 3, 2], grain = 1>
// V4-LABEL: exec.kernel @alone(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 1, 2, 64], order = [0, 1, 3, 2], grain = 1>
exec.kernel @alone(%x: tensor<3x3x2x16xf32>, %w: tensor<3x3x16x64xf32>) attributes {flops = 36864 : i64, bytes = 38528 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3]> : tensor<3x3x2x16xf32>, tensor<3x3x16x64xf32>
  exec.yield %0 : tensor<1x1x2x64xf32>
}

// Groups have separate filters: rows are the pictures of a group.

// V3-LABEL: exec.kernel @groups(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 1, 6, 1, 16], order = [0, 1, 3, 4, 2], grain = 1>
// V4-LABEL: exec.kernel @groups(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 1, 8, 1, 32], order = [0, 1, 3, 4, 2], grain = 1>
exec.kernel @groups(%x: tensor<8x8x32x3x16xf32>, %w: tensor<1x1x3x16x32xf32>) attributes {flops = 6291456 : i64, bytes = 1185792 : i64} {
  %0 = grad.convolution %x, %w dims "ngc,gco->ngo" window <[1, 1]> : tensor<8x8x32x3x16xf32>, tensor<1x1x3x16x32xf32>
  exec.yield %0 : tensor<8x8x32x3x32xf32>
}

// Rows of a tile are positions along the dim without padding, where they all have the same taps.

// V3-LABEL: exec.kernel @wide(
// V3-SAME: #exec.schedule<lanes = 8, tile = [6, 1, 1, 16], order = [0, 1, 3, 2], grain = 1>
// V4-LABEL: exec.kernel @wide(
// V4-SAME: #exec.schedule<lanes = 16, tile = [6, 1, 1, 32], order = [0, 1, 3, 2], grain = 1>
exec.kernel @wide(%x: tensor<17x17x1x64xf32>, %w: tensor<1x7x64x64xf32>) attributes {flops = 16572416 : i64, bytes = 262656 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[1, 7] low [0, 3] high [0, 3]> : tensor<17x17x1x64xf32>, tensor<1x7x64x64xf32>
  exec.yield %0 : tensor<17x17x1x64xf32>
}

// A filter stored transformed: windows of two by two or four by four results, as many at once as fit in a cache with their
// transforms; the filter panel by panel, with as many channels as a transpose in registers needs. Its flops are those of 16
// products where the definition has 36, or of 36 where it has 144.

// V3-LABEL: exec.kernel @transformed(
// V3-SAME: flops = 535006776
// V3-SAME: #exec.schedule<lanes = 8, tile = [2, 2, 32, 16], order = [0, 1, 2, 3], grain = 1, winograd2x2>
// V3-LABEL: exec.kernel @larger(
// V3-SAME: flops = 319291392
// V3-SAME: #exec.schedule<lanes = 8, tile = [8, 4, 32, 16], order = [0, 1, 2, 3], grain = 1, winograd4x4>
// V3-LABEL: exec.kernel @fewer(
// V3-SAME: #exec.schedule<lanes = 8, tile = [2, 8, 16, 16], order = [0, 1, 2, 3], grain = 1, winograd2x2>
// A filter larger than the cache is read once by each block, so blocks have several lines of windows, and odd sizes a
// last block that is cut off; in four units at least, two if the filter is larger still.
// V3-LABEL: exec.kernel @deep(
// V3-SAME: #exec.schedule<lanes = 8, tile = [6, 28, 1, 16], order = [0, 1, 2, 3], grain = 1, winograd2x2>
// V3-LABEL: exec.kernel @odd(
// V3-SAME: #exec.schedule<lanes = 8, tile = [4, 14, 1, 16], order = [0, 1, 2, 3], grain = 1, winograd2x2>
// V3-LABEL: exec.kernel @filter(
// V3-SAME: #exec.schedule<lanes = 8, tile = [3, 3, 1, 16], order = [3, 2, 0, 1], grain = 1>
// V3-LABEL: exec.kernel @filter_transposed(
// V3-SAME: #exec.schedule<lanes = 8, tile = [3, 3, 8, 16], order = [3, 2, 0, 1], grain = 1>
exec.kernel @transformed(%x: tensor<16x16x64x64xf32>, %w: tensor<3x3x64x64xf32>) attributes {flops = 1151336448 : i64, bytes = 8683520 : i64,
    layouts = [unit, #exec.panel<dim = 3, width = 16, winograd2x2>, unit]} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<16x16x64x64xf32>, tensor<3x3x64x64xf32>
  exec.yield %0 : tensor<16x16x64x64xf32>
}
exec.kernel @larger(%x: tensor<16x16x64x64xf32>, %w: tensor<3x3x64x64xf32>) attributes {flops = 1151336448 : i64, bytes = 8683520 : i64,
    layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>, unit]} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<16x16x64x64xf32>, tensor<3x3x64x64xf32>
  exec.yield %0 : tensor<16x16x64x64xf32>
}
exec.kernel @fewer(%x: tensor<8x8x16x32xf32>, %w: tensor<3x3x32x32xf32>) attributes {flops = 18874368 : i64, bytes = 262144 : i64,
    layouts = [unit, #exec.panel<dim = 3, width = 16, winograd2x2>, unit]} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<8x8x16x32xf32>, tensor<3x3x32x32xf32>
  exec.yield %0 : tensor<8x8x16x32xf32>
}
exec.kernel @deep(%x: tensor<28x28x1x512xf32>, %w: tensor<3x3x512x512xf32>) attributes {flops = 3567255552 : i64, bytes = 12648448 : i64,
    layouts = [unit, #exec.panel<dim = 3, width = 16, winograd2x2>, unit]} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<28x28x1x512xf32>, tensor<3x3x512x512xf32>
  exec.yield %0 : tensor<28x28x1x512xf32>
}
exec.kernel @odd(%x: tensor<13x13x1x256xf32>, %w: tensor<3x3x256x256xf32>) attributes {flops = 186909696 : i64, bytes = 2705408 : i64,
    layouts = [unit, #exec.panel<dim = 3, width = 16, winograd2x2>, unit]} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<13x13x1x256xf32>, tensor<3x3x256x256xf32>
  exec.yield %0 : tensor<13x13x1x256xf32>
}
exec.kernel @filter(%w: tensor<3x3x64x64xf32>) attributes {flops = 0 : i64, bytes = 409600 : i64,
    layouts = [unit, #exec.panel<dim = 3, width = 16, winograd2x2>]} {
  exec.yield %w : tensor<3x3x64x64xf32>
}
exec.kernel @filter_transposed(%w: tensor<3x3x64x64xf32>) attributes {flops = 0 : i64, bytes = 409600 : i64,
    layouts = [unit, #exec.panel<dim = 3, width = 16, winograd2x2>]} {
  %0 = grad.transpose %w permutation [0, 1, 3, 2] : tensor<3x3x64x64xf32>
  exec.yield %0 : tensor<3x3x64x64xf32>
}

}
