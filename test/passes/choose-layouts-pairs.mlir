// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts | FileCheck %s

// The level that multiplies pairs of bf16 keeps weights in pairs along the summed dim, padded to 26 of 25
// and 40 of 40; the mirror is filled from the tensor with the columns' dim moved to the end, and the pairs'
// dim with it.

// CHECK: exec.kernel @{{pack.*}}layouts = [#exec.panel<dim = 1, width = 32, pairs = 0>, #exec.panel<dim = 1, width = 32, pairs = 0>]
// CHECK-NEXT: grad.transpose
// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 32, pairs = 0> : 3328
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 0, width = 32, pairs = 1> : 2560
// CHECK-LABEL: func.func @both
module attributes {exec.level = "x86-64-v4+bf16"} {
grad.state parameter @w : tensor<25x40xbf16> = dense<1.0> : tensor<25x40xbf16>
exec.kernel @forward(%x: tensor<8x25xbf16>, %w: tensor<25x40xbf16>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x25xbf16>, tensor<25x40xbf16>
  exec.yield %0 : tensor<8x40xbf16>
}
exec.kernel @backward(%dy: tensor<8x40xbf16>, %w: tensor<25x40xbf16>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %dy, %w transpose_rhs : tensor<8x40xbf16>, tensor<25x40xbf16>
  exec.yield %0 : tensor<8x25xbf16>
}
func.func @both(%x: tensor<8x25xbf16>) -> tensor<8x25xbf16> {
  %w = grad.read @w : tensor<25x40xbf16>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x25xbf16>, tensor<25x40xbf16>) -> tensor<8x40xbf16>
  %dx = exec.launch @backward(%y, %w) {exec.nodes = []} : (tensor<8x40xbf16>, tensor<25x40xbf16>) -> tensor<8x25xbf16>
  return %dx : tensor<8x25xbf16>
}
}

// -----

// Other levels keep bf16 row-major.

// CHECK: exec.buffer primary @w.primary of @w : 2000
module attributes {exec.level = "x86-64-v4"} {
grad.state parameter @w : tensor<25x40xbf16> = dense<1.0> : tensor<25x40xbf16>
exec.kernel @forward(%x: tensor<8x25xbf16>, %w: tensor<25x40xbf16>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x25xbf16>, tensor<25x40xbf16>
  exec.yield %0 : tensor<8x40xbf16>
}
func.func @forwards(%x: tensor<8x25xbf16>) -> tensor<8x40xbf16> {
  %w = grad.read @w : tensor<25x40xbf16>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x25xbf16>, tensor<25x40xbf16>) -> tensor<8x40xbf16>
  return %y : tensor<8x40xbf16>
}
}
