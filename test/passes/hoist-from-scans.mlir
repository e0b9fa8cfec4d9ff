// RUN: gradc-opt %s --gradc-hoist-from-scans --canonicalize --cse | FileCheck %s
// RUN: gradc-opt %s --gradc-hoist-from-scans=stack-bytes=1520 --canonicalize --cse | FileCheck %s --check-prefix=CHUNKS
// RUN: gradc-opt %s --gradc-hoist-from-scans=stack-bytes=100 --canonicalize --cse | FileCheck %s --check-prefix=NONE

// A cell: the input's product with its bias becomes one product before the loop, the output layer one after it. Slices of a
// weight are computed once. The product with the state remains.
// CHECK-LABEL: @cell
// CHECK: %[[R:.*]] = grad.slice %arg3
// CHECK: %[[P:.*]] = grad.convolution %arg0, %arg2 dims "dab,bc->dac" window <[]> : tensor<10x4x8xf32>, tensor<8x8xf32>
// CHECK: %[[B:.*]] = grad.broadcast %arg4 dims [2]
// CHECK: %[[PB:.*]] = grad.add %[[P]], %[[B]] : tensor<10x4x8xf32>
// CHECK: %[[H:[0-9]+]]:2 = grad.scan 10 from(%arg1) over(%[[PB]]) with(%[[R]])
// CHECK-NEXT: ^bb0(%[[STATE:.*]]: tensor<4x8xf32>, %[[SHARE:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x8xf32>):
// CHECK-NEXT: %[[HR:.*]] = grad.matmul %[[STATE]], %[[W]]
// CHECK-NEXT: %[[SUM:.*]] = grad.add %[[SHARE]], %[[HR]]
// CHECK-NEXT: %[[NEXT:.*]] = grad.tanh %[[SUM]]
// CHECK-NEXT: grad.yield %[[NEXT]], %[[NEXT]]
// CHECK: %[[Y:.*]] = grad.convolution %[[H]]#1, %arg5 dims "dab,bc->dac" window <[]> : tensor<10x4x8xf32>, tensor<8x3xf32>
// CHECK: grad.softmax %[[Y]] dim 2 : tensor<10x4x3xf32>

// Two chunks of five steps: the stacks of ten take 10 * 4 * (8 + 8 + 3) * 4 bytes, twice 1,520.
// CHUNKS-LABEL: @cell
// CHUNKS: grad.scan 2 from(%arg1) over(%{{.*}}) with
// CHUNKS: grad.convolution %{{.*}} : tensor<5x4x8xf32>, tensor<8x8xf32>
// CHUNKS: grad.scan 5 from
// CHUNKS: grad.convolution %{{.*}} : tensor<5x4x8xf32>, tensor<8x3xf32>

// Even the stacks of a single step exceed the limit, so only invariant ops leave the loop.
// NONE-LABEL: @cell
// NONE: grad.slice
// NONE: grad.scan 10 from(%arg1) over(%arg0)
// NONE-NOT: grad.slice
// NONE: grad.matmul
// NONE: grad.matmul
// NONE: grad.matmul
// NONE: grad.softmax %{{.*}} : tensor<4x3xf32>
func.func @cell(%xs: tensor<10x4x8xf32>, %h0: tensor<4x8xf32>, %w: tensor<8x8xf32>, %r: tensor<8x16xf32>, %b: tensor<8xf32>, %v: tensor<8x3xf32>) -> tensor<10x4x3xf32> {
  %last, %ys = grad.scan 10 from (%h0) over (%xs) with (%w, %r, %b, %v) : (tensor<4x8xf32>, tensor<10x4x8xf32>, tensor<8x8xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<8x3xf32>) -> (tensor<4x8xf32>, tensor<10x4x3xf32>) {
  ^bb0(%h: tensor<4x8xf32>, %x: tensor<4x8xf32>, %input: tensor<8x8xf32>, %stored: tensor<8x16xf32>, %bias: tensor<8xf32>, %output: tensor<8x3xf32>):
    %recurrent = grad.slice %stored starts [0, 0] sizes [8, 8] strides [1, 2] : tensor<8x16xf32>
    %0 = grad.matmul %x, %input : tensor<4x8xf32>, tensor<8x8xf32>
    %1 = grad.broadcast %bias dims [1] : tensor<8xf32> -> tensor<4x8xf32>
    %2 = grad.add %0, %1 : tensor<4x8xf32>
    %3 = grad.matmul %h, %recurrent : tensor<4x8xf32>, tensor<8x8xf32>
    %4 = grad.add %2, %3 : tensor<4x8xf32>
    %5 = grad.tanh %4 : tensor<4x8xf32>
    %6 = grad.matmul %5, %output : tensor<4x8xf32>, tensor<8x3xf32>
    %7 = grad.softmax %6 dim 1 : tensor<4x3xf32>
    grad.yield %5, %7 : tensor<4x8xf32>, tensor<4x3xf32>
  }
  return %ys : tensor<10x4x3xf32>
}

