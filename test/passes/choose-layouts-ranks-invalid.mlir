// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-choose-layouts

module attributes {exec.level = "x86-64-v3"} {
func.func @step(%g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{expected @w to be a state}}
  %0 = grad.reduce_scatter %g of [@w] : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
}

// -----

module attributes {exec.level = "x86-64-v3"} {
exec.kernel @w(%x: tensor<4x8xf32>) {
  exec.yield %x : tensor<4x8xf32>
}
func.func @step(%g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{expected @w to be a state}}
  %0 = grad.all_gather %g of [@w] : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
}
