// RUN: gradc-opt %s -split-input-file -gradc-build-step | FileCheck %s

// Each rank updates its own part of each parameter: it needs only that part of the gradient, and sends its part of the new
// parameter to all ranks. Slots are cut like their parameters.

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>

// CHECK: grad.state slot @w.velocity : tensor<3x4xf32> = dense<0.000000e+00> : tensor<3x4xf32> {grad.cut = @w, grad.slot_rule = "momentum"}
// CHECK-LABEL: func.func @train(
// CHECK: %[[W:.*]] = grad.read @w
// CHECK: %[[PART:.*]] = grad.gradient %{{.*}} wrt %[[W]] :
// CHECK: %[[G:.*]] = grad.reduce_scatter %[[PART]] of [@w] bf16 : tensor<3x4xf32>
// The norm covers the parts of all ranks.
// CHECK: %[[SQUARE:.*]] = grad.mul %[[G]], %[[G]]
// CHECK: %[[SQUARES:.*]] = grad.reduce_sum
// CHECK: %[[ALL:.*]] = grad.all_reduce %{{.*}} : tensor<f32>
// CHECK: grad.sqrt %[[ALL]]
// CHECK: %[[V:.*]] = grad.read @w.velocity
// CHECK: %[[NEW:.*]], %[[SLOT:.*]] = grad.momentum %[[W]], %{{.*}}, %[[V]],
// CHECK: %[[WHOLE:.*]] = grad.all_gather %[[NEW]] of [@w] : tensor<3x4xf32>
// CHECK: grad.write @w, %[[WHOLE]]
// CHECK: grad.write @w.velocity, %[[SLOT]]
func.func @train(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"}, %step: tensor<f32> {grad.role = "step"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "momentum", momentum = 0.9}, grad.clip = {global_norm = 2.0}, grad.ranks = {bf16, cut}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_mean %0 dims [0, 1] : tensor<8x4xf32>
  return %1, %1, %one : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// If a parameter's rule needs the whole tensor, one rank updates all of it. The norm covers the whole gradient.

// CHECK: grad.state parameter @w : tensor<3x4xf32> = {{.*}} {grad.whole}
grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>

// CHECK-LABEL: func.func @train(
// CHECK: %[[G:.*]] = grad.reduce_scatter %{{.*}} of [@w] : tensor<3x4xf32>
// CHECK: grad.all_reduce %{{.*}} : tensor<f32>
// CHECK: %[[NEW:.*]], %{{.*}} = grad.lars %{{.*}} : tensor<3x4xf32>
// CHECK: grad.all_gather %[[NEW]] of [@w] : tensor<3x4xf32>
func.func @train(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "lars", momentum = 0.9, trust_coefficient = 0.001}, grad.clip = {norm = 2.0}, grad.ranks = {cut}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_mean %0 dims [0, 1] : tensor<8x4xf32>
  return %1, %1, %one : tensor<f32>, tensor<f32>, tensor<f32>
}