// A product of steps with the transposed weight, one with a batch of invariant matrices, and a sum of products of two changing
// operands.
// CHECK-LABEL: @letters
// CHECK-DAG: grad.convolution %arg0, %arg2 dims "dab,cb->dac" window <[]>
// CHECK-DAG: grad.convolution %arg4, %arg3 dims "eabc,acd->eabd" window <[]>
// CHECK: grad.convolution %{{.*}}, %arg4 dims "eabc,eadc->abd" window <[]> : tensor<10x2x4x8xf32>, tensor<10x2x4x8xf32>
// CHECK-NOT: grad.scan
func.func @letters(%xs: tensor<10x4x8xf32>, %h0: tensor<2x4x4xf32>, %w: tensor<8x8xf32>, %k: tensor<2x8x8xf32>, %qs: tensor<10x2x4x8xf32>) -> (tensor<2x4x4xf32>, tensor<10x4x8xf32>) {
  %last, %ys = grad.scan 10 from (%h0) over (%xs, %qs) with (%w, %k) : (tensor<2x4x4xf32>, tensor<10x4x8xf32>, tensor<10x2x4x8xf32>, tensor<8x8xf32>, tensor<2x8x8xf32>) -> (tensor<2x4x4xf32>, tensor<10x4x8xf32>) {
  ^bb0(%h: tensor<2x4x4xf32>, %x: tensor<4x8xf32>, %q: tensor<2x4x8xf32>, %a: tensor<8x8xf32>, %b: tensor<2x8x8xf32>):
    %0 = grad.matmul %x, %a transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32>
    %1 = grad.matmul %q, %b : tensor<2x4x8xf32>, tensor<2x8x8xf32>
    %2 = grad.matmul %1, %q transpose_rhs : tensor<2x4x8xf32>, tensor<2x4x8xf32>
    %3 = grad.add %h, %2 : tensor<2x4x4xf32>
    grad.yield %3, %0 : tensor<2x4x4xf32>, tensor<4x8xf32>
  }
  return %last, %ys : tensor<2x4x4xf32>, tensor<10x4x8xf32>
}

