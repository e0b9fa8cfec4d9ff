// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step | FileCheck %s

// Two entries over one set of states: each requests the gradients of the parameters that it trains, and optimizers count the steps that
// train a parameter. The counter is created once, before all other states, and read and written once.

// CHECK: grad.state {{ ?}}slot @"gradc.steps/second" : tensor<f32>
// CHECK-NEXT: grad.state {{ ?}}slot @"gradc.steps/first" : tensor<f32> = dense<0.000000e+00>
// CHECK-NEXT: grad.state {{ ?}}parameter @a : tensor<4xf32> = dense<5.000000e-01> : tensor<4xf32>{{$}}
// CHECK-NEXT: grad.state {{ ?}}slot @a.first
// CHECK: grad.state {{ ?}}parameter @b
// CHECK: grad.state {{ ?}}parameter @c
// CHECK-NEXT: grad.state {{ ?}}slot @c.first
// CHECK-NEXT: grad.state {{ ?}}slot @c.second
// CHECK-NOT: grad.state
grad.state parameter @a : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.steps = @"gradc.steps/first"}
grad.state parameter @b : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.steps = @"gradc.steps/first"}
grad.state parameter @c : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.steps = @"gradc.steps/second"}

// CHECK-LABEL: func.func @first(
// CHECK-NOT: grad.trains
func.func @first(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"})
    -> tensor<f32> attributes {grad.trains = [@a, @b],
    grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}} {
  // CHECK: %[[A:.*]] = grad.read @a
  // CHECK: %[[B:.*]] = grad.read @b
  // CHECK: grad.gradient %{{.*}} wrt %[[A]], %[[B]] :
  // CHECK: %[[PROCEED:.*]] = grad.is_finite
  // CHECK: %[[BEFORE:.*]] = grad.read @"gradc.steps/first"
  // CHECK: %[[NOW:.*]] = grad.add %[[BEFORE]], %
  // CHECK: %[[KEPT:.*]] = grad.select %[[PROCEED]], %[[NOW]], %[[BEFORE]]
  // CHECK: grad.write @"gradc.steps/first", %[[KEPT]]
  // CHECK: grad.adam %[[A]], %{{.*}}, %{{.*}}, %{{.*}}, %arg1, %[[NOW]], %[[PROCEED]]
  // CHECK-NOT: grad.read @"gradc.steps/first"
  // CHECK: grad.adam %[[B]], %{{.*}}, %{{.*}}, %{{.*}}, %arg1, %[[NOW]], %[[PROCEED]]
  // CHECK-NOT: grad.write @c
  // CHECK: return
  %a = grad.read @a : tensor<4xf32>
  %b = grad.read @b : tensor<4xf32>
  %c = grad.read @c : tensor<4xf32>
  %0 = grad.mul %x, %a : tensor<4xf32>
  %1 = grad.add %0, %b : tensor<4xf32>
  %2 = grad.mul %1, %c : tensor<4xf32>
  %3 = grad.reduce_mean %2 dims [0] : tensor<4xf32>
  return %3 : tensor<f32>
}

// CHECK-LABEL: func.func @second(
func.func @second(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"})
    -> tensor<f32> attributes {grad.trains = [@c],
    grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}} {
  // CHECK: %[[C:.*]] = grad.read @c
  // CHECK: grad.gradient %{{.*}} wrt %[[C]] :
  // CHECK-NOT: grad.write @a
  // CHECK: grad.write @"gradc.steps/second"
  // CHECK: grad.write @c
  // CHECK-NOT: grad.write @a
  %a = grad.read @a : tensor<4xf32>
  %c = grad.read @c : tensor<4xf32>
  %0 = grad.mul %x, %a : tensor<4xf32>
  %1 = grad.mul %0, %c : tensor<4xf32>
  %2 = grad.reduce_mean %1 dims [0] : tensor<4xf32>
  return %2 : tensor<f32>
}

// -----

// Watched gradients are returned in the model's shape and order of dims. Nothing is written, and no other result remains but the largest
// index.

grad.state parameter @w : tensor<3x2xf32> shape [1, 2, 3] permutation [1, 0] = dense<0.5> : tensor<1x2x3xf32>
grad.state parameter @b : tensor<3x2xf32> = dense<0.5> : tensor<3x2xf32>
grad.state statistic @s : tensor<f32> = dense<0.5> : tensor<f32>

// CHECK-LABEL: func.func @watch(
// CHECK-SAME: -> (tensor<i64> {grad.classes = 7 : i64, grad.role = "indices"}, tensor<1x2x3xf32> {grad.name = "w", grad.role = "gradient"})
// CHECK-SAME: attributes {grad.watch = [@w]}
func.func @watch(%x: tensor<3x2xf32>, %i: tensor<i64>, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<i64> {grad.classes = 7 : i64, grad.role = "indices"})
    attributes {grad.optimizer = {name = "sgd"}, grad.clip = {norm = 1.0}, grad.watch = [@w]} {
  // CHECK: %[[W:.*]] = grad.read @w
  // CHECK: %[[G:.*]] = grad.gradient %{{.*}} wrt %[[W]] :
  // CHECK-NOT: grad.write
  // CHECK: %[[ORDERED:.*]] = grad.transpose %[[G]] permutation [1, 0]
  // CHECK: %[[MODELS:.*]] = grad.reshape %[[ORDERED]] : tensor<2x3xf32> -> tensor<1x2x3xf32>
  // CHECK: return %arg1, %[[MODELS]] :
  %w = grad.read @w : tensor<3x2xf32>
  %b = grad.read @b : tensor<3x2xf32>
  %0 = grad.mul %x, %w : tensor<3x2xf32>
  %1 = grad.mul %0, %b : tensor<3x2xf32>
  %2 = grad.reduce_mean %1 dims [0, 1] : tensor<3x2xf32>
  grad.write @s, %2 : tensor<f32>
  return %2, %i : tensor<f32>, tensor<i64>
}
