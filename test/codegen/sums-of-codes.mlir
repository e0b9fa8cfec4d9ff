// Roundings that are added up many times are not followed through all of the sums: each of them doubles what there is to look at.

// RUN: gradc compile %s --target=cpu:x86-64-v4 --emit=asm -o %t.s
// RUN: FileCheck %s --input-file=%t.s
// CHECK: vrndscaleps
// CHECK: vcvttps2dq
func.func @step(%x: tensor<64x128xf32>) -> tensor<64x128xf32> attributes {grad.entry = "step"} {
  %y0 = grad.round %x : tensor<64x128xf32>
  %y1 = grad.add %y0, %y0 : tensor<64x128xf32>
  %y2 = grad.add %y1, %y1 : tensor<64x128xf32>
  %y3 = grad.add %y2, %y2 : tensor<64x128xf32>
  %y4 = grad.add %y3, %y3 : tensor<64x128xf32>
  %y5 = grad.add %y4, %y4 : tensor<64x128xf32>
  %y6 = grad.add %y5, %y5 : tensor<64x128xf32>
  %y7 = grad.add %y6, %y6 : tensor<64x128xf32>
  %y8 = grad.add %y7, %y7 : tensor<64x128xf32>
  %y9 = grad.add %y8, %y8 : tensor<64x128xf32>
  %y10 = grad.add %y9, %y9 : tensor<64x128xf32>
  %y11 = grad.add %y10, %y10 : tensor<64x128xf32>
  %y12 = grad.add %y11, %y11 : tensor<64x128xf32>
  %y13 = grad.add %y12, %y12 : tensor<64x128xf32>
  %y14 = grad.add %y13, %y13 : tensor<64x128xf32>
  %y15 = grad.add %y14, %y14 : tensor<64x128xf32>
  %y16 = grad.add %y15, %y15 : tensor<64x128xf32>
  %y17 = grad.add %y16, %y16 : tensor<64x128xf32>
  %y18 = grad.add %y17, %y17 : tensor<64x128xf32>
  %y19 = grad.add %y18, %y18 : tensor<64x128xf32>
  %y20 = grad.add %y19, %y19 : tensor<64x128xf32>
  %y21 = grad.add %y20, %y20 : tensor<64x128xf32>
  %y22 = grad.add %y21, %y21 : tensor<64x128xf32>
  %y23 = grad.add %y22, %y22 : tensor<64x128xf32>
  %y24 = grad.add %y23, %y23 : tensor<64x128xf32>
  %y25 = grad.add %y24, %y24 : tensor<64x128xf32>
  %y26 = grad.add %y25, %y25 : tensor<64x128xf32>
  %y27 = grad.add %y26, %y26 : tensor<64x128xf32>
  %y28 = grad.add %y27, %y27 : tensor<64x128xf32>
  %y29 = grad.add %y28, %y28 : tensor<64x128xf32>
  %y30 = grad.add %y29, %y29 : tensor<64x128xf32>
  %y31 = grad.add %y30, %y30 : tensor<64x128xf32>
  %y32 = grad.add %y31, %y31 : tensor<64x128xf32>
  %y33 = grad.add %y32, %y32 : tensor<64x128xf32>
  %y34 = grad.add %y33, %y33 : tensor<64x128xf32>
  %y35 = grad.add %y34, %y34 : tensor<64x128xf32>
  %y36 = grad.add %y35, %y35 : tensor<64x128xf32>
  %y37 = grad.add %y36, %y36 : tensor<64x128xf32>
  %y38 = grad.add %y37, %y37 : tensor<64x128xf32>
  %y39 = grad.add %y38, %y38 : tensor<64x128xf32>
  %y40 = grad.add %y39, %y39 : tensor<64x128xf32>
  %c = grad.cast %y40 : tensor<64x128xf32> -> tensor<64x128xui8>
  %f = grad.cast %c : tensor<64x128xui8> -> tensor<64x128xf32>
  return %f : tensor<64x128xf32>
}
