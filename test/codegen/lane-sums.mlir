// Products of few rows are summed along the lanes: an inner loop has a vector of partial sums in a register for each result of a tile, and
// prefetches the rows that the next tile reads. A single row has three vectors for each of eight columns.

// RUN: gradc compile %s --target=cpu:x86-64-v4 --emit=asm -o %t.s
// RUN: %python %S/inner_loop.py %t.s vfmadd231ps | FileCheck %s
// CHECK-COUNT-2: 24 vfmadd231ps to zmm, 0 broadcasts, 0 spills
// CHECK-NOT: vfmadd231ps
// RUN: FileCheck %s --check-prefix=PREFETCH --input-file=%t.s
// PREFETCH-COUNT-3: prefetcht1
func.func @step(%x: tensor<8x1024xf32>, %v: tensor<1x1024xf32>, %w: tensor<1200x1024xf32>) -> (tensor<8x1200xf32>, tensor<1x1200xf32>) attributes {grad.entry = "step"} {
  %0 = grad.matmul %x, %w transpose_rhs : tensor<8x1024xf32>, tensor<1200x1024xf32>
  %1 = grad.matmul %v, %w transpose_rhs : tensor<1x1024xf32>, tensor<1200x1024xf32>
  return %0, %1 : tensor<8x1200xf32>, tensor<1x1200xf32>
}
