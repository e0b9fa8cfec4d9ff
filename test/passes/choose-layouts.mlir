// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts | FileCheck %s

// A weight is stored in the panels that its forward reads. The backward reads the transpose, packed right before it, since the entry
// that reads it writes the weight anew. Kernels use the layouts of the states that they load and store, so an update runs in place. The
// runtime reads and writes through two more entries.

// CHECK-DAG: exec.kernel @[[FORWARD:forward.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 1, width = 16>, unit]
// CHECK-DAG: exec.kernel @[[BACKWARD:backward.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 0, width = 16>, unit]
// CHECK-DAG: exec.kernel @[[UPDATE:update.*]](%{{.*}}layouts = [unit, unit, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>]
// CHECK-DAG: exec.kernel @[[PACK:pack]](%{{.*}}layouts = [#exec.panel<dim = 1, width = 16>, #exec.panel<dim = 0, width = 16>]
// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 4608
// CHECK-NOT: mirror
// CHECK: exec.buffer primary @b.primary of @b : 160
// CHECK-NOT: exec.kernel
// CHECK-LABEL: func.func @step
// CHECK: %[[W:.*]] = exec.load @w.primary : tensor<24x40xf32>
// CHECK: %[[Y:.*]] = exec.launch @[[FORWARD]](%arg0, %[[W]])
// CHECK-NEXT: %[[TRANSPOSED:.*]] = exec.launch @[[PACK]](%[[W]]) {exec.nodes = []}
// CHECK-NEXT: exec.launch @[[BACKWARD]](%[[Y]], %[[TRANSPOSED]])
// CHECK-NEXT: exec.launch @[[BACKWARD]](%arg1, %[[TRANSPOSED]])
// CHECK: %[[NEW:.*]] = exec.launch @[[UPDATE]](%arg0, %[[Y]], %[[W]])
// CHECK-NEXT: exec.store @w.primary, %[[NEW]]
// CHECK-NEXT: return
// CHECK-LABEL: func.func @"pack:w"(
// CHECK-SAME: %[[VALUE:.*]]: tensor<24x40xf32> {grad.name = "value"}) attributes {grad.entry = "pack:w"}
// CHECK: %[[PACKED:.*]] = exec.launch @{{pack.*}}(%[[VALUE]])
// CHECK: exec.store @w.primary, %[[PACKED]]
// CHECK-LABEL: func.func @"unpack:w"() -> (tensor<24x40xf32> {grad.name = "value"}) attributes {grad.entry = "unpack:w"}
// CHECK: %[[PACKED:.*]] = exec.load @w.primary
// CHECK: %[[VALUE:.*]] = exec.launch @unpack(%[[PACKED]])
// CHECK: return %[[VALUE]]
// A row-major state needs no such entries.
// CHECK-NOT: pack:b
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<24x40xf32> = dense<1.0> : tensor<24x40xf32>
grad.state parameter @b : tensor<40xf32> = dense<1.0> : tensor<40xf32>
exec.kernel @forward(%x: tensor<8x24xf32>, %w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xf32>, tensor<24x40xf32>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @backward(%d: tensor<8x40xf32>, %w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %d, %w transpose_rhs : tensor<8x40xf32>, tensor<24x40xf32>
  exec.yield %0 : tensor<8x24xf32>
}
exec.kernel @update(%x: tensor<8x24xf32>, %d: tensor<8x40xf32>, %w: tensor<24x40xf32>) attributes {inplace = array<i64: 2>} {
  %0 = grad.matmul %x, %d transpose_lhs : tensor<8x24xf32>, tensor<8x40xf32>
  %1 = grad.sub %w, %0 : tensor<24x40xf32>
  exec.yield %1 : tensor<24x40xf32>
}
func.func @step(%x: tensor<8x24xf32>, %d: tensor<8x40xf32>) -> (tensor<8x24xf32>, tensor<8x24xf32>) {
  %w = grad.read @w : tensor<24x40xf32>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x24xf32>, tensor<24x40xf32>) -> tensor<8x40xf32>
  %dx = exec.launch @backward(%y, %w) {exec.nodes = []} : (tensor<8x40xf32>, tensor<24x40xf32>) -> tensor<8x24xf32>
  %dd = exec.launch @backward(%d, %w) {exec.nodes = []} : (tensor<8x40xf32>, tensor<24x40xf32>) -> tensor<8x24xf32>
  %new = exec.launch @update(%x, %y, %w) {exec.nodes = []} : (tensor<8x24xf32>, tensor<8x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  grad.write @w, %new : tensor<24x40xf32>
  return %dx, %dd : tensor<8x24xf32>, tensor<8x24xf32>
}
}

