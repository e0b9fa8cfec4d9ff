// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts | FileCheck %s

// Blocks of codes are a view of their matrix, which is stored in the panels that the product wants of the view. Other kernels read these
// through views of their own.

// CHECK-DAG: exec.kernel @[[PRODUCT:product.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 2, width = 32>, unit, unit]
// CHECK-DAG: exec.kernel @[[NUMBERS:numbers.*]](%{{.*}}layouts = [#exec.panel<dim = 2, width = 32>, unit]
// CHECK: exec.buffer primary @codes.primary of @codes layout <dim = 1, width = 32> : 4096
// CHECK-NOT: mirror
// CHECK-LABEL: func.func @row
// CHECK: %[[CODES:.*]] = exec.load @codes.primary : tensor<64x40xi8>
// CHECK: %[[BLOCKS:.*]] = grad.reshape %[[CODES]] : tensor<64x40xi8> -> tensor<4x16x40xi8>
// CHECK: exec.launch @[[PRODUCT]](%arg0, %[[BLOCKS]], %arg1)
// CHECK-LABEL: func.func @matrix
// CHECK: %[[CODES:.*]] = exec.load @codes.primary : tensor<64x40xi8>
// CHECK: %[[BLOCKS:.*]] = grad.reshape %[[CODES]] : tensor<64x40xi8> -> tensor<2x32x40xi8>
// CHECK: exec.launch @[[NUMBERS]](%[[BLOCKS]])
module attributes {exec.level = "x86-64-v4"} {
grad.state constant @codes : tensor<64x40xi8> = dense<1> : tensor<64x40xi8>
exec.kernel @product(%x: tensor<4x1x16xf32>, %w: tensor<4x16x40xi8>, %s: tensor<4x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w wide : tensor<4x1x16xf32>, tensor<4x16x40xi8>
  %1 = grad.broadcast %s dims [0, 2] : tensor<4x40xf32> -> tensor<4x1x40xf32>
  %2 = grad.mul %0, %1 : tensor<4x1x40xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<4x1x40xf32>
  exec.yield %3 : tensor<1x40xf32>
}
exec.kernel @numbers(%w: tensor<2x32x40xi8>) attributes {inplace = array<i64>} {
  %0 = grad.cast %w : tensor<2x32x40xi8> -> tensor<2x32x40xf32>
  exec.yield %0 : tensor<2x32x40xf32>
}
func.func @row(%x: tensor<4x1x16xf32>, %s: tensor<4x40xf32>) -> tensor<1x40xf32> {
  %codes = grad.read @codes : tensor<64x40xi8>
  %w = grad.reshape %codes : tensor<64x40xi8> -> tensor<4x16x40xi8>
  %y = exec.launch @product(%x, %w, %s) {exec.nodes = []} : (tensor<4x1x16xf32>, tensor<4x16x40xi8>, tensor<4x40xf32>) -> tensor<1x40xf32>
  return %y : tensor<1x40xf32>
}
func.func @matrix() -> tensor<2x32x40xf32> {
  %codes = grad.read @codes : tensor<64x40xi8>
  %w = grad.reshape %codes : tensor<64x40xi8> -> tensor<2x32x40xi8>
  %y = exec.launch @numbers(%w) {exec.nodes = []} : (tensor<2x32x40xi8>) -> tensor<2x32x40xf32>
  return %y : tensor<2x32x40xf32>
}
}

// -----

// A view with other columns shows rows alone, and so does a view of panels along another dim: the panels are a mirror then.

// CHECK-DAG: exec.kernel @[[FORWARD:forward.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 1, width = 32>, unit]
// CHECK-DAG: exec.kernel @[[TURNED:turned.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 0, width = 32>, unit]
// CHECK: exec.buffer primary @w.primary of @w : 2560
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 1, width = 32> : 4096
// CHECK: exec.buffer primary @v.primary of @v : 2560
// CHECK: exec.buffer mirror @v.mirror1 of @v layout <dim = 0, width = 32> : 2560
// CHECK-LABEL: func.func @views
// CHECK-DAG: %[[W:.*]] = exec.load @w.primary
// CHECK-DAG: %[[PANELS:.*]] = exec.load @w.mirror1
// CHECK-DAG: %[[V:.*]] = exec.load @v.primary
// CHECK-DAG: %[[COLUMNS:.*]] = exec.load @v.mirror1
// CHECK-DAG: exec.launch @[[FORWARD]](%arg0, %[[PANELS]])
// CHECK-DAG: %[[LIST:.*]] = grad.reshape %[[W]] : tensor<16x40xf32> -> tensor<640xf32>
// CHECK-DAG: exec.launch @exp(%[[LIST]])
// CHECK-DAG: exec.launch @[[TURNED]](%arg1, %[[COLUMNS]])
// CHECK-DAG: %[[HALVES:.*]] = grad.reshape %[[V]] : tensor<32x20xf32> -> tensor<2x16x20xf32>
// CHECK-DAG: exec.launch @exp_halves(%[[HALVES]])
module attributes {exec.level = "x86-64-v4"} {
grad.state parameter @w : tensor<16x40xf32> = dense<1.0> : tensor<16x40xf32>
grad.state parameter @v : tensor<32x20xf32> = dense<1.0> : tensor<32x20xf32>
exec.kernel @forward(%x: tensor<8x16xf32>, %w: tensor<16x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x40xf32>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @turned(%x: tensor<8x20xf32>, %w: tensor<32x20xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w transpose_rhs : tensor<8x20xf32>, tensor<32x20xf32>
  exec.yield %0 : tensor<8x32xf32>
}
exec.kernel @exp(%x: tensor<640xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %x : tensor<640xf32>
  exec.yield %0 : tensor<640xf32>
}
exec.kernel @exp_halves(%x: tensor<2x16x20xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %x : tensor<2x16x20xf32>
  exec.yield %0 : tensor<2x16x20xf32>
}
func.func @views(%x: tensor<8x16xf32>, %z: tensor<8x20xf32>) -> (tensor<8x40xf32>, tensor<640xf32>, tensor<8x32xf32>, tensor<2x16x20xf32>) {
  %w = grad.read @w : tensor<16x40xf32>
  %v = grad.read @v : tensor<32x20xf32>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x16xf32>, tensor<16x40xf32>) -> tensor<8x40xf32>
  %list = grad.reshape %w : tensor<16x40xf32> -> tensor<640xf32>
  %e = exec.launch @exp(%list) {exec.nodes = []} : (tensor<640xf32>) -> tensor<640xf32>
  %t = exec.launch @turned(%z, %v) {exec.nodes = []} : (tensor<8x20xf32>, tensor<32x20xf32>) -> tensor<8x32xf32>
  %halves = grad.reshape %v : tensor<32x20xf32> -> tensor<2x16x20xf32>
  %h = exec.launch @exp_halves(%halves) {exec.nodes = []} : (tensor<2x16x20xf32>) -> tensor<2x16x20xf32>
  return %y, %e, %t, %h : tensor<8x40xf32>, tensor<640xf32>, tensor<8x32xf32>, tensor<2x16x20xf32>
}
}

