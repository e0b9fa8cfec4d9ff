// A softmax over long rows computes each exponential once, four vectors at a time: it waits in the result until the row's sum is known.

// RUN: gradc compile %s --target=cpu:x86-64-v4 --emit=asm -o %t.s
// RUN: FileCheck %s --input-file=%t.s
// CHECK-COUNT-4: vscalefps
// CHECK-NOT: vscalefps
func.func @step(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> attributes {grad.entry = "step"} {
  %0 = grad.softmax %x dim 1 : tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}
