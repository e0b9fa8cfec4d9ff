// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-average-weights | FileCheck %s

// The average starts with the value of its weight, is stored in the same order, and is updated by both entries.

// CHECK: grad.state {{ ?}}parameter @w : tensor<4x3xf32> permutation [1, 0] = dense<5.000000e-01> : tensor<3x4xf32>
// CHECK-NEXT: grad.state {{ ?}}slot @w.first
// CHECK-NEXT: grad.state {{ ?}}average @w.ema : tensor<4x3xf32> permutation [1, 0] = dense<5.000000e-01> : tensor<3x4xf32>
// CHECK-NEXT: grad.state {{ ?}}statistic @s
// CHECK-NEXT: grad.state {{ ?}}constant @frozen
// CHECK-NOT: grad.state
grad.state parameter @w : tensor<4x3xf32> permutation [1, 0] = dense<0.5> : tensor<3x4xf32>
grad.state slot @w.first : tensor<4x3xf32> permutation [1, 0] = dense<0.0> : tensor<3x4xf32>
grad.state statistic @s : tensor<4x3xf32> = dense<0.0> : tensor<4x3xf32>
grad.state constant @frozen : tensor<4x3xf32> = dense<0.0> : tensor<4x3xf32>

// CHECK-LABEL: func.func @train(
// CHECK-NOT: grad.average
func.func @train(%new: tensor<4x3xf32>, %go: tensor<i1>) -> (tensor<i1> {grad.role = "proceed"})
    attributes {grad.average = 0.75 : f64} {
  // CHECK: %[[W:.*]] = grad.read @w :
  %w = grad.read @w : tensor<4x3xf32>
  %0 = grad.add %w, %new : tensor<4x3xf32>
  // CHECK: grad.write @w, %[[UPDATED:.*]] :
  grad.write @w, %0 : tensor<4x3xf32>
  grad.write @w.first, %0 : tensor<4x3xf32>
  grad.write @s, %0 : tensor<4x3xf32>
  // CHECK: %[[OLD:.*]] = grad.read @w.ema
  // CHECK: %[[AWAY:.*]] = grad.sub %[[UPDATED]], %[[OLD]]
  // CHECK: %[[STEP:.*]] = grad.mul %[[AWAY]]
  // CHECK: %[[MOVED:.*]] = grad.add %[[OLD]], %[[STEP]]
  // CHECK: %[[KEPT:.*]] = grad.select %{{.*}}, %[[MOVED]], %[[OLD]]
  // CHECK: grad.write @w.ema, %[[KEPT]]
  // CHECK-NOT: grad.write
  // CHECK: return
  return %go : tensor<i1>
}

// CHECK-LABEL: func.func @tail(
func.func @tail(%new: tensor<4x3xf32>, %go: tensor<i1>) -> (tensor<i1> {grad.role = "proceed"})
    attributes {grad.average = 0.75 : f64} {
  grad.write @w, %new : tensor<4x3xf32>
  // CHECK: grad.write @w.ema
  return %go : tensor<i1>
}

// Watched gradients are those of the step.

