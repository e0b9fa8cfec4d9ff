// RUN: gradc-opt %s --gradc-plan-memory | FileCheck %s

exec.kernel @step(%h: tensor<16xf32>, %x: tensor<16xf32>) attributes {inplace = array<i64: 0, 1>} {
  %0 = grad.mul %h, %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.kernel @both(%h: tensor<16xf32>, %x: tensor<16xf32>) {
  %s = grad.reduce_sum %x dims [0] : tensor<16xf32>
  %b = grad.broadcast %s dims [] : tensor<f32> -> tensor<16xf32>
  %0 = grad.mul %h, %b : tensor<16xf32>
  %1 = grad.add %h, %x : tensor<16xf32>
  exec.yield %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// The carried value is in the output, where each step changes it in place; a step that stacks it copies it first.
// CHECK-LABEL: exec.entry @inplace arena 0
// CHECK-NEXT: exec.copy <input 0 at 0 : tensor<16xf32>> -> <output 0 at 0 : tensor<16xf32>>
// CHECK-NEXT: exec.loop 4
// CHECK-NEXT: exec.copy <output 0 at 0 : tensor<16xf32>> -> <output 1 at 0 by [64] : tensor<16xf32>>
// CHECK-NEXT: exec.dispatch @step [#exec.slice<output 0 at 0 : tensor<16xf32>>, #exec.slice<input 1 at 0 by [64] : tensor<16xf32>>] -> [#exec.slice<output 0 at 0 : tensor<16xf32>>]
// CHECK-NEXT: {{^ *}$}}
func.func @inplace(%h0: tensor<16xf32>, %xs: tensor<4x16xf32>) -> (tensor<16xf32>, tensor<4x16xf32>) {
  %h, %hs = grad.scan 4 from (%h0) over (%xs) with () : (tensor<16xf32>, tensor<4x16xf32>) -> (tensor<16xf32>, tensor<4x16xf32>) {
  ^bb0(%a: tensor<16xf32>, %x: tensor<16xf32>):
    %0 = exec.launch @step(%a, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    grad.yield %0, %a : tensor<16xf32>, tensor<16xf32>
  }
  return %h, %hs : tensor<16xf32>, tensor<4x16xf32>
}

// A result that is both stacked and carried is written to the stack; a reverse scan begins with the last step.
// CHECK-LABEL: exec.entry @stacked
// CHECK: exec.loop 4
// CHECK-NEXT: exec.dispatch @step [#exec.slice<[[H:.*]] : tensor<16xf32>>, #exec.slice<input 1 at 192 by [-64] : tensor<16xf32>>] -> [#exec.slice<output 0 at 192 by [-64] : tensor<16xf32>>]
// CHECK-NEXT: exec.copy <output 0 at 192 by [-64] : tensor<16xf32>> -> <[[H]] : tensor<16xf32>>
// CHECK-NEXT: {{^ *}$}}
func.func @stacked(%h0: tensor<16xf32>, %xs: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %h, %hs = grad.scan 4 reverse from (%h0) over (%xs) with () : (tensor<16xf32>, tensor<4x16xf32>) -> (tensor<16xf32>, tensor<4x16xf32>) {
  ^bb0(%a: tensor<16xf32>, %x: tensor<16xf32>):
    %0 = exec.launch @step(%a, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    grad.yield %0, %0 : tensor<16xf32>, tensor<16xf32>
  }
  return %hs : tensor<4x16xf32>
}

// A kernel writes elsewhere if its operand is read later or if it cannot work in place; so do carried values that swap places.
// CHECK-LABEL: exec.entry @aside
// CHECK: exec.loop 4
// CHECK-NEXT: exec.dispatch @both [#exec.slice<output 0 at 0 : {{.*}}>, #exec.slice<input 1 at 0 by [64] {{.*}}>] -> [#exec.slice<arena 0 at [[P:[0-9]+]] : {{.*}}>, #exec.slice<arena 0 at {{[0-9]+}} : {{.*}}>]
// CHECK: exec.copy <arena 0 at [[P]] : tensor<16xf32>> -> <output 0 at 0 : tensor<16xf32>>
// CHECK: exec.loop 3
// CHECK-NEXT: exec.copy <output 2 at 0 : tensor<16xf32>> -> <arena 0 at [[A:[0-9]+]] : tensor<16xf32>>
// CHECK-NEXT: exec.copy <output 1 at 0 : tensor<16xf32>> -> <arena 0 at [[B:[0-9]+]] : tensor<16xf32>>
// CHECK-NEXT: exec.copy <arena 0 at [[A]] : tensor<16xf32>> -> <output 1 at 0 : tensor<16xf32>>
// CHECK-NEXT: exec.copy <arena 0 at [[B]] : tensor<16xf32>> -> <output 2 at 0 : tensor<16xf32>>
func.func @aside(%h0: tensor<16xf32>, %xs: tensor<4x16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %h = grad.scan 4 from (%h0) over (%xs) with () : (tensor<16xf32>, tensor<4x16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>, %x: tensor<16xf32>):
    %0:2 = exec.launch @both(%a, %x) : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    %1 = exec.launch @step(%0#0, %0#1) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    grad.yield %0#0 : tensor<16xf32>
  }
  %s:2 = grad.scan 3 from (%h0, %h) over () with () : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    grad.yield %b, %a : tensor<16xf32>, tensor<16xf32>
  }
  return %h, %s#0, %s#1 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// Both branches write to the place of the result; a branch that returns its operand copies it.
// CHECK-LABEL: exec.entry @branch
// CHECK: exec.if <input 0 at 0 : tensor<i1>>
// CHECK-NEXT: exec.dispatch @step [{{.*}}] -> [#exec.slice<output 0 at 0 : tensor<16xf32>>]
// CHECK-NEXT: } else {
// CHECK-NEXT: exec.copy <input 1 at 0 : tensor<16xf32>> -> <output 0 at 0 : tensor<16xf32>>
func.func @branch(%c: tensor<i1>, %x: tensor<16xf32>) -> tensor<16xf32> {
  %y = grad.if %c with (%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %0 = exec.launch @step(%a, %a) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    grad.yield %0 : tensor<16xf32>
  } else {
  ^bb0(%a: tensor<16xf32>):
    grad.yield %a : tensor<16xf32>
  }
  return %y : tensor<16xf32>
}

exec.kernel @less(%h: tensor<16xf32>) {
  %s = grad.reduce_max %h dims [0] : tensor<16xf32>
  %l = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.compare lt %s, %l : tensor<f32>
  exec.yield %0 : tensor<i1>
}

// A loop reads its condition where its steps write it. A condition that no step changes keeps its place, which nothing in the loop takes.
// CHECK-LABEL: exec.entry @ends
// CHECK-NEXT: exec.dispatch @less {{.*}} -> [#exec.slice<arena 0 at [[GO:[0-9]+]] : tensor<i1>>]
// CHECK-NEXT: exec.copy <input 0 at 0 : tensor<16xf32>> -> <output 0 at 0 : tensor<16xf32>>
// CHECK-NEXT: exec.loop 7 while <arena 0 at [[GO]] : tensor<i1>>
// CHECK-NEXT: exec.dispatch @step {{.*}} -> [#exec.slice<output 0 at 0 : tensor<16xf32>>]
// CHECK-NEXT: exec.dispatch @less {{.*}} -> [#exec.slice<arena 0 at [[GO]] : tensor<i1>>]
// CHECK-NEXT: {{^ *}$}}
// CHECK-LABEL: exec.entry @stays
// CHECK: exec.dispatch @less {{.*}} -> [#exec.slice<arena 0 at [[GO:[0-9]+]] : tensor<i1>>]
// CHECK: exec.loop 7 while <arena 0 at [[GO]] : tensor<i1>>
// CHECK-NOT: <arena 0 at [[GO]] :
// CHECK: {{^ *}$}}
func.func @ends(%h0: tensor<16xf32>, %x: tensor<16xf32>) -> tensor<16xf32> {
  %go0 = exec.launch @less(%h0) : (tensor<16xf32>) -> tensor<i1>
  %r:2 = grad.scan 7 while 0 from (%go0, %h0) over () with (%x) : (tensor<i1>, tensor<16xf32>, tensor<16xf32>) -> (tensor<i1>, tensor<16xf32>) {
  ^bb0(%go: tensor<i1>, %h: tensor<16xf32>, %a: tensor<16xf32>):
    %0 = exec.launch @step(%h, %a) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %1 = exec.launch @less(%0) : (tensor<16xf32>) -> tensor<i1>
    grad.yield %1, %0 : tensor<i1>, tensor<16xf32>
  }
  return %r#1 : tensor<16xf32>
}
func.func @stays(%h0: tensor<16xf32>, %x: tensor<16xf32>) -> tensor<16xf32> {
  %go0 = exec.launch @less(%h0) : (tensor<16xf32>) -> tensor<i1>
  %r:2 = grad.scan 7 while 0 from (%go0, %h0) over () with (%x) : (tensor<i1>, tensor<16xf32>, tensor<16xf32>) -> (tensor<i1>, tensor<16xf32>) {
  ^bb0(%go: tensor<i1>, %h: tensor<16xf32>, %a: tensor<16xf32>):
    %0:2 = exec.launch @both(%h, %a) : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    %1 = exec.launch @step(%0#0, %0#1) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    grad.yield %go, %1 : tensor<i1>, tensor<16xf32>
  }
  return %r#1 : tensor<16xf32>
}
