// RUN: gradc-opt %s -gradc-plan-memory | FileCheck %s

exec.kernel @exp(%x: tensor<16x16xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %x : tensor<16x16xf32>
  exec.yield %0 : tensor<16x16xf32>
}
exec.kernel @turn(%x: tensor<16x16xf32>) attributes {inplace = array<i64>} {
  %0 = grad.transpose %x permutation [1, 0] : tensor<16x16xf32>
  exec.yield %0 : tensor<16x16xf32>
}
exec.kernel @small(%x: tensor<5xf32>) attributes {inplace = array<i64>} {
  exec.yield %x : tensor<5xf32>
}
exec.kernel @add(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>) attributes {inplace = array<i64: 0, 1>} {
  %0 = grad.add %x, %y : tensor<16x16xf32>
  exec.yield %0 : tensor<16x16xf32>
}
exec.kernel @padded(%x: tensor<16x16xf32>) attributes {inplace = array<i64: 0>, layouts = [unit, #exec.panel<dim = 1, width = 32>]} {
  exec.yield %x : tensor<16x16xf32>
}
grad.state parameter @w : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32>
exec.buffer primary @w.primary of @w : 1024

// A result overwrites an operand without later readers, if the kernel allows it. The entry keeps all attributes for the runtime.

// CHECK-LABEL: exec.entry @inplace arena 1024
// CHECK-SAME: inputs [{field = "pixels", name = "x", role = "data", type = tensor<16x16xf32>}]
// CHECK-SAME: outputs [{name = "y", slice = #exec.slice<output 0 at 0 : tensor<16x16xf32>>, type = tensor<16x16xf32>}]
// CHECK-SAME: attributes {batch = 16 : i64}
// CHECK-NEXT: exec.dispatch @turn [#exec.slice<input 0 at 0 : {{.*}}] -> [#exec.slice<arena 0 at 0 : {{.*}}] {nodes = ["a"]}
// CHECK-NEXT: exec.dispatch @exp [#exec.slice<arena 0 at 0 : {{.*}}] -> [#exec.slice<arena 0 at 0 : {{.*}}] {nodes = ["b"]}
// CHECK-NEXT: exec.dispatch @turn [#exec.slice<arena 0 at 0 : {{.*}}] -> [#exec.slice<output 0 at 0 :
func.func @inplace(%x: tensor<16x16xf32> {grad.name = "x", grad.role = "data", grad.field = "pixels"}) -> (tensor<16x16xf32> {grad.name = "y"}) attributes {grad.batch = 16 : i64} {
  %0 = exec.launch @turn(%x) {exec.nodes = ["a"]} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @exp(%0) {exec.nodes = ["b"]} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = exec.launch @turn(%1) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// If the kernel does not allow it, the result takes the memory of a value that died before.

// CHECK-LABEL: exec.entry @reuse arena 2048
// CHECK-NEXT: exec.dispatch @turn [#exec.slice<input 0 {{.*}} -> [#exec.slice<arena 0 at [[FIRST:[0-9]+]] :
// CHECK-NEXT: exec.dispatch @turn [#exec.slice<arena 0 at [[FIRST]] :{{.*}} -> [#exec.slice<arena 0 at [[SECOND:[0-9]+]] :
// CHECK-NEXT: exec.dispatch @turn [#exec.slice<arena 0 at [[SECOND]] :{{.*}} -> [#exec.slice<arena 0 at [[FIRST]] :
// CHECK-NEXT: exec.dispatch @turn [#exec.slice<arena 0 at [[FIRST]] :{{.*}} -> [#exec.slice<output 0 at 0 :
func.func @reuse(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = exec.launch @turn(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @turn(%0) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = exec.launch @turn(%1) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = exec.launch @turn(%2) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %3 : tensor<16x16xf32>
}

// An operand that is read again is not overwritten.

// CHECK-LABEL: exec.entry @alive arena 2048
// CHECK: exec.dispatch @exp [#exec.slice<arena 0 at 0 : {{.*}} -> [#exec.slice<arena 0 at 1024 :
// CHECK-NEXT: exec.dispatch @add [#exec.slice<arena 0 at 0 :{{.*}}, #exec.slice<arena 0 at 1024 :{{.*}} -> [#exec.slice<output 0 at 0 :
func.func @alive(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = exec.launch @turn(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @exp(%0) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = exec.launch @add(%0, %1) {exec.nodes = []} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// A tensor that the launch reads twice is not overwritten.

// CHECK-LABEL: exec.entry @twice arena 2048
// CHECK: exec.dispatch @add [#exec.slice<arena 0 at 0 :{{.*}}, #exec.slice<arena 0 at 0 :{{.*}} -> [#exec.slice<arena 0 at 1024 :
func.func @twice(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = exec.launch @turn(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @add(%0, %0) {exec.nodes = []} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = exec.launch @turn(%1) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// Results are outputs even if they have other readers. A value that is returned twice has a single output.

// CHECK-LABEL: exec.entry @outputs arena 1024
// CHECK-SAME: outputs [{slice = #exec.slice<output 0 at 0 :{{.*}}}, {slice = #exec.slice<output 1 at 0 :{{.*}}}, {slice = #exec.slice<output 0 at 0 :
// CHECK-NEXT: exec.dispatch @turn {{.*}} -> [#exec.slice<output 0 at 0 :
// CHECK-NEXT: exec.dispatch @exp [#exec.slice<output 0 at 0 :{{.*}} -> [#exec.slice<arena 0 at 0 :
// CHECK-NEXT: exec.dispatch @turn {{.*}} -> [#exec.slice<output 1 at 0 :
func.func @outputs(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = exec.launch @turn(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @exp(%0) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = exec.launch @turn(%1) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0, %2, %0 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}

// A view shares the memory of its operand and keeps it alive.

// CHECK-LABEL: exec.entry @views arena 2048
// CHECK-SAME: outputs [{slice = #exec.slice<output 0 at 0 : tensor<256xf32>>, type = tensor<256xf32>}]
// CHECK-NEXT: exec.dispatch @turn {{.*}} -> [#exec.slice<arena 0 at 0 :
// CHECK-NEXT: exec.dispatch @turn {{.*}} -> [#exec.slice<arena 0 at 1024 :
// CHECK-NEXT: exec.dispatch @add [#exec.slice<arena 0 at 0 : tensor<16x16xf32>>, #exec.slice<arena 0 at 1024 :{{.*}} -> [#exec.slice<arena 0 at 0 :
// CHECK-NEXT: exec.dispatch @turn [#exec.slice<arena 0 at 0 :{{.*}} -> [#exec.slice<output 0 at 0 : tensor<16x16xf32>>]
// CHECK-NOT: grad.reshape
func.func @views(%x: tensor<16x16xf32>) -> tensor<256xf32> {
  %0 = exec.launch @turn(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = grad.reshape %0 : tensor<16x16xf32> -> tensor<256xf32>
  %2 = exec.launch @turn(%0) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = grad.reshape %1 : tensor<256xf32> -> tensor<16x16xf32>
  %4 = exec.launch @add(%3, %2) {exec.nodes = []} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %5 = exec.launch @turn(%4) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %6 = grad.reshape %5 : tensor<16x16xf32> -> tensor<256xf32>
  return %6 : tensor<256xf32>
}

// Inputs are never in the arena and never overwritten.

// CHECK-LABEL: exec.entry @input_view arena 1024
// CHECK-SAME: outputs [{slice = #exec.slice<input 0 at 0 : tensor<16x16xf32>>{{.*}}}, {slice = #exec.slice<output 1 at 0 :
// CHECK-NEXT: exec.dispatch @exp [#exec.slice<input 0 at 0 : tensor<16x16xf32>>] -> [#exec.slice<arena 0 at 0 :
// CHECK-NEXT: exec.dispatch @turn {{.*}} -> [#exec.slice<output 1 at 0 :
func.func @input_view(%x: tensor<256xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = grad.reshape %x : tensor<256xf32> -> tensor<16x16xf32>
  %1 = exec.launch @exp(%0) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = exec.launch @turn(%1) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0, %2 : tensor<16x16xf32>, tensor<16x16xf32>
}

// 20 bytes occupy 64.

// CHECK-LABEL: exec.entry @alignment arena 128
// CHECK: exec.dispatch @small {{.*}} -> [#exec.slice<arena 0 at 0 :
// CHECK-NEXT: exec.dispatch @small {{.*}} -> [#exec.slice<arena 0 at 64 :
func.func @alignment(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = exec.launch @small(%x) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  %1 = exec.launch @small(%0) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  %2 = exec.launch @small(%1) {exec.nodes = []} : (tensor<5xf32>) -> tensor<5xf32>
  return %2 : tensor<5xf32>
}

// Padding takes memory, the largest tensor is placed first, and a kernel cannot work in place between
// different layouts. An output has no room for padding.

// CHECK-LABEL: exec.entry @padding arena 3072
// CHECK-NEXT: exec.dispatch @turn {{.*}} -> [#exec.slice<arena 0 at 2048 :
// CHECK-NEXT: exec.dispatch @padded [#exec.slice<arena 0 at 2048 :{{.*}} -> [#exec.slice<arena 0 at 0 :
func.func @padding(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = exec.launch @turn(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @padded(%0) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// Readers of a state's old value run before its writer.

// CHECK-LABEL: exec.entry @readers
// CHECK-NEXT: exec.dispatch @add [#exec.slice<input 0 at 0 :{{.*}}, #exec.slice<buffer 0 at 0 of @w.primary :{{.*}} -> [#exec.slice<output 0 at 0 :
// CHECK-NEXT: exec.dispatch @exp [#exec.slice<buffer 0 at 0 of @w.primary :{{.*}} -> [#exec.slice<buffer 0 at 0 of @w.primary :
func.func @readers(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %w = exec.load @w.primary : tensor<16x16xf32>
  %0 = exec.launch @exp(%w) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  exec.store @w.primary, %0 : tensor<16x16xf32>
  %1 = exec.launch @add(%x, %w) {exec.nodes = []} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// Parts of a kernel do not wait for each other: a result may only overwrite an operand of its own part.

exec.kernel @parts(%x: tensor<16x16xf32>, %once: tensor<16x16xf32>, %y: tensor<16x16xf32>, %again: tensor<16x16xf32>) attributes {inplace = array<i64: 2>, parts = [
    #exec.part<operands = 2, results = 1, schedule = <lanes = 4, tile = [1, 4], order = [0, 1], grain = 1>, blocks = <threads = 64, team = 1, adjacent = false, rows = 2>>,
    #exec.part<operands = 2, results = 1, schedule = <lanes = 4, tile = [1, 4], order = [0, 1], grain = 1>, blocks = <threads = 64, team = 1, adjacent = false, rows = 2>>]} {
  %0 = grad.add %x, %once : tensor<16x16xf32>
  %1 = grad.add %y, %again : tensor<16x16xf32>
  exec.yield %0, %1 : tensor<16x16xf32>, tensor<16x16xf32>
}

// CHECK-LABEL: exec.entry @side_by_side
// CHECK-NEXT: exec.dispatch @turn {{.*}} -> [#exec.slice<arena 0 at [[A:[0-9]+]] :
// CHECK-NEXT: exec.dispatch @turn {{.*}} -> [#exec.slice<arena 0 at [[B:[0-9]+]] :
// CHECK-NEXT: exec.dispatch @parts [#exec.slice<arena 0 at [[A]] :{{.*}}, #exec.slice<input 0 at 0 :{{.*}}, #exec.slice<arena 0 at [[B]] :{{.*}}, #exec.slice<input 0 at 0 :{{.*}}] -> [#exec.slice<arena 0 at 2048 :{{.*}}, #exec.slice<arena 0 at [[B]] :
func.func @side_by_side(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = exec.launch @turn(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @turn(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2:2 = exec.launch @parts(%0, %x, %1, %x) {exec.nodes = []} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>)
  %3 = exec.launch @turn(%2#0) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = exec.launch @turn(%2#1) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %3, %4 : tensor<16x16xf32>, tensor<16x16xf32>
}
