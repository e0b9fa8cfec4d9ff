// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts | FileCheck %s

// What every step of a loop reads in panels is packed once, before the loop; a state is in panels as it is, loaded in the region.
// CHECK: exec.kernel @[[LATER:.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 0, width = 16>, unit]
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %[[PANELS:.*]] = exec.launch @pack(%arg2) {exec.nodes = []} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: grad.scan 5 from(%arg0) over(%arg1) with({{.*}}%[[PANELS]])
// CHECK-NEXT: ^bb0({{.*}}, %[[ROWS:.*]]: tensor<8x8xf32>, %[[W:.*]]: tensor<8x8xf32>):
// CHECK: %[[LOADED:.*]] = exec.load @w.primary
// CHECK: %[[H:.*]] = exec.launch @[[LATER]](%{{.*}}, %[[W]])
// CHECK: exec.launch @{{.*}}(%[[H]], %[[LOADED]])
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
exec.kernel @transposed(%h: tensor<4x8xf32>, %w: tensor<8x8xf32>) {
  %0 = grad.matmul %h, %w transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}
exec.kernel @plain(%h: tensor<4x8xf32>, %w: tensor<8x8xf32>) {
  %0 = grad.matmul %h, %w : tensor<4x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}
func.func @forward(%h0: tensor<4x8xf32>, %xs: tensor<5x4x8xf32>, %r: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %h = grad.scan 5 from (%h0) over (%xs) with (%r) : (tensor<4x8xf32>, tensor<5x4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>, %x: tensor<4x8xf32>, %m: tensor<8x8xf32>):
    %w = grad.read @w : tensor<8x8xf32>
    %0 = exec.launch @transposed(%a, %m) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = exec.launch @plain(%0, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    grad.yield %1 : tensor<4x8xf32>
  }
  return %h : tensor<4x8xf32>
}
}

// -----

// A product of 128 rows has its transposed operand packed, and so has one that reads a state through a view. Fewer rows do not pay for that,
// and what lies along the columns needs no panels.
// CHECK-LABEL: func.func @rows
// CHECK: %[[VIEW:.*]] = grad.reshape
// CHECK: %[[A:.*]] = exec.launch @pack{{.*}}(%arg1)
// CHECK: exec.launch @{{.*}}(%arg0, %[[A]])
// CHECK: %[[B:.*]] = exec.launch @pack{{.*}}(%[[VIEW]])
// CHECK: exec.launch @{{.*}}(%arg0, %[[B]])
// CHECK-NEXT: exec.launch @few_rows(%arg2, %arg1)
// CHECK-NEXT: exec.launch @many_columns(%arg0, %arg1)
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @v : tensor<1x8x8xf32> = dense<1.0> : tensor<1x8x8xf32>
exec.kernel @many_rows(%h: tensor<128x8xf32>, %w: tensor<8x8xf32>) {
  %0 = grad.matmul %h, %w transpose_rhs : tensor<128x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<128x8xf32>
}
exec.kernel @few_rows(%h: tensor<127x8xf32>, %w: tensor<8x8xf32>) {
  %0 = grad.matmul %h, %w transpose_rhs : tensor<127x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<127x8xf32>
}
exec.kernel @many_columns(%h: tensor<128x8xf32>, %w: tensor<8x8xf32>) {
  %0 = grad.matmul %h, %w : tensor<128x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<128x8xf32>
}
func.func @rows(%x: tensor<128x8xf32>, %w: tensor<8x8xf32>, %z: tensor<127x8xf32>) -> (tensor<128x8xf32>, tensor<128x8xf32>, tensor<127x8xf32>, tensor<128x8xf32>) {
  %v = grad.read @v : tensor<1x8x8xf32>
  %m = grad.reshape %v : tensor<1x8x8xf32> -> tensor<8x8xf32>
  %0 = exec.launch @many_rows(%x, %w) : (tensor<128x8xf32>, tensor<8x8xf32>) -> tensor<128x8xf32>
  %1 = exec.launch @many_rows(%x, %m) : (tensor<128x8xf32>, tensor<8x8xf32>) -> tensor<128x8xf32>
  %2 = exec.launch @few_rows(%z, %w) : (tensor<127x8xf32>, tensor<8x8xf32>) -> tensor<127x8xf32>
  %3 = exec.launch @many_columns(%x, %w) : (tensor<128x8xf32>, tensor<8x8xf32>) -> tensor<128x8xf32>
  return %0, %1, %2, %3 : tensor<128x8xf32>, tensor<128x8xf32>, tensor<127x8xf32>, tensor<128x8xf32>
}
}