// The gradient of a weight, as the sum of two products, leaves the loop as one product each, over all steps. Operands that are
// stacked already are not stacked again.
// CHECK-LABEL: @sum
// CHECK: %[[GS:[0-9]+]]:2 = grad.scan 10 reverse from(%arg2) over(%arg1)
// CHECK-NOT: grad.matmul
// CHECK: grad.yield %[[G:.*]], %[[G]] :
// CHECK: %[[A:.*]] = grad.convolution %arg0, %[[GS]]#1 dims "dab,dac->bc" window <[]> : tensor<10x4x8xf32>, tensor<10x4x8xf32>
// CHECK: %[[SUM:.*]] = grad.add %arg3, %[[A]]
// CHECK: %[[B:.*]] = grad.convolution %[[GS]]#1, %[[GS]]#1 dims "dab,dac->bc" window <[]>
// CHECK: %[[ALL:.*]] = grad.add %[[SUM]], %[[B]]
// CHECK: return %[[ALL]]
func.func @sum(%xs: tensor<10x4x8xf32>, %gs: tensor<10x4x8xf32>, %h0: tensor<4x8xf32>, %dw0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %dw, %last = grad.scan 10 reverse from (%dw0, %h0) over (%xs, %gs) with () : (tensor<8x8xf32>, tensor<4x8xf32>, tensor<10x4x8xf32>, tensor<10x4x8xf32>) -> (tensor<8x8xf32>, tensor<4x8xf32>) {
  ^bb0(%sum: tensor<8x8xf32>, %h: tensor<4x8xf32>, %x: tensor<4x8xf32>, %g: tensor<4x8xf32>):
    %0 = grad.mul %h, %g : tensor<4x8xf32>
    %1 = grad.matmul %x, %0 transpose_lhs : tensor<4x8xf32>, tensor<4x8xf32>
    %2 = grad.matmul %0, %0 transpose_lhs : tensor<4x8xf32>, tensor<4x8xf32>
    %3 = grad.add %1, %2 : tensor<8x8xf32>
    %4 = grad.add %sum, %3 : tensor<8x8xf32>
    grad.yield %4, %0 : tensor<8x8xf32>, tensor<4x8xf32>
  }
  return %dw : tensor<8x8xf32>
}

// These sums remain: one that a step reads, one in 16 bits, one that is smaller than its operands' stacks, and one that fits in a cache, over
// steps of 32 rows.
// CHECK-LABEL: @stays
// CHECK-COUNT-4: grad.scan 10
// CHECK-NOT: grad.convolution
func.func @stays(%xs: tensor<10x4x8xf32>, %zero: tensor<8x8xf32>, %hs: tensor<10x4x8xf16>, %zero16: tensor<8x8xf16>, %long: tensor<10x24x2xf32>, %zero2: tensor<2x2xf32>, %wide: tensor<10x32x64xf32>, %zero64: tensor<64x64xf32>)
    -> (tensor<10x8x8xf32>, tensor<8x8xf16>, tensor<2x2xf32>, tensor<64x64xf32>) {
  %read, %sums = grad.scan 10 from (%zero) over (%xs) with () : (tensor<8x8xf32>, tensor<10x4x8xf32>) -> (tensor<8x8xf32>, tensor<10x8x8xf32>) {
  ^bb0(%sum: tensor<8x8xf32>, %x: tensor<4x8xf32>):
    %0 = grad.matmul %x, %x transpose_lhs : tensor<4x8xf32>, tensor<4x8xf32>
    %1 = grad.add %sum, %0 : tensor<8x8xf32>
    grad.yield %1, %sum : tensor<8x8xf32>, tensor<8x8xf32>
  }
  %half = grad.scan 10 from (%zero16) over (%hs) with () : (tensor<8x8xf16>, tensor<10x4x8xf16>) -> tensor<8x8xf16> {
  ^bb0(%sum: tensor<8x8xf16>, %x: tensor<4x8xf16>):
    %0 = grad.matmul %x, %x transpose_lhs : tensor<4x8xf16>, tensor<4x8xf16>
    %1 = grad.add %sum, %0 : tensor<8x8xf16>
    grad.yield %1 : tensor<8x8xf16>
  }
  %few = grad.scan 10 from (%zero2) over (%long) with () : (tensor<2x2xf32>, tensor<10x24x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%sum: tensor<2x2xf32>, %x: tensor<24x2xf32>):
    %y = grad.exp %x : tensor<24x2xf32>
    %0 = grad.matmul %y, %y transpose_lhs : tensor<24x2xf32>, tensor<24x2xf32>
    %1 = grad.add %sum, %0 : tensor<2x2xf32>
    grad.yield %1 : tensor<2x2xf32>
  }
  %cached = grad.scan 10 from (%zero64) over (%wide) with () : (tensor<64x64xf32>, tensor<10x32x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%sum: tensor<64x64xf32>, %x: tensor<32x64xf32>):
    %0 = grad.matmul %x, %x transpose_lhs : tensor<32x64xf32>, tensor<32x64xf32>
    %1 = grad.add %sum, %0 : tensor<64x64xf32>
    grad.yield %1 : tensor<64x64xf32>
  }
  return %sums, %half, %few, %cached : tensor<10x8x8xf32>, tensor<8x8xf16>, tensor<2x2xf32>, tensor<64x64xf32>
}

