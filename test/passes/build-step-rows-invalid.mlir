// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step

// A lazy table may only be read by rows.

// expected-error @+1 {{expected the steps to read only rows of "w", which is lazy}}
grad.state parameter @w : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.lazy}
func.func @train(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}} {
  %w = grad.read @w : tensor<50x8xf32>
  // expected-note @+1 {{this grad.tanh reads it}}
  %0 = grad.tanh %w : tensor<50x8xf32>
  %l = grad.reduce_mean %0 dims [0, 1] : tensor<50x8xf32>
  return %l : tensor<f32>
}

// -----

// Weight decay in the gradient changes all rows.

// expected-error @+1 {{"w" cannot be lazy: l2 and weight_decay change all rows}}
grad.state parameter @w : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.lazy}
func.func @train(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd", l2 = 0.1}} {
  %w = grad.read @w : tensor<50x8xf32>
  %0 = grad.gather %w[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %l = grad.reduce_mean %0 dims [0, 1] : tensor<3x8xf32>
  return %l : tensor<f32>
}

// -----

// Decoupled weight decay changes all rows.

// expected-error @+1 {{"w" cannot be lazy: l2 and weight_decay change all rows}}
grad.state parameter @w : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.lazy, grad.optimizer = {name = "sgd", weight_decay = 0.1}}
func.func @train(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}} {
  %w = grad.read @w : tensor<50x8xf32>
  %0 = grad.gather %w[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %l = grad.reduce_mean %0 dims [0, 1] : tensor<3x8xf32>
  return %l : tensor<f32>
}

// -----

// The rule needs a norm of the whole tensor.

// expected-error @+1 {{"w" cannot be lazy: lamb computes with the whole parameter}}
grad.state parameter @w : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.lazy}
func.func @train(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {grad.optimizer = {name = "lamb", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-6}} {
  %w = grad.read @w : tensor<50x8xf32>
  %0 = grad.gather %w[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %l = grad.reduce_mean %0 dims [0, 1] : tensor<3x8xf32>
  return %l : tensor<f32>
}

// -----

// An average changes in all rows.

// expected-error @+1 {{"w" cannot be lazy: its average changes in all rows}}
grad.state parameter @w : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.lazy}
func.func @train(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}, grad.average = 0.9} {
  %w = grad.read @w : tensor<50x8xf32>
  %0 = grad.gather %w[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %l = grad.reduce_mean %0 dims [0, 1] : tensor<3x8xf32>
  return %l : tensor<f32>
}

// -----

// Ranks sum the whole gradient.

// expected-error @+1 {{"w" cannot be lazy: ranks add up gradients of all rows}}
grad.state parameter @w : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.lazy}
func.func @train(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<50x8xf32>
  %0 = grad.gather %w[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %l = grad.reduce_mean %0 dims [0, 1] : tensor<3x8xf32>
  return %l : tensor<f32>
}