// -----

// Panels that a view shows are the primary, also if the first reader wants others.

// CHECK-DAG: exec.kernel @[[TURNED:turned.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 0, width = 32>, unit]
// CHECK-DAG: exec.kernel @[[BLOCKS:blocks.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 2, width = 32>, unit]
// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 32> : 16384
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 0, width = 32> : 10240
// CHECK-NOT: mirror
// CHECK-LABEL: func.func @turned_first
// CHECK-DAG: %[[PANELS:.*]] = exec.load @w.primary
// CHECK-DAG: %[[COLUMNS:.*]] = exec.load @w.mirror1
// CHECK: exec.launch @[[TURNED]](%arg0, %[[COLUMNS]])
// CHECK: %[[VIEW:.*]] = grad.reshape %[[PANELS]] : tensor<64x40xf32> -> tensor<4x16x40xf32>
// CHECK: exec.launch @[[BLOCKS]](%arg1, %[[VIEW]])
module attributes {exec.level = "x86-64-v4"} {
grad.state constant @w : tensor<64x40xf32> = dense<1.0> : tensor<64x40xf32>
exec.kernel @turned(%x: tensor<8x40xf32>, %w: tensor<64x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w transpose_rhs : tensor<8x40xf32>, tensor<64x40xf32>
  exec.yield %0 : tensor<8x64xf32>
}
exec.kernel @blocks(%x: tensor<4x1x16xf32>, %w: tensor<4x16x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<4x1x16xf32>, tensor<4x16x40xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4x1x40xf32>
  exec.yield %1 : tensor<1x40xf32>
}
func.func @turned_first(%x: tensor<8x40xf32>, %z: tensor<4x1x16xf32>) -> (tensor<8x64xf32>, tensor<1x40xf32>) {
  %w = grad.read @w : tensor<64x40xf32>
  %t = exec.launch @turned(%x, %w) {exec.nodes = []} : (tensor<8x40xf32>, tensor<64x40xf32>) -> tensor<8x64xf32>
  %view = grad.reshape %w : tensor<64x40xf32> -> tensor<4x16x40xf32>
  %y = exec.launch @blocks(%z, %view) {exec.nodes = []} : (tensor<4x1x16xf32>, tensor<4x16x40xf32>) -> tensor<1x40xf32>
  return %t, %y : tensor<8x64xf32>, tensor<1x40xf32>
}
}

// -----

// A state that an entry writes is stored as it is for the sake of its views.

// CHECK: exec.buffer primary @w.primary of @w : 2560
// CHECK-NOT: exec.buffer
// CHECK-LABEL: func.func @trained
// CHECK: exec.launch @forward(%arg0, %{{.*}})
module attributes {exec.level = "x86-64-v4"} {
grad.state parameter @w : tensor<2x8x40xf32> = dense<1.0> : tensor<2x8x40xf32>
exec.kernel @forward(%x: tensor<8x16xf32>, %w: tensor<16x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x40xf32>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @update(%w: tensor<2x8x40xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %w : tensor<2x8x40xf32>
  exec.yield %0 : tensor<2x8x40xf32>
}
func.func @trained(%x: tensor<8x16xf32>) -> tensor<8x40xf32> {
  %w = grad.read @w : tensor<2x8x40xf32>
  %v = grad.reshape %w : tensor<2x8x40xf32> -> tensor<16x40xf32>
  %y = exec.launch @forward(%x, %v) {exec.nodes = []} : (tensor<8x16xf32>, tensor<16x40xf32>) -> tensor<8x40xf32>
  %new = exec.launch @update(%w) {exec.nodes = []} : (tensor<2x8x40xf32>) -> tensor<2x8x40xf32>
  grad.write @w, %new : tensor<2x8x40xf32>
  return %y : tensor<8x40xf32>
}
}
