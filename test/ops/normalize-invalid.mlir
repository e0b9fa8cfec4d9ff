// RUN: gradc-opt %s -split-input-file -verify-diagnostics

func.func @c1_none(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected at least one dim to normalize over, found none}}
  %0:3 = grad.normalize %x dims [] epsilon 1.0e-05 : tensor<2x4xf32>
}

// -----

func.func @c1_range(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found 2}}
  %0:3 = grad.normalize %x dims [2] epsilon 1.0e-05 : tensor<2x4xf32>
}

// -----

func.func @c1_sorted(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected sorted and distinct dims, found 0 after 1}}
  %0:3 = grad.normalize %x dims [1, 0] epsilon 1.0e-05 : tensor<2x4xf32>
}

// -----

func.func @c1_empty(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{expected at least one element to reduce, found dim 1 of size 0}}
  %0:3 = grad.normalize %x dims [1] epsilon 1.0e-05 : tensor<2x0xf32>
}

// -----

func.func @c2(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected an epsilon of 0 or more, found -1}}
  %0:3 = grad.normalize %x dims [1] epsilon -1.0 : tensor<2x4xf32>
}

// -----

func.func @c3(%x: tensor<2x4xf32>, %n: tensor<f64>) {
  // expected-error @+1 {{expected a count of 'f32', found 'tensor<f64>'}}
  %0:3 = grad.normalize %x of %n : tensor<f64> dims [0] epsilon 1.0e-05 : tensor<2x4xf32>
}

// -----

func.func @c3_short(%x: tensor<2x4xf16>, %n: tensor<f16>) {
  // expected-error @+1 {{expected a count of 'f32', found 'tensor<f16>'}}
  %0:3 = grad.normalize %x of %n : tensor<f16> dims [0] epsilon 1.0e-05 : tensor<2x4xf16>
}
