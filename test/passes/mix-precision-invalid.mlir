// RUN: gradc-opt %s -split-input-file -verify-diagnostics --gradc-mix-precision

// expected-error @+1 {{expected `type` of grad.precision to be f16 or bf16, found {type = f32}}}
func.func @type(%x: tensor<4xf32>) -> tensor<4xf32> attributes {grad.precision = {type = f32}} {
  return %x : tensor<4xf32>
}

// -----

func.func @storage(%x: tensor<4xf32>) -> tensor<4xi32> {
  // expected-error @+1 {{expected floats to be cast for storage, found 'f32' and 'i32'}}
  %0 = grad.cast %x storage : tensor<4xf32> -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
