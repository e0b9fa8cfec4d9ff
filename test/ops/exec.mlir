// RUN: gradc-opt %s | gradc-opt | FileCheck %s

// CHECK: grad.state parameter @w : tensor<16x32xf32>
grad.state parameter @w : tensor<16x32xf32> = dense<0.0> : tensor<16x32xf32>

// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 2048
exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 2048
// CHECK: exec.buffer mirror @w.mirror1 of @w layout <dim = 0, width = 16> : 2048
exec.buffer mirror @w.mirror1 of @w layout <dim = 0, width = 16> : 2048
// CHECK: exec.buffer primary @plain of @w : 2048
exec.buffer primary @plain of @w : 2048

// All attributes: one layout per operand and result, unit for row-major.

// CHECK: exec.kernel @scheduled(%[[X:.*]]: tensor<8x16xf32>, %[[W:.*]]: tensor<16x32xf32>, %[[B:.*]]: tensor<8x32xf32>) attributes {
// CHECK-SAME: bytes = 4608 : i64, flops = 8448 : i64, inplace = array<i64: 2>
// CHECK-SAME: layouts = [unit, #exec.panel<dim = 1, width = 16>, unit, unit]
// CHECK-SAME: nodes = ["fc1"]
// CHECK-SAME: schedule = #exec.schedule<lanes = 8, tile = [6, 16], order = [1, 0], grain = 2>
// CHECK: exec.yield %{{.*}} : tensor<8x32xf32>
exec.kernel @scheduled(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b: tensor<8x32xf32>) attributes {
    layouts = [unit, #exec.panel<dim = 1, width = 16>, unit, unit],
    schedule = #exec.schedule<lanes = 8, tile = [6, 16], order = [1, 0], grain = 2>,
    inplace = array<i64: 2>, nodes = ["fc1"], flops = 8448 : i64, bytes = 4608 : i64} {
  %0 = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32>
  %1 = grad.add %0, %b : tensor<8x32xf32>
  exec.yield %1 : tensor<8x32xf32>
}

// A root without dims; no attributes; no operands; several results.

// CHECK: exec.kernel @scalar(%{{.*}}: tensor<f32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [], order = [], grain = 1>}
exec.kernel @scalar(%x: tensor<f32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [], order = [], grain = 1>} {
  %0 = grad.exp %x : tensor<f32>
  exec.yield %0 : tensor<f32>
}

// CHECK: exec.kernel @fill() {
// CHECK: exec.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<i1>
exec.kernel @fill() {
  %0 = grad.constant dense<1.0> : tensor<4xf32>
  %1 = grad.constant dense<true> : tensor<i1>
  exec.yield %0, %1 : tensor<4xf32>, tensor<i1>
}

// CHECK-LABEL: func.func @value_form
// CHECK: %[[W:.*]] = exec.load @w.primary : tensor<16x32xf32>
// CHECK: %[[Y:.*]] = exec.launch @scheduled(%{{.*}}, %[[W]], %{{.*}}) {exec.nodes = ["fc1"]} : (tensor<8x16xf32>, tensor<16x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
// CHECK: %{{.*}}:2 = exec.launch @fill() : () -> (tensor<4xf32>, tensor<i1>)
// CHECK: exec.store @plain, %[[W]] : tensor<16x32xf32>
func.func @value_form(%x: tensor<8x16xf32>, %b: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %w = exec.load @w.primary : tensor<16x32xf32>
  %y = exec.launch @scheduled(%x, %w, %b) {exec.nodes = ["fc1"]} : (tensor<8x16xf32>, tensor<16x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %f:2 = exec.launch @fill() : () -> (tensor<4xf32>, tensor<i1>)
  exec.store @plain, %w : tensor<16x32xf32>
  return %y : tensor<8x32xf32>
}

// A dispatch has a slice in each space.

// CHECK: exec.entry @planned arena 1024 inputs [{name = "x", type = tensor<8x16xf32>}] outputs [{name = "y", slice = #exec.slice<arena 0 at 0 : tensor<8x32xf32>>, type = tensor<9x32xf32>}] attributes {batch = 8 : i64} {
// CHECK-NEXT: exec.dispatch @scheduled [#exec.slice<input 0 at 0 : tensor<8x16xf32>>, #exec.slice<buffer 0 at 0 of @w.primary : tensor<16x32xf32>>, #exec.slice<arena 0 at 0 : tensor<8x32xf32>>]
// CHECK-SAME: -> [#exec.slice<output 0 at 64 : tensor<8x32xf32>>] {nodes = ["fc1"]}
exec.entry @planned arena 1024 inputs [{name = "x", type = tensor<8x16xf32>}]
    outputs [{name = "y", slice = #exec.slice<arena 0 at 0 : tensor<8x32xf32>>, type = tensor<9x32xf32>}] attributes {batch = 8 : i64} {
  exec.dispatch @scheduled [#exec.slice<input 0 at 0 : tensor<8x16xf32>>,
      #exec.slice<buffer 0 at 0 of @w.primary : tensor<16x32xf32>>, #exec.slice<arena 0 at 0 : tensor<8x32xf32>>]
      -> [#exec.slice<output 0 at 64 : tensor<8x32xf32>>] {nodes = ["fc1"]}
}

// A schedule is a tree. Bodies may be empty, and a slice may move backwards from its end.

// CHECK-LABEL: exec.entry @tree
// CHECK-NEXT: exec.loop 4 attributes {nodes = ["rows"]} {
// CHECK-NEXT: exec.copy <input 0 at 0 by [64] : tensor<16xf32>> -> <output 0 at 192 by [-64] : tensor<16xf32>> {nodes = ["turn"]}
// CHECK-NEXT: exec.loop 2 count <input 1 at 0 : tensor<1xi64>> {
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: exec.if <arena 0 at 0 : tensor<i1>> attributes {nodes = ["branch"]} {
// CHECK-NEXT: exec.if <arena 0 at 0 : tensor<i1>> {
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: exec.copy <input 0 at 64 : tensor<16xf32>> -> <output 0 at 0 : tensor<16xf32>>
// CHECK-NEXT: }
// CHECK-NEXT: }
exec.entry @tree arena 64 inputs [{name = "x", type = tensor<4x16xf32>}, {name = "n", type = tensor<1xi64>}]
    outputs [{name = "y", type = tensor<4x16xf32>}] {
  exec.loop 4 attributes {nodes = ["rows"]} {
    exec.copy <input 0 at 0 by [64] : tensor<16xf32>> -> <output 0 at 192 by [-64] : tensor<16xf32>> {nodes = ["turn"]}
    exec.loop 2 count <input 1 at 0 : tensor<1xi64>> {}
  }
  exec.if <arena 0 at 0 : tensor<i1>> attributes {nodes = ["branch"]} {
    exec.if <arena 0 at 0 : tensor<i1>> {}
  } else {
    exec.copy <input 0 at 64 : tensor<16xf32>> -> <output 0 at 0 : tensor<16xf32>>
  }
}

// Loops that conditions end may have the largest number of iterations in each other. One may also have a count.

// CHECK-LABEL: exec.entry @ends
// CHECK-NEXT: exec.loop 2147483647 while <arena 0 at 0 : tensor<i1>> attributes {nodes = ["loop"]} {
// CHECK-NEXT: exec.loop 2147483647 count <input 0 at 0 : tensor<i64>> while <arena 0 at 64 : tensor<i1>> {
// CHECK-NEXT: exec.loop 65536 {
exec.entry @ends arena 128 inputs [{name = "n", type = tensor<i64>}] outputs [] {
  exec.loop 2147483647 while <arena 0 at 0 : tensor<i1>> attributes {nodes = ["loop"]} {
    exec.loop 2147483647 count <input 0 at 0 : tensor<i64>> while <arena 0 at 64 : tensor<i1>> {
      exec.loop 65536 {}
    }
  }
}

// CHECK-LABEL: exec.entry @sums
// CHECK-NEXT: exec.collective sum [#exec.slice<arena 0 at 0 : tensor<4xf32>>, #exec.slice<output 0 at 0 : tensor<16xf32>>] bf16 {nodes = ["fc1"]}
// CHECK-NEXT: exec.collective sum [#exec.slice<arena 0 at 64 : tensor<f64>>]
exec.entry @sums arena 128 inputs [] outputs [{name = "y", type = tensor<16xf32>}] {
  exec.collective sum [#exec.slice<arena 0 at 0 : tensor<4xf32>>, #exec.slice<output 0 at 0 : tensor<16xf32>>] bf16 {nodes = ["fc1"]}
  exec.collective sum [#exec.slice<arena 0 at 64 : tensor<f64>>]
}

// Ranks divide a state, buffers stored like it, and the launches that update it.

// CHECK: exec.cut @divided.cut of @divided : 100 by 32
// CHECK: exec.buffer primary @divided.first.primary of @divided.first : 400 cut @divided.cut
// CHECK-LABEL: exec.entry @cut
// CHECK-NEXT: exec.collective scatter [#exec.slice<arena 0 at 0 : tensor<100xf32>>] bf16 cuts [@divided.cut] zeros [0]
// CHECK-NEXT: exec.dispatch @halves {{.*}} cut @divided.cut by 2
// CHECK-NEXT: exec.collective gather [#exec.slice<arena 0 at 0 : tensor<100xf32>>] cuts [@divided.cut]
grad.state parameter @divided : tensor<100xf32> = dense<0.0> : tensor<100xf32>
grad.state slot @divided.first : tensor<100xf32> = dense<0.0> : tensor<100xf32>
exec.cut @divided.cut of @divided : 100 by 32
exec.buffer primary @divided.first.primary of @divided.first : 400 cut @divided.cut
exec.kernel @halves(%x: tensor<100xf32>) attributes {schedule = #exec.schedule<lanes = 16, tile = [16], order = [0], grain = 1>} {
  %0 = grad.exp %x : tensor<100xf32>
  exec.yield %0 : tensor<100xf32>
}
exec.entry @cut arena 512 inputs [] outputs [] {
  exec.collective scatter [#exec.slice<arena 0 at 0 : tensor<100xf32>>] bf16 cuts [@divided.cut] zeros [0]
  exec.dispatch @halves [#exec.slice<arena 0 at 0 : tensor<100xf32>>] -> [#exec.slice<arena 0 at 0 : tensor<100xf32>>] cut @divided.cut by 2
  exec.collective gather [#exec.slice<arena 0 at 0 : tensor<100xf32>>] cuts [@divided.cut]
}

// Parts replace a schedule.

// CHECK: exec.kernel @side_by_side(
// CHECK-SAME: parts = [#exec.part<operands = 2, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>,
// CHECK-SAME: #exec.part<operands = 1, results = 1, schedule = <lanes = 1, tile = [1, 1], order = [0, 1], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 2>>]
exec.kernel @side_by_side(%a: tensor<8xf32>, %rate: tensor<f32>, %b: tensor<2x3xf32>) attributes {parts = [
    #exec.part<operands = 2, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>,
        blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>,
    #exec.part<operands = 1, results = 1, schedule = <lanes = 1, tile = [1, 1], order = [0, 1], grain = 1>,
        blocks = <threads = 32, team = 1, adjacent = false, rows = 2>>]} {
  %0 = grad.broadcast %rate dims [] : tensor<f32> -> tensor<8xf32>
  %1 = grad.mul %a, %0 : tensor<8xf32>
  %2 = grad.exp %b : tensor<2x3xf32>
  exec.yield %1, %2 : tensor<8xf32>, tensor<2x3xf32>
}
