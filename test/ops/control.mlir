// RUN: gradc-opt %s | gradc-opt | FileCheck %s --check-prefix=TRIP
// RUN: gradc-opt %s --canonicalize --cse | FileCheck %s
// RUN: gradc-opt %s --gradc-differentiate --canonicalize --cse | FileCheck %s --check-prefix=GRAD

// TRIP-LABEL: @trip
// TRIP: grad.if %{{.*}} with(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32> {
// TRIP-NEXT: ^bb0(%{{.*}}: tensor<4xf32>):
// TRIP: } else {
// TRIP: grad.scan 3 reverse from(%{{.*}}) over(%{{.*}}) with(%{{.*}}) saved 1 : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>)
func.func @trip(%c: tensor<i1>, %x: tensor<4xf32>, %xs: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %y = grad.if %c with (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = grad.exp %a : tensor<4xf32>
    grad.yield %0 : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a : tensor<4xf32>
  }
  %last, %all = grad.scan 3 reverse from (%x) over (%xs) with (%y) saved 1 : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%h: tensor<4xf32>, %e: tensor<4xf32>, %w: tensor<4xf32>):
    %0 = grad.mul %h, %w : tensor<4xf32>
    %1 = grad.add %0, %e : tensor<4xf32>
    grad.yield %1, %h : tensor<4xf32>, tensor<4xf32>
  }
  return %last, %all : tensor<4xf32>, tensor<3x4xf32>
}

// A constant condition selects its branch; results without readers are removed.
// CHECK-LABEL: @known
// CHECK-NEXT: %[[Y:.*]] = grad.exp %arg0
// CHECK-NEXT: return %[[Y]]
func.func @known(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = grad.constant dense<true> : tensor<i1>
  %y = grad.if %c with (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = grad.exp %a : tensor<4xf32>
    grad.yield %0 : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @unread
// CHECK: grad.if %arg0 with(%arg1) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT: grad.log
// CHECK: return
func.func @unread(%c: tensor<i1>, %x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %one = grad.constant dense<1.0> : tensor<4xf32>
  %y:2 = grad.if %c with (%z, %x, %one) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%u: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = grad.exp %a : tensor<4xf32>
    %1 = grad.log %u : tensor<4xf32>
    grad.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
  } else {
  ^bb0(%u: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = grad.add %a, %b : tensor<4xf32>
    grad.yield %u, %0 : tensor<4xf32>, tensor<4xf32>
  }
  return %y#1 : tensor<4xf32>
}

// A loop keeps the values that its used results depend on: not the second carried value and its stack. Values that never change are not
// carried. Operands that are passed twice, or constant, are passed once or not at all.
// CHECK-LABEL: @narrow
// CHECK: grad.scan 3 from(%arg0) over(%arg1) with(%arg2) : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[TWO:.*]] = grad.constant dense<2.0
// CHECK-NOT: grad.log
// CHECK: grad.yield %{{.*}} : tensor<4xf32>
// CHECK: return %{{.*}}, %arg2
func.func @narrow(%h0: tensor<4xf32>, %xs: tensor<3x4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %two = grad.constant dense<2.0> : tensor<4xf32>
  %r:4 = grad.scan 3 from (%h0, %h0, %w) over (%xs, %xs) with (%two) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%h: tensor<4xf32>, %g: tensor<4xf32>, %s: tensor<4xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>, %t: tensor<4xf32>):
    %0 = grad.mul %h, %x : tensor<4xf32>
    %1 = grad.add %0, %y : tensor<4xf32>
    %2 = grad.mul %1, %t : tensor<4xf32>
    %3 = grad.add %2, %s : tensor<4xf32>
    %4 = grad.log %g : tensor<4xf32>
    grad.yield %3, %4, %s, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @once
// CHECK-NOT: grad.scan
// CHECK: grad.reshape %arg0
// CHECK: return
func.func @once(%xs: tensor<1x4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
  %last, %all = grad.scan 1 from (%h) over (%xs) with () : (tensor<4xf32>, tensor<1x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
  ^bb0(%c: tensor<4xf32>, %x: tensor<4xf32>):
    %0 = grad.add %c, %x : tensor<4xf32>
    grad.yield %0, %c : tensor<4xf32>, tensor<4xf32>
  }
  return %last, %all : tensor<4xf32>, tensor<1x4xf32>
}

// CHECK-LABEL: @never
// CHECK-NEXT: %[[NONE:.*]] = grad.constant dense<> : tensor<0x4xf32>
// CHECK-NEXT: return %arg1, %[[NONE]]
func.func @never(%xs: tensor<0x4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  %last, %all = grad.scan 0 from (%h) over (%xs) with () : (tensor<4xf32>, tensor<0x4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  ^bb0(%c: tensor<4xf32>, %x: tensor<4xf32>):
    %0 = grad.add %c, %x : tensor<4xf32>
    grad.yield %0, %c : tensor<4xf32>, tensor<4xf32>
  }
  return %last, %all : tensor<4xf32>, tensor<0x4xf32>
}

// The forward saves the values at the beginning of each step and results that cost more than an instruction per element. The backward
// runs in reverse over the saved values.
// GRAD-LABEL: @gradient
// GRAD: %[[F:.*]]:3 = grad.scan 5 from(%{{.*}}) over(%{{.*}}) with(%{{.*}}) saved 2 : (tensor<4xf32>, tensor<5x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>, tensor<5x4xf32>)
// GRAD: grad.tanh
// GRAD: grad.yield
// GRAD: grad.scan 5 reverse from(%{{.*}}) over({{.*}}%[[F]]#1, %[[F]]#2{{.*}}) with(%arg2)
// GRAD-NOT: grad.tanh
// GRAD: return
func.func @gradient(%h0: tensor<4xf32>, %xs: tensor<5x4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>, tensor<4xf32>) {
  %last = grad.scan 5 from (%h0) over (%xs) with (%w) : (tensor<4xf32>, tensor<5x4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%h: tensor<4xf32>, %x: tensor<4xf32>, %m: tensor<4xf32>):
    %0 = grad.mul %h, %m : tensor<4xf32>
    %1 = grad.add %0, %x : tensor<4xf32>
    %2 = grad.tanh %1 : tensor<4xf32>
    grad.yield %2 : tensor<4xf32>
  }
  %loss = grad.reduce_sum %last dims [0] : tensor<4xf32>
  %g:3 = grad.gradient %loss wrt %h0, %xs, %w : tensor<f32>, tensor<4xf32>, tensor<5x4xf32>, tensor<4xf32>
  return %g#0, %g#1, %g#2 : tensor<4xf32>, tensor<5x4xf32>, tensor<4xf32>
}

// Each branch has its own gradient.
// GRAD-LABEL: @branches
// GRAD: grad.if %arg0 with
// GRAD: grad.if %arg0 with
// GRAD: grad.exp
// GRAD: } else {
// GRAD-NOT: grad.exp
// GRAD: return
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %y = grad.if %c with (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = grad.exp %a : tensor<4xf32>
    grad.yield %0 : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    %0 = grad.add %a, %a : tensor<4xf32>
    grad.yield %0 : tensor<4xf32>
  }
  %loss = grad.reduce_sum %y dims [0] : tensor<4xf32>
  %g = grad.gradient %loss wrt %x : tensor<f32>, tensor<4xf32>
  return %loss, %g : tensor<f32>, tensor<4xf32>
}

