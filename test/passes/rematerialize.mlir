// RUN: gradc-opt %s -split-input-file -gradc-rematerialize=budget=4096 | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-rematerialize=budget=4096 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: gradc-opt %s -split-input-file -gradc-rematerialize=budget=3072 | FileCheck %s --check-prefix=LESS
// RUN: gradc-opt %s -split-input-file -gradc-rematerialize | FileCheck %s --check-prefix=ANY --implicit-check-not=recomputed
// RUN: gradc-opt %s -split-input-file -gradc-rematerialize=budget=1000000 | FileCheck %s --check-prefix=ANY --implicit-check-not=recomputed
// ANY: exec.launch

// A tensor has 1 KiB. At the peak, @use(%x3, ..), %x0 to %x3 and the result are alive. %x0 is recomputed from the input. If that is
// not enough, %x2 is recomputed from %x1, which lives until then, and %x1 from %x0, which is computed again for it.

// SAID: remark: entry "chain" computes the results of 1 launches twice, about 10 % more work, and takes 0.0 MiB instead of 0.0
// CHECK-LABEL: func.func @chain
// CHECK: %[[G1:.*]] = exec.launch @use
// CHECK: %[[AGAIN0:.*]] = exec.launch @next(%arg0) {exec.recomputed}
// CHECK: exec.launch @use(%{{.*}}, %[[AGAIN0]])