// -----

// An entry that does not write the weight reads the transpose from a mirror, which is recomputed after each write, and so do others then.

// CHECK-DAG: exec.kernel @[[BACKWARD:backward.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 0, width = 16>, unit]
// CHECK-DAG: exec.kernel @[[REFRESH:pack]](%{{.*}}layouts = [#exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>]{{.*}}
// CHECK: %[[TURNED:.*]] = grad.transpose %{{.*}} permutation [1, 0]
// CHECK-NEXT: exec.yield %[[TURNED]] : tensor<40x24xf32>
// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 4608
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 0, width = 16> : 5120
// CHECK-LABEL: func.func @step
// CHECK-DAG: %[[W:.*]] = exec.load @w.primary : tensor<24x40xf32>
// CHECK-DAG: %[[TRANSPOSED:.*]] = exec.load @w.mirror1 : tensor<24x40xf32>
// CHECK: exec.launch @[[BACKWARD]](%{{.*}}, %[[TRANSPOSED]])
// CHECK: %[[NEW:.*]] = exec.launch @{{update.*}}(%[[W]])
// CHECK: exec.store @w.primary, %[[NEW]]
// CHECK: %[[MIRRORED:.*]] = exec.launch @[[REFRESH]](%[[NEW]]) {exec.nodes = []}
// CHECK: exec.store @w.mirror1, %[[MIRRORED]]
// CHECK-LABEL: func.func @attack
// CHECK: %[[TRANSPOSED:.*]] = exec.load @w.mirror1 : tensor<24x40xf32>
// CHECK: exec.launch @[[BACKWARD]](%{{.*}}, %[[TRANSPOSED]])
// CHECK-LABEL: func.func @"pack:w"(
// CHECK: %[[PACKED:.*]] = exec.launch @{{pack.*}}(
// CHECK: exec.store @w.primary, %[[PACKED]]
// CHECK: %[[MIRRORED:.*]] = exec.launch @[[REFRESH]](%[[PACKED]])
// CHECK: exec.store @w.mirror1, %[[MIRRORED]]
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<24x40xf32> = dense<1.0> : tensor<24x40xf32>
exec.kernel @forward(%x: tensor<8x24xf32>, %w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xf32>, tensor<24x40xf32>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @backward(%d: tensor<8x40xf32>, %w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %d, %w transpose_rhs : tensor<8x40xf32>, tensor<24x40xf32>
  exec.yield %0 : tensor<8x24xf32>
}
exec.kernel @update(%w: tensor<24x40xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %w : tensor<24x40xf32>
  exec.yield %0 : tensor<24x40xf32>
}
func.func @step(%x: tensor<8x24xf32>) -> tensor<8x24xf32> {
  %w = grad.read @w : tensor<24x40xf32>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x24xf32>, tensor<24x40xf32>) -> tensor<8x40xf32>
  %dx = exec.launch @backward(%y, %w) {exec.nodes = []} : (tensor<8x40xf32>, tensor<24x40xf32>) -> tensor<8x24xf32>
  %new = exec.launch @update(%w) {exec.nodes = []} : (tensor<24x40xf32>) -> tensor<24x40xf32>
  grad.write @w, %new : tensor<24x40xf32>
  return %dx : tensor<8x24xf32>
}
func.func @attack(%d: tensor<8x40xf32>) -> tensor<8x24xf32> {
  %w = grad.read @w : tensor<24x40xf32>
  %dx = exec.launch @backward(%d, %w) {exec.nodes = []} : (tensor<8x40xf32>, tensor<24x40xf32>) -> tensor<8x24xf32>
  return %dx : tensor<8x24xf32>
}
}

// -----

// Wider vectors have wider panels, and wider elements narrower ones. Integers stay row-major.

// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 32> : 6144
// CHECK: exec.buffer primary @d.primary of @d layout <dim = 1, width = 16> : 9216
// CHECK: exec.buffer primary @i.primary of @i : 3840
// CHECK-LABEL: func.func @forwards
module attributes {exec.level = "x86-64-v4"} {
grad.state parameter @w : tensor<24x40xf32> = dense<1.0> : tensor<24x40xf32>
grad.state parameter @d : tensor<24x40xf64> = dense<1.0> : tensor<24x40xf64>
grad.state parameter @i : tensor<24x40xi32> = dense<1> : tensor<24x40xi32>
exec.kernel @forward(%x: tensor<8x24xf32>, %w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xf32>, tensor<24x40xf32>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @forward64(%x: tensor<8x24xf64>, %w: tensor<24x40xf64>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xf64>, tensor<24x40xf64>
  exec.yield %0 : tensor<8x40xf64>
}
exec.kernel @forwardi(%x: tensor<8x24xi32>, %w: tensor<24x40xi32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xi32>, tensor<24x40xi32>
  exec.yield %0 : tensor<8x40xi32>
}
func.func @forwards(%x: tensor<8x24xf32>, %d: tensor<8x24xf64>, %i: tensor<8x24xi32>) -> (tensor<8x40xf32>, tensor<8x40xf64>, tensor<8x40xi32>) {
  %w = grad.read @w : tensor<24x40xf32>
  %dw = grad.read @d : tensor<24x40xf64>
  %iw = grad.read @i : tensor<24x40xi32>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x24xf32>, tensor<24x40xf32>) -> tensor<8x40xf32>
  %yd = exec.launch @forward64(%d, %dw) {exec.nodes = []} : (tensor<8x24xf64>, tensor<24x40xf64>) -> tensor<8x40xf64>
  %yi = exec.launch @forwardi(%i, %iw) {exec.nodes = []} : (tensor<8x24xi32>, tensor<24x40xi32>) -> tensor<8x40xi32>
  return %y, %yd, %yi : tensor<8x40xf32>, tensor<8x40xf64>, tensor<8x40xi32>
}
}

// -----

// A returned value must be row-major, so the panels are the mirror.

// CHECK: exec.buffer primary @w.primary of @w : 3840
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 1, width = 16> : 4608
// CHECK-LABEL: func.func @returned
// CHECK-DAG: %[[W:.*]] = exec.load @w.primary
// CHECK-DAG: %[[PANELS:.*]] = exec.load @w.mirror1
// CHECK: %[[Y:.*]] = exec.launch @{{forward.*}}(%arg0, %[[PANELS]])
// CHECK: return %[[Y]], %[[W]]
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<24x40xf32> = dense<1.0> : tensor<24x40xf32>
exec.kernel @forward(%x: tensor<8x24xf32>, %w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xf32>, tensor<24x40xf32>
  exec.yield %0 : tensor<8x40xf32>
}
func.func @returned(%x: tensor<8x24xf32>) -> (tensor<8x40xf32>, tensor<24x40xf32>) {
  %w = grad.read @w : tensor<24x40xf32>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x24xf32>, tensor<24x40xf32>) -> tensor<8x40xf32>
  return %y, %w : tensor<8x40xf32>, tensor<24x40xf32>
}
}

// -----

// A launch may write over its operand in place, or into a buffer whose old value has no more readers.
// All other writes go through a copy.

