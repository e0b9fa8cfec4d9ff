// RUN: gradc-opt %s -gradc-assign-stages -gradc-differentiate -gradc-cut-stages -gradc-bind-rows=judge | FileCheck %s

// Replicas of a pipeline share the rows of each part: stages take any number of rows, a receive says which of its dims have them, and the
// gradients of a stage are summed by the ranks that have it, once the last part has left.

grad.state parameter @w0 : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
grad.state parameter @w1 : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>

// CHECK-LABEL: func.func @train.stage.0
// CHECK-SAME: grad.rows
// CHECK: grad.slice {{.*}} starts [0, 0, 0]
// CHECK: grad.send %{{.*}} to 1 number {{[0-9]+}} turn 1
// CHECK: grad.receive from 1 after({{.*}}) number {{[0-9]+}} turn 3 extents [1, 0]
// CHECK: grad.receive from 1 after({{.*}}) number {{[0-9]+}} turn 4 extents [1, 0]
// CHECK: grad.all_reduce %{{.*}} : tensor<64x64xf32>
// CHECK-NOT: grad.all_reduce
// CHECK: grad.write @w0
// CHECK-NOT: grad.all_reduce
// CHECK: grad.receive from 1 after({{.*}}) number {{[0-9]+}} turn 5 : {{.*}} -> tensor<f32>

// CHECK-LABEL: func.func @train.stage.1
// CHECK-SAME: grad.rows
// CHECK: grad.receive from 0 after({{.*}}) number {{[0-9]+}} turn 1 extents [1, 0]
// CHECK: grad.all_reduce %{{.*}} : tensor<64x64xf32>
// CHECK: grad.write @w1
// CHECK: grad.all_reduce %{{.*}} : tensor<f32>
func.func @train(%x: tensor<8x64xf32> {grad.batched}) -> tensor<f32>
    attributes {grad.stages = 2 : i64, grad.ranks = {}, grad.batch = 4 : i64, grad.row_unit = 2 : i64} {
  %w0 = grad.read @w0 : tensor<64x64xf32>
  %w1 = grad.read @w1 : tensor<64x64xf32>
  %none = grad.constant dense<0.0> : tensor<f32>
  %none0 = grad.constant dense<0.0> : tensor<64x64xf32>
  %none1 = grad.constant dense<0.0> : tensor<64x64xf32>
  %groups = grad.reshape %x : tensor<8x64xf32> -> tensor<4x2x64xf32>
  %parts = grad.transpose %groups permutation [1, 0, 2] : tensor<4x2x64xf32>
  %loss, %g0, %g1 = grad.scan 2 from (%none, %none0, %none1) over (%parts) with (%w0, %w1)
      : (tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<2x4x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  ^bb0(%sum: tensor<f32>, %s0: tensor<64x64xf32>, %s1: tensor<64x64xf32>, %part: tensor<4x64xf32>, %v0: tensor<64x64xf32>, %v1: tensor<64x64xf32>):
    %0 = grad.matmul %part, %v0 : tensor<4x64xf32>, tensor<64x64xf32>
    %1 = grad.matmul %0, %v1 : tensor<4x64xf32>, tensor<64x64xf32>
    %squares = grad.mul %1, %1 : tensor<4x64xf32>
    %2 = grad.reduce_sum %squares dims [0, 1] : tensor<4x64xf32>
    %3 = grad.add %sum, %2 : tensor<f32>
    %d:2 = grad.gradient %2 wrt %v0, %v1 : tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>
    %4 = grad.add %s0, %d#0 : tensor<64x64xf32>
    %5 = grad.add %s1, %d#1 : tensor<64x64xf32>
    grad.yield %3, %4, %5 : tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  %a0 = grad.all_reduce %g0 : tensor<64x64xf32>
  %a1 = grad.all_reduce %g1 : tensor<64x64xf32>
  %n0 = grad.sub %w0, %a0 : tensor<64x64xf32>
  %n1 = grad.sub %w1, %a1 : tensor<64x64xf32>
  grad.write @w0, %n0 : tensor<64x64xf32>
  grad.write @w1, %n1 : tensor<64x64xf32>
  %all = grad.all_reduce %loss : tensor<f32>
  return %all : tensor<f32>
}
