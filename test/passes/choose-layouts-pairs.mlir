// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts | FileCheck %s

// bf16 weights are stored in pairs along the summed dim, padded from 25 to 26;
// 40 needs no padding. The mirror is computed from the tensor with the column dim, and with it the
// dim of the pairs, moved to the end.

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

// A level without room for both halves of pairs in its registers reads panels without pairs.

// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 2400
module attributes {exec.level = "x86-64-v3"} {
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

// -----

// Kernels that read @w through a kernel that only rounds read mirrors in pairs instead, one for each direction, which the
// update writes. The primary remains f32, and the update's other state has the primary's layout.

// CHECK-DAG: exec.kernel @[[FORWARD:forward.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>, unit]
// CHECK-DAG: exec.kernel @[[BACKWARD:backward.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 0, width = 32, pairs = 1>, unit]
// CHECK-DAG: grad.cast %{{.*}} storage : tensor<24x40xf32> -> tensor<24x40xbf16>
// CHECK-DAG: grad.cast %{{.*}} storage : tensor<40x24xf32> -> tensor<40x24xbf16>
// CHECK-NOT: exec.kernel @round
// CHECK: exec.buffer primary @w.primary of @w : 3840
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 1, width = 32, pairs = 0> : 3072
// CHECK: exec.buffer mirror @w.mirror2 of @w layout <dim = 0, width = 32, pairs = 1> : 2560
// CHECK: exec.buffer primary @m.primary of @m : 3840
// CHECK-LABEL: func.func @step
// CHECK-DAG: %[[W:.*]] = exec.load @w.mirror1 : tensor<24x40xbf16>
// CHECK-DAG: %[[TURNED:.*]] = exec.load @w.mirror2 : tensor<24x40xbf16>
// CHECK-DAG: %[[OLD:.*]] = exec.load @w.primary : tensor<24x40xf32>
// CHECK-NOT: @round
// CHECK: exec.launch @[[FORWARD]](%arg0, %[[W]])
// CHECK: exec.launch @[[BACKWARD]](%{{.*}}, %[[TURNED]])
// CHECK: %[[NEW:.*]]:2 = exec.launch @update(%[[OLD]], %{{.*}})
// CHECK-NEXT: exec.store @w.primary, %[[NEW]]#0
// CHECK-NEXT: %[[FIRST:.*]] = exec.launch @pack{{.*}}(%[[NEW]]#0)
// CHECK-NEXT: exec.store @w.mirror1, %[[FIRST]] : tensor<24x40xbf16>
// The mirror for the other dim is computed from the tensor with that dim moved to the end.
// CHECK-NEXT: %[[SECOND:.*]] = exec.launch @pack{{.*}}(%[[NEW]]#0)
// CHECK-NEXT: exec.store @w.mirror2, %[[SECOND]] : tensor<40x24xbf16>
module attributes {exec.level = "x86-64-v4+bf16"} {
grad.state parameter @w : tensor<24x40xf32> = dense<1.0> : tensor<24x40xf32>
grad.state slot @m : tensor<24x40xf32> = dense<0.0> : tensor<24x40xf32>
exec.kernel @round(%w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.cast %w storage : tensor<24x40xf32> -> tensor<24x40xbf16>
  exec.yield %0 : tensor<24x40xbf16>
}
exec.kernel @forward(%x: tensor<8x24xbf16>, %w: tensor<24x40xbf16>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xbf16>, tensor<24x40xbf16>
  exec.yield %0 : tensor<8x40xbf16>
}
exec.kernel @backward(%dy: tensor<8x40xbf16>, %w: tensor<24x40xbf16>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %dy, %w transpose_rhs : tensor<8x40xbf16>, tensor<24x40xbf16>
  exec.yield %0 : tensor<8x24xbf16>
}
exec.kernel @update(%w: tensor<24x40xf32>, %m: tensor<24x40xf32>) attributes {inplace = array<i64: 0, 1>} {
  %0 = grad.add %w, %m : tensor<24x40xf32>
  %1 = grad.sub %w, %m : tensor<24x40xf32>
  exec.yield %0, %1 : tensor<24x40xf32>, tensor<24x40xf32>
}
func.func @step(%x: tensor<8x24xbf16>) -> tensor<8x24xbf16> {
  %w = grad.read @w : tensor<24x40xf32>
  %m = grad.read @m : tensor<24x40xf32>
  %narrow = exec.launch @round(%w) {exec.nodes = []} : (tensor<24x40xf32>) -> tensor<24x40xbf16>
  %y = exec.launch @forward(%x, %narrow) {exec.nodes = []} : (tensor<8x24xbf16>, tensor<24x40xbf16>) -> tensor<8x40xbf16>
  %dx = exec.launch @backward(%y, %narrow) {exec.nodes = []} : (tensor<8x40xbf16>, tensor<24x40xbf16>) -> tensor<8x24xbf16>
  %new:2 = exec.launch @update(%w, %m) {exec.nodes = []} : (tensor<24x40xf32>, tensor<24x40xf32>) -> (tensor<24x40xf32>, tensor<24x40xf32>)
  grad.write @w, %new#0 : tensor<24x40xf32>
  grad.write @m, %new#1 : tensor<24x40xf32>
  return %dx : tensor<8x24xbf16>
}
}

// -----

// A rounded state that is returned is computed, because a mirror may be newer than this run. The same holds on a GPU.

// CHECK-NOT: exec.buffer mirror
// CHECK-LABEL: func.func @returned
// CHECK: exec.launch @round
module attributes {exec.level = "x86-64-v4+bf16"} {
grad.state parameter @w : tensor<24x40xf32> = dense<1.0> : tensor<24x40xf32>
exec.kernel @round(%w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.cast %w storage : tensor<24x40xf32> -> tensor<24x40xbf16>
  exec.yield %0 : tensor<24x40xbf16>
}
func.func @returned() -> tensor<24x40xbf16> {
  %w = grad.read @w : tensor<24x40xf32>
  %narrow = exec.launch @round(%w) {exec.nodes = []} : (tensor<24x40xf32>) -> tensor<24x40xbf16>
  return %narrow : tensor<24x40xbf16>
}
}

// -----

// A kernel that does more than round does not become a mirror, and f16 is read in panels without pairs.

// CHECK: exec.buffer primary @v.primary of @v : 3840
// CHECK: exec.buffer primary @w.primary of @w : 3840
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 1, width = 16> : 2304
// CHECK-NOT: exec.buffer
// CHECK-LABEL: func.func @halves
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @v : tensor<24x40xf32> = dense<1.0> : tensor<24x40xf32>
grad.state parameter @w : tensor<24x40xf32> = dense<1.0> : tensor<24x40xf32>
exec.kernel @round(%w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.cast %w storage : tensor<24x40xf32> -> tensor<24x40xf16>
  exec.yield %0 : tensor<24x40xf16>
}
exec.kernel @scale(%w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.exp %w : tensor<24x40xf32>
  %1 = grad.cast %0 storage : tensor<24x40xf32> -> tensor<24x40xf16>
  exec.yield %1 : tensor<24x40xf16>
}
exec.kernel @forward(%x: tensor<8x24xf16>, %w: tensor<24x40xf16>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xf16>, tensor<24x40xf16>
  exec.yield %0 : tensor<8x40xf16>
}
func.func @halves(%x: tensor<8x24xf16>) -> (tensor<8x40xf16>, tensor<8x40xf16>) {
  %v = grad.read @v : tensor<24x40xf32>
  %w = grad.read @w : tensor<24x40xf32>
  %scaled = exec.launch @scale(%v) {exec.nodes = []} : (tensor<24x40xf32>) -> tensor<24x40xf16>
  %narrow = exec.launch @round(%w) {exec.nodes = []} : (tensor<24x40xf32>) -> tensor<24x40xf16>
  %y = exec.launch @forward(%x, %narrow) {exec.nodes = []} : (tensor<8x24xf16>, tensor<24x40xf16>) -> tensor<8x40xf16>
  %z = exec.launch @forward(%x, %scaled) {exec.nodes = []} : (tensor<8x24xf16>, tensor<24x40xf16>) -> tensor<8x40xf16>
  return %y, %z : tensor<8x40xf16>, tensor<8x40xf16>
}
}

