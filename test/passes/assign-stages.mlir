// RUN: gradc-opt %s -gradc-assign-stages | FileCheck %s

// Two products of equal work, each with the activation after it. Ops that depend only on inputs belong to no stage.

grad.state parameter @w0 : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
grad.state parameter @w1 : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
// CHECK-LABEL: func.func @train
// CHECK-NOT: {grad.stage =
// CHECK: grad.neg %arg0 : tensor
// CHECK: grad.matmul {{.*}}grad.stage = 0
// CHECK: grad.relu {{.*}}grad.stage = 0
// CHECK: grad.matmul {{.*}}grad.stage = 1
// CHECK: grad.reduce_sum {{.*}}grad.stage = 1
func.func @train(%x: tensor<32x64xf32>) -> tensor<f32> attributes {grad.stages = 2 : i64} {
  %w0 = grad.read @w0 : tensor<64x64xf32>
  %w1 = grad.read @w1 : tensor<64x64xf32>
  %i = grad.neg %x : tensor<32x64xf32>
  %0 = grad.matmul %i, %w0 : tensor<32x64xf32>, tensor<64x64xf32>
  %1 = grad.relu %0 : tensor<32x64xf32>
  %2 = grad.matmul %1, %w1 : tensor<32x64xf32>, tensor<64x64xf32>
  %3 = grad.reduce_sum %2 dims [0, 1] : tensor<32x64xf32>
  %g:2 = grad.gradient %3 wrt %w0, %w1 : tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>
  return %3 : tensor<f32>
}
