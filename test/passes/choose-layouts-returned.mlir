// A state is written, and its old value returned: the old value is copied before it is overwritten.

// RUN: gradc-opt %s -gradc-choose-layouts -gradc-plan-memory | FileCheck %s

module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<8xf32> = dense<1.0> : tensor<8xf32>
exec.kernel @exp(%x: tensor<8xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %x : tensor<8xf32>
  exec.yield %0 : tensor<8xf32>
}
// CHECK: exec.entry @old
// CHECK-SAME: outputs [{slice = #exec.slice<output
func.func @old() -> tensor<8xf32> {
  %w = grad.read @w : tensor<8xf32>
  %0 = exec.launch @exp(%w) {exec.nodes = []} : (tensor<8xf32>) -> tensor<8xf32>
  grad.write @w, %0 : tensor<8xf32>
  return %w : tensor<8xf32>
}
}
