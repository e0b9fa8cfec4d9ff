// RUN: gradc-opt %s -split-input-file -gradc-pack-factors | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-pack-factors | FileCheck %s --check-prefix=PANELS

// Both factors of a weight gradient run across the sum: each is packed once, before the first product that reads it.
// In the data gradient, %dy has pairs already, and the weight is a state with a layout.

// CHECK-DAG: exec.kernel @[[GRADIENT:gradient_.*]](%{{.*}}layouts = [#exec.panel<dim = 1, width = 32, pairs = 0>, #exec.panel<dim = 1, width = 32, pairs = 0>, unit]
// CHECK-DAG: exec.kernel @[[PACKX:pack.*]](%{{.*}}: tensor<512x256xbf16>) attributes {bytes = 524288 : i64, flops = 0 : i64, layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>]}
// CHECK-DAG: exec.kernel @[[PACKDY:pack.*]](%{{.*}}: tensor<512x320xbf16>)
// CHECK-NOT: exec.kernel @gradient(
// CHECK-LABEL: func.func @step
// CHECK-NEXT: exec.launch @data(%arg1, %arg2)
// CHECK-NEXT: %[[X:.*]] = exec.launch @[[PACKX]](%arg0) {exec.nodes = []}
// CHECK-NEXT: %[[DY:.*]] = exec.launch @[[PACKDY]](%arg1)
// CHECK-NEXT: exec.launch @[[GRADIENT]](%[[X]], %[[DY]])
// CHECK-NEXT: exec.launch @[[GRADIENT]](%[[X]], %[[DY]])
module attributes {exec.level = "x86-64-v4+bf16"} {
exec.kernel @data(%dy: tensor<512x320xbf16>, %w: tensor<256x320xbf16>) attributes {flops = 83886080 : i64, layouts = [unit, #exec.panel<dim = 0, width = 32, pairs = 1>, unit]} {
  %0 = grad.matmul %dy, %w transpose_rhs wide : tensor<512x320xbf16>, tensor<256x320xbf16>
  exec.yield %0 : tensor<512x256xf32>
}
exec.kernel @gradient(%x: tensor<512x256xbf16>, %dy: tensor<512x320xbf16>) attributes {flops = 83886080 : i64} {
  %0 = grad.matmul %x, %dy transpose_lhs wide : tensor<512x256xbf16>, tensor<512x320xbf16>
  exec.yield %0 : tensor<256x320xf32>
}
func.func @step(%x: tensor<512x256xbf16>, %dy: tensor<512x320xbf16>, %w: tensor<256x320xbf16>) -> (tensor<512x256xf32>, tensor<256x320xf32>, tensor<256x320xf32>) {
  %dx = exec.launch @data(%dy, %w) {exec.nodes = []} : (tensor<512x320xbf16>, tensor<256x320xbf16>) -> tensor<512x256xf32>
  %dw = exec.launch @gradient(%x, %dy) {exec.nodes = []} : (tensor<512x256xbf16>, tensor<512x320xbf16>) -> tensor<256x320xf32>
  %again = exec.launch @gradient(%x, %dy) {exec.nodes = []} : (tensor<512x256xbf16>, tensor<512x320xbf16>) -> tensor<256x320xf32>
  return %dx, %dw, %again : tensor<512x256xf32>, tensor<256x320xf32>, tensor<256x320xf32>
}
}

// -----

// A small product saves less than its copies cost. Batched matrices, and a rhs with the sum along its rows, are packed
// like others: lanes run along the columns.

// CHECK-LABEL: func.func @others
// CHECK-NEXT: exec.launch @small(%arg0, %arg0)
// CHECK-NEXT: %[[BATCH:.*]] = exec.launch @[[PACK:pack.*]](%arg1)
// CHECK-NEXT: exec.launch @batch_{{.*}}(%[[BATCH]], %[[BATCH]])
// CHECK-NEXT: %[[TURNED:.*]] = exec.launch @[[TURN:pack.*]](%arg2)
// CHECK-NEXT: exec.launch @turned_{{.*}}(%arg2, %[[TURNED]])
// PANELS: exec.kernel @pack{{.*}}: tensor<512x512xbf16>) attributes {{.*}}layouts = [unit, #exec.panel<dim = 0, width = 32, pairs = 1>]
// PANELS: exec.kernel @pack{{.*}}: tensor<4x256x256xbf16>) attributes {{.*}}layouts = [unit, #exec.panel<dim = 2, width = 32, pairs = 1>]
module attributes {exec.level = "x86-64-v4+bf16"} {
exec.kernel @small(%x: tensor<8x8xbf16>, %dy: tensor<8x8xbf16>) attributes {flops = 1024 : i64} {
  %0 = grad.matmul %x, %dy transpose_lhs wide : tensor<8x8xbf16>, tensor<8x8xbf16>
  exec.yield %0 : tensor<8x8xf32>
}
exec.kernel @batch(%x: tensor<4x256x256xbf16>, %dy: tensor<4x256x256xbf16>) attributes {flops = 134217728 : i64} {
  %0 = grad.matmul %x, %dy transpose_lhs wide : tensor<4x256x256xbf16>, tensor<4x256x256xbf16>
  exec.yield %0 : tensor<4x256x256xf32>
}
exec.kernel @turned(%x: tensor<512x512xbf16>, %y: tensor<512x512xbf16>) attributes {flops = 268435456 : i64} {
  %0 = grad.matmul %x, %y transpose_rhs wide : tensor<512x512xbf16>, tensor<512x512xbf16>
  exec.yield %0 : tensor<512x512xf32>
}
func.func @others(%a: tensor<8x8xbf16>, %b: tensor<4x256x256xbf16>, %c: tensor<512x512xbf16>) -> (tensor<8x8xf32>, tensor<4x256x256xf32>, tensor<512x512xf32>) {
  %0 = exec.launch @small(%a, %a) {exec.nodes = []} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xf32>
  %1 = exec.launch @batch(%b, %b) {exec.nodes = []} : (tensor<4x256x256xbf16>, tensor<4x256x256xbf16>) -> tensor<4x256x256xf32>
  %2 = exec.launch @turned(%c, %c) {exec.nodes = []} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
  return %0, %1, %2 : tensor<8x8xf32>, tensor<4x256x256xf32>, tensor<512x512xf32>
}
}

// -----

// The body of a loop packs its own operands.

// CHECK-LABEL: func.func @loop
// CHECK-NEXT: grad.scan
// CHECK: %[[X:.*]] = exec.launch @pack{{.*}}(%{{.*}}) {exec.nodes = []} : (tensor<512x256xbf16>) -> tensor<512x256xbf16>
// CHECK-NEXT: exec.launch @gradient_{{.*}}(%[[X]], %[[X]])
module attributes {exec.level = "x86-64-v4+bf16"} {
exec.kernel @gradient(%x: tensor<512x256xbf16>, %y: tensor<512x256xbf16>) attributes {flops = 67108864 : i64} {
  %0 = grad.matmul %x, %y transpose_lhs wide : tensor<512x256xbf16>, tensor<512x256xbf16>
  exec.yield %0 : tensor<256x256xf32>
}
func.func @loop(%steps: tensor<3x512x256xbf16>) -> tensor<3x256x256xf32> {
  %0 = grad.scan 3 from () over (%steps) with () : (tensor<3x512x256xbf16>) -> tensor<3x256x256xf32> {
  ^bb0(%x: tensor<512x256xbf16>):
    %1 = exec.launch @gradient(%x, %x) {exec.nodes = []} : (tensor<512x256xbf16>, tensor<512x256xbf16>) -> tensor<256x256xf32>
    grad.yield %1 : tensor<256x256xf32>
  }
  return %0 : tensor<3x256x256xf32>
}
}

// -----

// GPUs do not read pairs.

// CHECK-LABEL: func.func @plain
// CHECK-NEXT: exec.launch @gradient(%arg0, %arg0)
module attributes {exec.level = "cuda:sm_90"} {
exec.kernel @gradient(%x: tensor<512x256xbf16>, %y: tensor<512x256xbf16>) attributes {flops = 67108864 : i64} {
  %0 = grad.matmul %x, %y transpose_lhs wide : tensor<512x256xbf16>, tensor<512x256xbf16>
  exec.yield %0 : tensor<256x256xf32>
}
func.func @plain(%x: tensor<512x256xbf16>) -> tensor<256x256xf32> {
  %0 = exec.launch @gradient(%x, %x) {exec.nodes = []} : (tensor<512x256xbf16>, tensor<512x256xbf16>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}
}

// -----

// The transposed operand of a product of 128 rows is packed, also if it is read through a view. Fewer rows do not pay for that,
// and an operand along the columns needs no panels.
// CHECK-LABEL: func.func @rows
// CHECK: %[[VIEW:.*]] = grad.reshape
// CHECK: %[[A:.*]] = exec.launch @pack{{.*}}(%arg1)
// CHECK: exec.launch @{{.*}}(%arg0, %[[A]])
// CHECK: %[[B:.*]] = exec.launch @pack{{.*}}(%[[VIEW]])
// CHECK: exec.launch @{{.*}}(%arg0, %[[B]])
// CHECK-NEXT: exec.launch @few_rows(%arg2, %arg1)
// CHECK-NEXT: exec.launch @many_columns(%arg0, %arg1)
module attributes {exec.level = "x86-64-v3"} {
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
func.func @rows(%x: tensor<128x8xf32>, %w: tensor<8x8xf32>, %z: tensor<127x8xf32>, %v: tensor<1x8x8xf32>) -> (tensor<128x8xf32>, tensor<128x8xf32>, tensor<127x8xf32>, tensor<128x8xf32>) {
  %m = grad.reshape %v : tensor<1x8x8xf32> -> tensor<8x8xf32>
  %0 = exec.launch @many_rows(%x, %w) : (tensor<128x8xf32>, tensor<8x8xf32>) -> tensor<128x8xf32>
  %1 = exec.launch @many_rows(%x, %m) : (tensor<128x8xf32>, tensor<8x8xf32>) -> tensor<128x8xf32>
  %2 = exec.launch @few_rows(%z, %w) : (tensor<127x8xf32>, tensor<8x8xf32>) -> tensor<127x8xf32>
  %3 = exec.launch @many_columns(%x, %w) : (tensor<128x8xf32>, tensor<8x8xf32>) -> tensor<128x8xf32>
  return %0, %1, %2, %3 : tensor<128x8xf32>, tensor<128x8xf32>, tensor<127x8xf32>, tensor<128x8xf32>
}
}

// -----

// AMX reads a lhs in rows of 32 steps.

// PANELS: exec.kernel @gradient{{.*}}layouts = [#exec.panel<dim = 0, width = 32>, #exec.panel<dim = 1, width = 32, pairs = 0>, unit]
// PANELS: exec.kernel @pack{{.*}}: tensor<512x256xbf16>) attributes {{.*}}layouts = [unit, #exec.panel<dim = 0, width = 32>]
// CHECK-LABEL: func.func @in_blocks
// CHECK-NEXT: %[[X:.*]] = exec.launch @[[ROWS:pack.*]](%arg0)
// CHECK-NEXT: %[[DY:.*]] = exec.launch @[[PAIRS:pack.*]](%arg1)
// CHECK-NEXT: exec.launch @gradient_{{.*}}(%[[X]], %[[DY]])
module attributes {exec.level = "x86-64-v4+amx"} {
exec.kernel @gradient(%x: tensor<512x256xbf16>, %dy: tensor<512x320xbf16>) attributes {flops = 83886080 : i64} {
  %0 = grad.matmul %x, %dy transpose_lhs wide : tensor<512x256xbf16>, tensor<512x320xbf16>
  exec.yield %0 : tensor<256x320xf32>
}
func.func @in_blocks(%x: tensor<512x256xbf16>, %dy: tensor<512x320xbf16>) -> tensor<256x320xf32> {
  %dw = exec.launch @gradient(%x, %dy) {exec.nodes = []} : (tensor<512x256xbf16>, tensor<512x320xbf16>) -> tensor<256x320xf32>
  return %dw : tensor<256x320xf32>
}
}

// -----

// A factor without elements is not packed.

// CHECK-LABEL: func.func @none
// CHECK-NEXT: exec.launch @product(%arg0, %arg1)
module attributes {exec.level = "x86-64-v3"} {
func.func @none(%x: tensor<128x0xf32>, %w: tensor<0x0xf32>) -> tensor<128x0xf32> {
  %0 = exec.launch @product(%x, %w) : (tensor<128x0xf32>, tensor<0x0xf32>) -> tensor<128x0xf32>
  return %0 : tensor<128x0xf32>
}
exec.kernel @product(%x: tensor<128x0xf32>, %w: tensor<0x0xf32>) {
  %0 = grad.matmul %x, %w transpose_rhs : tensor<128x0xf32>, tensor<0x0xf32>
  exec.yield %0 : tensor<128x0xf32>
}
}
