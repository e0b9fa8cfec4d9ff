// RUN: gradc-opt %s --gradc-end-scans | FileCheck %s
// RUN: gradc-opt %s --gradc-end-scans --gradc-align-steps --gradc-form-kernels --gradc-plan-memory | FileCheck %s --check-prefix=PLAN

// The ops of the if's body become those of the step, also where a constant or a value that no step changes is beside the if. In memory,
// the loop reads its condition where the step writes it, and steps change what they carry in place.
// CHECK-LABEL: @ends
// CHECK: grad.scan 1000 while 1 from(%arg1, %arg0, %arg2) over() with(%arg3)
// CHECK-NEXT: ^bb0(%[[V:.*]]: tensor<16xf32>, %[[GO:.*]]: tensor<i1>, %[[W:.*]]: tensor<16xf32>, %[[L:.*]]: tensor<f32>):
// CHECK-NEXT: grad.constant
// CHECK-NEXT: %[[SUM:.*]] = grad.add %[[V]], %[[W]]
// CHECK-NEXT: %[[MAX:.*]] = grad.reduce_max %[[SUM]]
// CHECK-NEXT: %[[AGAIN:.*]] = grad.compare lt %[[MAX]], %[[L]]
// CHECK-NEXT: grad.yield %[[SUM]], %[[AGAIN]], %[[W]]
// CHECK-NOT: grad.if

// PLAN-LABEL: exec.entry @ends
// PLAN: exec.copy <input 0 at 0 : tensor<i1>> -> <arena 0 at [[GO:[0-9]+]] : tensor<i1>>
// PLAN: exec.loop 1000 while <arena 0 at [[GO]] : tensor<i1>>
// PLAN-NEXT: exec.dispatch {{.*}} -> [#exec.slice<output 0 at 0 : tensor<16xf32>>]
// PLAN-NEXT: exec.dispatch {{.*}} -> [#exec.slice<arena 0 at [[GO]] : tensor<i1>>]
// PLAN-NEXT: {{^ *}$}}
func.func @ends(%go0: tensor<i1>, %v0: tensor<16xf32>, %w0: tensor<16xf32>, %limit: tensor<f32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %r:3 = grad.scan 1000 from (%v0, %go0, %w0) over () with (%limit) : (tensor<16xf32>, tensor<i1>, tensor<16xf32>, tensor<f32>) -> (tensor<16xf32>, tensor<i1>, tensor<16xf32>) {
  ^bb0(%v: tensor<16xf32>, %go: tensor<i1>, %w: tensor<16xf32>, %l: tensor<f32>):
    %unused = grad.constant dense<1.0> : tensor<f32>
    %s:2 = grad.if %go with (%v, %l, %w) : (tensor<16xf32>, tensor<f32>, tensor<16xf32>) -> (tensor<i1>, tensor<16xf32>) {
    ^bb0(%a: tensor<16xf32>, %b: tensor<f32>, %c: tensor<16xf32>):
      %0 = grad.add %a, %c : tensor<16xf32>
      %1 = grad.reduce_max %0 dims [0] : tensor<16xf32>
      %2 = grad.compare lt %1, %b : tensor<f32>
      grad.yield %2, %0 : tensor<i1>, tensor<16xf32>
    } else {
    ^bb0(%a: tensor<16xf32>, %b: tensor<f32>, %c: tensor<16xf32>):
      %no = grad.constant dense<false> : tensor<i1>
      grad.yield %no, %a : tensor<i1>, tensor<16xf32>
    }
    grad.yield %s#1, %s#0, %w : tensor<16xf32>, tensor<i1>, tensor<16xf32>
  }
  return %r#0, %r#2 : tensor<16xf32>, tensor<16xf32>
}

