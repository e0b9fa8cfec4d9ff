// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step

// expected-error @+1 {{expected grad.optimizer to name one of adadelta, adagrad, adam, lamb, lars, lion, momentum, muon, nadam, rmsprop, sgd, found {name = "relu"}}}
func.func @unknown(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {grad.optimizer = {name = "relu"}} {
  return %lr : tensor<f32>
}

// -----

// expected-error @+1 {{expected the hyperparameters of grad.adam in grad.optimizer, found `beta3`}}
func.func @unknown_number(%lr: tensor<f32>) -> tensor<f32> attributes {grad.optimizer = {name = "adam", beta3 = 0.9}} {
  return %lr : tensor<f32>
}

// -----

// expected-error @+1 {{attribute 'beta2' failed to satisfy constraint: 64-bit float attribute}}
func.func @no_number(%lr: tensor<f32>) -> tensor<f32> attributes {grad.optimizer = {name = "adam", beta2 = 1 : i64}} {
  return %lr : tensor<f32>
}

// -----

grad.state parameter @w : tensor<f32> = dense<0.5> : tensor<f32>

func.func @missing_number(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "adam", beta1 = 0.9, epsilon = 0.1}} {
  // expected-error @+1 {{requires attribute 'beta2'}}
  %0 = grad.read @w : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @+1 {{expected the loss, a float scalar, as result 0, found 'tensor<2xf32>'}}
func.func @loss(%x: tensor<2xf32>) -> tensor<2xf32> attributes {grad.optimizer = {name = "sgd"}} {
  return %x : tensor<2xf32>
}

// -----

// expected-error @+1 {{expected the loss, a float scalar, as result 0, found no result}}
func.func @no_loss() attributes {grad.optimizer = {name = "sgd"}} {
  return
}

// -----

// expected-error @+1 {{expected an argument with role "learning_rate", found none}}
func.func @no_rate(%x: tensor<f32>) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}} {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected the argument with role "learning_rate" to be a float scalar, found 'tensor<1xf32>'}}
func.func @rate(%x: tensor<f32>, %lr: tensor<1xf32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}} {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected an argument with role "step", found none}}
func.func @no_step(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.9, epsilon = 0.1}} {
  return %lr : tensor<f32>
}

// -----

// expected-error @+1 {{expected grad.clip with one positive float, `value`, `norm` or `global_norm`, found {global_norm = -1.000000e+00 : f64}}}
func.func @clip(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}, grad.clip = {global_norm = -1.0}} {
  return %lr : tensor<f32>
}

// -----

grad.state parameter @w : tensor<f32> = dense<0.5> : tensor<f32>
// expected-error @+1 {{expected "w.velocity" to be free for optimizer slot `velocity` of type 'tensor<f32>'}}
grad.state parameter @w.velocity : tensor<f32> = dense<0.5> : tensor<f32>

func.func @slot(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "momentum", momentum = 0.9}} {
  %0 = grad.read @w : tensor<f32>
  %1 = grad.read @w.velocity : tensor<f32>
  %2 = grad.mul %0, %1 : tensor<f32>
  return %2 : tensor<f32>
}

// -----

// expected-error @+1 {{expected grad.clip with one positive float, `value`, `norm` or `global_norm`, found {norm = 1.000000e+00 : f64, value = 1.000000e+00 : f64}}}
func.func @two_clips(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}, grad.clip = {norm = 1.0, value = 1.0}} {
  return %lr : tensor<f32>
}

// -----

// A state's own rule is checked like the function's.

// expected-error @+1 {{expected the hyperparameters of grad.sgd in grad.optimizer, found `momentum`}}
grad.state parameter @w : tensor<f32> = dense<0.5> : tensor<f32> {grad.optimizer = {name = "sgd", momentum = 0.9}}

func.func @own(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<f32>
  return %0 : tensor<f32>
}

// -----

grad.state parameter @w : tensor<f32> = dense<0.5> : tensor<f32> {grad.optimizer = {name = "muon", momentum = 0.9}}

func.func @rank(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}} {
  // expected-error @+1 {{expected a parameter of 2 dims or more, found 'tensor<f32>'}}
  %0 = grad.read @w : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @+1 {{expected a positive number as grad.micro_batches, found 0 : i64}}
func.func @no_parts(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}, grad.micro_batches = 0 : i64} {
  return %lr : tensor<f32>
}

