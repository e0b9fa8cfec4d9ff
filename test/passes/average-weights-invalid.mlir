// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-average-weights

// expected-error @+1 {{expected grad.average to be a float from 0 to below 1, or `begin` and `every` above 0, found 1.000000e+00 : f64}}
func.func @decay(%go: tensor<i1>) -> (tensor<i1> {grad.role = "proceed"}) attributes {grad.average = 1.0 : f64} {
  return %go : tensor<i1>
}

// -----

// expected-error @+1 {{expected a result with role "proceed" beside grad.average: it is for training steps}}
func.func @no_step(%go: tensor<i1>) -> tensor<i1> attributes {grad.average = 0.5 : f64} {
  return %go : tensor<i1>
}

// -----

// expected-error @+1 {{expected grad.average to be a float from 0 to below 1, or `begin` and `every` above 0, found {begin = 5 : i64, every = 0 : i64}}}
func.func @every(%go: tensor<i1>) -> (tensor<i1> {grad.role = "proceed"}) attributes {grad.average = {begin = 5 : i64, every = 0 : i64}} {
  return %go : tensor<i1>
}

// -----

// expected-error @+1 {{expected an argument with role "step" beside an equal average}}
func.func @uncounted(%go: tensor<i1>) -> (tensor<i1> {grad.role = "proceed"}) attributes {grad.average = {begin = 5 : i64, every = 2 : i64}} {
  return %go : tensor<i1>
}

// -----

grad.state parameter @w : tensor<f32> = dense<0.5> : tensor<f32>
// expected-error @+1 {{expected "w.ema" to be free for the average of "w"}}
grad.state parameter @w.ema : tensor<f32> = dense<0.5> : tensor<f32>

func.func @taken(%x: tensor<f32>, %go: tensor<i1>) -> (tensor<i1> {grad.role = "proceed"}) attributes {grad.average = 0.5 : f64} {
  grad.write @w, %x : tensor<f32>
  return %go : tensor<i1>
}
