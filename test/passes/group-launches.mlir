// RUN: gradc-opt %s -gradc-schedule -gradc-group-launches | FileCheck %s
// RUN: sed s/cuda:sm_90/x86-64-v3/ %s | gradc-opt -gradc-schedule -gradc-group-launches | FileCheck %s --check-prefix=CPU

// CPU-NOT: parts

module attributes {exec.level = "cuda:sm_90"} {

exec.kernel @step(%w: tensor<1000x8xf32>, %g: tensor<1000x8xf32>, %rate: tensor<f32>) attributes {inplace = array<i64: 0>, flops = 16000 : i64, bytes = 96000 : i64} {
  %0 = grad.broadcast %rate dims [] : tensor<f32> -> tensor<1000x8xf32>
  %1 = grad.mul %g, %0 : tensor<1000x8xf32>
  %2 = grad.sub %w, %1 : tensor<1000x8xf32>
  exec.yield %2 : tensor<1000x8xf32>
}
exec.kernel @small(%rate: tensor<f32>, %w: tensor<5xf32>, %g: tensor<5xf32>) attributes {inplace = array<i64: 1, 2>, flops = 10 : i64, bytes = 60 : i64} {
  %0 = grad.broadcast %rate dims [] : tensor<f32> -> tensor<5xf32>
  %1 = grad.mul %g, %0 : tensor<5xf32>
  %2 = grad.sub %w, %1 : tensor<5xf32>
  exec.yield %2 : tensor<5xf32>
}
exec.kernel @exp(%x: tensor<5xf32>) attributes {inplace = array<i64: 0>, flops = 5 : i64, bytes = 40 : i64} {
  %0 = grad.exp %x : tensor<5xf32>
  exec.yield %0 : tensor<5xf32>
}
exec.kernel @long_exp(%x: tensor<3000000xf32>) attributes {inplace = array<i64: 0>, flops = 3000000 : i64, bytes = 24000000 : i64} {
  %0 = grad.exp %x : tensor<3000000xf32>
  exec.yield %0 : tensor<3000000xf32>
}
exec.kernel @add(%x: tensor<5xf32>, %y: tensor<5xf32>) attributes {inplace = array<i64: 0, 1>, flops = 5 : i64, bytes = 60 : i64} {
  %0 = grad.add %x, %y : tensor<5xf32>
  exec.yield %0 : tensor<5xf32>
}
exec.kernel @sum(%x: tensor<64x5xf32>) attributes {flops = 320 : i64, bytes = 1300 : i64} {
  %0 = grad.reduce_sum %x dims [0] : tensor<64x5xf32>
  exec.yield %0 : tensor<5xf32>
}
exec.kernel @long_sum(%x: tensor<1000000x5xf32>) attributes {flops = 5000000 : i64, bytes = 20000020 : i64} {
  %0 = grad.reduce_sum %x dims [0] : tensor<1000000x5xf32>
  exec.yield %0 : tensor<5xf32>
}
exec.kernel @large(%x: tensor<4096x64xf32>, %w: tensor<64x4096xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.matmul %x, %w : tensor<4096x64xf32>, tensor<64x4096xf32>
  exec.yield %0 : tensor<4096x4096xf32>
}
exec.kernel @call(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) attributes {flops = 1 : i64, bytes = 1 : i64, library = #exec.library<matmul epilogue = none, operands = [0, 1]>} {
  %0 = grad.matmul %x, %w : tensor<8x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<8x8xf32>
}
exec.kernel @half(%x: tensor<9000000xf32>) attributes {inplace = array<i64: 0>, flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.exp %x : tensor<9000000xf32>
  exec.yield %0 : tensor<9000000xf32>
}
grad.state parameter @w : tensor<5xf32> = dense<1.0> : tensor<5xf32>
exec.buffer primary @w.primary of @w : 20
grad.state parameter @v : tensor<5xf32> = dense<1.0> : tensor<5xf32>
exec.buffer primary @v.primary of @v : 20

// Operands are listed part by part, even if several parts read them. A part may still overwrite its own operand. The step for
// the smaller last batch launches the same kernel.

// CHECK-NOT: exec.kernel @step(
// CHECK-LABEL: func.func @updates
// CHECK: %[[R:.*]]:2 = exec.launch @[[GROUP:step_and_1_more]](%[[W:.*]], %[[GW:.*]], %[[RATE:.*]], %[[RATE]], %[[B:.*]], %[[GB:.*]]) {exec.nodes = ["fc", "more"]}
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1
func.func @updates(%w: tensor<1000x8xf32>, %gw: tensor<1000x8xf32>, %b: tensor<5xf32>, %gb: tensor<5xf32>, %rate: tensor<f32>) -> (tensor<1000x8xf32>, tensor<5xf32>) {
  %0 = exec.launch @step(%w, %gw, %rate) {exec.nodes = ["fc"]} : (tensor<1000x8xf32>, tensor<1000x8xf32>, tensor<f32>) -> tensor<1000x8xf32>
  %1 = exec.launch @small(%rate, %b, %gb) {exec.nodes = ["fc", "more"]} : (tensor<f32>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<1000x8xf32>, tensor<5xf32>
}
// CHECK-LABEL: func.func @same
// CHECK: exec.launch @[[GROUP]](
func.func @same(%w: tensor<1000x8xf32>, %gw: tensor<1000x8xf32>, %b: tensor<5xf32>, %gb: tensor<5xf32>, %rate: tensor<f32>) -> (tensor<1000x8xf32>, tensor<5xf32>) {
  %0 = exec.launch @step(%w, %gw, %rate) {exec.nodes = []} : (tensor<1000x8xf32>, tensor<1000x8xf32>, tensor<f32>) -> tensor<1000x8xf32>
  %1 = exec.launch @small(%rate, %b, %gb) {exec.nodes = []} : (tensor<f32>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<1000x8xf32>, tensor<5xf32>
}

// Launches on a path between two others are not grouped with them. Users move after the group that computes their operand.

// Parts of one kernel are adjacent. An operand that two parts read is not overwritten.
// CHECK-LABEL: func.func @turns
// CHECK-NEXT: %[[T:.*]]:4 = exec.launch @[[TURNS:exp_and_3_more]](%[[X:.*]], %[[X]], %[[Y:.*]], %[[Z:.*]], %[[Z]], %[[V:.*]])
// CHECK-NEXT: return %[[T]]#0, %[[T]]#2, %[[T]]#1, %[[T]]#3
func.func @turns(%x: tensor<5xf32>, %y: tensor<5xf32>, %z: tensor<5xf32>, %v: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
  %0 = exec.launch @exp(%x) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  %1 = exec.launch @add(%y, %z) {exec.nodes = []} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %2 = exec.launch @exp(%x) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  %3 = exec.launch @add(%z, %v) {exec.nodes = []} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %0, %1, %2, %3 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

// CHECK-LABEL: func.func @ways
// CHECK-NEXT: %[[FIRST:.*]]:2 = exec.launch @exp_and_1_more(%[[X:.*]], %[[Y:.*]]) {exec.nodes = ["a", "c"]}
// CHECK-NEXT: %[[SECOND:.*]]:2 = exec.launch @add_and_1_more(%{{.*}}) {exec.nodes = ["b", "d"]}
// CHECK-NEXT: return %[[SECOND]]#0, %[[SECOND]]#1
func.func @ways(%x: tensor<5xf32>, %y: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = exec.launch @exp(%x) {exec.nodes = ["a"]} : (tensor<5xf32>) -> tensor<5xf32>
  %1 = exec.launch @add(%0, %x) {exec.nodes = ["b"]} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %2 = exec.launch @exp(%y) {exec.nodes = ["c"]} : (tensor<5xf32>) -> tensor<5xf32>
  %3 = exec.launch @add(%2, %0) {exec.nodes = ["d"]} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %1, %3 : tensor<5xf32>, tensor<5xf32>
}

// A launch that reads a buffer's old value is not grouped with the launch that writes it.

// CHECK-LABEL: func.func @buffers
// CHECK: exec.launch @exp(
// CHECK: exec.launch @add(
func.func @buffers(%x: tensor<5xf32>) -> tensor<5xf32> {
  %w = exec.load @w.primary : tensor<5xf32>
  %0 = exec.launch @exp(%w) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  exec.store @w.primary, %0 : tensor<5xf32>
  %1 = exec.launch @add(%x, %w) {exec.nodes = []} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}

// A cycle is left for the memory plan to report.

// CHECK-LABEL: func.func @circle
// CHECK: exec.launch @exp(
// CHECK: exec.launch @exp(
func.func @circle() {
  %w = exec.load @w.primary : tensor<5xf32>
  %v = exec.load @v.primary : tensor<5xf32>
  %0 = exec.launch @exp(%w) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  %1 = exec.launch @exp(%v) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  exec.store @w.primary, %1 : tensor<5xf32>
  exec.store @v.primary, %0 : tensor<5xf32>
  return
}

// Small kernels are grouped. Long sums, products through shared memory, and library calls are not.

// CHECK-LABEL: func.func @kinds
// CHECK-NEXT: exec.launch @long_sum(
// CHECK-NEXT: exec.launch @long_sum(
// CHECK-NEXT: exec.launch @sum_and_2_more(
// CHECK-NEXT: exec.launch @large(
// CHECK: exec.launch @large(
// CHECK: exec.launch @call(
// CHECK: exec.launch @call(
func.func @kinds(%x: tensor<64x5xf32>, %y: tensor<64x5xf32>, %z: tensor<1000000x5xf32>, %e: tensor<5xf32>, %l: tensor<4096x64xf32>, %r: tensor<64x4096xf32>, %c: tensor<8x8xf32>)
    -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = exec.launch @sum(%x) {exec.nodes = []} : (tensor<64x5xf32>) -> tensor<5xf32>
  %1 = exec.launch @sum(%y) {exec.nodes = []} : (tensor<64x5xf32>) -> tensor<5xf32>
  %2 = exec.launch @long_sum(%z) {exec.nodes = []} : (tensor<1000000x5xf32>) -> tensor<5xf32>
  %3 = exec.launch @long_sum(%z) {exec.nodes = []} : (tensor<1000000x5xf32>) -> tensor<5xf32>
  %4 = exec.launch @exp(%e) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  %5 = exec.launch @large(%l, %r) {exec.nodes = []} : (tensor<4096x64xf32>, tensor<64x4096xf32>) -> tensor<4096x4096xf32>
  %6 = exec.launch @large(%l, %r) {exec.nodes = []} : (tensor<4096x64xf32>, tensor<64x4096xf32>) -> tensor<4096x4096xf32>
  %7 = exec.launch @call(%c, %c) {exec.nodes = []} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %8 = exec.launch @call(%c, %c) {exec.nodes = []} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// A long pointwise kernel is not grouped with a sum, which uses more registers, but with kernels like itself.

// CHECK-LABEL: func.func @sizes
// CHECK-NEXT: exec.launch @long_exp_and_1_more(
// CHECK-NEXT: exec.launch @exp_and_1_more{{.*}}(%{{.*}}, %{{.*}}) {exec.nodes = []} : (tensor<5xf32>, tensor<64x5xf32>)
func.func @sizes(%x: tensor<3000000xf32>, %y: tensor<5xf32>, %z: tensor<3000000xf32>, %s: tensor<64x5xf32>) -> (tensor<3000000xf32>, tensor<5xf32>, tensor<3000000xf32>, tensor<5xf32>) {
  %0 = exec.launch @long_exp(%x) {exec.nodes = []} : (tensor<3000000xf32>) -> tensor<3000000xf32>
  %1 = exec.launch @exp(%y) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  %2 = exec.launch @long_exp(%z) {exec.nodes = []} : (tensor<3000000xf32>) -> tensor<3000000xf32>
  %3 = exec.launch @sum(%s) {exec.nodes = []} : (tensor<64x5xf32>) -> tensor<5xf32>
  return %0, %1, %2, %3 : tensor<3000000xf32>, tensor<5xf32>, tensor<3000000xf32>, tensor<5xf32>
}

// It is also grouped with small pointwise kernels.

// CHECK-LABEL: func.func @alike
// CHECK-NEXT: exec.launch @long_exp_and_1_more
func.func @alike(%x: tensor<3000000xf32>, %y: tensor<5xf32>) -> (tensor<3000000xf32>, tensor<5xf32>) {
  %0 = exec.launch @long_exp(%x) {exec.nodes = []} : (tensor<3000000xf32>) -> tensor<3000000xf32>
  %1 = exec.launch @exp(%y) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<3000000xf32>, tensor<5xf32>
}

// The memory that a group keeps alive in the arena, 36 MB per tensor, is limited.

// CHECK-LABEL: func.func @kept
// CHECK-NEXT: %[[H:.*]]:2 = exec.launch @half_and_1_more(%{{.*}}, %{{.*}})
// CHECK-NEXT: exec.launch @half(%[[H]]#0)
// CHECK-NEXT: exec.launch @half(%[[H]]#1)
func.func @kept(%x: tensor<9000000xf32>, %y: tensor<9000000xf32>) -> (tensor<9000000xf32>, tensor<9000000xf32>, tensor<9000000xf32>, tensor<9000000xf32>) {
  %0 = exec.launch @half(%x) {exec.nodes = []} : (tensor<9000000xf32>) -> tensor<9000000xf32>
  %1 = exec.launch @half(%0) {exec.nodes = []} : (tensor<9000000xf32>) -> tensor<9000000xf32>
  %2 = exec.launch @half(%y) {exec.nodes = []} : (tensor<9000000xf32>) -> tensor<9000000xf32>
  %3 = exec.launch @half(%2) {exec.nodes = []} : (tensor<9000000xf32>) -> tensor<9000000xf32>
  return %1, %3, %x, %y : tensor<9000000xf32>, tensor<9000000xf32>, tensor<9000000xf32>, tensor<9000000xf32>
}

// One team would compute these sums in sequence: each becomes a part, and a sum of sums becomes one sum. Four remain.

// CHECK-LABEL: func.func @norm_of_all
// CHECK-NEXT: %[[S:.*]]:5 = exec.launch @[[SUMS:mul_reduce_sum.*_and_4_more]](
// CHECK-NEXT: exec.launch @{{.*}}(%[[S]]#0, %[[S]]#1, %[[S]]#2, %[[S]]#3, %[[S]]#4) {exec.nodes = ["norm"]}
// CHECK-NEXT: exec.launch @four
exec.kernel @norm(%x: tensor<5x7xf32>, %a: tensor<5xf32>, %b: tensor<6xf32>, %c: tensor<7xf32>, %d: tensor<8xf32>) attributes {flops = 100 : i64, bytes = 100 : i64} {
  %0 = grad.mul %x, %x : tensor<5x7xf32>
  %1 = grad.reduce_sum %0 dims [1] : tensor<5x7xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<5xf32>
  %3 = grad.reduce_sum %a dims [0] : tensor<5xf32>
  %4 = grad.add %2, %3 : tensor<f32>
  %5 = grad.reduce_sum %b dims [0] : tensor<6xf32>
  %6 = grad.add %4, %5 : tensor<f32>
  %7 = grad.reduce_sum %c dims [0] : tensor<7xf32>
  %8 = grad.add %6, %7 : tensor<f32>
  %9 = grad.reduce_sum %d dims [0] : tensor<8xf32>
  %10 = grad.add %8, %9 : tensor<f32>
  %11 = grad.sqrt %10 : tensor<f32>
  exec.yield %11 : tensor<f32>
}
exec.kernel @four(%n: tensor<f32>, %a: tensor<5xf32>, %b: tensor<6xf32>, %c: tensor<7xf32>, %d: tensor<8xf32>) attributes {flops = 100 : i64, bytes = 100 : i64} {
  %0 = grad.reduce_sum %a dims [0] : tensor<5xf32>
  %1 = grad.add %0, %n : tensor<f32>
  %2 = grad.reduce_sum %b dims [0] : tensor<6xf32>
  %3 = grad.add %1, %2 : tensor<f32>
  %4 = grad.reduce_sum %c dims [0] : tensor<7xf32>
  %5 = grad.add %3, %4 : tensor<f32>
  %6 = grad.reduce_sum %d dims [0] : tensor<8xf32>
  %7 = grad.add %5, %6 : tensor<f32>
  exec.yield %7 : tensor<f32>
}
func.func @norm_of_all(%x: tensor<5x7xf32>, %a: tensor<5xf32>, %b: tensor<6xf32>, %c: tensor<7xf32>, %d: tensor<8xf32>) -> tensor<f32> {
  %0 = exec.launch @norm(%x, %a, %b, %c, %d) {exec.nodes = ["norm"]} : (tensor<5x7xf32>, tensor<5xf32>, tensor<6xf32>, tensor<7xf32>, tensor<8xf32>) -> tensor<f32>
  %1 = exec.launch @four(%0, %a, %b, %c, %d) {exec.nodes = []} : (tensor<f32>, tensor<5xf32>, tensor<6xf32>, tensor<7xf32>, tensor<8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// CHECK: exec.kernel @[[GROUP]](%[[W:.*]]: tensor<1000x8xf32>, %[[GW:.*]]: tensor<1000x8xf32>, %[[RATE:.*]]: tensor<f32>, %[[SAME:.*]]: tensor<f32>, %[[B:.*]]: tensor<5xf32>, %[[GB:.*]]: tensor<5xf32>)
// CHECK-SAME: bytes = 96060 : i64, flops = 16010 : i64, inplace = array<i64: 0, 4, 5>
// CHECK-SAME: parts = [#exec.part<operands = 3, results = 1, {{.*}}blocks = <threads = 256, team = 1, adjacent = false, rows = 2>>, #exec.part<operands = 3, results = 1, {{.*}}blocks = <threads = 256, team = 1,
// CHECK: grad.broadcast %[[RATE]] dims [] : tensor<f32> -> tensor<1000x8xf32>
// CHECK: grad.broadcast %[[SAME]] dims [] : tensor<f32> -> tensor<5xf32>
// CHECK: grad.sub %[[B]]
// CHECK: exec.kernel @[[TURNS]](
// CHECK-SAME: inplace = array<i64: 2, 5>
// CHECK: exec.kernel @[[SUMS]](
// CHECK: grad.reduce_sum %{{.*}} dims [0, 1] : tensor<5x7xf32>
}