// -----

// expected-error @+1 {{expected results with roles "loss_numerator" and "loss_denominator" for a step in several parts, found none}}
func.func @no_terms(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}, grad.micro_batches = 2 : i64} {
  return %lr : tensor<f32>
}

// -----

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.steps = @count}
// expected-error @+1 {{expected @count to be free for the number of steps, of type 'tensor<f32>'}}
grad.state statistic @count : tensor<4xf32> = dense<0.5> : tensor<4xf32>

func.func @counted(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_mean %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.rate = "w*"}

// expected-error @+1 {{expected an argument with role "learning_rate" and grad.field "w*", found none}}
func.func @no_rate(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_mean %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{expected grad.prune to have sparsities, a range of steps, and a dim of "w" that `of` divides, found}}
grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.prune = {sparsity = 0.5}}

func.func @incomplete_pruning(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{expected grad.prune to have sparsities, a range of steps, and a dim of "w" that `of` divides, found}}
grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.prune = {initial_sparsity = 0.0, sparsity = 0.5, begin_step = 1 : i64, end_step = 9 : i64, every = 1 : i64, dim = 1 : i64, of = 0 : i64}}

func.func @pruning_of_no_dim(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{expected grad.prune to have sparsities, a range of steps, and a dim of "w" that `of` divides, found}}
grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.prune = {initial_sparsity = 0.0, sparsity = 0.5, begin_step = 1 : i64, end_step = 9 : i64, every = 1 : i64, dim = 0 : i64, of = 3 : i64}}

func.func @pruning_of_uneven_groups(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{expected grad.prune to have sparsities, a range of steps, and a dim of "w" in blocks of dim 0, found}}
grad.state parameter @w : tensor<4x2xf32> = dense<0.5> : tensor<4x2xf32> {grad.prune = {initial_sparsity = 0.0, sparsity = 0.5, begin_step = 1 : i64, end_step = 9 : i64, every = 1 : i64, dim = 1 : i64, of = 0 : i64, blocks = 3 : i64}}

func.func @pruning_of_uneven_blocks(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4x2xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<4x2xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{expected grad.prune to have sparsities, a range of steps, and a dim of "w" that `of` divides, found}}
grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.prune = {initial_sparsity = 0.0, sparsity = 0.5, begin_step = 1 : i64, end_step = 9 : i64, every = 0 : i64, dim = 0 : i64, of = 2 : i64}}

func.func @pruning_every_no_step(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{expected grad.prune to have sparsities, a range of steps, and a dim of "w" that `of` divides, found}}
grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.prune = {initial_sparsity = 0.0, sparsity = 0.5, begin_step = 10 : i64, end_step = 9 : i64, every = 1 : i64, dim = 0 : i64, of = 2 : i64}}

func.func @pruning_in_no_step(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.prune = {initial_sparsity = 0.0, sparsity = 0.5, begin_step = 1 : i64, end_step = 9 : i64, every = 1 : i64, dim = -1 : i64, of = 0 : i64}}

// expected-error @+1 {{expected an argument with role "step" to prune "w", found none}}
func.func @pruning_without_number(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{expected every rank to update all of "w", which is pruned: its elements compete with each other}}
grad.state parameter @w : tensor<4xf32> shard [0, 1, 2] = dense<0.5> : tensor<8xf32> {grad.prune = {initial_sparsity = 0.0, sparsity = 0.5, begin_step = 1 : i64, end_step = 9 : i64, every = 1 : i64, dim = -1 : i64, of = 0 : i64}}

func.func @pruning_of_shards(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.prune = {initial_sparsity = 0.0, sparsity = 0.5, begin_step = 1 : i64, end_step = 9 : i64, every = 1 : i64, dim = -1 : i64, of = 0 : i64}}
// expected-error @+1 {{expected "w.mask" to be free for optimizer slot `mask` of type 'tensor<4xi1>'}}
grad.state constant @w.mask : tensor<4xf32> = dense<0.5> : tensor<4xf32>

func.func @pruning_without_room(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}
