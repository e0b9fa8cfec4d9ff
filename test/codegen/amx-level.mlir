// All products of a bf16 training step run in tile registers on the level that has them: those of a layer (forward, data and
// weight gradient) and of a batch with a transposed rhs. Each inner loop has four loads for four products.

// RUN: gradc compile %s --target=cpu:x86-64-v4+amx --emit=asm -o %t.s
// RUN: FileCheck %s --input-file=%t.s
// CHECK: ldtilecfg
// CHECK: tilezero %tmm3
// CHECK: tileloadd {{.*}}, %tmm4
// CHECK-NEXT: tileloadd {{.*}}, %tmm6
// CHECK-NEXT: tdpbf16ps %tmm6, %tmm4, %tmm0
// CHECK: tileloadd {{.*}}, %tmm7
// CHECK: tdpbf16ps %tmm7, %tmm4, %tmm1
// CHECK: tileloadd {{.*}}, %tmm5
// CHECK: tdpbf16ps %tmm6, %tmm5, %tmm2
// CHECK-NEXT: tdpbf16ps %tmm7, %tmm5, %tmm3
// CHECK: tilestored %tmm3
// CHECK: tilerelease
// Six products, each computed once.
// RUN: grep -c tdpbf16ps %t.s | FileCheck %s --check-prefix=COUNT
// COUNT: {{^24$}}
// RUN: FileCheck %s --input-file=%t.s --check-prefix=NONE
// NONE-NOT: vdpbf16ps
// A level without them reads pairs.
// RUN: gradc compile %s --target=cpu:x86-64-v4+bf16 --emit=asm -o %t.bf16.s
// RUN: FileCheck %s --input-file=%t.bf16.s --check-prefix=PAIRS
// PAIRS-NOT: tmm
// PAIRS: vdpbf16ps
// PAIRS-NOT: tmm
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
