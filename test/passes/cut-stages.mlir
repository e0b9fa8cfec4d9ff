// RUN: gradc-opt %s -gradc-assign-stages -gradc-differentiate -gradc-cut-stages | FileCheck %s

// Two parts, unrolled, on two stages. The first stage sends its result of each part and receives the gradient. States and their
// updates belong to the stage that reads them. The loss is sent to the stage that does not compute it, as is the sum of squares, of which
// each stage computes its terms. The step counter, which no forward reads, is updated by both stages.

grad.state parameter @w0 : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
grad.state parameter @w1 : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
grad.state statistic @steps : tensor<f32> = dense<0.0> : tensor<f32>

// The whole step is unchanged.
// CHECK-LABEL: func.func @train(
// CHECK-NOT: grad.stage
// CHECK-NOT: grad.send
// CHECK: grad.scan 2

// CHECK-LABEL: func.func @train.stage.0
// CHECK-SAME: grad.own_stage = 0 : i64
// CHECK-NOT: grad.stages
// CHECK: %[[W0:.*]] = grad.read @w0
// CHECK-NOT: grad.read @w1
// CHECK: %[[X0:.*]] = grad.slice %arg0 starts [0, 0, 0]
// CHECK: %[[H0:.*]] = grad.matmul %{{.*}}, %[[W0]]
// CHECK: grad.send %[[H0]] to 1 number [[N0:[0-9]+]] turn 1
// CHECK: %[[G0:.*]] = grad.receive from 1 after(%[[H0]]) number [[M0:[0-9]+]] turn 3
// CHECK: %[[D0:.*]] = grad.matmul %{{.*}}, %[[G0]] transpose_lhs
// CHECK: %[[SUM:.*]] = grad.add %{{.*}}, %[[D0]]
// CHECK: grad.slice %arg0 starts [1, 0, 0]
// CHECK: %[[H1:.*]] = grad.matmul %{{.*}}, %[[W0]]
// CHECK: grad.send %[[H1]] to 1 number [[N1:[0-9]+]] turn 2
// Gradients of both parts are not all added at the end: the first addition comes before the second part is received.
// CHECK: grad.receive from 1 after(%[[H1]], %[[SUM]]) number [[M1:[0-9]+]] turn 4
// CHECK: %[[S0:.*]] = grad.reduce_sum
// CHECK: grad.send %[[S0]] to 1 number [[S:[0-9]+]] turn 5
// CHECK: grad.receive from 1 after(%[[S0]]) number [[T:[0-9]+]] turn 5
// CHECK: grad.write @w0
// CHECK-NOT: grad.write @w1
// CHECK: grad.write @steps
// CHECK: grad.receive from 1 {{.*}} : {{.*}} -> tensor<f32>
// CHECK: return

// CHECK-LABEL: func.func @train.stage.1
// CHECK-NOT: grad.read @w0
// CHECK: %[[W1:.*]] = grad.read @w1
// CHECK: %[[R0:.*]] = grad.receive from 0 after() number [[N0]] turn 1
// CHECK: grad.matmul %[[R0]], %[[W1]]
// CHECK: grad.send %{{.*}} to 0 number [[M0]] turn 2
// CHECK: grad.receive from 0 after({{.*}}) number [[N1]] turn 3
// CHECK: grad.send %{{.*}} to 0 number [[M1]] turn 4
// CHECK: grad.write @w1
// CHECK: grad.write @steps
func.func @train(%x: tensor<2x4x64xf32>, %rate: tensor<f32>) -> tensor<f32> attributes {grad.stages = 2 : i64} {
  %w0 = grad.read @w0 : tensor<64x64xf32>
  %w1 = grad.read @w1 : tensor<64x64xf32>
  %steps = grad.read @steps : tensor<f32>
  %none = grad.constant dense<0.0> : tensor<f32>
  %none0 = grad.constant dense<0.0> : tensor<64x64xf32>
  %none1 = grad.constant dense<0.0> : tensor<64x64xf32>
  %loss, %g0, %g1 = grad.scan 2 from (%none, %none0, %none1) over (%x) with (%w0, %w1)
      : (tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<2x4x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  ^bb0(%sum: tensor<f32>, %s0: tensor<64x64xf32>, %s1: tensor<64x64xf32>, %part: tensor<4x64xf32>, %v0: tensor<64x64xf32>, %v1: tensor<64x64xf32>):
    %0 = grad.matmul %part, %v0 : tensor<4x64xf32>, tensor<64x64xf32>
    %1 = grad.matmul %0, %v1 : tensor<4x64xf32>, tensor<64x64xf32>
    %2 = grad.reduce_sum %1 dims [0, 1] : tensor<4x64xf32>
    %3 = grad.add %sum, %2 : tensor<f32>
    %d:2 = grad.gradient %2 wrt %v0, %v1 : tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>
    %4 = grad.add %s0, %d#0 : tensor<64x64xf32>
    %5 = grad.add %s1, %d#1 : tensor<64x64xf32>
    grad.yield %3, %4, %5 : tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  %q0 = grad.reduce_sum %g0 dims [0, 1] : tensor<64x64xf32>
  %q1 = grad.reduce_sum %g1 dims [0, 1] : tensor<64x64xf32>
  %norm = grad.add %q0, %q1 : tensor<f32>
  %scale = grad.mul %rate, %norm : tensor<f32>
  %wide = grad.broadcast %scale dims [] : tensor<f32> -> tensor<64x64xf32>
  %u0 = grad.mul %g0, %wide : tensor<64x64xf32>
  %u1 = grad.mul %g1, %wide : tensor<64x64xf32>
  %n0 = grad.sub %w0, %u0 : tensor<64x64xf32>
  %n1 = grad.sub %w1, %u1 : tensor<64x64xf32>
  grad.write @w0, %n0 : tensor<64x64xf32>
  grad.write @w1, %n1 : tensor<64x64xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %next = grad.add %steps, %one : tensor<f32>
  grad.write @steps, %next : tensor<f32>
  return %loss : tensor<f32>
}
