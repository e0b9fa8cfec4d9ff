// RUN: gradc-opt %s -verify-diagnostics -gradc-form-kernels

func.func @composite(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{'grad.softmax' op expected composite ops to be decomposed before kernels form}}
  %0 = grad.softmax %x dim 1 : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
