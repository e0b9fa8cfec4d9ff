// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-decompose=keep-for-kernels -gradc-form-kernels -gradc-schedule | FileCheck %s
// RUN: sed s/LEVEL/x86-64-v3/ %s | gradc-opt -gradc-decompose=keep-for-kernels -gradc-form-kernels -gradc-schedule | FileCheck %s --check-prefix=V3
// RUN: sed s/LEVEL/cuda:sm_90/ %s | gradc-opt -gradc-decompose=keep-for-kernels | FileCheck %s --check-prefix=PARTS
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-decompose | FileCheck %s --check-prefix=PARTS
// PARTS-NOT: grad.attention
module attributes {exec.level = "LEVEL"} {

// With few queries, or in 16 bits, the products of an attention form the kernels.
// CHECK-LABEL: func.func @small
// CHECK-NOT: @attention
// CHECK-LABEL: func.func @half
// CHECK-NOT: @attention
// CHECK: return
func.func @small(%q: tensor<2x4x1x24xf32>, %k: tensor<2x4x100x24xf32>) -> tensor<2x4x1x24xf32> {
  %y, %s = grad.attention %q, %k, %k {scale = 1.0 : f64} : tensor<2x4x1x24xf32>, tensor<2x4x100x24xf32>, tensor<2x4x100x24xf32>
  return %y : tensor<2x4x1x24xf32>
}
func.func @half(%q: tensor<2x4x100x24xf16>) -> tensor<2x4x100x24xf16> {
  %y, %s = grad.attention %q, %q, %q {scale = 1.0 : f64} : tensor<2x4x100x24xf16>, tensor<2x4x100x24xf16>, tensor<2x4x100x24xf16>
  return %y : tensor<2x4x100x24xf16>
}

// An attention is a kernel of its own, and so is its gradient. A unit is a block of queries of a head, or a key head. Surrounding
// ops form other kernels. With AVX2, a second block of 48 keys would leave 4 for a third.
// CHECK-LABEL: exec.kernel @attention(
// CHECK: schedule = #exec.schedule<lanes = 16, tile = [1, 1, 32, 24], order = [0, 1, 2, 3], grain = {{[0-9]+}}, block = [104], attention>
// CHECK-NEXT: grad.attention
// CHECK-NEXT: exec.yield %{{.*}}, %{{.*}} : tensor<2x4x100x24xf32>, tensor<2x4x100x2xf32>
// CHECK-LABEL: exec.kernel @attention_grad(
// CHECK: schedule = #exec.schedule<lanes = 16, tile = [1, 2, 100, 24], order = [0, 1, 2, 3], grain = {{[0-9]+}}, block = [64, 64], attention>
// CHECK-NEXT: grad.attention_grad
// CHECK-NEXT: exec.yield
// V3-LABEL: exec.kernel @attention(
// V3: schedule = #exec.schedule<lanes = 8, tile = [1, 1, 48, 24], order = [0, 1, 2, 3], grain = {{[0-9]+}}, block = [102], attention>
// V3-LABEL: exec.kernel @attention_grad(
// V3: schedule = #exec.schedule<lanes = 8, tile = [1, 2, 100, 24], order = [0, 1, 2, 3], grain = {{[0-9]+}}, block = [66, 96], attention>
func.func @whole(%q: tensor<2x4x100x24xf32>, %k: tensor<2x2x100x24xf32>, %v: tensor<2x2x100x24xf32>)
    -> (tensor<2x4x100x24xf32>, tensor<2x4x100x24xf32>, tensor<2x2x100x24xf32>, tensor<2x2x100x24xf32>) {
  %x = grad.exp %q : tensor<2x4x100x24xf32>
  %y, %s = grad.attention %x, %k, %v {scale = 1.0 : f64} : tensor<2x4x100x24xf32>, tensor<2x2x100x24xf32>, tensor<2x2x100x24xf32>
  %g = grad.tanh %y : tensor<2x4x100x24xf32>
  %d:3 = grad.attention_grad %x, %k, %v, %y, %s, %g {scale = 1.0 : f64} : tensor<2x4x100x24xf32>, tensor<2x2x100x24xf32>,
    tensor<2x2x100x24xf32>, tensor<2x4x100x24xf32>, tensor<2x4x100x2xf32>, tensor<2x4x100x24xf32>
  return %g, %d#0, %d#1, %d#2 : tensor<2x4x100x24xf32>, tensor<2x4x100x24xf32>, tensor<2x2x100x24xf32>, tensor<2x2x100x24xf32>
}
}
