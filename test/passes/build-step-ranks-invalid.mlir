// RUN: gradc-opt %s -gradc-build-step -split-input-file -verify-diagnostics

// The root of a mean is not a mean of roots.

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
func.func @root(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_mean %0 dims [0, 1] : tensor<8x4xf32>
  // expected-error @+1 {{expected the loss and metrics of a step that ranks share to be sums or means over rows, found sqrt of such a sum}}
  %2 = grad.sqrt %1 : tensor<f32>
  return %2, %2, %one : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// A product pairs each row with every other row.

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
func.func @pairs(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.transpose %0 permutation [1, 0] : tensor<8x4xf32>
  // expected-error @+1 {{found matmul across rows of the batch}}
  %2 = grad.matmul %0, %1 : tensor<8x4xf32>, tensor<4x8xf32>
  %3 = grad.reduce_mean %2 dims [0, 1] : tensor<8x8xf32>
  return %3, %3, %one : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// A product of two sums over rows.

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
func.func @variance(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_mean %0 dims [0] : tensor<8x4xf32>
  %2 = grad.broadcast %1 dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %3 = grad.sub %0, %2 : tensor<8x4xf32>
  // expected-error @+1 {{found mul of such a sum}}
  %4 = grad.mul %3, %3 : tensor<8x4xf32>
  %5 = grad.reduce_mean %4 dims [0, 1] : tensor<8x4xf32>
  return %5, %5, %one : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
// expected-error @+1 {{expected results with roles "loss_numerator" and "loss_denominator" for a step of several ranks, found 0 and 0}}
func.func @no_terms(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<3x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_mean %0 dims [0, 1] : tensor<8x4xf32>
  return %1 : tensor<f32>
}

// -----

// It is unknown which of the two factors scales a row's gradient.

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
func.func @both(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_mean %0 dims [0, 1] : tensor<8x4xf32>
  %2 = grad.reduce_sum %0 dims [0, 1] : tensor<8x4xf32>
  %3 = grad.add %1, %2 : tensor<f32>
  // expected-error @+1 {{found a gradient of a sum and a mean over rows at once: request them one by one}}
  %4 = grad.gradient %3 wrt %x : tensor<f32>, tensor<8x3xf32>
  %5 = grad.reduce_mean %4 dims [0, 1] : tensor<8x3xf32>
  return %5, %5, %one : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// A mean computed by the model: a sum divided by the rank's number of rows. Multiplied by that number it would be a sum again.

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
func.func @counted(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<8x4xf32>
  %2 = grad.count %0 dims [0, 1] : tensor<8x4xf32>
  %3 = grad.div %1, %2 : tensor<f32>
  %4 = grad.gradient %3 wrt %x : tensor<f32>, tensor<8x3xf32>
  %5 = grad.mul %3, %2 : tensor<f32>
  // expected-error @+1 {{found a gradient of a sum and a mean over rows at once}}
  %6 = grad.gradient %5 wrt %x : tensor<f32>, tensor<8x3xf32>
  %7 = grad.mul %4, %6 : tensor<8x3xf32>
  %8 = grad.reduce_mean %7 dims [0, 1] : tensor<8x3xf32>
  return %8, %8, %one : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Ranks that each update a part of a parameter exchange parts of f32 or f64, also where micro-batches sum gradients in f32.

grad.state parameter @w : tensor<3x4xf16> = dense<0.5> : tensor<3x4xf16>
func.func @narrow(%x: tensor<8x3xf16> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {cut}} {
  // expected-error @+1 {{expected parameters of f32 or f64 for ranks that each update a part of them, found "w" of 'f16'; choose strategy: MIRRORED}}
  %w = grad.read @w : tensor<3x4xf16>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf16>, tensor<3x4xf16>
  %1 = grad.cast %0 : tensor<8x4xf16> -> tensor<8x4xf32>
  %2 = grad.reduce_mean %1 dims [0, 1] : tensor<8x4xf32>
  return %2, %2, %one : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

grad.state parameter @w : tensor<3x4xf16> = dense<0.5> : tensor<3x4xf16>
func.func @narrow_sums(%x: tensor<8x3xf16> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {cut}, grad.micro_batches = 2 : i64} {
  // expected-error @+1 {{expected parameters of f32 or f64 for ranks that each update a part of them, found "w" of 'f16'; choose strategy: MIRRORED}}
  %w = grad.read @w : tensor<3x4xf16>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf16>, tensor<3x4xf16>
  %1 = grad.cast %0 : tensor<8x4xf16> -> tensor<8x4xf32>
  %2 = grad.reduce_mean %1 dims [0, 1] : tensor<8x4xf32>
  return %2, %2, %one : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// A sum over rows and a penalty of weights: each rank would add the penalty. A zero adds nothing.

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
func.func @mixture(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %zero = grad.constant dense<0.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<8x4xf32>
  %2 = grad.add %1, %zero : tensor<f32>
  %3 = grad.mul %w, %w : tensor<3x4xf32>
  %4 = grad.reduce_sum %3 dims [0, 1] : tensor<3x4xf32>
  // expected-error @+1 {{found add of a sum over rows and what is none: make each an output with a loss { scalar } of its own}}
  %5 = grad.add %2, %4 : tensor<f32>
  %6 = grad.neg %5 : tensor<f32>
  return %6, %6, %one : tensor<f32>, tensor<f32>, tensor<f32>
}