// LESS-LABEL: func.func @chain
// LESS: %[[X0:.*]] = exec.launch @next(%arg0)
// LESS: %[[X1:.*]] = exec.launch @next(%[[X0]])
// LESS: %[[X2:.*]] = exec.launch @next(%[[X1]])
// LESS: %[[X3:.*]] = exec.launch @next(%[[X2]])
// LESS: %[[G3:.*]] = exec.launch @use(%[[X3]], %[[X3]])
// LESS: %[[AGAIN2:.*]] = exec.launch @next(%[[X1]]) {exec.recomputed}
// LESS: %[[G2:.*]] = exec.launch @use(%[[G3]], %[[AGAIN2]])
// LESS: %[[FOR1:.*]] = exec.launch @next(%arg0) {exec.recomputed}
// LESS: %[[AGAIN1:.*]] = exec.launch @next(%[[FOR1]]) {exec.recomputed}
// LESS: %[[G1:.*]] = exec.launch @use(%[[G2]], %[[AGAIN1]])
// LESS: %[[AGAIN0:.*]] = exec.launch @next(%arg0) {exec.recomputed}
// LESS: %[[G0:.*]] = exec.launch @use(%[[G1]], %[[AGAIN0]])
// LESS: return %[[G0]]
module attributes {exec.level = "x86-64-v4"} {
exec.kernel @next(%x: tensor<256xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.exp %x : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
exec.kernel @use(%g: tensor<256xf32>, %x: tensor<256xf32>) attributes {flops = 256 : i64, bytes = 3072 : i64} {
  %0 = grad.mul %g, %x : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
func.func @chain(%x: tensor<256xf32>) -> tensor<256xf32> {
  %0 = exec.launch @next(%x) : (tensor<256xf32>) -> tensor<256xf32>
  %1 = exec.launch @next(%0) : (tensor<256xf32>) -> tensor<256xf32>
  %2 = exec.launch @next(%1) : (tensor<256xf32>) -> tensor<256xf32>
  %3 = exec.launch @next(%2) : (tensor<256xf32>) -> tensor<256xf32>
  %g3 = exec.launch @use(%3, %3) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %g2 = exec.launch @use(%g3, %2) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %g1 = exec.launch @use(%g2, %1) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %g0 = exec.launch @use(%g1, %0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  return %g0 : tensor<256xf32>
}
}

// -----

// The cheapest values come first: of two that are alive at the peak, not the result of a product.

// CHECK-LABEL: func.func @cheapest
// CHECK: exec.launch @peak
// CHECK: %[[AGAIN:.*]] = exec.launch @cheap(%arg0) {exec.recomputed}
// CHECK: exec.launch @both(%{{.*}}, %{{.*}}, %[[AGAIN]])
// CHECK-NOT: recomputed
// CHECK: return
exec.kernel @dear(%x: tensor<16x16xf32>) attributes {flops = 100000000 : i64, bytes = 2048 : i64} {
  %0 = grad.matmul %x, %x : tensor<16x16xf32>, tensor<16x16xf32>
  exec.yield %0 : tensor<16x16xf32>
}
exec.kernel @cheap(%x: tensor<16x16xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.exp %x : tensor<16x16xf32>
  exec.yield %0 : tensor<16x16xf32>
}
exec.kernel @peak(%x: tensor<16x16xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.exp %x : tensor<16x16xf32>
  %1 = grad.neg %x : tensor<16x16xf32>
  %2 = grad.abs %x : tensor<16x16xf32>
  exec.yield %0, %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
exec.kernel @both(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>, %z: tensor<16x16xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.add %x, %y : tensor<16x16xf32>
  %1 = grad.add %0, %z : tensor<16x16xf32>
  exec.yield %1 : tensor<16x16xf32>
}
func.func @cheapest(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = exec.launch @dear(%x) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @cheap(%x) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %p:3 = exec.launch @peak(%x) : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>)
  %2 = exec.launch @both(%p#0, %0, %1) : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// -----

// A state that is overwritten in between has no old value to recompute from; a state that is not overwritten is read again.
// Both are read through views.

// CHECK-LABEL: func.func @states
// CHECK-DAG: %[[OLD:.*]] = exec.load @old.primary
// CHECK-DAG: %[[KEPT:.*]] = exec.load @kept.primary
// CHECK: %[[A:.*]] = exec.launch @next(%[[OLD]])
// CHECK: %[[B:.*]] = exec.launch @next(%[[KEPT]])
// CHECK: exec.launch @peak
// CHECK: %[[AGAIN:.*]] = exec.launch @next(%[[KEPT]]) {exec.recomputed}
// CHECK: %[[VIEW:.*]] = grad.reshape %[[AGAIN]]
// CHECK: exec.launch @sum(%{{.*}}, %{{.*}}, %[[VIEW]])
// CHECK-NOT: recomputed
// CHECK: return
grad.state parameter @old : tensor<256xf32> = dense<1.0> : tensor<256xf32>
exec.buffer primary @old.primary of @old : 1024
grad.state parameter @kept : tensor<256xf32> = dense<1.0> : tensor<256xf32>
exec.buffer primary @kept.primary of @kept : 1024
exec.kernel @next(%x: tensor<256xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.exp %x : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
exec.kernel @peak(%x: tensor<256xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.exp %x : tensor<256xf32>
  %1 = grad.neg %x : tensor<256xf32>
  %2 = grad.abs %x : tensor<256xf32>
  exec.yield %0, %1, %2 : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}
exec.kernel @sum(%x: tensor<256xf32>, %y: tensor<16x16xf32>, %z: tensor<16x16xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.add %y, %z : tensor<16x16xf32>
  exec.yield %0 : tensor<16x16xf32>
}
func.func @states(%x: tensor<256xf32>) -> tensor<16x16xf32> {
  %old = exec.load @old.primary : tensor<256xf32>
  %kept = exec.load @kept.primary : tensor<256xf32>
  %0 = exec.launch @next(%old) : (tensor<256xf32>) -> tensor<256xf32>
  %1 = exec.launch @next(%kept) : (tensor<256xf32>) -> tensor<256xf32>
  %a = grad.reshape %0 : tensor<256xf32> -> tensor<16x16xf32>
  %b = grad.reshape %1 : tensor<256xf32> -> tensor<16x16xf32>
  %p:3 = exec.launch @peak(%x) : (tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>)
  %new = exec.launch @next(%p#1) : (tensor<256xf32>) -> tensor<256xf32>
  exec.store @old.primary, %new : tensor<256xf32>
  %2 = exec.launch @sum(%p#0, %a, %b) : (tensor<256xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// -----

// In a loop, the results of a step are recomputed within the step.

// LESS-LABEL: func.func @loop
// LESS: grad.scan
// LESS: exec.launch @peak
// LESS: %[[AGAIN:.*]] = exec.launch @next(%{{.*}}) {exec.recomputed}
// LESS: exec.launch @sum(%{{.*}}, %[[AGAIN]])
exec.kernel @next(%x: tensor<256xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.exp %x : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
exec.kernel @peak(%x: tensor<256xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.exp %x : tensor<256xf32>
  %1 = grad.neg %x : tensor<256xf32>
  %2 = grad.abs %x : tensor<256xf32>
  exec.yield %0, %1, %2 : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}
exec.kernel @sum(%x: tensor<256xf32>, %y: tensor<256xf32>) attributes {flops = 256 : i64, bytes = 2048 : i64} {
  %0 = grad.add %x, %y : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
func.func @loop(%x: tensor<256xf32>) -> tensor<256xf32> {
  %h = grad.scan 4 from (%x) over () with () : (tensor<256xf32>) -> tensor<256xf32> {
  ^bb0(%c: tensor<256xf32>):
    %0 = exec.launch @next(%c) : (tensor<256xf32>) -> tensor<256xf32>
    %p:3 = exec.launch @peak(%c) : (tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>)
    %1 = exec.launch @sum(%p#0, %0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    grad.yield %1 : tensor<256xf32>
  }
  return %h : tensor<256xf32>
}
