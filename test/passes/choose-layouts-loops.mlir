// RUN: gradc-opt %s -gradc-choose-layouts | FileCheck %s

// A value that every step of a loop reads in panels is packed once, before the loop. A state is in panels already and is loaded in the region.
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
