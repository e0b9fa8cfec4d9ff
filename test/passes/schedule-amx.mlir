// RUN: gradc-opt %s -gradc-schedule -split-input-file | FileCheck %s

// Products of bf16 pairs have tiles of two blocks of 16 rows by two of 16 columns, however few the rows are; sums of gradients are walked in blocks.

module attributes {exec.level = "x86-64-v4+amx"} {
// CHECK-LABEL: exec.kernel @forward(
// CHECK-SAME: schedule = #exec.schedule<lanes = 16, tile = [32, 32], order = [1, 0]
exec.kernel @forward(%x: tensor<256x384xbf16>, %w: tensor<384x384xbf16>) attributes {flops = 75497472 : i64, bytes = 688128 : i64,
    layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>, unit]} {
  %0 = grad.matmul %x, %w : tensor<256x384xbf16>, tensor<384x384xbf16>
  exec.yield %0 : tensor<256x384xbf16>
}
// CHECK-LABEL: exec.kernel @few_rows(
// CHECK-SAME: tile = [3, 32]
exec.kernel @few_rows(%x: tensor<3x384xbf16>, %w: tensor<384x384xbf16>) attributes {flops = 884736 : i64, bytes = 299520 : i64,
    layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>, unit]} {
  %0 = grad.matmul %x, %w : tensor<3x384xbf16>, tensor<384x384xbf16>
  exec.yield %0 : tensor<3x384xbf16>
}
// CHECK-LABEL: exec.kernel @gradient(
// CHECK-SAME: tile = [32, 32], order = [1, 0], grain = {{[0-9]+}}, block = [256]>
exec.kernel @gradient(%x: tensor<2048x384xbf16>, %g: tensor<2048x512xbf16>) attributes {flops = 805306368 : i64, bytes = 4456448 : i64,
    layouts = [#exec.panel<dim = 0, width = 32>, #exec.panel<dim = 1, width = 32, pairs = 0>, unit]} {
  %0 = grad.matmul %x, %g transpose_lhs wide : tensor<2048x384xbf16>, tensor<2048x512xbf16>
  exec.yield %0 : tensor<384x512xf32>
}
// Rows of a tile are evenly spaced in the lhs: of two dims in its order, of one dim otherwise.
// CHECK-LABEL: exec.kernel @in_order(
// CHECK-SAME: tile = [4, 8, 32]
exec.kernel @in_order(%x: tensor<64x8x384xbf16>, %w: tensor<384x384xbf16>) attributes {flops = 150994944 : i64, bytes = 1081344 : i64,
    layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>, unit]} {
  %0 = grad.convolution %x, %w dims "dab,bc->dac" window <[]> : tensor<64x8x384xbf16>, tensor<384x384xbf16>
  exec.yield %0 : tensor<64x8x384xbf16>
}
// CHECK-LABEL: exec.kernel @turned(
// CHECK-SAME: tile = [1, 8, 32]
exec.kernel @turned(%x: tensor<8x64x384xbf16>, %w: tensor<384x384xbf16>) attributes {flops = 150994944 : i64, bytes = 1081344 : i64,
    layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>, unit]} {
  %0 = grad.convolution %x, %w dims "adb,bc->dac" window <[]> : tensor<8x64x384xbf16>, tensor<384x384xbf16>
  exec.yield %0 : tensor<64x8x384xbf16>
}
// Rows of steps are packed in squares, which are transposed in registers. A unit is a panel.
// CHECK-LABEL: exec.kernel @pack(
// CHECK-SAME: lanes = 16, tile = [32, 16], order = [0, 1]
exec.kernel @pack(%x: tensor<2048x384xbf16>) attributes {flops = 0 : i64, bytes = 3145728 : i64, layouts = [unit, #exec.panel<dim = 0, width = 32>]} {
  exec.yield %x : tensor<2048x384xbf16>
}
// f32 has the tile of other levels.
// CHECK-LABEL: exec.kernel @single(
// CHECK-SAME: tile = [8, 32]
exec.kernel @single(%x: tensor<256x384xf32>, %w: tensor<384x384xf32>) attributes {flops = 75497472 : i64, bytes = 1376256 : i64,
    layouts = [unit, #exec.panel<dim = 1, width = 32>, unit]} {
  %0 = grad.matmul %x, %w : tensor<256x384xf32>, tensor<384x384xf32>
  exec.yield %0 : tensor<256x384xf32>
}
}
