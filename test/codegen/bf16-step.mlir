// All products of a bf16 training step run on vdpbf16ps where the level has it: those of a layer (forward, data and weight
// gradient) and of a batch with a transposed rhs. Each inner loop has eight rows by two vectors in registers, nothing spilled.

// RUN: gradc compile %s --target=cpu:x86-64-v4+bf16 --emit=asm -o %t.s
// RUN: %python %S/inner_loop.py %t.s vdpbf16ps | FileCheck %s
// CHECK-COUNT-6: 16 vdpbf16ps to zmm, 8 broadcasts, 0 spills
// CHECK-NOT: vdpbf16ps
// What is stored in 16 bits is rounded by an instruction, sixteen numbers at a time.
// RUN: FileCheck %s --check-prefix=ROUND --input-file=%t.s
// ROUND: vcvtneps2bf16
grad.state parameter @w : tensor<64x128xf32> = dense<1.0> : tensor<64x128xf32>
grad.state parameter @v : tensor<128x64xf32> = dense<1.0> : tensor<128x64xf32>
func.func @step(%x: tensor<256x64xf32>, %a: tensor<4x64x128xf32>) -> tensor<4x64x64xf32> attributes {grad.entry = "step", grad.precision = {type = bf16}} {
  %w = grad.read @w : tensor<64x128xf32>
  %v = grad.read @v : tensor<128x64xf32>
  %0 = grad.matmul %x, %w : tensor<256x64xf32>, tensor<64x128xf32>
  %1 = grad.tanh %0 : tensor<256x128xf32>
  %2 = grad.matmul %1, %v : tensor<256x128xf32>, tensor<128x64xf32>
  %3 = grad.tanh %2 : tensor<256x64xf32>
  %4 = grad.reduce_sum %3 dims [0, 1] : tensor<256x64xf32>
  %5:2 = grad.gradient %4 wrt %w, %v : tensor<f32>, tensor<64x128xf32>, tensor<128x64xf32>
  %6 = grad.sub %w, %5#0 : tensor<64x128xf32>
  %7 = grad.sub %v, %5#1 : tensor<128x64xf32>
  grad.write @w, %6 : tensor<64x128xf32>
  grad.write @v, %7 : tensor<128x64xf32>
  %8 = grad.exp %a : tensor<4x64x128xf32>
  %9 = grad.matmul %8, %a transpose_rhs : tensor<4x64x128xf32>, tensor<4x64x128xf32>
  return %9 : tensor<4x64x64xf32>
}