// -----

// A 3x3 filter in 16 bits is rounded, then stored transformed, in f32.

// CHECK-LABEL: module
// CHECK-DAG: exec.kernel @[[TRANSFORM:pack.*]](%{{.*}}: tensor<3x3x32x64xf32>) {{.*}}layouts = [unit, #exec.panel<dim = 3, width = 32, winograd4x4>]
// CHECK-DAG: grad.cast %{{.*}} : tensor<3x3x32x64xf32> -> tensor<3x3x32x64xbf16>
// CHECK-DAG: exec.buffer primary @w.primary of @w : 73728
// CHECK-DAG: exec.buffer mirror @[[MIRROR:.*]] of @w layout <dim = 3, width = 32, winograd4x4> : 294912
// CHECK-LABEL: func.func @step
// CHECK: exec.load @[[MIRROR]] : tensor<3x3x32x64xbf16>
// CHECK: exec.launch @[[TRANSFORM]]
module attributes {exec.level = "x86-64-v4+bf16"} {
grad.state parameter @w : tensor<3x3x32x64xf32> = dense<1.0> : tensor<3x3x32x64xf32>
exec.kernel @round(%w: tensor<3x3x32x64xf32>) {
  %0 = grad.cast %w : tensor<3x3x32x64xf32> -> tensor<3x3x32x64xbf16>
  exec.yield %0 : tensor<3x3x32x64xbf16>
}
exec.kernel @forward(%x: tensor<8x8x4x32xbf16>, %w: tensor<3x3x32x64xbf16>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> wide : tensor<8x8x4x32xbf16>, tensor<3x3x32x64xbf16>
  exec.yield %0 : tensor<8x8x4x64xf32>
}
exec.kernel @update(%w: tensor<3x3x32x64xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.mul %w, %w : tensor<3x3x32x64xf32>
  exec.yield %0 : tensor<3x3x32x64xf32>
}
func.func @step(%x: tensor<8x8x4x32xbf16>) -> tensor<8x8x4x64xf32> {
  %w = grad.read @w : tensor<3x3x32x64xf32>
  %n = exec.launch @round(%w) {exec.nodes = []} : (tensor<3x3x32x64xf32>) -> tensor<3x3x32x64xbf16>
  %y = exec.launch @forward(%x, %n) {exec.nodes = []} : (tensor<8x8x4x32xbf16>, tensor<3x3x32x64xbf16>) -> tensor<8x8x4x64xf32>
  %new = exec.launch @update(%w) {exec.nodes = []} : (tensor<3x3x32x64xf32>) -> tensor<3x3x32x64xf32>
  grad.write @w, %new : tensor<3x3x32x64xf32>
  return %y : tensor<8x8x4x64xf32>
}
}
