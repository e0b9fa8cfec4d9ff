// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts | FileCheck %s

// Codes are stored in words of four along the summed dim, padded from 26 to 28, in panels as wide as two vectors of sums.

// CHECK: exec.kernel @{{pack.*}}layouts = [unit, #exec.panel<dim = 1, width = 32, quads = 0>]
// CHECK: exec.kernel @{{forward.*}}layouts = [unit, #exec.panel<dim = 1, width = 32, quads = 0>, unit]
// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 32, quads = 0> : 1792
module attributes {exec.level = "x86-64-v4"} {
grad.state constant @w : tensor<26x40xi8> = dense<1> : tensor<26x40xi8>
exec.kernel @forward(%x: tensor<8x26xui8>, %w: tensor<26x40xi8>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w wide : tensor<8x26xui8>, tensor<26x40xi8>
  exec.yield %0 : tensor<8x40xi32>
}
func.func @product(%x: tensor<8x26xui8>) -> tensor<8x40xi32> {
  %w = grad.read @w : tensor<26x40xi8>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x26xui8>, tensor<26x40xi8>) -> tensor<8x40xi32>
  return %y : tensor<8x40xi32>
}
}

// -----

// Levels without an instruction for words read them too: multiply-adds take even and odd bytes.

// CHECK: exec.buffer primary @w.primary of @w layout <dim = 3, width = 16, quads = 2> : 3456
module attributes {exec.level = "x86-64-v3"} {
grad.state constant @w : tensor<3x3x8x40xi8> = dense<1> : tensor<3x3x8x40xi8>
exec.kernel @forward(%x: tensor<9x9x2x8xui8>, %w: tensor<3x3x8x40xi8>) attributes {inplace = array<i64>} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3]> wide : tensor<9x9x2x8xui8>, tensor<3x3x8x40xi8>
  exec.yield %0 : tensor<7x7x2x40xi32>
}
func.func @windows(%x: tensor<9x9x2x8xui8>) -> tensor<7x7x2x40xi32> {
  %w = grad.read @w : tensor<3x3x8x40xi8>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<9x9x2x8xui8>, tensor<3x3x8x40xi8>) -> tensor<7x7x2x40xi32>
  return %y : tensor<7x7x2x40xi32>
}
}

// -----

// Not codes: floats beside codes of weights, and a sum without a matrix.

// CHECK-NOT: quads
// CHECK-LABEL: func.func @others
module attributes {exec.level = "x86-64-v4"} {
grad.state constant @w : tensor<26x40xi8> = dense<1> : tensor<26x40xi8>
grad.state constant @v : tensor<3x3x8xi8> = dense<1> : tensor<3x3x8xi8>
exec.kernel @floats(%x: tensor<8x26xf32>, %w: tensor<26x40xi8>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w wide : tensor<8x26xf32>, tensor<26x40xi8>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @depthwise(%x: tensor<9x9x2x8xui8>, %v: tensor<3x3x8xi8>) attributes {inplace = array<i64>} {
  %0 = grad.convolution %x, %v dims "nc,c->nc" window <[3, 3]> wide : tensor<9x9x2x8xui8>, tensor<3x3x8xi8>
  exec.yield %0 : tensor<7x7x2x8xi32>
}
func.func @others(%x: tensor<8x26xf32>, %z: tensor<9x9x2x8xui8>) -> (tensor<8x40xf32>, tensor<7x7x2x8xi32>) {
  %w = grad.read @w : tensor<26x40xi8>
  %v = grad.read @v : tensor<3x3x8xi8>
  %0 = exec.launch @floats(%x, %w) {exec.nodes = []} : (tensor<8x26xf32>, tensor<26x40xi8>) -> tensor<8x40xf32>
  %1 = exec.launch @depthwise(%z, %v) {exec.nodes = []} : (tensor<9x9x2x8xui8>, tensor<3x3x8xi8>) -> tensor<7x7x2x8xi32>
  return %0, %1 : tensor<8x40xf32>, tensor<7x7x2x8xi32>
}
}