module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @a : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
grad.state parameter @b : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
grad.state parameter @c : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
exec.kernel @exp(%x: tensor<8x8xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %x : tensor<8x8xf32>
  exec.yield %0 : tensor<8x8xf32>
}
exec.kernel @add(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) attributes {inplace = array<i64: 0, 1>} {
  %0 = grad.add %x, %y : tensor<8x8xf32>
  exec.yield %0 : tensor<8x8xf32>
}
exec.kernel @turn(%x: tensor<8x8xf32>) attributes {inplace = array<i64>} {
  %0 = grad.transpose %x permutation [1, 0] : tensor<8x8xf32>
  exec.yield %0 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @inplace
// CHECK: %[[OLD:.*]] = exec.load @a.primary
// CHECK-NEXT: %[[NEW:.*]] = exec.launch @exp(%[[OLD]])
// CHECK-NEXT: exec.store @a.primary, %[[NEW]]
func.func @inplace() {
  %a = grad.read @a : tensor<8x8xf32>
  %0 = exec.launch @exp(%a) {exec.nodes = []} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  grad.write @a, %0 : tensor<8x8xf32>
  return
}
// CHECK-LABEL: func.func @not_inplace
// CHECK: %[[NEW:.*]] = exec.launch @turn(
// CHECK-NEXT: %[[COPY:.*]] = exec.launch @copy(%[[NEW]])
// CHECK-NEXT: exec.store @a.primary, %[[COPY]]
func.func @not_inplace() {
  %a = grad.read @a : tensor<8x8xf32>
  %0 = exec.launch @turn(%a) {exec.nodes = []} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  grad.write @a, %0 : tensor<8x8xf32>
  return
}
// The new value is needed while the old one is.
// CHECK-LABEL: func.func @later_reader
// CHECK: %[[OLD:.*]] = exec.load @a.primary
// CHECK: %[[NEW:.*]] = exec.launch @exp(%[[OLD]])
// CHECK: exec.launch @add(%[[NEW]], %[[OLD]])
// CHECK: %[[COPY:.*]] = exec.launch @copy(%[[NEW]])
// CHECK-NEXT: exec.store @a.primary, %[[COPY]]
func.func @later_reader() -> tensor<8x8xf32> {
  %a = grad.read @a : tensor<8x8xf32>
  %0 = exec.launch @exp(%a) {exec.nodes = []} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = exec.launch @add(%0, %a) {exec.nodes = []} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  grad.write @a, %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// A result has a single buffer.
// CHECK-LABEL: func.func @twice
// CHECK: %[[NEW:.*]] = exec.launch @exp(
// CHECK: exec.store @b.primary, %[[NEW]]
// CHECK: %[[COPY:.*]] = exec.launch @copy(%[[NEW]])
// CHECK: exec.store @c.primary, %[[COPY]]
func.func @twice() {
  %a = grad.read @a : tensor<8x8xf32>
  %0 = exec.launch @exp(%a) {exec.nodes = []} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  grad.write @b, %0 : tensor<8x8xf32>
  grad.write @c, %0 : tensor<8x8xf32>
  return
}
// CHECK-LABEL: func.func @from_input
// CHECK: %[[COPY:.*]] = exec.launch @copy(%arg0)
// CHECK: exec.store @b.primary, %[[COPY]]
func.func @from_input(%x: tensor<8x8xf32>) {
  grad.write @b, %x : tensor<8x8xf32>
  return
}
}

// -----

// A mirror is computed from the primary, even if that was written elsewhere first: the copy packs,
// and the launch writes row-major.

// CHECK: exec.kernel @[[UPDATE:update.*]](%{{.*}}layouts = [#exec.panel<dim = 1, width = 16>, unit]
// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 16>
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 0, width = 16>
// CHECK-LABEL: func.func @aside
// CHECK: %[[NEW:.*]] = exec.launch @[[UPDATE]](
// CHECK: %[[PACKED:.*]] = exec.launch @pack{{.*}}(%[[NEW]])
// CHECK: exec.store @w.primary, %[[PACKED]]
// CHECK: %[[MIRRORED:.*]] = exec.launch @pack{{.*}}(%[[PACKED]])
// CHECK: exec.store @w.mirror1, %[[MIRRORED]]
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32>
exec.kernel @forward(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x16xf32>
  exec.yield %0 : tensor<8x16xf32>
}
exec.kernel @backward(%d: tensor<8x16xf32>, %w: tensor<16x16xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %d, %w transpose_rhs : tensor<8x16xf32>, tensor<16x16xf32>
  exec.yield %0 : tensor<8x16xf32>
}
exec.kernel @update(%w: tensor<16x16xf32>) attributes {inplace = array<i64>} {
  %0 = grad.transpose %w permutation [1, 0] : tensor<16x16xf32>
  %1 = grad.exp %0 : tensor<16x16xf32>
  exec.yield %1 : tensor<16x16xf32>
}
func.func @aside(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %w = grad.read @w : tensor<16x16xf32>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %d = exec.launch @backward(%y, %w) {exec.nodes = []} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %new = exec.launch @update(%w) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  grad.write @w, %new : tensor<16x16xf32>
  return %d : tensor<8x16xf32>
}
func.func @attack(%y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %w = grad.read @w : tensor<16x16xf32>
  %d = exec.launch @backward(%y, %w) {exec.nodes = []} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  return %d : tensor<8x16xf32>
}
}

