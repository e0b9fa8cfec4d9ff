// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step | FileCheck %s

// A mask for each pruned parameter, in its order; it masks the gradient before clipping, and the updated parameter. Only a step that
// renews it runs the search, on the parameter as the step found it.

// CHECK: grad.state {{ ?}}parameter @w : tensor<4x3xf32> permutation [1, 0] = dense<5.000000e-01> : tensor<3x4xf32>{{$}}
// CHECK-NEXT: grad.state {{ ?}}slot @w.mask : tensor<4x3xi1> permutation [1, 0] = dense<true> : tensor<3x4xi1> {grad.slot_rule = "prune"}
// CHECK-NEXT: grad.state {{ ?}}parameter @v
// CHECK-NOT: grad.state
grad.state parameter @w : tensor<4x3xf32> permutation [1, 0] = dense<0.5> : tensor<3x4xf32> {grad.prune = {initial_sparsity = 0.25,
    sparsity = 0.75, begin_step = 10 : i64, end_step = 50 : i64, every = 20 : i64, dim = -1 : i64, of = 0 : i64}}
grad.state parameter @v : tensor<3xf32> = dense<0.5> : tensor<3xf32>

// CHECK-LABEL: func.func @train(
func.func @train(%x: tensor<2x4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"})
    -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}, grad.clip = {global_norm = 2.0}} {
  // CHECK: %[[W:.*]] = grad.read @w :
  %w = grad.read @w : tensor<4x3xf32>
  %v = grad.read @v : tensor<3xf32>
  %0 = grad.matmul %x, %w : tensor<2x4xf32>, tensor<4x3xf32>
  %1 = grad.broadcast %v dims [1] : tensor<3xf32> -> tensor<2x3xf32>
  %2 = grad.mul %0, %1 : tensor<2x3xf32>
  %3 = grad.reduce_mean %2 dims [0, 1] : tensor<2x3xf32>
  // CHECK: %[[G:.*]]:2 = grad.gradient
  // CHECK: %[[MASK:.*]] = grad.read @w.mask : tensor<4x3xi1>
  // CHECK: %[[MASKED:.*]] = grad.select %[[MASK]], %[[G]]#0, %{{.*}} : tensor<4x3xf32>
  // CHECK: grad.mul %[[MASKED]], %[[MASKED]]
  // CHECK: grad.sqrt
  // CHECK: %[[PROCEED:.*]] = grad.and
  // CHECK: %[[NEW:.*]] = grad.sgd %[[W]],
  // CHECK: %[[NUMBER:.*]] = grad.cast %arg2 : tensor<f32> -> tensor<i64>
  // CHECK: %[[SINCE:.*]] = grad.sub %[[NUMBER]],
  // CHECK: %[[TURN:.*]] = grad.div %[[SINCE]],
  // CHECK: %[[RENEWS:.*]] = grad.and %{{.*}}, %[[PROCEED]] : tensor<i1>
  // CHECK: %[[KEPT:.*]] = grad.if %[[RENEWS]] with(%[[W]], %[[MASK]], %arg2)
  // CHECK: grad.transpose %{{.*}} permutation [1, 0] : tensor<4x3xf32>
  // CHECK: grad.abs
  // CHECK: grad.reshape %{{.*}} : tensor<3x4xf32> -> tensor<1x12xf32>
  // CHECK: grad.floor %{{.*}} : tensor<f64>
  // CHECK: grad.bit_cast %{{.*}} : tensor<1x12xf32> -> tensor<1x12xi32>
  // CHECK: grad.scan 31 from
  // CHECK: grad.cumulative sum %{{.*}} dim 1 exclusive : tensor<1x12xi32>
  // CHECK: grad.yield %{{.*}} : tensor<4x3xi1>
  // CHECK: } else {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<4x3xf32>, %[[OLD:.*]]: tensor<4x3xi1>, %{{.*}}: tensor<f32>):
  // CHECK-NEXT: grad.yield %[[OLD]]
  // CHECK: grad.write @w.mask, %[[KEPT]]
  // CHECK: %[[ZEROS:.*]] = grad.select %[[KEPT]], %[[NEW]], %{{.*}} : tensor<4x3xf32>
  // CHECK: grad.write @w, %[[ZEROS]]
  // CHECK: %[[OTHER:.*]] = grad.sgd
  // CHECK-NEXT: grad.write @v, %[[OTHER]]
  return %3 : tensor<f32>
}

// -----

// Groups of two along dim 0, and channels of dim 1 by the sums of their squares. A parameter that only some steps train counts these.

// CHECK-DAG: grad.state {{ ?}}slot @counter : tensor<f32>
grad.state parameter @w : tensor<4x3xf32> = dense<0.5> : tensor<4x3xf32> {grad.steps = @counter, grad.prune = {initial_sparsity = 0.0,
    sparsity = 0.5, begin_step = 1 : i64, end_step = 1 : i64, every = 1 : i64, dim = 0 : i64, of = 2 : i64}}
grad.state parameter @u : tensor<4x3xf32> = dense<0.5> : tensor<4x3xf32> {grad.prune = {initial_sparsity = 0.0,
    sparsity = 0.4, begin_step = 1 : i64, end_step = 1 : i64, every = 1 : i64, dim = 1 : i64, of = 0 : i64}}

// CHECK-LABEL: func.func @structures(
func.func @structures(%x: tensor<4x3xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"})
    -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}} {
  %w = grad.read @w : tensor<4x3xf32>
  %u = grad.read @u : tensor<4x3xf32>
  %0 = grad.mul %w, %u : tensor<4x3xf32>
  %1 = grad.mul %0, %x : tensor<4x3xf32>
  %2 = grad.reduce_mean %1 dims [0, 1] : tensor<4x3xf32>
  // CHECK: grad.read @counter
  // CHECK: grad.if
  // CHECK: %[[TURNED:.*]] = grad.transpose %{{.*}} permutation [1, 0] : tensor<4x3xf32>
  // CHECK: grad.reshape %[[TURNED]] : tensor<3x4xf32> -> tensor<6x2xf32>
  // CHECK: grad.reshape %{{.*}} : tensor<6x2xi1> -> tensor<3x4xi1>
  // CHECK: grad.transpose %{{.*}} permutation [1, 0] : tensor<3x4xi1>
  // CHECK: grad.if
  // CHECK: %[[NORMS:.*]] = grad.reduce_sum %{{.*}} dims [0] : tensor<4x3xf32>
  // CHECK: grad.reshape %[[NORMS]] : tensor<3xf32> -> tensor<1x3xf32>
  // CHECK: grad.broadcast %{{.*}} dims [1] : tensor<3xi1> -> tensor<4x3xi1>
  return %2 : tensor<f32>
}