// A loop in a loop; the flag may also pass through the else region itself.
// CHECK-LABEL: @nested
// CHECK: grad.scan 9 while 0 from
// CHECK: grad.scan 7 while 0 from
// CHECK-NOT: grad.if
// CHECK: return
func.func @nested(%go0: tensor<i1>, %v0: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = grad.scan 9 from (%go0, %v0) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>):
    %s:2 = grad.if %go with (%v, %go) : (tensor<4xf32>, tensor<i1>) -> (tensor<i1>, tensor<4xf32>) {
    ^bb0(%a: tensor<4xf32>, %flag: tensor<i1>):
      %t:2 = grad.scan 7 from (%flag, %a) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
      ^bb0(%again: tensor<i1>, %b: tensor<4xf32>):
        %u:2 = grad.if %again with (%b) : (tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
        ^bb0(%c: tensor<4xf32>):
          %0 = grad.add %c, %c : tensor<4xf32>
          %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
          %2 = grad.compare lt %1, %1 : tensor<f32>
          grad.yield %2, %0 : tensor<i1>, tensor<4xf32>
        } else {
        ^bb0(%c: tensor<4xf32>):
          %no = grad.constant dense<false> : tensor<i1>
          grad.yield %no, %c : tensor<i1>, tensor<4xf32>
        }
        grad.yield %u#0, %u#1 : tensor<i1>, tensor<4xf32>
      }
      grad.yield %t#0, %t#1 : tensor<i1>, tensor<4xf32>
    } else {
    ^bb0(%a: tensor<4xf32>, %flag: tensor<i1>):
      grad.yield %flag, %a : tensor<i1>, tensor<4xf32>
    }
    grad.yield %s#0, %s#1 : tensor<i1>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// These go on: a loop whose else region changes a value, one that may resume, one with other work beside the if, one whose flag no step
// computes, one that swaps what it carries while it passes over steps, and one that stacks.
// CHECK-LABEL: @goes_on
// CHECK-COUNT-6: grad.scan 9 from
// CHECK-NOT: while
// CHECK: return
func.func @goes_on(%go0: tensor<i1>, %v0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<9x4xf32>) {
  %r:2 = grad.scan 9 from (%go0, %v0) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>):
    %s = grad.if %go with (%v) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = grad.exp %a : tensor<4xf32>
      grad.yield %0 : tensor<4xf32>
    } else {
    ^bb0(%a: tensor<4xf32>):
      %0 = grad.neg %a : tensor<4xf32>
      grad.yield %0 : tensor<4xf32>
    }
    grad.yield %go, %s : tensor<i1>, tensor<4xf32>
  }
  %resumes:2 = grad.scan 9 from (%go0, %v0) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>):
    %s:2 = grad.if %go with (%v) : (tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
    ^bb0(%a: tensor<4xf32>):
      %0 = grad.exp %a : tensor<4xf32>
      %no = grad.constant dense<false> : tensor<i1>
      grad.yield %no, %0 : tensor<i1>, tensor<4xf32>
    } else {
    ^bb0(%a: tensor<4xf32>):
      %yes = grad.constant dense<true> : tensor<i1>
      grad.yield %yes, %a : tensor<i1>, tensor<4xf32>
    }
    grad.yield %s#0, %s#1 : tensor<i1>, tensor<4xf32>
  }
  %works:2 = grad.scan 9 from (%go0, %v0) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>):
    %s = grad.if %go with (%v) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = grad.exp %a : tensor<4xf32>
      grad.yield %0 : tensor<4xf32>
    } else {
    ^bb0(%a: tensor<4xf32>):
      grad.yield %a : tensor<4xf32>
    }
    %t = grad.neg %s : tensor<4xf32>
    grad.yield %go, %t : tensor<i1>, tensor<4xf32>
  }
  %invariant = grad.scan 9 from (%v0) over () with (%go0) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32> {
  ^bb0(%v: tensor<4xf32>, %go: tensor<i1>):
    %s = grad.if %go with (%v) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = grad.exp %a : tensor<4xf32>
      grad.yield %0 : tensor<4xf32>
    } else {
    ^bb0(%a: tensor<4xf32>):
      grad.yield %a : tensor<4xf32>
    }
    grad.yield %s : tensor<4xf32>
  }
  %swaps:3 = grad.scan 9 from (%go0, %v0, %r#1) over () with () : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>, %w: tensor<4xf32>):
    %s:3 = grad.if %go with (%v, %w, %go) : (tensor<4xf32>, tensor<4xf32>, tensor<i1>) -> (tensor<i1>, tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %flag: tensor<i1>):
      grad.yield %flag, %a, %b : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    } else {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %flag: tensor<i1>):
      grad.yield %flag, %b, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    grad.yield %s#0, %s#1, %s#2 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  %stacks:3 = grad.scan 9 from (%go0, %v0) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>, tensor<9x4xf32>) {
  ^bb0(%go: tensor<i1>, %v: tensor<4xf32>):
    %s = grad.if %go with (%v) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = grad.exp %a : tensor<4xf32>
      grad.yield %0 : tensor<4xf32>
    } else {
    ^bb0(%a: tensor<4xf32>):
      grad.yield %a : tensor<4xf32>
    }
    grad.yield %go, %s, %s : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#1, %resumes#1, %works#1, %invariant, %swaps#1, %stacks#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<9x4xf32>
}
