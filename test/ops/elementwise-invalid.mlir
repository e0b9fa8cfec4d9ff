// RUN: gradc-opt %s -verify-diagnostics -split-input-file

func.func @clamp_c1(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected low and high to be numbers, found nan and 1}}
  %0 = grad.clamp %x, 0x7FF8000000000000, 1.0 : tensor<3xf32>
  return
}

// -----

func.func @clamp_c1_whole(%x: tensor<3xi32>) {
  // expected-error @+1 {{expected whole or infinite limits of integers, found 5.000000e-01 and 1}}
  %0 = grad.clamp %x, 0.5, 1.0 : tensor<3xi32>
  return
}

// -----

func.func @float_only(%x: tensor<3xi32>) {
  // expected-error @+1 {{operand #0 must be static tensor of f64, f32, f16 or bf16}}
  %0 = grad.exp %x : tensor<3xi32>
  return
}

// -----

func.func @bits_only(%x: tensor<3xf32>) {
  // expected-error @+1 {{operand #0 must be static tensor of an integer or a bool}}
  %0 = grad.and %x, %x : tensor<3xf32>
  return
}

// -----

func.func @shift_integers_only(%x: tensor<3xi1>) {
  // expected-error @+1 {{operand #0 must be static tensor of an integer}}
  %0 = grad.shift_left %x, %x : tensor<3xi1>
  return
}

// -----

func.func @static_only(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be static tensor}}
  %0 = grad.exp %x : tensor<?xf32>
  return
}

// -----

func.func @cast_shape(%x: tensor<3xf32>) {
  // expected-error @+1 {{all of {operand, result} have same shape}}
  %0 = grad.cast %x : tensor<3xf32> -> tensor<4xf64>
  return
}

// -----

// Passes add up and pad sizes, which must not exceed 64 bits.
func.func @huge(%x: tensor<1099511627776x1099511627776xf32>) {
  // expected-error @+1 {{'grad.exp' op expected tensors of less than 2^60 bytes, found 'tensor<1099511627776x1099511627776xf32>'}}
  %0 = grad.exp %x : tensor<1099511627776x1099511627776xf32>
  return
}

// -----

func.func @huge_empty(%x: tensor<0x1099511627776x1048576xi8>) {
  // expected-error @+1 {{expected tensors of less than 2^60 bytes, found 'tensor<0x1099511627776x1048576xi8>'}}
  %0 = grad.add %x, %x : tensor<0x1099511627776x1048576xi8>
  return
}

// -----

func.func @large(%x: tensor<1099511627776x1048575xi8>) {
  %0 = grad.add %x, %x : tensor<1099511627776x1048575xi8>
  return
}
