// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @trip
// CHECK: grad.bit_cast %{{.*}} : tensor<3xf32> -> tensor<3xui32>
func.func @trip(%x: tensor<3xf32>) -> tensor<3xui32> {
  %0 = grad.bit_cast %x : tensor<3xf32> -> tensor<3xui32>
  return %0 : tensor<3xui32>
}

// -0, infinity, the smallest denormal, and a NaN's payload.

// FOLD-LABEL: @bits
func.func @bits() -> (tensor<4xi32>, tensor<2xf32>, tensor<2xi16>, tensor<1xui8>) {
  %x = grad.constant dense<[-0.0, 0x7F800000, 0x00000001, 0x7FC00123]> : tensor<4xf32>
  // FOLD-DAG: dense<[-2147483648, 2139095040, 1, 2143289635]> : tensor<4xi32>
  %0 = grad.bit_cast %x : tensor<4xf32> -> tensor<4xi32>
  %i = grad.constant dense<[1065353216, -1082130432]> : tensor<2xi32>
  // FOLD-DAG: dense<[1.000000e+00, -1.000000e+00]> : tensor<2xf32>
  %1 = grad.bit_cast %i : tensor<2xi32> -> tensor<2xf32>
  %h = grad.constant dense<[1.0, -2.0]> : tensor<2xf16>
  // FOLD-DAG: dense<[15360, -16384]> : tensor<2xi16>
  %2 = grad.bit_cast %h : tensor<2xf16> -> tensor<2xi16>
  %b = grad.constant dense<-1> : tensor<1xi8>
  // FOLD-DAG: dense<255> : tensor<1xui8>
  %3 = grad.bit_cast %b : tensor<1xi8> -> tensor<1xui8>
  return %0, %1, %2, %3 : tensor<4xi32>, tensor<2xf32>, tensor<2xi16>, tensor<1xui8>
}

// The bits of a splat are those of its single element.

// FOLD-LABEL: @splat
func.func @splat() -> (tensor<300x7xui32>, tensor<300x7xf64>) {
  %x = grad.constant dense<1.0> : tensor<300x7xf32>
  // FOLD-DAG: dense<1065353216> : tensor<300x7xui32>
  %0 = grad.bit_cast %x : tensor<300x7xf32> -> tensor<300x7xui32>
  %i = grad.constant dense<4607182418800017408> : tensor<300x7xi64>
  // FOLD-DAG: dense<1.000000e+00> : tensor<300x7xf64>
  %1 = grad.bit_cast %i : tensor<300x7xi64> -> tensor<300x7xf64>
  return %0, %1 : tensor<300x7xui32>, tensor<300x7xf64>
}

// -----

func.func @c1(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected element types of as many bits, found 'f32' and 'i64'}}
  %0 = grad.bit_cast %x : tensor<3xf32> -> tensor<3xi64>
  return
}
