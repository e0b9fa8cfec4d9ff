// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts | FileCheck %s

// Constant codes that fit in 4 bits are stored so, eight steps of the sum in a word, also where launches read blocks of their matrix. The
// blocks' scales are in panels, too.

// CHECK-DAG: exec.kernel @[[PRODUCT:product.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 2, width = 32, nibbles = 1>, #exec.panel<dim = 1, width = 32>, unit]
// CHECK-DAG: exec.kernel @{{pack.*}}layouts = [unit, #exec.panel<dim = 1, width = 32, nibbles = 0>]
// CHECK: exec.buffer primary @codes.primary of @codes layout <dim = 1, width = 32, nibbles = 0> : 2048
// CHECK: exec.buffer primary @scales.primary of @scales layout <dim = 1, width = 32> : 1024
// CHECK-NOT: mirror
// CHECK-LABEL: func.func @row
// CHECK: %[[CODES:.*]] = exec.load @codes.primary : tensor<64x40xi8>
// CHECK: %[[BLOCKS:.*]] = grad.reshape %[[CODES]] : tensor<64x40xi8> -> tensor<4x16x40xi8>
// CHECK: exec.launch @[[PRODUCT]](%arg0, %[[BLOCKS]], %{{.*}})
module attributes {exec.level = "x86-64-v4"} {
grad.state constant @codes : tensor<64x40xi8> = dense<-8> : tensor<64x40xi8>
grad.state constant @scales : tensor<4x40xf32> = dense<0.5> : tensor<4x40xf32>
exec.kernel @product(%x: tensor<4x1x16xf32>, %w: tensor<4x16x40xi8>, %s: tensor<4x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w wide : tensor<4x1x16xf32>, tensor<4x16x40xi8>
  %1 = grad.broadcast %s dims [0, 2] : tensor<4x40xf32> -> tensor<4x1x40xf32>
  %2 = grad.mul %0, %1 : tensor<4x1x40xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<4x1x40xf32>
  exec.yield %3 : tensor<1x40xf32>
}
func.func @row(%x: tensor<4x1x16xf32>) -> tensor<1x40xf32> {
  %s = grad.read @scales : tensor<4x40xf32>
  %w = grad.read @codes : tensor<64x40xi8>
  %blocks = grad.reshape %w : tensor<64x40xi8> -> tensor<4x16x40xi8>
  %y = exec.launch @product(%x, %blocks, %s) {exec.nodes = []} : (tensor<4x1x16xf32>, tensor<4x16x40xi8>, tensor<4x40xf32>) -> tensor<1x40xf32>
  return %y : tensor<1x40xf32>
}
}

// -----

// Bytes: a code of 8, a sum that is no multiple of eight, factors of f16, a reader that is no product, and a state that is no constant.

// CHECK-NOT: nibbles
// CHECK: exec.buffer primary @large.primary of @large layout <dim = 1, width = 32> : 4096
// CHECK: exec.buffer primary @short.primary of @short layout <dim = 1, width = 32> : 3840
// CHECK: exec.buffer primary @half.primary of @half layout <dim = 1, width = 32> : 4096
// CHECK: exec.buffer primary @read.primary of @read layout <dim = 1, width = 32> : 4096
// CHECK: exec.buffer primary @trained.primary of @trained layout <dim = 1, width = 32> : 4096
// CHECK-NOT: nibbles
module attributes {exec.level = "x86-64-v4"} {
grad.state constant @large : tensor<64x40xi8> = dense<8> : tensor<64x40xi8>
grad.state constant @short : tensor<60x40xi8> = dense<1> : tensor<60x40xi8>
grad.state constant @half : tensor<64x40xi8> = dense<1> : tensor<64x40xi8>
grad.state constant @read : tensor<64x40xi8> = dense<1> : tensor<64x40xi8>
grad.state parameter @trained : tensor<64x40xi8> = dense<1> : tensor<64x40xi8>
exec.kernel @product(%x: tensor<8x64xf32>, %w: tensor<64x40xi8>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w wide : tensor<8x64xf32>, tensor<64x40xi8>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @short_product(%x: tensor<8x60xf32>, %w: tensor<60x40xi8>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w wide : tensor<8x60xf32>, tensor<60x40xi8>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @half_product(%x: tensor<8x64xf16>, %w: tensor<64x40xi8>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w wide : tensor<8x64xf16>, tensor<64x40xi8>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @numbers(%w: tensor<64x40xi8>) attributes {inplace = array<i64>} {
  %0 = grad.cast %w : tensor<64x40xi8> -> tensor<64x40xf32>
  exec.yield %0 : tensor<64x40xf32>
}
func.func @bytes(%x: tensor<8x64xf32>, %z: tensor<8x60xf32>, %h: tensor<8x64xf16>) -> (tensor<8x40xf32>, tensor<8x40xf32>, tensor<8x40xf32>, tensor<8x40xf32>, tensor<64x40xf32>, tensor<8x40xf32>) {
  %large = grad.read @large : tensor<64x40xi8>
  %short = grad.read @short : tensor<60x40xi8>
  %half = grad.read @half : tensor<64x40xi8>
  %read = grad.read @read : tensor<64x40xi8>
  %trained = grad.read @trained : tensor<64x40xi8>
  %0 = exec.launch @product(%x, %large) {exec.nodes = []} : (tensor<8x64xf32>, tensor<64x40xi8>) -> tensor<8x40xf32>
  %1 = exec.launch @short_product(%z, %short) {exec.nodes = []} : (tensor<8x60xf32>, tensor<60x40xi8>) -> tensor<8x40xf32>
  %2 = exec.launch @half_product(%h, %half) {exec.nodes = []} : (tensor<8x64xf16>, tensor<64x40xi8>) -> tensor<8x40xf32>
  %3 = exec.launch @product(%x, %read) {exec.nodes = []} : (tensor<8x64xf32>, tensor<64x40xi8>) -> tensor<8x40xf32>
  %4 = exec.launch @numbers(%read) {exec.nodes = []} : (tensor<64x40xi8>) -> tensor<64x40xf32>
  %5 = exec.launch @product(%x, %trained) {exec.nodes = []} : (tensor<8x64xf32>, tensor<64x40xi8>) -> tensor<8x40xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<8x40xf32>, tensor<8x40xf32>, tensor<8x40xf32>, tensor<8x40xf32>, tensor<64x40xf32>, tensor<8x40xf32>
}
}
