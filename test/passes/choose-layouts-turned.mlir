// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts -gradc-schedule | FileCheck %s

// The backward reads a weight of 4 MiB, too large for the cache, in the panels that the forward reads. It turns them itself, column tile by
// column tile, which are its units therefore; a weight of 16 KiB is packed before its reader, whose row tiles are units.

// CHECK-DAG: exec.kernel @[[LARGE:backward.*]](%{{.*}}tensor<1024x1024xf32>){{.*}}layouts = [unit, #exec.panel<dim = 1, width = 16>, unit], schedule = {{.*}}order = [1, 0], grain = {{[0-9]+}}, turned = <operand = 1, dim = 0, tiles = 4>
// CHECK-DAG: exec.kernel @[[SMALL:small.*]](%{{.*}}tensor<64x64xf32>){{.*}}layouts = [unit, #exec.panel<dim = 0, width = 16>, unit]
// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 16>
// CHECK-NOT: mirror
// CHECK-LABEL: func.func @step
// CHECK-DAG: %[[W:.*]] = exec.load @w.primary
// CHECK-DAG: %[[V:.*]] = exec.load @v.primary
// CHECK: %[[D:.*]] = exec.launch @[[LARGE]](%{{.*}}, %[[W]])
// CHECK: %[[PACKED:.*]] = exec.launch @pack{{.*}}(%[[V]])
// CHECK: exec.launch @[[SMALL]](%{{.*}}, %[[PACKED]])
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<1024x1024xf32> = dense<1.0> : tensor<1024x1024xf32>
grad.state parameter @v : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
exec.kernel @forward(%x: tensor<96x1024xf32>, %w: tensor<1024x1024xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<96x1024xf32>, tensor<1024x1024xf32>
  exec.yield %0 : tensor<96x1024xf32>
}
exec.kernel @backward(%d: tensor<96x1024xf32>, %w: tensor<1024x1024xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %d, %w transpose_rhs : tensor<96x1024xf32>, tensor<1024x1024xf32>
  exec.yield %0 : tensor<96x1024xf32>
}
exec.kernel @small_forward(%x: tensor<96x64xf32>, %w: tensor<64x64xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<96x64xf32>, tensor<64x64xf32>
  exec.yield %0 : tensor<96x64xf32>
}
exec.kernel @small(%d: tensor<96x64xf32>, %w: tensor<64x64xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %d, %w transpose_rhs : tensor<96x64xf32>, tensor<64x64xf32>
  exec.yield %0 : tensor<96x64xf32>
}
exec.kernel @update(%w: tensor<1024x1024xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %w : tensor<1024x1024xf32>
  exec.yield %0 : tensor<1024x1024xf32>
}
exec.kernel @small_update(%w: tensor<64x64xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %w : tensor<64x64xf32>
  exec.yield %0 : tensor<64x64xf32>
}
func.func @step(%x: tensor<96x1024xf32>, %y: tensor<96x64xf32>) -> (tensor<96x1024xf32>, tensor<96x64xf32>) {
  %w = grad.read @w : tensor<1024x1024xf32>
  %v = grad.read @v : tensor<64x64xf32>
  %0 = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<96x1024xf32>, tensor<1024x1024xf32>) -> tensor<96x1024xf32>
  %1 = exec.launch @backward(%0, %w) {exec.nodes = []} : (tensor<96x1024xf32>, tensor<1024x1024xf32>) -> tensor<96x1024xf32>
  %2 = exec.launch @small_forward(%y, %v) {exec.nodes = []} : (tensor<96x64xf32>, tensor<64x64xf32>) -> tensor<96x64xf32>
  %3 = exec.launch @small(%2, %v) {exec.nodes = []} : (tensor<96x64xf32>, tensor<64x64xf32>) -> tensor<96x64xf32>
  %4 = exec.launch @update(%w) {exec.nodes = []} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %5 = exec.launch @small_update(%v) {exec.nodes = []} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  grad.write @w, %4 : tensor<1024x1024xf32>
  grad.write @v, %5 : tensor<64x64xf32>
  return %1, %3 : tensor<96x1024xf32>, tensor<96x64xf32>
}
}

// -----

// So does the data gradient of a convolution, whose filter is larger than the cache.

// CHECK: exec.kernel @{{backward.*}}(%{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16>, unit], schedule = {{.*}}order = [3, 0, 1, 2], grain = {{[0-9]+}}, turned = <operand = 1, dim = 2, tiles = 1>
// CHECK-LABEL: func.func @step
// CHECK-NOT: exec.launch @pack
// CHECK: return
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<3x3x256x256xf32> = dense<1.0> : tensor<3x3x256x256xf32>
exec.kernel @forward(%x: tensor<4x4x8x256xf32>, %w: tensor<3x3x256x256xf32>) attributes {inplace = array<i64>} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<4x4x8x256xf32>, tensor<3x3x256x256xf32>
  exec.yield %0 : tensor<4x4x8x256xf32>
}
exec.kernel @backward(%g: tensor<4x4x8x256xf32>, %w: tensor<3x3x256x256xf32>) attributes {inplace = array<i64>} {
  %0 = grad.convolution %g, %w dims "no,co->nc" window <[3, 3] low [1, 1] high [1, 1] reversed> : tensor<4x4x8x256xf32>, tensor<3x3x256x256xf32>
  exec.yield %0 : tensor<4x4x8x256xf32>
}
exec.kernel @update(%w: tensor<3x3x256x256xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %w : tensor<3x3x256x256xf32>
  exec.yield %0 : tensor<3x3x256x256xf32>
}
func.func @step(%x: tensor<4x4x8x256xf32>) -> tensor<4x4x8x256xf32> {
  %w = grad.read @w : tensor<3x3x256x256xf32>
  %0 = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<4x4x8x256xf32>, tensor<3x3x256x256xf32>) -> tensor<4x4x8x256xf32>
  %1 = exec.launch @backward(%0, %w) {exec.nodes = []} : (tensor<4x4x8x256xf32>, tensor<3x3x256x256xf32>) -> tensor<4x4x8x256xf32>
  %2 = exec.launch @update(%w) {exec.nodes = []} : (tensor<3x3x256x256xf32>) -> tensor<3x3x256x256xf32>
  grad.write @w, %2 : tensor<3x3x256x256xf32>
  return %1 : tensor<4x4x8x256xf32>
}
}