// Invariants that no step reads are removed from loops without stacks, too.
// CHECK-LABEL: @unread_invariant
// CHECK: grad.scan 3 from(%arg0) over() with(%arg2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @unread_invariant(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %last = grad.scan 3 from (%x) over () with (%y, %z) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%h: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = grad.mul %h, %b : tensor<4xf32>
    grad.yield %0 : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}

// A condition ends a loop. What decides about it stays, under its new number, and a single step may not run.
// TRIP-LABEL: @ends
// TRIP: grad.scan 9 while 1 from(%{{.*}}) over() with(%{{.*}}) : (tensor<4xf32>, tensor<i1>, tensor<4xf32>, tensor<f32>)
// CHECK-LABEL: @ends
// CHECK: %[[R:.*]]:2 = grad.scan 9 while 0 from(%arg0, %arg2) over() with(%arg3) : (tensor<i1>, tensor<4xf32>, tensor<f32>) -> (tensor<i1>, tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i1>, %[[V:.*]]: tensor<4xf32>, %[[L:.*]]: tensor<f32>):
// CHECK-NOT: grad.exp
// CHECK: grad.scan 1 while 0 from
// CHECK: return %[[R]]#1
func.func @ends(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>, %limit: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:3 = grad.scan 9 while 1 from (%x, %c, %y) over () with (%limit) : (tensor<4xf32>, tensor<i1>, tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>, tensor<4xf32>) {
  ^bb0(%unread: tensor<4xf32>, %go: tensor<i1>, %v: tensor<4xf32>, %l: tensor<f32>):
    %0 = grad.exp %unread : tensor<4xf32>
    %1 = grad.add %v, %v : tensor<4xf32>
    %2 = grad.reduce_max %1 dims [0] : tensor<4xf32>
    %3 = grad.compare lt %2, %l : tensor<f32>
    grad.yield %0, %3, %1 : tensor<4xf32>, tensor<i1>, tensor<4xf32>
  }
  %s:2 = grad.scan 1 while 0 from (%c, %y) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>):
    %0 = grad.exp %v : tensor<4xf32>
    grad.yield %go, %0 : tensor<i1>, tensor<4xf32>
  }
  return %r#2, %s#1 : tensor<4xf32>, tensor<4xf32>
}

// A loop whose condition does not hold at first has no step.
// CHECK-LABEL: @ends_at_once
// CHECK-NEXT: return %arg0
func.func @ends_at_once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %no = grad.constant dense<false> : tensor<i1>
  %r:2 = grad.scan 9 while 0 from (%no, %x) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>):
    %0 = grad.exp %v : tensor<4xf32>
    grad.yield %go, %0 : tensor<i1>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
