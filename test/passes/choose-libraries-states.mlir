// RUN: gradc-opt %s --gradc-choose-libraries=mode=always | FileCheck %s

// A state that is read is also overwritten, which library calls do not do.

module attributes {exec.level = "cuda:sm_90"} {
grad.state parameter @z : tensor<4x16xf32> = dense<1.0> : tensor<4x16xf32>
exec.buffer primary @z.primary of @z : 256
grad.state parameter @y : tensor<4x16xf32> = dense<1.0> : tensor<4x16xf32>
exec.buffer primary @y.primary of @y : 256

// CHECK: exec.kernel @in_place(
// CHECK-NOT: library
// CHECK: exec.kernel @aside({{.*}} library = #exec.library<matmul epilogue = gelu_grad, operands = [1, 2, 0]>
exec.kernel @in_place(%z: tensor<4x16xf32>, %g: tensor<4x8xf32>, %w: tensor<16x8xf32>) attributes {inplace = array<i64: 0>, bytes = 0 : i64} {
  %0 = grad.matmul %g, %w transpose_rhs : tensor<4x8xf32>, tensor<16x8xf32>
  %1 = grad.gelu_grad %z, %0 {approximate} : tensor<4x16xf32>
  exec.yield %1 : tensor<4x16xf32>
}
exec.kernel @aside(%z: tensor<4x16xf32>, %g: tensor<4x8xf32>, %w: tensor<16x8xf32>) attributes {inplace = array<i64: 0>, bytes = 0 : i64} {
  %0 = grad.matmul %g, %w transpose_rhs : tensor<4x8xf32>, tensor<16x8xf32>
  %1 = grad.gelu_grad %z, %0 {approximate} : tensor<4x16xf32>
  exec.yield %1 : tensor<4x16xf32>
}
func.func @update(%g: tensor<4x8xf32>, %w: tensor<16x8xf32>) {
  %z = exec.load @z.primary : tensor<4x16xf32>
  %0 = exec.launch @in_place(%z, %g, %w) {exec.nodes = []} : (tensor<4x16xf32>, tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  exec.store @z.primary, %0 : tensor<4x16xf32>
  %1 = exec.launch @aside(%z, %g, %w) {exec.nodes = []} : (tensor<4x16xf32>, tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  exec.store @y.primary, %1 : tensor<4x16xf32>
  return
}
}
