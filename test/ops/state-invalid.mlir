// RUN: gradc-opt %s -verify-diagnostics -split-input-file

// expected-error @+1 {{expected initial of type 'tensor<3xf32>', found 'tensor<2xf32>'}}
grad.state parameter @w : tensor<3xf32> = dense<0.0> : tensor<2xf32>

// -----

// C1: the initial value is the model's, not the entries'.
// expected-error @+1 {{expected initial of type 'tensor<3x2xf32>', found 'tensor<2x3xf32>'}}
grad.state parameter @w : tensor<2x3xf32> permutation [1, 0] = dense<0.0> : tensor<2x3xf32>

// -----

// C2
// expected-error @+1 {{expected permutation of the dims of 'tensor<2x3xf32>', found [1, 1]}}
grad.state parameter @w : tensor<2x3xf32> permutation [1, 1] = dense<0.0> : tensor<3x2xf32>

// -----

// C4
// expected-error @+1 {{expected shape to be one of 'tensor<2x3xf32>' without shard, found [7]}}
grad.state parameter @w : tensor<2x3xf32> shape [7] = dense<0.0> : tensor<7xf32>

// -----

// expected-error @+1 {{expected shape to be one of 'tensor<2x3xf32>' without shard, found [6]}}
grad.state parameter @w : tensor<2x3xf32> shape [6] shard [0, 1, 2] = dense<0.0> : tensor<12xf32>

// -----

// C1: the initial value has the model's shape.
// expected-error @+1 {{expected initial of type 'tensor<1x3x2xf32>', found 'tensor<3x2xf32>'}}
grad.state parameter @w : tensor<2x3xf32> shape [1, 3, 2] permutation [1, 0] = dense<0.0> : tensor<3x2xf32>

// -----

func.func @read_unknown() {
  // expected-error @+1 {{expected a grad.state, found no @w}}
  %0 = grad.read @w : tensor<3xf32>
  return
}

// -----

// expected-note @+1 {{state is here}}
grad.state parameter @w : tensor<3xf32> = dense<0.0> : tensor<3xf32>
func.func @read_type() {
  // expected-error @+1 {{expected the type of @w ('tensor<3xf32>'), found 'tensor<4xf32>'}}
  %0 = grad.read @w : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{state is here}}
grad.state parameter @w : tensor<3xf32> = dense<0.0> : tensor<3xf32>
func.func @write_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the type of @w ('tensor<3xf32>'), found 'tensor<4xf32>'}}
  grad.write @w, %x : tensor<4xf32>
  return
}

// -----

func.func @gradient_c1(%x: tensor<3xf32>) {
  // expected-error @+1 {{operand #0 must be float tensor of rank 0}}
  %0 = grad.gradient %x wrt %x : tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @gradient_c2(%y: tensor<f32>, %x: tensor<3xi32>) {
  // expected-error @+1 {{operand #1 must be variadic of static tensor of f64, f32, f16 or bf16}}
  %0 = grad.gradient %y wrt %x : tensor<f32>, tensor<3xi32>
  return
}

// -----

// C3
// expected-error @+1 {{expected shard to be a dim of 'tensor<2x3xf32>', a number of runs that divides it, and at least 2 ranks, found [2, 1, 2]}}
grad.state parameter @dim : tensor<2x3xf32> shard [2, 1, 2] = dense<0.0> : tensor<2x3xf32>

// -----

// expected-error @+1 {{found [1, 2, 2]}}
grad.state parameter @runs : tensor<2x3xf32> shard [1, 2, 2] = dense<0.0> : tensor<2x6xf32>

// -----

// expected-error @+1 {{found [1, 1, 1]}}
grad.state parameter @ranks : tensor<2x3xf32> shard [1, 1, 1] = dense<0.0> : tensor<2x3xf32>

// -----

// expected-error @+1 {{found [1, 1]}}
grad.state parameter @numbers : tensor<2x3xf32> shard [1, 1] = dense<0.0> : tensor<2x3xf32>

// -----

// C1: of the whole state.
// expected-error @+1 {{expected initial of type 'tensor<2x6xf32>', found 'tensor<2x3xf32>'}}
grad.state parameter @whole : tensor<2x3xf32> shard [1, 1, 2] = dense<0.0> : tensor<2x3xf32>

// -----

// expected-error @+1 {{'grad.state' op expected tensors of less than 2^60 bytes, found 'tensor<1152921504606846976xi8>'}}
grad.state parameter @w : tensor<1152921504606846976xi8> = dense<0> : tensor<1152921504606846976xi8>