// Ops that a step runs conditionally remain.
// CHECK-LABEL: @guarded
// CHECK: grad.scan 10
// CHECK: grad.if
// CHECK: grad.matmul %{{.*}} : tensor<4x8xf32>, tensor<8x8xf32>
func.func @guarded(%xs: tensor<10x4x8xf32>, %w: tensor<8x8xf32>, %go: tensor<i1>, %h0: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %last = grad.scan 10 from (%h0) over (%xs) with (%w, %go) : (tensor<4x8xf32>, tensor<10x4x8xf32>, tensor<8x8xf32>, tensor<i1>) -> tensor<4x8xf32> {
  ^bb0(%h: tensor<4x8xf32>, %x: tensor<4x8xf32>, %a: tensor<8x8xf32>, %c: tensor<i1>):
    %n = grad.if %c with (%h, %x, %a) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%h1: tensor<4x8xf32>, %x1: tensor<4x8xf32>, %a1: tensor<8x8xf32>):
      %0 = grad.matmul %x1, %a1 : tensor<4x8xf32>, tensor<8x8xf32>
      grad.yield %0 : tensor<4x8xf32>
    } else {
    ^bb0(%h1: tensor<4x8xf32>, %x1: tensor<4x8xf32>, %a1: tensor<8x8xf32>):
      grad.yield %h1 : tensor<4x8xf32>
    }
    %m = grad.add %n, %h : tensor<4x8xf32>
    grad.yield %m : tensor<4x8xf32>
  }
  return %last : tensor<4x8xf32>
}

// The loop over the parts of a batch is unchanged; the model's own loop inside it is not.
// CHECK-LABEL: @parts
// CHECK: grad.scan 2 from
// CHECK: grad.matmul %{{.*}} : tensor<4x8xf32>, tensor<8x8xf32>
// CHECK: grad.convolution %{{.*}} : tensor<3x4x8xf32>, tensor<8x8xf32>
// CHECK: grad.scan 3 from
// CHECK-NOT: grad.matmul
// CHECK: return
func.func @parts(%xs: tensor<2x4x8xf32>, %zs: tensor<2x3x4x8xf32>, %w: tensor<8x8xf32>, %h0: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {grad.in_parts} {
  %last = grad.scan 2 from (%h0) over (%xs, %zs) with (%w) : (tensor<4x8xf32>, tensor<2x4x8xf32>, tensor<2x3x4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%h: tensor<4x8xf32>, %x: tensor<4x8xf32>, %z: tensor<3x4x8xf32>, %a: tensor<8x8xf32>):
    %0 = grad.matmul %x, %a : tensor<4x8xf32>, tensor<8x8xf32>
    %1 = grad.add %0, %h : tensor<4x8xf32>
    %2 = grad.scan 3 from (%1) over (%z) with (%a) : (tensor<4x8xf32>, tensor<3x4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%k: tensor<4x8xf32>, %y: tensor<4x8xf32>, %c: tensor<8x8xf32>):
      %3 = grad.matmul %y, %c : tensor<4x8xf32>, tensor<8x8xf32>
      %4 = grad.mul %k, %3 : tensor<4x8xf32>
      grad.yield %4 : tensor<4x8xf32>
    }
    grad.yield %2 : tensor<4x8xf32>
  }
  return %last : tensor<4x8xf32>
}

