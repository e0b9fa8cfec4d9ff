// A result that becomes a code and is read as a float beside it stays in floats.

// RUN: gradc compile %s --target=cpu:x86-64-v4 --emit=asm -o %t.s
// RUN: FileCheck %s --input-file=%t.s
// CHECK-NOT: {{vcvttps2dq|vcvtdq2ps|vdivps}}
// CHECK: vrndscaleps
// CHECK-NOT: {{vcvttps2dq|vcvtdq2ps|vdivps}}
func.func @step(%x: tensor<64x128xf32>) -> tensor<64x128xf32> attributes {grad.entry = "step"} {
  %scale = grad.constant dense<0.0371> : tensor<64x128xf32>
  %offset = grad.constant dense<108.0> : tensor<64x128xf32>
  %zero = grad.constant dense<108> : tensor<64x128xi32>
  %0 = grad.div %x, %scale : tensor<64x128xf32>
  %1 = grad.round %0 : tensor<64x128xf32>
  %2 = grad.add %1, %offset : tensor<64x128xf32>
  %3 = grad.cast %2 : tensor<64x128xf32> -> tensor<64x128xui8>
  %4 = grad.cast %3 : tensor<64x128xui8> -> tensor<64x128xi32>
  %5 = grad.sub %4, %zero : tensor<64x128xi32>
  %6 = grad.cast %5 : tensor<64x128xi32> -> tensor<64x128xf32>
  %7 = grad.mul %6, %scale : tensor<64x128xf32>
  return %7 : tensor<64x128xf32>
}
