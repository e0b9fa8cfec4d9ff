// RUN: gradc-opt %s -gradc-order-launches | FileCheck %s

// The turns of a pipeline stage run in order: values that a turn sends are computed in it, ops that depend on received values follow, and
// meanwhile the values of the next turn arrive. An update runs in the last turn, although it would free memory earlier.

exec.kernel @forward(%x: tensor<256xf32>) {
  %0 = grad.exp %x : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
exec.kernel @backward(%h: tensor<256xf32>, %g: tensor<256xf32>) {
  %0 = grad.mul %h, %g : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
exec.kernel @sum(%a: tensor<256xf32>, %b: tensor<256xf32>) {
  %0 = grad.add %a, %b : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
// CHECK-LABEL: func.func @stage
// CHECK: %[[H0:.*]] = exec.launch @forward(%arg0)
// CHECK: grad.send %[[H0]] to 1 number 0 turn 1
// CHECK: %[[G0:.*]] = grad.receive from 1 after(%[[H0]]) number 1 turn 3
// CHECK: %[[H1:.*]] = exec.launch @forward(%arg1)
// CHECK: grad.send %[[H1]] to 1 number 2 turn 2
// CHECK: %[[G1:.*]] = grad.receive from 1 after(%[[H1]]) number 3 turn 4
// CHECK: %[[B0:.*]] = exec.launch @backward(%[[H0]], %[[G0]])
// CHECK: %[[B1:.*]] = exec.launch @backward(%[[H1]], %[[G1]])
// CHECK: exec.launch @sum(%[[B0]], %[[B1]])
func.func @stage(%x0: tensor<256xf32>, %x1: tensor<256xf32>) -> tensor<256xf32> {
  %h0 = exec.launch @forward(%x0) : (tensor<256xf32>) -> tensor<256xf32>
  grad.send %h0 to 1 number 0 turn 1 : tensor<256xf32>
  %g0 = grad.receive from 1 after(%h0) number 1 turn 3 : (tensor<256xf32>) -> tensor<256xf32>
  %b0 = exec.launch @backward(%h0, %g0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %h1 = exec.launch @forward(%x1) : (tensor<256xf32>) -> tensor<256xf32>
  grad.send %h1 to 1 number 2 turn 2 : tensor<256xf32>
  %g1 = grad.receive from 1 after(%h1) number 3 turn 4 : (tensor<256xf32>) -> tensor<256xf32>
  %b1 = exec.launch @backward(%h1, %g1) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %s = exec.launch @sum(%b0, %b1) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  return %s : tensor<256xf32>
}