// -----

// The panels of a filter run along the vectors of its convolution. Transfers convert to the checkpoint's
// order.

// CHECK: exec.buffer primary @filter.primary of @filter layout <dim = 3, width = 16> : 18432
// CHECK: exec.buffer mirror @filter.mirror1 of @filter layout <dim = 2, width = 16> : 18432
// CHECK-LABEL: func.func @"pack:filter"(%arg0: tensor<32x16x3x3xf32>
// CHECK: exec.launch @{{pack.*}}(%arg0) {{.*}} : (tensor<32x16x3x3xf32>) -> tensor<3x3x16x32xf32>
// CHECK-LABEL: func.func @"unpack:filter"() -> (tensor<32x16x3x3xf32>
// CHECK: exec.launch @{{unpack.*}} : (tensor<3x3x16x32xf32>) -> tensor<32x16x3x3xf32>
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @filter : tensor<3x3x16x32xf32> permutation [2, 3, 1, 0] = dense<1.0> : tensor<32x16x3x3xf32>
exec.kernel @forward(%x: tensor<8x8x4x16xf32>, %w: tensor<3x3x16x32xf32>) attributes {inplace = array<i64>} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<8x8x4x16xf32>, tensor<3x3x16x32xf32>
  exec.yield %0 : tensor<8x8x4x32xf32>
}
exec.kernel @backward(%g: tensor<8x8x4x32xf32>, %w: tensor<3x3x16x32xf32>) attributes {inplace = array<i64>} {
  %0 = grad.convolution %g, %w dims "no,co->nc" window <[3, 3] low [1, 1] high [1, 1] reversed> : tensor<8x8x4x32xf32>, tensor<3x3x16x32xf32>
  exec.yield %0 : tensor<8x8x4x16xf32>
}
func.func @step(%x: tensor<8x8x4x16xf32>) -> tensor<8x8x4x16xf32> {
  %w = grad.read @filter : tensor<3x3x16x32xf32>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x8x4x16xf32>, tensor<3x3x16x32xf32>) -> tensor<8x8x4x32xf32>
  %d = exec.launch @backward(%y, %w) {exec.nodes = []} : (tensor<8x8x4x32xf32>, tensor<3x3x16x32xf32>) -> tensor<8x8x4x16xf32>
  return %d : tensor<8x8x4x16xf32>
}
}

// -----

// 3x3 filters with enough channels are stored transformed, in mirrors, because the update needs
// their values: for blocks of 4x4 results, or 2x2 where pictures without padding have no such blocks,
// or the filter is large and the pictures small. Pictures of less than 8x8 and filters with few channels
// use direct convolutions.

