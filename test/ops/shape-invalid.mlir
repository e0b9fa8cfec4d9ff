// RUN: gradc-opt %s -verify-diagnostics -split-input-file

func.func @iota_c1() {
  // expected-error @+1 {{expected dim in [0, 2), found 2}}
  %0 = grad.iota dim 2 : tensor<2x3xi32>
  return
}

// -----

func.func @reshape_c1_count(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected the operand's 6 elements, found 7}}
  %0 = grad.reshape %x : tensor<2x3xf32> -> tensor<7xf32>
  return
}

// -----

func.func @reshape_c1_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected the operand's element type 'f32', found 'f64'}}
  %0 = grad.reshape %x : tensor<2x3xf32> -> tensor<6xf64>
  return
}

// -----

func.func @transpose_c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a permutation of the operand's 2 dims, found [0, 0]}}
  %0 = grad.transpose %x permutation [0, 0] : tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected 2 strictly increasing dims in [0, 3), found [1, 0]}}
  %0 = grad.broadcast %x dims [1, 0] : tensor<2x3xf32> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<2x1xf32>) {
  // expected-error @+1 {{expected operand dim 1 (1) to match result dim 1 (3)}}
  %0 = grad.broadcast %x dims [0, 1] : tensor<2x1xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<2xf32>) {
  // expected-error @+1 {{expected the operand's element type 'f32', found 'f16'}}
  %0 = grad.broadcast %x dims [0] : tensor<2xf32> -> tensor<2x3xf16>
  return
}

// -----

func.func @slice_c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected one start, size and stride a dim (2), found 1, 2 and 2}}
  %0 = grad.slice %x starts [0] sizes [1, 1] strides [1, 1] : tensor<2x3xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected stride 0 to be other than 0}}
  %0 = grad.slice %x starts [0] sizes [1] strides [0] : tensor<3xf32>
  return
}

// -----

func.func @slice_c3(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected first and last index of dim 0 in [0, 3), found 1 and 3}}
  %0 = grad.slice %x starts [1] sizes [2] strides [2] : tensor<3xf32>
  return
}

// -----

func.func @slice_c3_size(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected size 0 to be 0 or more, found -1}}
  %0 = grad.slice %x starts [1] sizes [-1] strides [1] : tensor<3xf32>
  return
}

// -----

func.func @pad_c1(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected one low, high and interior a dim (1), found 1, 2 and 1}}
  %0 = grad.pad %x low [0] high [0, 0] interior [0] : tensor<3xf32>
  return
}

// -----

func.func @pad_c1_negative(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected low, high and interior of dim 0 to be 0 or more, found -1, 0 and 0}}
  %0 = grad.pad %x low [-1] high [0] interior [0] : tensor<3xf32>
  return
}

// -----

func.func @concatenate_c1() {
  // expected-error @+2 {{expected at least one operand, found none}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "grad.concatenate"() <{dim = 0 : i64}> : () -> tensor<3xf32>
  return
}

// -----

func.func @concatenate_c2(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected dim in [0, 1), found 1}}
  %0 = grad.concatenate %x, %x dim 1 : tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @concatenate_c3(%x: tensor<3x2xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+1 {{expected operand 1 to be as operand 0 ('tensor<3x2xf32>') but for dim 0, found 'tensor<3x4xf32>'}}
  %0 = grad.concatenate %x, %y dim 0 : tensor<3x2xf32>, tensor<3x4xf32>
  return
}

// -----

// Result types are inferred before the types of operands are verified.

func.func @concatenate_numbers(%x: f32) {
  // expected-error @+1 {{expected operands to be ranked tensors, found 'f32'}}
  %0 = grad.concatenate %x, %x dim 0 : f32, f32
  return
}

// -----

func.func @matmul_unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor, but found 'tensor<*xf32>'}}
  %0 = grad.matmul %x, %x : tensor<*xf32>, tensor<*xf32>
  return
}

// -----

func.func @reduce_sum_unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor, but found 'tensor<*xf32>'}}
  %0 = grad.reduce_sum %x dims [0] : tensor<*xf32>
  return
}
