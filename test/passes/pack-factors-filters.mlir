// RUN: gradc-opt %s -split-input-file -gradc-pack-factors | FileCheck %s

// A filter that a step computes is transformed for Winograd's convolutions: once for all that read it along the same dim. Along
// the other one, its dims are in another order, and its bytes those that the data gradient reads.

// CHECK-DAG: exec.kernel @[[FORWARD:forward_.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>, unit]
// CHECK-DAG: exec.kernel @[[BACKWARD:backward_.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 2, width = 16, winograd4x4>, unit]
// CHECK-DAG: exec.kernel @pack(%{{.*}}: tensor<3x3x32x64xf32>) attributes {bytes = 368640 : i64, flops = 0 : i64, layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>]}
// CHECK-DAG: exec.kernel @[[TURN:pack_.*]](%{{.*}}: tensor<3x3x32x64xf32>) attributes {bytes = 368640 : i64, flops = 0 : i64, layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>]}
// CHECK-DAG: grad.transpose %{{.*}} permutation [0, 1, 3, 2] : tensor<3x3x32x64xf32>
// CHECK-LABEL: func.func @step
// CHECK-NEXT: %[[W:.*]] = exec.launch @round(%arg2)
// CHECK-NEXT: %[[A:.*]] = exec.launch @pack(%[[W]]) {exec.nodes = []} : (tensor<3x3x32x64xf32>) -> tensor<3x3x32x64xf32>
// CHECK-NEXT: exec.launch @[[FORWARD]](%arg0, %[[A]])
// CHECK-NEXT: exec.launch @[[FORWARD]](%arg0, %[[A]])
// CHECK-NEXT: %[[B:.*]] = exec.launch @[[TURN]](%[[W]]) {exec.nodes = []} : (tensor<3x3x32x64xf32>) -> tensor<3x3x64x32xf32>
// CHECK-NEXT: %[[VIEW:.*]] = grad.reshape %[[B]] : tensor<3x3x64x32xf32> -> tensor<3x3x32x64xf32>
// CHECK-NEXT: exec.launch @[[BACKWARD]](%arg1, %[[VIEW]])
module attributes {exec.level = "x86-64-v3"} {
exec.kernel @round(%w: tensor<3x3x32x64xf32>) attributes {flops = 18432 : i64} {
  %0 = grad.round %w : tensor<3x3x32x64xf32>
  exec.yield %0 : tensor<3x3x32x64xf32>
}
exec.kernel @forward(%x: tensor<16x16x8x32xf32>, %w: tensor<3x3x32x64xf32>) attributes {flops = 75497472 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<16x16x8x32xf32>, tensor<3x3x32x64xf32>
  exec.yield %0 : tensor<16x16x8x64xf32>
}
exec.kernel @backward(%d: tensor<16x16x8x64xf32>, %w: tensor<3x3x32x64xf32>) attributes {flops = 75497472 : i64} {
  %0 = grad.convolution %d, %w dims "no,co->nc" window <[3, 3] low [1, 1] high [1, 1] reversed> : tensor<16x16x8x64xf32>, tensor<3x3x32x64xf32>
  exec.yield %0 : tensor<16x16x8x32xf32>
}
func.func @step(%x: tensor<16x16x8x32xf32>, %d: tensor<16x16x8x64xf32>, %v: tensor<3x3x32x64xf32>) -> (tensor<16x16x8x64xf32>, tensor<16x16x8x64xf32>, tensor<16x16x8x32xf32>) {
  %w = exec.launch @round(%v) {exec.nodes = []} : (tensor<3x3x32x64xf32>) -> tensor<3x3x32x64xf32>
  %0 = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<16x16x8x32xf32>, tensor<3x3x32x64xf32>) -> tensor<16x16x8x64xf32>
  %1 = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<16x16x8x32xf32>, tensor<3x3x32x64xf32>) -> tensor<16x16x8x64xf32>
  %2 = exec.launch @backward(%d, %w) {exec.nodes = []} : (tensor<16x16x8x64xf32>, tensor<3x3x32x64xf32>) -> tensor<16x16x8x32xf32>
  return %0, %1, %2 : tensor<16x16x8x64xf32>, tensor<16x16x8x64xf32>, tensor<16x16x8x32xf32>
}
}

// -----

// A large filter over one small picture takes longer to transform than that saves. Pictures of less than 8x8 are not for
// Winograd's algorithm, and a filter along the columns needs no panels.

// CHECK-LABEL: func.func @others
// CHECK-NEXT: exec.launch @large(%arg0, %arg1)
// CHECK-NEXT: exec.launch @small(%arg2, %arg1)
module attributes {exec.level = "x86-64-v3"} {
exec.kernel @large(%x: tensor<8x8x1x256xf32>, %w: tensor<3x3x256x256xf32>) attributes {flops = 75497472 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<8x8x1x256xf32>, tensor<3x3x256x256xf32>
  exec.yield %0 : tensor<8x8x1x256xf32>
}
exec.kernel @small(%x: tensor<6x6x8x256xf32>, %w: tensor<3x3x256x256xf32>) attributes {flops = 339738624 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<6x6x8x256xf32>, tensor<3x3x256x256xf32>
  exec.yield %0 : tensor<6x6x8x256xf32>
}
func.func @others(%x: tensor<8x8x1x256xf32>, %w: tensor<3x3x256x256xf32>, %y: tensor<6x6x8x256xf32>) -> (tensor<8x8x1x256xf32>, tensor<6x6x8x256xf32>) {
  %0 = exec.launch @large(%x, %w) {exec.nodes = []} : (tensor<8x8x1x256xf32>, tensor<3x3x256x256xf32>) -> tensor<8x8x1x256xf32>
  %1 = exec.launch @small(%y, %w) {exec.nodes = []} : (tensor<6x6x8x256xf32>, tensor<3x3x256x256xf32>) -> tensor<6x6x8x256xf32>
  return %0, %1 : tensor<8x8x1x256xf32>, tensor<6x6x8x256xf32>
}
}