// CHECK-DAG: exec.kernel @[[FORWARD:forward.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>, unit]
// CHECK-DAG: exec.kernel @[[BACKWARD:backward.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 2, width = 16, winograd4x4>, unit]
// CHECK-DAG: exec.kernel @[[BARE:bare.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16, winograd2x2>, unit]
// CHECK-DAG: exec.kernel @[[LARGE:large.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16, winograd2x2>, unit]
// CHECK-DAG: exec.kernel @[[WIDE:wide.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>, unit]
// CHECK-DAG: exec.kernel @[[SMALL:small.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16>, unit]
// CHECK-DAG: exec.kernel @[[FEW:few.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16>, unit]
// CHECK-DAG: exec.kernel @[[ASIDE:pack.*]](%{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>]
// CHECK: exec.buffer primary @w.primary of @w : 73728
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 3, width = 16, winograd4x4> : 294912
// CHECK: exec.buffer mirror @w.mirror2 of @w layout <dim = 2, width = 16, winograd4x4> : 294912
// CHECK: exec.buffer primary @v.primary of @v layout <dim = 3, width = 16> :
// CHECK: exec.buffer {{.*}} of @l layout <dim = 3, width = 16, winograd2x2> : 4194304
// CHECK: exec.buffer mirror @{{.*}} of @l layout <dim = 3, width = 16, winograd4x4> : 9437184
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<3x3x32x64xf32> = dense<1.0> : tensor<3x3x32x64xf32>
grad.state parameter @v : tensor<3x3x16x64xf32> = dense<1.0> : tensor<3x3x16x64xf32>
grad.state parameter @u : tensor<3x3x32x64xf32> = dense<1.0> : tensor<3x3x32x64xf32>
grad.state parameter @l : tensor<3x3x256x256xf32> = dense<1.0> : tensor<3x3x256x256xf32>
exec.kernel @forward(%x: tensor<8x8x4x32xf32>, %w: tensor<3x3x32x64xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<8x8x4x32xf32>, tensor<3x3x32x64xf32>
  exec.yield %0 : tensor<8x8x4x64xf32>
}
exec.kernel @backward(%d: tensor<8x8x4x64xf32>, %w: tensor<3x3x32x64xf32>) {
  %0 = grad.convolution %d, %w dims "no,co->nc" window <[3, 3] low [1, 1] high [1, 1] reversed> : tensor<8x8x4x64xf32>, tensor<3x3x32x64xf32>
  exec.yield %0 : tensor<8x8x4x32xf32>
}
exec.kernel @bare(%x: tensor<12x12x4x32xf32>, %w: tensor<3x3x32x64xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3]> : tensor<12x12x4x32xf32>, tensor<3x3x32x64xf32>
  exec.yield %0 : tensor<10x10x4x64xf32>
}
exec.kernel @large(%x: tensor<16x16x4x256xf32>, %w: tensor<3x3x256x256xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<16x16x4x256xf32>, tensor<3x3x256x256xf32>
  exec.yield %0 : tensor<16x16x4x256xf32>
}
exec.kernel @wide(%x: tensor<32x32x4x256xf32>, %w: tensor<3x3x256x256xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<32x32x4x256xf32>, tensor<3x3x256x256xf32>
  exec.yield %0 : tensor<32x32x4x256xf32>
}
exec.kernel @small(%x: tensor<7x7x4x32xf32>, %w: tensor<3x3x32x64xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<7x7x4x32xf32>, tensor<3x3x32x64xf32>
  exec.yield %0 : tensor<7x7x4x64xf32>
}
exec.kernel @few(%x: tensor<8x8x4x16xf32>, %w: tensor<3x3x16x64xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<8x8x4x16xf32>, tensor<3x3x16x64xf32>
  exec.yield %0 : tensor<8x8x4x64xf32>
}
exec.kernel @update(%w: tensor<3x3x32x64xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.mul %w, %w : tensor<3x3x32x64xf32>
  exec.yield %0 : tensor<3x3x32x64xf32>
}
func.func @others(%x: tensor<12x12x4x32xf32>, %s: tensor<16x16x4x256xf32>, %l: tensor<32x32x4x256xf32>)
    -> (tensor<10x10x4x64xf32>, tensor<16x16x4x256xf32>, tensor<32x32x4x256xf32>) {
  %u = grad.read @u : tensor<3x3x32x64xf32>
  %w = grad.read @l : tensor<3x3x256x256xf32>
  %0 = exec.launch @bare(%x, %u) {exec.nodes = []} : (tensor<12x12x4x32xf32>, tensor<3x3x32x64xf32>) -> tensor<10x10x4x64xf32>
  %1 = exec.launch @large(%s, %w) {exec.nodes = []} : (tensor<16x16x4x256xf32>, tensor<3x3x256x256xf32>) -> tensor<16x16x4x256xf32>
  %2 = exec.launch @wide(%l, %w) {exec.nodes = []} : (tensor<32x32x4x256xf32>, tensor<3x3x256x256xf32>) -> tensor<32x32x4x256xf32>
  return %0, %1, %2 : tensor<10x10x4x64xf32>, tensor<16x16x4x256xf32>, tensor<32x32x4x256xf32>
}
func.func @step(%x: tensor<8x8x4x32xf32>, %o: tensor<7x7x4x32xf32>, %f: tensor<8x8x4x16xf32>)
    -> (tensor<8x8x4x32xf32>, tensor<7x7x4x64xf32>, tensor<8x8x4x64xf32>) {
  %w = grad.read @w : tensor<3x3x32x64xf32>
  %v = grad.read @v : tensor<3x3x16x64xf32>
  %u = grad.read @u : tensor<3x3x32x64xf32>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x8x4x32xf32>, tensor<3x3x32x64xf32>) -> tensor<8x8x4x64xf32>
  %dx = exec.launch @backward(%y, %w) {exec.nodes = []} : (tensor<8x8x4x64xf32>, tensor<3x3x32x64xf32>) -> tensor<8x8x4x32xf32>
  %a = exec.launch @small(%o, %u) {exec.nodes = []} : (tensor<7x7x4x32xf32>, tensor<3x3x32x64xf32>) -> tensor<7x7x4x64xf32>
  %b = exec.launch @few(%f, %v) {exec.nodes = []} : (tensor<8x8x4x16xf32>, tensor<3x3x16x64xf32>) -> tensor<8x8x4x64xf32>
  %new = exec.launch @update(%w) {exec.nodes = []} : (tensor<3x3x32x64xf32>) -> tensor<3x3x32x64xf32>
  grad.write @w, %new : tensor<3x3x32x64xf32>
  return %dx, %a, %b : tensor<8x8x4x32xf32>, tensor<7x7x4x64xf32>, tensor<8x8x4x64xf32>
}
}

