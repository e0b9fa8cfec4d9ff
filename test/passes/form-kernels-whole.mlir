// RUN: gradc-opt %s -gradc-decompose=keep-for-libraries -gradc-form-kernels | FileCheck %s
// RUN: gradc-opt %s -gradc-decompose -cse -gradc-form-kernels | FileCheck %s --check-prefix=PARTS

// A composite that is not decomposed forms kernels like any other op. Its operand is read from memory: the sum with the bias is
// written once instead of being recomputed from the product and the bias.

// CHECK-LABEL: func.func @forward_and_back
// CHECK-NEXT: %[[F:.*]]:2 = exec.launch @matmul_add_gelu(%arg0, %arg1, %arg2)
// CHECK-NEXT: %[[B:.*]] = exec.launch @matmul_gelu_grad(%[[F]]#1, %arg3, %[[F]]#0)
// CHECK-NEXT: return %[[F]]#1, %[[B]]
// CHECK: exec.kernel @matmul_add_gelu(
// CHECK: %[[Z:.*]] = grad.add
// CHECK-NEXT: %[[Y:.*]] = grad.gelu %[[Z]] {approximate}
// CHECK-NEXT: exec.yield %[[Z]], %[[Y]]
// CHECK: exec.kernel @matmul_gelu_grad(
// PARTS: exec.launch @matmul_add_mul_tanh
// PARTS-NOT: gelu
func.func @forward_and_back(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>, %v: tensor<32x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32>
  %1 = grad.broadcast %b dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %2 = grad.add %0, %1 : tensor<8x32xf32>
  %3 = grad.gelu %2 {approximate} : tensor<8x32xf32>
  %4 = grad.matmul %3, %v : tensor<8x32xf32>, tensor<32x32xf32>
  %5 = grad.gelu_grad %2, %4 {approximate} : tensor<8x32xf32>
  return %3, %5 : tensor<8x32xf32>, tensor<8x32xf32>
}