// -----

// Three kernels that read the weight across its panels share one copy. A product with a row of the weight for each head reads it in place.

// CHECK-DAG: exec.kernel @{{thin.*}}(%{{.*}}layouts = [unit, #exec.panel<dim = 1, width = 16>, unit], schedule = {{.*}}order = {{\[.*\]}}, grain = {{[0-9]+}}>
// CHECK-LABEL: func.func @step
// CHECK: %[[W:.*]] = exec.load @w.primary
// CHECK: %[[PACKED:.*]] = exec.launch @pack{{.*}}(%[[W]])
// CHECK-NEXT: exec.launch @{{backward.*}}(%{{.*}}, %[[PACKED]])
// CHECK-NEXT: exec.launch @{{backward.*}}(%{{.*}}, %[[PACKED]])
// CHECK-NEXT: exec.launch @{{backward.*}}(%{{.*}}, %[[PACKED]])
// CHECK-NEXT: exec.launch @{{thin.*}}(%{{.*}}, %[[W]])
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<1024x1024xf32> = dense<1.0> : tensor<1024x1024xf32>
exec.kernel @forward(%x: tensor<96x1024xf32>, %w: tensor<1024x1024xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<96x1024xf32>, tensor<1024x1024xf32>
  exec.yield %0 : tensor<96x1024xf32>
}
exec.kernel @backward(%d: tensor<96x1024xf32>, %w: tensor<1024x1024xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %d, %w transpose_rhs : tensor<96x1024xf32>, tensor<1024x1024xf32>
  exec.yield %0 : tensor<96x1024xf32>
}
exec.kernel @thin(%x: tensor<96x1024x1024xf32>, %w: tensor<1024x1024xf32>) attributes {inplace = array<i64>} {
  %0 = grad.convolution %x, %w dims "bhd,hd->bh" window <[]> : tensor<96x1024x1024xf32>, tensor<1024x1024xf32>
  exec.yield %0 : tensor<96x1024xf32>
}
exec.kernel @update(%w: tensor<1024x1024xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %w : tensor<1024x1024xf32>
  exec.yield %0 : tensor<1024x1024xf32>
}
func.func @step(%x: tensor<96x1024xf32>, %y: tensor<96x1024x1024xf32>) -> tensor<96x1024xf32> {
  %w = grad.read @w : tensor<1024x1024xf32>
  %0 = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<96x1024xf32>, tensor<1024x1024xf32>) -> tensor<96x1024xf32>
  %1 = exec.launch @backward(%0, %w) {exec.nodes = []} : (tensor<96x1024xf32>, tensor<1024x1024xf32>) -> tensor<96x1024xf32>
  %2 = exec.launch @backward(%1, %w) {exec.nodes = []} : (tensor<96x1024xf32>, tensor<1024x1024xf32>) -> tensor<96x1024xf32>
  %3 = exec.launch @backward(%2, %w) {exec.nodes = []} : (tensor<96x1024xf32>, tensor<1024x1024xf32>) -> tensor<96x1024xf32>
  %4 = exec.launch @thin(%y, %w) {exec.nodes = []} : (tensor<96x1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<96x1024xf32>
  %5 = exec.launch @update(%w) {exec.nodes = []} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  grad.write @w, %5 : tensor<1024x1024xf32>
  return %3 : tensor<96x1024xf32>
}
}

// -----

// A weight that the step also returns is stored by rows; both readers pack it.

// CHECK: exec.buffer primary @w.primary of @w : 4194304
// CHECK-NOT: mirror
// CHECK-LABEL: func.func @returned
// CHECK-COUNT-2: exec.launch @pack
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<1024x1024xf32> = dense<1.0> : tensor<1024x1024xf32>
exec.kernel @forward(%x: tensor<96x1024xf32>, %w: tensor<1024x1024xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<96x1024xf32>, tensor<1024x1024xf32>
  exec.yield %0 : tensor<96x1024xf32>
}
exec.kernel @backward(%d: tensor<96x1024xf32>, %w: tensor<1024x1024xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %d, %w transpose_rhs : tensor<96x1024xf32>, tensor<1024x1024xf32>
  exec.yield %0 : tensor<96x1024xf32>
}
exec.kernel @update(%w: tensor<1024x1024xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %w : tensor<1024x1024xf32>
  exec.yield %0 : tensor<1024x1024xf32>
}
func.func @returned(%x: tensor<96x1024xf32>) -> (tensor<96x1024xf32>, tensor<1024x1024xf32>) {
  %w = grad.read @w : tensor<1024x1024xf32>
  %0 = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<96x1024xf32>, tensor<1024x1024xf32>) -> tensor<96x1024xf32>
  %1 = exec.launch @backward(%0, %w) {exec.nodes = []} : (tensor<96x1024xf32>, tensor<1024x1024xf32>) -> tensor<96x1024xf32>
  %2 = exec.launch @update(%w) {exec.nodes = []} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  grad.write @w, %2 : tensor<1024x1024xf32>
  return %1, %w : tensor<96x1024xf32>, tensor<1024x1024xf32>
}
}
