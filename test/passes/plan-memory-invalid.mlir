// RUN: gradc-opt %s -verify-diagnostics -gradc-plan-memory

// Each launch reads the value that the other overwrites.

exec.kernel @exp(%x: tensor<4xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}
grad.state parameter @a : tensor<4xf32> = dense<1.0> : tensor<4xf32>
exec.buffer primary @a.primary of @a : 16
grad.state parameter @b : tensor<4xf32> = dense<1.0> : tensor<4xf32>
exec.buffer primary @b.primary of @b : 16

// expected-error @+1 {{expected launches without cyclic order: a buffer's new value is needed by a launch that reads its old one}}
func.func @exchange() {
  %a = exec.load @a.primary : tensor<4xf32>
  %b = exec.load @b.primary : tensor<4xf32>
  %0 = exec.launch @exp(%a) {exec.nodes = []} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = exec.launch @exp(%b) {exec.nodes = []} : (tensor<4xf32>) -> tensor<4xf32>
  exec.store @a.primary, %1 : tensor<4xf32>
  exec.store @b.primary, %0 : tensor<4xf32>
  return
}