// A product after the loop takes a constant as it is, even if the loop stacks it as well, as gradients of gradients do.
// CHECK-LABEL: @constant_stack
// CHECK: %[[C:.*]] = grad.constant dense<2.000000e+00> : tensor<8x3xf32>
// CHECK: %[[H:[0-9]+]]:{{[0-9]+}} = grad.scan 10
// CHECK: %[[Y:.*]] = grad.convolution %[[H]]#{{[0-9]+}}, %[[C]] dims "dab,bc->dac" window <[]> : tensor<10x4x8xf32>, tensor<8x3xf32>
// CHECK: return %[[Y]], %[[H]]#{{[0-9]+}} : tensor<10x4x3xf32>, tensor<10x8x3xf32>
func.func @constant_stack(%xs: tensor<10x4x8xf32>, %h0: tensor<4x8xf32>) -> (tensor<10x4x3xf32>, tensor<10x8x3xf32>) {
  %last, %ys, %cs = grad.scan 10 from (%h0) over (%xs) with () : (tensor<4x8xf32>, tensor<10x4x8xf32>) -> (tensor<4x8xf32>, tensor<10x4x3xf32>, tensor<10x8x3xf32>) {
  ^bb0(%h: tensor<4x8xf32>, %x: tensor<4x8xf32>):
    %c = grad.constant dense<2.0> : tensor<8x3xf32>
    %0 = grad.add %h, %x : tensor<4x8xf32>
    %1 = grad.tanh %0 : tensor<4x8xf32>
    %2 = grad.matmul %1, %c : tensor<4x8xf32>, tensor<8x3xf32>
    grad.yield %1, %2, %c : tensor<4x8xf32>, tensor<4x3xf32>, tensor<8x3xf32>
  }
  return %ys, %cs : tensor<10x4x3xf32>, tensor<10x8x3xf32>
}

// A loop that a condition may end loses what no step changes, if it has a first step. Nothing is computed over all of its steps.
// CHECK-LABEL: @ends
// CHECK: %[[W:.*]] = grad.mul %arg1, %arg2
// CHECK: grad.scan 10 while 0 from
// CHECK-NOT: grad.mul
// CHECK: grad.matmul
// CHECK: grad.scan 10 while 0 from
// CHECK: grad.mul
// CHECK: grad.matmul
// CHECK: return
func.func @ends(%h0: tensor<8x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>, %go0: tensor<i1>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %yes = grad.constant dense<true> : tensor<i1>
  %r:2 = grad.scan 10 while 0 from (%yes, %h0) over () with (%w, %v) : (tensor<i1>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<i1>, tensor<8x8xf32>) {
  ^bb0(%go: tensor<i1>, %h: tensor<8x8xf32>, %a: tensor<8x8xf32>, %b: tensor<8x8xf32>):
    %0 = grad.mul %a, %b : tensor<8x8xf32>
    %1 = grad.matmul %h, %0 : tensor<8x8xf32>, tensor<8x8xf32>
    %2 = grad.reduce_sum %1 dims [0, 1] : tensor<8x8xf32>
    %3 = grad.compare lt %2, %2 : tensor<f32>
    grad.yield %3, %1 : tensor<i1>, tensor<8x8xf32>
  }
  %s:2 = grad.scan 10 while 0 from (%go0, %h0) over () with (%w, %v) : (tensor<i1>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<i1>, tensor<8x8xf32>) {
  ^bb0(%go: tensor<i1>, %h: tensor<8x8xf32>, %a: tensor<8x8xf32>, %b: tensor<8x8xf32>):
    %0 = grad.mul %a, %b : tensor<8x8xf32>
    %1 = grad.matmul %0, %b : tensor<8x8xf32>, tensor<8x8xf32>
    %2 = grad.add %h, %1 : tensor<8x8xf32>
    %3 = grad.reduce_sum %2 dims [0, 1] : tensor<8x8xf32>
    %4 = grad.compare lt %3, %3 : tensor<f32>
    grad.yield %4, %2 : tensor<i1>, tensor<8x8xf32>
  }
  return %r#1, %s#1 : tensor<8x8xf32>, tensor<8x8xf32>
}
