// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate

// All ops without a gradient are reported together, each with a target that needs it.

// expected-note @+1 {{needed for the gradient with respect to input "x"}}
func.func @all_at_once(%x: tensor<4xf32> {grad.name = "x"}, %lr: tensor<f32>, %go: tensor<i1>) -> tensor<4xf32> {
  %g = grad.exp %x : tensor<4xf32>
  // expected-error @+1 {{'grad.sgd' op has no gradient}}
  %0 = grad.sgd %x, %g, %lr, %go : tensor<4xf32>, tensor<f32>
  // expected-error @+1 {{'grad.sgd' op has no gradient}}
  %1 = grad.sgd %0, %g, %lr, %go : tensor<4xf32>, tensor<f32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<4xf32>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

grad.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32>

func.func @parameter(%lr: tensor<f32>, %go: tensor<i1>) -> tensor<4xf32> {
  // expected-note @+1 {{needed for the gradient with respect to parameter "w"}}
  %w = grad.read @w : tensor<4xf32>
  // expected-error @+1 {{'grad.sgd' op has no gradient}}
  %0 = grad.sgd %w, %w, %lr, %go : tensor<4xf32>, tensor<f32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  %2 = grad.gradient %1 wrt %w : tensor<f32>, tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// An op of two entries, a step and its twin for a smaller last batch, is reported once.

// expected-error @unknown {{'grad.sgd' op has no gradient}}
// expected-note @+1 {{needed for the gradient with respect to input "x"}}
func.func @train(%x: tensor<4xf32> {grad.name = "x"}, %g: tensor<4xf32>, %lr: tensor<f32>, %go: tensor<i1>) -> tensor<4xf32> {
  %0 = grad.sgd %x, %g, %lr, %go : tensor<4xf32>, tensor<f32> loc("fc1")
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @train.tail(%x: tensor<3xf32> {grad.name = "x"}, %g: tensor<3xf32>, %lr: tensor<f32>, %go: tensor<i1>) -> tensor<3xf32> {
  %0 = grad.sgd %x, %g, %lr, %go : tensor<3xf32>, tensor<f32> loc("fc1")
  %1 = grad.reduce_sum %0 dims [0] : tensor<3xf32>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<3xf32>
  return %2 : tensor<3xf32>
}

// -----

// A gradient reads all steps of a loop, and how many there are must be known.

// expected-note @+1 {{needed for the gradient with respect to input "x"}}
func.func @ends(%x: tensor<4xf32> {grad.name = "x"}, %c: tensor<i1>) -> tensor<4xf32> {
  // expected-error @+1 {{'grad.scan' op has no gradient}}
  %0:2 = grad.scan 9 while 0 from (%c, %x) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>):
    %1 = grad.exp %v : tensor<4xf32>
    grad.yield %go, %1 : tensor<i1>, tensor<4xf32>
  }
  // expected-error @+1 {{'grad.scan' op has no gradient, which reads saved values of each step: give the loop a trip count of at most 1000000}}
  %2 = grad.scan 2147483647 from (%0#1) over () with () : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%v: tensor<4xf32>):
    %3 = grad.tanh %v : tensor<4xf32>
    grad.yield %3 : tensor<4xf32>
  }
  %4 = grad.reduce_sum %2 dims [0] : tensor<4xf32>
  %5 = grad.gradient %4 wrt %x : tensor<f32>, tensor<4xf32>
  return %5 : tensor<4xf32>
}

// -----

// A loop in a branch tells why the branch has no gradient.

// expected-note @+1 {{needed for the gradient with respect to input "x"}}
func.func @in_a_branch(%x: tensor<4xf32> {grad.name = "x"}, %c: tensor<i1>) -> tensor<4xf32> {
  // expected-error @+1 {{'grad.if' op has no gradient, which reads saved values of each step: give the loop a trip count of at most 1000000}}
  %0 = grad.if %c with (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = grad.scan 1000001 from (%a) over () with () : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%v: tensor<4xf32>):
      %2 = grad.tanh %v : tensor<4xf32>
      grad.yield %2 : tensor<4xf32>
    }
    grad.yield %1 : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a : tensor<4xf32>
  }
  %3 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  %4 = grad.gradient %3 wrt %x : tensor<f32>, tensor<4xf32>
  return %4 : tensor<4xf32>
}