// -----

// States that one kernel updates together with a weight have the weight's layout. States of another shape, and states that an entry
// reads row-major, stay row-major.

// CHECK-DAG: exec.buffer primary @w.primary of @w layout <dim = 1, width = 16>
// CHECK-DAG: exec.buffer primary @w.velocity.primary of @w.velocity layout <dim = 1, width = 16>
// CHECK-DAG: exec.buffer primary @seen.primary of @seen : 3840
// CHECK-DAG: exec.buffer primary @b.primary of @b : 160
// CHECK-DAG: func.func @"unpack:w.velocity"
// CHECK-NOT: pack:seen
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<24x40xf32> = dense<1.0> : tensor<24x40xf32>
grad.state slot @w.velocity : tensor<24x40xf32> = dense<0.0> : tensor<24x40xf32>
grad.state slot @seen : tensor<24x40xf32> = dense<0.0> : tensor<24x40xf32>
grad.state parameter @b : tensor<40xf32> = dense<1.0> : tensor<40xf32>
exec.kernel @forward(%x: tensor<8x24xf32>, %w: tensor<24x40xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xf32>, tensor<24x40xf32>
  exec.yield %0 : tensor<8x40xf32>
}
exec.kernel @update(%g: tensor<24x40xf32>, %w: tensor<24x40xf32>, %v: tensor<24x40xf32>, %s: tensor<24x40xf32>, %b: tensor<40xf32>) attributes {inplace = array<i64: 1, 2, 3, 4>} {
  %0 = grad.add %v, %g : tensor<24x40xf32>
  %1 = grad.sub %w, %0 : tensor<24x40xf32>
  %2 = grad.add %s, %g : tensor<24x40xf32>
  %3 = grad.neg %b : tensor<40xf32>
  exec.yield %1, %0, %2, %3 : tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<40xf32>
}
func.func @step(%x: tensor<8x24xf32>, %g: tensor<24x40xf32>) -> (tensor<8x40xf32>, tensor<24x40xf32>) {
  %w = grad.read @w : tensor<24x40xf32>
  %v = grad.read @w.velocity : tensor<24x40xf32>
  %s = grad.read @seen : tensor<24x40xf32>
  %b = grad.read @b : tensor<40xf32>
  %y = exec.launch @forward(%x, %w) {exec.nodes = []} : (tensor<8x24xf32>, tensor<24x40xf32>) -> tensor<8x40xf32>
  %new:4 = exec.launch @update(%g, %w, %v, %s, %b) {exec.nodes = []} : (tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<40xf32>) -> (tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<40xf32>)
  grad.write @w, %new#0 : tensor<24x40xf32>
  grad.write @w.velocity, %new#1 : tensor<24x40xf32>
  grad.write @seen, %new#2 : tensor<24x40xf32>
  grad.write @b, %new#3 : tensor<40xf32>
  return %y, %s : tensor<8x40xf32>, tensor<24x40xf32>
}
}
