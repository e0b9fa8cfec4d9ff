// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step | FileCheck %s

// Slots are created once for both entries, and each entry updates all parameters.

// CHECK: grad.state {{ ?}}parameter @w :
// CHECK-NEXT: grad.state {{ ?}}slot @w.first : tensor<3x4xf32> = dense<0.000000e+00> : tensor<3x4xf32> {grad.slot_rule = "adam"}
// CHECK-NEXT: grad.state {{ ?}}slot @w.second : tensor<3x4xf32> = dense<0.000000e+00> : tensor<3x4xf32> {grad.slot_rule = "adam"}
// CHECK-NOT: grad.state {{ ?}}slot
grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
// expected-remark @+1 {{the loss does not reach parameter "unused": it stays constant}}
grad.state parameter @unused : tensor<4xf32> = dense<0.0> : tensor<4xf32>
// CHECK: grad.state {{ ?}}constant @unused
// expected-remark @+1 {{the loss does not reach parameter "rounded": it stays constant}}
grad.state parameter @rounded : tensor<4xf32> = dense<0.0> : tensor<4xf32>
// CHECK: grad.state {{ ?}}constant @rounded
// CHECK: grad.state {{ ?}}statistic @s
grad.state statistic @s : tensor<4xf32> = dense<0.0> : tensor<4xf32>

// CHECK-LABEL: func.func @train(
// CHECK-SAME: -> (tensor<f32>, tensor<f32> {grad.name = "gradient_norm", grad.role = "gradient_norm"}, tensor<i1> {grad.name = "proceed", grad.role = "proceed"})
// CHECK-NOT: grad.optimizer
// CHECK-NOT: grad.clip
func.func @train(%x: tensor<2x3xf32>, %lr: tensor<f32> {grad.role = "learning_rate"},
    %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}, grad.clip = {global_norm = 2.0}} {
  // CHECK: %[[W:.*]] = grad.read @w
  %w = grad.read @w : tensor<3x4xf32>
  %r = grad.read @rounded : tensor<4xf32>
  %s = grad.read @s : tensor<4xf32>
  // expected-note @+1 {{the gradient stops at grad.floor}}
  %0 = grad.floor %r : tensor<4xf32>
  %1 = grad.add %0, %s : tensor<4xf32>
  %2 = grad.broadcast %1 dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %3 = grad.matmul %x, %w : tensor<2x3xf32>, tensor<3x4xf32>
  %4 = grad.add %3, %2 : tensor<2x4xf32>
  // CHECK: %[[LOSS:.*]] = grad.reduce_mean
  %5 = grad.reduce_mean %4 dims [0, 1] : tensor<2x4xf32>
  // CHECK: %[[G:.*]] = grad.gradient %[[LOSS]] wrt %[[W]] :
  // CHECK: %[[FINITE:.*]] = grad.is_finite %[[LOSS]]
  // The norm first sums each row, so that threads can share the work.
  // CHECK: %[[SQUARES:.*]] = grad.mul %[[G]], %[[G]]
  // CHECK: %[[ROWS:.*]] = grad.reduce_sum %[[SQUARES]] dims [1]
  // CHECK: %[[TOTAL:.*]] = grad.reduce_sum %[[ROWS]] dims [0]
  // CHECK: %[[NORM:.*]] = grad.sqrt %[[TOTAL]]
  // CHECK: %[[SCALE:.*]] = grad.minimum
  // CHECK: %[[ALL:.*]] = grad.broadcast %[[SCALE]]
  // CHECK: %[[CLIPPED:.*]] = grad.mul %[[G]], %[[ALL]]
  // CHECK: %[[NORM_FINITE:.*]] = grad.is_finite %[[NORM]]
  // CHECK: %[[PROCEED:.*]] = grad.and %[[FINITE]], %[[NORM_FINITE]]
  // CHECK: %[[M:.*]] = grad.read @w.first
  // CHECK: %[[V:.*]] = grad.read @w.second
  // CHECK: %[[NEW:.*]], %[[SLOTS:.*]]:2 = grad.adam %[[W]], %[[CLIPPED]], %[[M]], %[[V]], %arg1, %arg2, %[[PROCEED]]
  // CHECK: grad.write @w, %[[NEW]]
  // CHECK: grad.write @w.first, %[[SLOTS]]#0
  // CHECK: grad.write @w.second, %[[SLOTS]]#1
  // CHECK: return %[[LOSS]], %[[NORM]], %[[PROCEED]]
  return %5 : tensor<f32>
}

