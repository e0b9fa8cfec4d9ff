// RUN: gradc-opt %s -gradc-order-launches -verify-diagnostics

exec.kernel @forward(%x: tensor<256xf32>) {
  %0 = grad.exp %x : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
// The ranks would wait for each other forever.
func.func @stage() {
  %g = grad.receive from 1 after () number 0 turn 2 : () -> tensor<256xf32>
  %h = exec.launch @forward(%g) : (tensor<256xf32>) -> tensor<256xf32>
  // expected-error @+1 {{compiler bug: turn 1 of a pipeline needs a value of turn 2}}
  grad.send %h to 1 number 1 turn 1 : tensor<256xf32>
  return
}
