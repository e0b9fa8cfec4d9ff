// RUN: gradc-opt %s -split-input-file -verify-diagnostics

func.func @c1_form(%x: tensor<7x4x2xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error @+1 {{expected dims LHS,RHS->RESULT in letters a to z, found "nc,co"}}
  %0 = grad.convolution %x, %w dims "nc,co" window <[3]> : tensor<7x4x2xf32>, tensor<3x2x5xf32>
}

// -----

func.func @c1_letters(%x: tensor<7x4x2xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error @+1 {{expected dims LHS,RHS->RESULT in letters a to z, found "nC,Co->no"}}
  %0 = grad.convolution %x, %w dims "nC,Co->no" window <[3]> : tensor<7x4x2xf32>, tensor<3x2x5xf32>
}

// -----

func.func @c1_twice(%x: tensor<7x4x4xf32>, %w: tensor<3x4x5xf32>) {
  // expected-error @+1 {{expected dim 'n' once in a tensor, found "nn,no->no"}}
  %0 = grad.convolution %x, %w dims "nn,no->no" window <[3]> : tensor<7x4x4xf32>, tensor<3x4x5xf32>
}

// -----

func.func @c1_alone(%x: tensor<7x4x2xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error @+1 {{expected dim 'n' in two tensors or in all, found "nc,co->o"}}
  %0 = grad.convolution %x, %w dims "nc,co->o" window <[3]> : tensor<7x4x2xf32>, tensor<3x2x5xf32>
}

// -----

func.func @c2_lhs(%x: tensor<7x2xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error @+1 {{expected lhs of rank 1 + 2 and rhs of rank 1 + 2, found 'tensor<7x2xf32>' and 'tensor<3x2x5xf32>'}}
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3]> : tensor<7x2xf32>, tensor<3x2x5xf32>
}

// -----

func.func @c2_rhs(%x: tensor<7x6x4x2xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error @+1 {{expected lhs of rank 2 + 2 and rhs of rank 2 + 2, found 'tensor<7x6x4x2xf32>' and 'tensor<3x2x5xf32>'}}
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3]> : tensor<7x6x4x2xf32>, tensor<3x2x5xf32>
}

// -----

func.func @c3(%x: tensor<7x4x2xf32>, %w: tensor<3x6x5xf32>) {
  // expected-error @+1 {{expected dim 'c' of lhs (2) to match rhs (6)}}
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3]> : tensor<7x4x2xf32>, tensor<3x6x5xf32>
}

// -----

func.func @c4(%x: tensor<7x4x2xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error @+1 {{expected the rhs' spatial dims to be the window's size [5], found 'tensor<3x2x5xf32>'}}
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[5]> : tensor<7x4x2xf32>, tensor<3x2x5xf32>
}

// -----

func.func @c5(%x: tensor<7x4x2xf32>, %w: tensor<3x2x5xf16>) {
  // expected-error @+1 {{expected lhs and rhs of one element type, found 'f32' and 'f16'}}
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3]> : tensor<7x4x2xf32>, tensor<3x2x5xf16>
}

// -----

func.func @c6(%x: tensor<7x4x2xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error @+1 {{expected a window in dim 0, found 9 positions of taps over 8}}
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3] low [1] dilation [4]> : tensor<7x4x2xf32>, tensor<3x2x5xf32>
}
