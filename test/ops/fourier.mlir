// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD

// Few numbers are one product with a matrix of their parts.

// CHECK-LABEL: @trip
// DECOMPOSED-LABEL: @trip
func.func @trip(%x: tensor<3x5x2xf32>, %y: tensor<3x6x1xf32>, %z: tensor<3x4x2xf32>) -> (tensor<3x5x2xf32>, tensor<3x4x2xf32>, tensor<3x6x1xf32>) {
  // CHECK: grad.fourier %arg0 inverse : tensor<3x5x2xf32> -> tensor<3x5x2xf32>
  // DECOMPOSED: grad.matmul %{{.*}}, %{{.*}} : tensor<3x10xf32>, tensor<10x10xf32>
  %0 = grad.fourier %x inverse : tensor<3x5x2xf32> -> tensor<3x5x2xf32>
  // CHECK: grad.fourier %arg1 : tensor<3x6x1xf32> -> tensor<3x4x2xf32>
  // DECOMPOSED: grad.matmul %{{.*}}, %{{.*}} : tensor<3x6xf32>, tensor<6x8xf32>
  %1 = grad.fourier %y : tensor<3x6x1xf32> -> tensor<3x4x2xf32>
  // CHECK: grad.fourier %arg2 inverse : tensor<3x4x2xf32> -> tensor<3x6x1xf32>
  // DECOMPOSED: grad.pad %arg2 low [0, 0, 0] high [0, 2, 0]
  // DECOMPOSED: grad.matmul %{{.*}}, %{{.*}} : tensor<3x12xf32>, tensor<12x12xf32>
  // DECOMPOSED: grad.slice
  %2 = grad.fourier %z inverse : tensor<3x4x2xf32> -> tensor<3x6x1xf32>
  return %0, %1, %2 : tensor<3x5x2xf32>, tensor<3x4x2xf32>, tensor<3x6x1xf32>
}

// More are a product for each of two factors, with a rotation between them.

// DECOMPOSED-LABEL: @two_factors
func.func @two_factors(%x: tensor<3x128x2xf32>) -> tensor<3x128x2xf32> {
  // DECOMPOSED: grad.matmul %{{.*}}, %{{.*}} : tensor<48x16xf32>, tensor<16x16xf32>
  // DECOMPOSED: grad.mul
  // DECOMPOSED: grad.matmul %{{.*}}, %{{.*}} : tensor<24x32xf32>, tensor<32x32xf32>
  %0 = grad.fourier %x : tensor<3x128x2xf32> -> tensor<3x128x2xf32>
  return %0 : tensor<3x128x2xf32>
}

// DECOMPOSED-LABEL: @in_f32
func.func @in_f32(%x: tensor<1x4x1xbf16>) -> tensor<1x3x2xbf16> {
  // DECOMPOSED: grad.cast %arg0 : tensor<1x4x1xbf16> -> tensor<1x4x1xf32>
  // DECOMPOSED: grad.cast %{{.*}} : tensor<1x3x2xf32> -> tensor<1x3x2xbf16>
  %0 = grad.fourier %x : tensor<1x4x1xbf16> -> tensor<1x3x2xbf16>
  return %0 : tensor<1x3x2xbf16>
}

// FOLD-LABEL: @values
func.func @values() -> (tensor<1x3x2xf32>, tensor<1x4x1xf32>) {
  %x = grad.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  // FOLD-DAG: dense<{{\[\[\[}}1.000000e+01, 0.000000e+00], [-2.000000e+00, 2.000000e+00], [-2.000000e+00, 0.000000e+00]]]>
  %0 = grad.fourier %x : tensor<1x4x1xf32> -> tensor<1x3x2xf32>
  %y = grad.constant dense<[[[3.0, 7.0], [1.0, 2.0], [5.0, 7.0]]]> : tensor<1x3x2xf32>
  // FOLD-DAG: dense<{{\[\[\[}}9.000000e+00], [-4.000000e+00], [7.000000e+00], [0.000000e+00]]]>
  %1 = grad.fourier %y inverse : tensor<1x3x2xf32> -> tensor<1x4x1xf32>
  return %0, %1 : tensor<1x3x2xf32>, tensor<1x4x1xf32>
}

// GRAD-LABEL: @gradient
func.func @gradient(%x: tensor<3x6x1xf32>) -> tensor<3x6x1xf32> {
  // GRAD: grad.fourier %arg0 : tensor<3x6x1xf32> -> tensor<3x4x2xf32>
  %0 = grad.fourier %x : tensor<3x6x1xf32> -> tensor<3x4x2xf32>
  %1 = grad.mul %0, %0 : tensor<3x4x2xf32>
  %2 = grad.reduce_sum %1 dims [0, 1, 2] : tensor<3x4x2xf32>
  // GRAD: %[[G:.*]] = grad.fourier %{{.*}} inverse : tensor<3x4x2xf32> -> tensor<3x6x1xf32>
  // GRAD: return %[[G]]
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<3x6x1xf32>
  return %3 : tensor<3x6x1xf32>
}

// -----

func.func @c1_rows(%x: tensor<3x6x2xf32>) {
  // expected-error @+1 {{expected the same rows of numbers, [rows, numbers, 1 or 2], found 'tensor<3x6x2xf32>' and 'tensor<2x6x2xf32>'}}
  %0 = grad.fourier %x : tensor<3x6x2xf32> -> tensor<2x6x2xf32>
  return
}

// -----

func.func @c1_parts(%x: tensor<3x6x3xf32>) {
  // expected-error @+1 {{expected the same rows of numbers, [rows, numbers, 1 or 2], found 'tensor<3x6x3xf32>'}}
  %0 = grad.fourier %x : tensor<3x6x3xf32> -> tensor<3x6x3xf32>
  return
}

// -----

func.func @c2(%x: tensor<3x6x2xf32>) {
  // expected-error @+1 {{expected 6 complex numbers as the result, found 4}}
  %0 = grad.fourier %x : tensor<3x6x2xf32> -> tensor<3x4x2xf32>
  return
}

// -----

func.func @c3(%x: tensor<3x6x1xf32>) {
  // expected-error @+1 {{expected real numbers as the operand of a transform or the result of an inverse one, found 'tensor<3x6x1xf32>' and 'tensor<3x4x2xf32>'}}
  %0 = grad.fourier %x inverse : tensor<3x6x1xf32> -> tensor<3x4x2xf32>
  return
}

// -----

func.func @c4_odd(%x: tensor<3x7x1xf32>) {
  // expected-error @+1 {{expected an even number n of real numbers and n / 2 + 1 complex ones, found 7 and 4}}
  %0 = grad.fourier %x : tensor<3x7x1xf32> -> tensor<3x4x2xf32>
  return
}

// -----

func.func @c4_half(%x: tensor<3x6x2xf32>) {
  // expected-error @+1 {{expected an even number n of real numbers and n / 2 + 1 complex ones, found 6 and 6}}
  %0 = grad.fourier %x inverse : tensor<3x6x2xf32> -> tensor<3x6x1xf32>
  return
}