// CHECK-LABEL: func.func @watch() -> tensor<4x3xf32> {
func.func @watch() -> tensor<4x3xf32> attributes {grad.watch = [@w]} {
  // CHECK-NEXT: grad.read @w :
  %0 = grad.read @w : tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// Statistics and constants have no average.

// CHECK-LABEL: func.func @evaluate(
func.func @evaluate() -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  // CHECK-NEXT: grad.read @w.ema
  // CHECK-NEXT: grad.read @s
  // CHECK-NEXT: grad.read @frozen
  %0 = grad.read @w : tensor<4x3xf32>
  %1 = grad.read @s : tensor<4x3xf32>
  %2 = grad.read @frozen : tensor<4x3xf32>
  return %0, %1, %2 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// A spec without averages changes nothing.

grad.state parameter @w : tensor<3xf32> = dense<0.5> : tensor<3xf32>

// CHECK-LABEL: func.func @plain(
func.func @plain() -> tensor<3xf32> {
  // CHECK-NEXT: grad.read @w :
  %0 = grad.read @w : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// The average of bf16 is f32, of the same initial values. Evaluation reads it in the type of the weight.

// CHECK: grad.state {{ ?}}parameter @w : tensor<2x2xbf16> permutation [1, 0]
// CHECK-NEXT: grad.state {{ ?}}average @w.ema : tensor<2x2xf32> permutation [1, 0] = dense<{{\[\[}}5.000000e-01, 1.500000e+00], [2.500000e+00, -3.500000e+00]]> : tensor<2x2xf32>
// CHECK: grad.state {{ ?}}parameter @v : tensor<3xf16> = dense<5.000000e-01> : tensor<3xf16>
// CHECK-NEXT: grad.state {{ ?}}average @v.ema : tensor<3xf32> = dense<5.000000e-01> : tensor<3xf32>
grad.state parameter @w : tensor<2x2xbf16> permutation [1, 0] = dense<[[0.5, 1.5], [2.5, -3.5]]> : tensor<2x2xbf16>
grad.state parameter @v : tensor<3xf16> = dense<0.5> : tensor<3xf16>

// CHECK-LABEL: func.func @short(
func.func @short(%new: tensor<2x2xbf16>, %other: tensor<3xf16>, %go: tensor<i1>) -> (tensor<i1> {grad.role = "proceed"})
    attributes {grad.average = 0.75 : f64} {
  // CHECK: grad.write @w, %[[UPDATED:.*]] : tensor<2x2xbf16>
  grad.write @w, %new : tensor<2x2xbf16>
  grad.write @v, %other : tensor<3xf16>
  // CHECK: %[[WIDE:.*]] = grad.cast %[[UPDATED]] : tensor<2x2xbf16> -> tensor<2x2xf32>
  // CHECK: %[[OLD:.*]] = grad.read @w.ema : tensor<2x2xf32>
  // CHECK: %[[AWAY:.*]] = grad.sub %[[WIDE]], %[[OLD]]
  // CHECK: grad.write @w.ema, %{{.*}} : tensor<2x2xf32>
  return %go : tensor<i1>
}

// CHECK-LABEL: func.func @evaluate_short(
func.func @evaluate_short() -> (tensor<2x2xbf16>, tensor<2x2xbf16>) {
  // CHECK-NEXT: %[[AVERAGE:.*]] = grad.read @w.ema : tensor<2x2xf32>
  // CHECK-NEXT: %[[ROUNDED:.*]] = grad.cast %[[AVERAGE]] : tensor<2x2xf32> -> tensor<2x2xbf16>
  %0 = grad.read @w : tensor<2x2xbf16>
  // CHECK-NEXT: %[[SUM:.*]] = grad.add %[[ROUNDED]], %[[ROUNDED]]
  %1 = grad.add %0, %0 : tensor<2x2xbf16>
  // CHECK-NEXT: return %[[ROUNDED]], %[[SUM]]
  return %0, %1 : tensor<2x2xbf16>, tensor<2x2xbf16>
}

// -----

// The average of a pruned weight has its zeros.

grad.state parameter @w : tensor<4x3xf32> = dense<0.5> : tensor<4x3xf32>
grad.state slot @w.mask : tensor<4x3xi1> = dense<true> : tensor<4x3xi1> {grad.slot_rule = "prune"}
grad.state parameter @v : tensor<4x3xf32> = dense<0.5> : tensor<4x3xf32>
grad.state slot @v.mask : tensor<4x3xi1> = dense<true> : tensor<4x3xi1>

// CHECK-LABEL: func.func @pruned(
// CHECK-SAME: %[[W:.*]]: tensor<4x3xf32>, %[[KEPT:.*]]: tensor<4x3xi1>, %{{.*}}: tensor<i1>)
func.func @pruned(%new: tensor<4x3xf32>, %mask: tensor<4x3xi1>, %go: tensor<i1>) -> (tensor<i1> {grad.role = "proceed"})
    attributes {grad.average = 0.75 : f64} {
  grad.write @w.mask, %mask : tensor<4x3xi1>
  grad.write @v.mask, %mask : tensor<4x3xi1>
  grad.write @w, %new : tensor<4x3xf32>
  // CHECK: %[[MOVED:.*]] = grad.add
  // CHECK: %[[ZEROS:.*]] = grad.select %[[KEPT]], %[[MOVED]], %{{.*}} : tensor<4x3xf32>
  // CHECK: grad.select %{{.*}}, %[[ZEROS]], %{{.*}} : tensor<4x3xf32>
  // CHECK: grad.write @w.ema
  // CHECK-NOT: grad.select %[[KEPT]]
  // CHECK: grad.write @v.ema
  grad.write @v, %new : tensor<4x3xf32>
  return %go : tensor<i1>
}

// -----

// The mean of the weights after steps 10, 13, 16 and so on; up to step 10 the average is the weights.

grad.state parameter @w : tensor<4x3xf32> = dense<0.5> : tensor<4x3xf32>

// CHECK-LABEL: func.func @equal(
// CHECK-SAME: %[[STEP:[^:]*]]: tensor<f32> {grad.role = "step"}
func.func @equal(%new: tensor<4x3xf32>, %step: tensor<f32> {grad.role = "step"}, %go: tensor<i1>)
    -> (tensor<i1> {grad.role = "proceed"}) attributes {grad.average = {begin = 10 : i64, every = 3 : i64}} {
  // CHECK: %[[T:.*]] = grad.cast %[[STEP]] : tensor<f32> -> tensor<i64>
  // CHECK: %[[AFTER:.*]] = grad.sub %[[T]], %{{.*}} : tensor<i64>
  // CHECK: %[[SINCE:.*]] = grad.select %{{.*}}, %[[AFTER]], %{{.*}} : tensor<i64>
  // CHECK: %[[BEFORE:.*]] = grad.div %[[SINCE]], %{{.*}} : tensor<i64>
  // CHECK: %[[IS_TURN:.*]] = grad.compare eq %{{.*}}, %[[SINCE]]
  // CHECK: %[[COUNT:.*]] = grad.add %[[BEFORE]], %{{.*}} : tensor<i64>
  // CHECK: %[[IS_FIRST:.*]] = grad.compare eq %[[SINCE]]
  // CHECK: %[[MOVES:.*]] = grad.and %[[IS_TURN]], %{{.*}} : tensor<i1>
  grad.write @w, %new : tensor<4x3xf32>
  // CHECK: %[[OLD:.*]] = grad.read @w.ema
  // CHECK: grad.cast %[[COUNT]] : tensor<i64> -> tensor<f32>
  // CHECK: %[[MOVED:.*]] = grad.add %[[OLD]], %{{.*}} : tensor<4x3xf32>
  // CHECK: %[[FIRST:.*]] = grad.broadcast %[[IS_FIRST]]
  // CHECK: %[[NEXT:.*]] = grad.select %[[FIRST]], %{{.*}}, %[[MOVED]]
  // CHECK: %[[CHANGES:.*]] = grad.broadcast %[[MOVES]]
  // CHECK: %[[KEPT:.*]] = grad.select %[[CHANGES]], %[[NEXT]], %[[OLD]]
  // CHECK: grad.write @w.ema, %[[KEPT]]
  return %go : tensor<i1>
}