// CHECK-LABEL: func.func @tail(
func.func @tail(%x: tensor<1x3xf32>, %lr: tensor<f32> {grad.role = "learning_rate"},
    %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}} {
  %w = grad.read @w : tensor<3x4xf32>
  %0 = grad.matmul %x, %w : tensor<1x3xf32>, tensor<3x4xf32>
  // CHECK: %[[LOSS:.*]] = grad.reduce_mean
  %1 = grad.reduce_mean %0 dims [0, 1] : tensor<1x4xf32>
  // Without clipping, only the loss decides whether the step proceeds.
  // CHECK: %[[PROCEED:.*]] = grad.is_finite %[[LOSS]]
  // CHECK: grad.read @w.first
  // CHECK: grad.adam
  // CHECK: return %[[LOSS]], %[[PROCEED]]
  return %1 : tensor<f32>
}

// An entry without an optimizer is left alone.

// CHECK-LABEL: func.func @evaluate(
func.func @evaluate(%x: tensor<1x3xf32>) -> tensor<1x4xf32> {
  // CHECK-NEXT: grad.read
  // CHECK-NEXT: grad.matmul
  // CHECK-NEXT: return
  %w = grad.read @w : tensor<3x4xf32>
  %0 = grad.matmul %x, %w : tensor<1x3xf32>, tensor<3x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// A parameter that is read twice has one gradient and one update.

grad.state parameter @w : tensor<f32> = dense<0.5> : tensor<f32>

// CHECK-LABEL: func.func @momentum(
func.func @momentum(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "momentum", momentum = 0.9, nesterov, l2 = 0.1}} {
  // CHECK: %[[W:.*]] = grad.read @w :
  // CHECK-NOT: grad.read @w :
  %a = grad.read @w : tensor<f32>
  %b = grad.read @w : tensor<f32>
  // CHECK: grad.mul %[[W]], %[[W]]
  %0 = grad.mul %a, %b : tensor<f32>
  // CHECK: grad.momentum %[[W]], {{.*}} {l2 = 1.000000e-01 : f64, momentum = 9.000000e-01 : f64, nesterov}
  // CHECK: grad.write @w,
  // CHECK: grad.write @w.velocity,
  return %0 : tensor<f32>
}

// -----

// Statistics written by the forward are unchanged if the step does not proceed.

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32>
grad.state statistic @mean : tensor<4xf32> = dense<0.0> : tensor<4xf32>
// CHECK-LABEL: func.func @statistics(
func.func @statistics(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %w = grad.read @w : tensor<4xf32>
  // CHECK: %[[NEW:.*]] = grad.mul %arg0
  %0 = grad.mul %x, %w : tensor<4xf32>
  grad.write @mean, %0 : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  // CHECK: %[[PROCEED:.*]] = grad.is_finite
  // CHECK: %[[MASK:.*]] = grad.broadcast %[[PROCEED]] dims [] : tensor<i1> -> tensor<4xi1>
  // CHECK: %[[OLD:.*]] = grad.read @mean
  // CHECK: %[[KEPT:.*]] = grad.select %[[MASK]], %[[NEW]], %[[OLD]]
  // CHECK: grad.write @mean, %[[KEPT]]
  return %1 : tensor<f32>
}

// -----

// A step goes on if indices are in range; of results that are no indices, which a negative limit says, if they are 0.

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32>

// CHECK-LABEL: func.func @limits(
// CHECK: %[[TWICE:.*]] = grad.constant dense<14> : tensor<ui64>
// CHECK: grad.compare lt %arg1, %[[TWICE]]
// CHECK: %[[ONE:.*]] = grad.constant dense<1> : tensor<ui64>
// CHECK: grad.compare lt %arg2, %[[ONE]]
func.func @limits(%x: tensor<4xf32>, %i: tensor<ui64>, %j: tensor<ui64>, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<ui64> {grad.classes = 7 : i64, grad.role = "indices"}, tensor<ui64> {grad.classes = -2 : i64, grad.role = "indices"})
    attributes {grad.optimizer = {name = "sgd"}} {
  %w = grad.read @w : tensor<4xf32>
  %0 = grad.mul %x, %w : tensor<4xf32>
  %1 = grad.reduce_mean %0 dims [0] : tensor<4xf32>
  return %1, %i, %j : tensor<f32>, tensor<ui64>, tensor<ui64>
}
