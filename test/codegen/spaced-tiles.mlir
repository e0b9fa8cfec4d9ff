// The tiles from each of the eight first positions on share one inner loop, of eight rows by two vectors.

// RUN: gradc compile %s --target=cpu:x86-64-v4 --emit=asm -o %t.s
// RUN: %python %S/inner_loop.py %t.s vfmadd231ps | FileCheck %s
// CHECK: 16 vfmadd231ps to zmm, 8 broadcasts
// CHECK-NOT: 16 vfmadd231ps to zmm
func.func @step(%x: tensor<64x1x64xf32>, %w: tensor<32x64x256xf32>) -> tensor<512x1x256xf32> attributes {grad.entry = "step"} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[32] low [16] high [22] base [8]> : tensor<64x1x64xf32>, tensor<32x64x256xf32>
  return %0 : tensor<512x1x256xf32>
}
