// Two launches each overwrite an operand of the other: one of them writes elsewhere.

// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts -gradc-plan-memory | FileCheck %s

module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @a : tensor<8xf32> = dense<1.0> : tensor<8xf32>
grad.state parameter @b : tensor<8xf32> = dense<1.0> : tensor<8xf32>
exec.kernel @exp(%x: tensor<8xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %x : tensor<8xf32>
  exec.yield %0 : tensor<8xf32>
}
// CHECK-LABEL: exec.entry @exchange
// CHECK: exec.dispatch @exp {{.*}} -> [#exec.slice<arena 0 at [[ASIDE:[0-9]+]] :
// CHECK: exec.dispatch @copy [#exec.slice<arena 0 at [[ASIDE]] :{{.*}} -> [#exec.slice<buffer
func.func @exchange() {
  %a = grad.read @a : tensor<8xf32>
  %b = grad.read @b : tensor<8xf32>
  %0 = exec.launch @exp(%a) {exec.nodes = []} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = exec.launch @exp(%b) {exec.nodes = []} : (tensor<8xf32>) -> tensor<8xf32>
  grad.write @a, %1 : tensor<8xf32>
  grad.write @b, %0 : tensor<8xf32>
  return
}
}
