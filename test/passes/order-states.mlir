// RUN: gradc-opt %s -gradc-order-states | FileCheck %s

// Every reader applies the same transpose: the state is stored transposed, with its initial value in the model's order.
// CHECK: grad.state parameter @filter : tensor<3x3x2x4xf32> permutation [2, 3, 1, 0] = dense<0.000000e+00> : tensor<4x2x3x3xf32>
grad.state parameter @filter : tensor<4x2x3x3xf32> = dense<0.0> : tensor<4x2x3x3xf32>
// A product's transpose flag counts as a transpose.
// CHECK: grad.state parameter @weight : tensor<8x16xf32> permutation [1, 0]
grad.state parameter @weight : tensor<16x8xf32> = dense<0.0> : tensor<16x8xf32>
// A state with two orders among its readers, or none, is unchanged.
// CHECK: grad.state parameter @tied : tensor<8x8xf32> = dense
grad.state parameter @tied : tensor<8x8xf32> = dense<0.0> : tensor<8x8xf32>
// CHECK: grad.state parameter @plain : tensor<8x16xf32> = dense
grad.state parameter @plain : tensor<8x16xf32> = dense<0.0> : tensor<8x16xf32>
// A state that products read only through one reshape is stored in the new shape, and transposed like other states.
// CHECK: grad.state parameter @directions : tensor<8x16xf32> shape [1, 16, 8] permutation [1, 0] = dense<0.000000e+00> : tensor<1x16x8xf32>
grad.state parameter @directions : tensor<1x16x8xf32> = dense<0.0> : tensor<1x16x8xf32>
// The same of what a loop or a branch hands on.
// CHECK: grad.state parameter @recurrent : tensor<8x8xf32> shape [1, 8, 8] permutation [1, 0] = dense
grad.state parameter @recurrent : tensor<1x8x8xf32> = dense<0.0> : tensor<1x8x8xf32>
// CHECK: grad.state parameter @branch : tensor<8x16xf32> permutation [1, 0] = dense
grad.state parameter @branch : tensor<16x8xf32> = dense<0.0> : tensor<16x8xf32>
// The same of a reshape that is transposed: a list of scales, a row for each column of a product.
// CHECK: grad.state parameter @list : tensor<4x8xf32> shape [32] permutation [1, 0] = dense<0.000000e+00> : tensor<32xf32>
grad.state parameter @list : tensor<32xf32> = dense<0.0> : tensor<32xf32>
// If it is transposed in two ways, only its shape is known.
// CHECK: grad.state parameter @orders : tensor<2x4x4xf32> shape [32] = dense
grad.state parameter @orders : tensor<32xf32> = dense<0.0> : tensor<32xf32>
// A state stays in its shape if a reader takes it so, or in a third one, or if the order of its new dims is of no use.
// CHECK: grad.state parameter @whole : tensor<1x8x16xf32> = dense
grad.state parameter @whole : tensor<1x8x16xf32> = dense<0.0> : tensor<1x8x16xf32>
// CHECK: grad.state parameter @shapes : tensor<1x8x16xf32> = dense
grad.state parameter @shapes : tensor<1x8x16xf32> = dense<0.0> : tensor<1x8x16xf32>
// CHECK: grad.state parameter @scale : tensor<8xf32> = dense
grad.state parameter @scale : tensor<8xf32> = dense<0.0> : tensor<8xf32>
// CHECK: grad.state parameter @bias : tensor<8xf32> = dense
grad.state parameter @bias : tensor<8xf32> = dense<0.0> : tensor<8xf32>
// A filter that all entries which convolve scale element by element before they transpose it is stored in that order, too; what
// another entry returns is transposed back.
// CHECK: grad.state parameter @scaled : tensor<3x3x2x4xf32> permutation [2, 3, 1, 0] = dense
grad.state parameter @scaled : tensor<4x2x3x3xf32> = dense<0.0> : tensor<4x2x3x3xf32>
// Not if they transpose in two ways, if another op reads it, or if nothing transposes.
// CHECK: grad.state parameter @two_ways : tensor<4x8xf32> = dense
grad.state parameter @two_ways : tensor<4x8xf32> = dense<0.0> : tensor<4x8xf32>
// CHECK: grad.state parameter @multiplied : tensor<8x16xf32> = dense
grad.state parameter @multiplied : tensor<8x16xf32> = dense<0.0> : tensor<8x16xf32>
// CHECK: grad.state parameter @negated : tensor<4x8xf32> = dense
grad.state parameter @negated : tensor<4x8xf32> = dense<0.0> : tensor<4x8xf32>
// A state that is already written has a user that expects its order.
// CHECK: grad.state statistic @written : tensor<2x3xf32> = dense
grad.state statistic @written : tensor<2x3xf32> = dense<0.0> : tensor<2x3xf32>

// CHECK-LABEL: func.func @first
func.func @first(%x: tensor<4x8xf32>) -> (tensor<3x3x2x4xf32>, tensor<4x16xf32>) {
  // CHECK: %[[F:.*]] = grad.read @filter : tensor<3x3x2x4xf32>
  // CHECK-NOT: grad.transpose
  %f = grad.read @filter : tensor<4x2x3x3xf32>
  %t = grad.transpose %f permutation [2, 3, 1, 0] : tensor<4x2x3x3xf32>
  // CHECK: %[[W:.*]] = grad.read @weight : tensor<8x16xf32>
  // CHECK: %[[Y:.*]] = grad.matmul %{{.*}}, %[[W]] : tensor<4x8xf32>, tensor<8x16xf32>
  %w = grad.read @weight : tensor<16x8xf32>
  %y = grad.matmul %x, %w transpose_rhs : tensor<4x8xf32>, tensor<16x8xf32>
  // CHECK: return %[[F]], %[[Y]]
  return %t, %y : tensor<3x3x2x4xf32>, tensor<4x16xf32>
}

// CHECK-LABEL: func.func @second
func.func @second(%x: tensor<4x8xf32>) -> (tensor<3x3x2x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>, tensor<3x2xf32>) {
  %f = grad.read @filter : tensor<4x2x3x3xf32>
  %t = grad.transpose %f permutation [2, 3, 1, 0] : tensor<4x2x3x3xf32>
  // CHECK: grad.read @tied : tensor<8x8xf32>
  // CHECK: grad.matmul %{{.*}}, %{{.*}} transpose_rhs
  %r = grad.read @tied : tensor<8x8xf32>
  %a = grad.matmul %x, %r : tensor<4x8xf32>, tensor<8x8xf32>
  %b = grad.matmul %x, %r transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32>
  %p = grad.read @plain : tensor<8x16xf32>
  %c = grad.matmul %x, %p : tensor<4x8xf32>, tensor<8x16xf32>
  %s = grad.read @written : tensor<2x3xf32>
  %d = grad.transpose %s permutation [1, 0] : tensor<2x3xf32>
  %n = grad.neg %s : tensor<2x3xf32>
  grad.write @written, %n : tensor<2x3xf32>
  return %t, %a, %b, %c, %d : tensor<3x3x2x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>, tensor<3x2xf32>
}

// CHECK-LABEL: func.func @reshaped
func.func @reshaped(%x: tensor<4x8xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<1x8x16xf32>, tensor<4x16xf32>, tensor<8x32xf32>, tensor<1x8xf32>) {
  // CHECK: %[[D:.*]] = grad.read @directions : tensor<8x16xf32>
  // CHECK: grad.matmul %arg0, %[[D]] : tensor<4x8xf32>, tensor<8x16xf32>
  %d = grad.read @directions : tensor<1x16x8xf32>
  %m = grad.reshape %d : tensor<1x16x8xf32> -> tensor<16x8xf32>
  %a = grad.matmul %x, %m transpose_rhs : tensor<4x8xf32>, tensor<16x8xf32>
  %w = grad.read @whole : tensor<1x8x16xf32>
  %n = grad.reshape %w : tensor<1x8x16xf32> -> tensor<8x16xf32>
  %b = grad.matmul %x, %n : tensor<4x8xf32>, tensor<8x16xf32>
  %c = grad.neg %w : tensor<1x8x16xf32>
  %s = grad.read @shapes : tensor<1x8x16xf32>
  %first = grad.reshape %s : tensor<1x8x16xf32> -> tensor<8x16xf32>
  %e = grad.matmul %x, %first : tensor<4x8xf32>, tensor<8x16xf32>
  %y = grad.reshape %x : tensor<4x8xf32> -> tensor<8x4xf32>
  %second = grad.reshape %s : tensor<1x8x16xf32> -> tensor<4x32xf32>
  %f = grad.matmul %y, %second : tensor<8x4xf32>, tensor<4x32xf32>
  // CHECK: grad.read @scale : tensor<8xf32>
  %v = grad.read @scale : tensor<8xf32>
  %column = grad.reshape %v : tensor<8xf32> -> tensor<1x8xf32>
  %g = grad.neg %column : tensor<1x8xf32>
  return %a, %b, %c, %e, %f, %g : tensor<4x16xf32>, tensor<4x16xf32>, tensor<1x8x16xf32>, tensor<4x16xf32>, tensor<8x32xf32>, tensor<1x8xf32>
}

// CHECK-LABEL: func.func @regions
func.func @regions(%c: tensor<i1>, %x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x16xf32>) {
  // CHECK: %[[R:.*]] = grad.read @recurrent : tensor<8x8xf32>
  // CHECK: grad.scan 3 from(%arg1) over() with(%[[R]]) : (tensor<4x8xf32>, tensor<8x8xf32>)
  // CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x8xf32>):
  // CHECK-NEXT: grad.matmul %[[H]], %[[W]] : tensor<4x8xf32>, tensor<8x8xf32>
  %r = grad.read @recurrent : tensor<1x8x8xf32>
  %m = grad.reshape %r : tensor<1x8x8xf32> -> tensor<8x8xf32>
  %h = grad.scan 3 from (%x) over () with (%m) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%state: tensor<4x8xf32>, %w: tensor<8x8xf32>):
    %next = grad.matmul %state, %w transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32>
    grad.yield %next : tensor<4x8xf32>
  }
  %b = grad.read @branch : tensor<16x8xf32>
  // CHECK: grad.if %arg0 with
  // CHECK: ^bb0(%[[OWN:.*]]: tensor<4x8xf32>, %[[A:.*]]: tensor<8x16xf32>):
  // CHECK-NEXT: grad.matmul %[[OWN]], %[[A]] : tensor<4x8xf32>, tensor<8x16xf32>
  // CHECK: ^bb0(%{{.*}}: tensor<4x8xf32>, %[[B:.*]]: tensor<8x16xf32>):
  // CHECK: grad.matmul %{{.*}}, %[[B]] : tensor<4x8xf32>, tensor<8x16xf32>
  %y = grad.if %c with (%x, %b) : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%own: tensor<4x8xf32>, %w: tensor<16x8xf32>):
    %then = grad.matmul %own, %w transpose_rhs : tensor<4x8xf32>, tensor<16x8xf32>
    grad.yield %then : tensor<4x16xf32>
  } else {
  ^bb0(%own: tensor<4x8xf32>, %w: tensor<16x8xf32>):
    %sum = grad.add %own, %own : tensor<4x8xf32>
    %else = grad.matmul %sum, %w transpose_rhs : tensor<4x8xf32>, tensor<16x8xf32>
    grad.yield %else : tensor<4x16xf32>
  }
  return %h, %y : tensor<4x8xf32>, tensor<4x16xf32>
}

// CHECK-LABEL: func.func @lists
func.func @lists() -> (tensor<4x8xf32>, tensor<2x4x4xf32>, tensor<4x4x2xf32>, tensor<1x1x1x8xf32>) {
  // CHECK: %[[L:.*]] = grad.read @list : tensor<4x8xf32>
  // CHECK-NEXT: %[[O:.*]] = grad.read @orders : tensor<2x4x4xf32>
  // CHECK-NEXT: %[[A:.*]] = grad.transpose %[[O]] permutation [0, 2, 1]
  // CHECK-NEXT: %[[B:.*]] = grad.transpose %[[O]] permutation [1, 2, 0]
  // CHECK-NEXT: grad.read @bias : tensor<8xf32>
  %l = grad.read @list : tensor<32xf32>
  %rows = grad.reshape %l : tensor<32xf32> -> tensor<8x4xf32>
  %t = grad.transpose %rows permutation [1, 0] : tensor<8x4xf32>
  %o = grad.read @orders : tensor<32xf32>
  %cube = grad.reshape %o : tensor<32xf32> -> tensor<2x4x4xf32>
  %a = grad.transpose %cube permutation [0, 2, 1] : tensor<2x4x4xf32>
  %b = grad.transpose %cube permutation [1, 2, 0] : tensor<2x4x4xf32>
  %bias = grad.read @bias : tensor<8xf32>
  %channels = grad.reshape %bias : tensor<8xf32> -> tensor<1x8x1x1xf32>
  %last = grad.transpose %channels permutation [0, 2, 3, 1] : tensor<1x8x1x1xf32>
  // CHECK: return %[[L]], %[[A]], %[[B]], %{{.*}}
  return %t, %a, %b, %last : tensor<4x8xf32>, tensor<2x4x4xf32>, tensor<4x4x2xf32>, tensor<1x1x1x8xf32>
}

// CHECK-LABEL: func.func @behind_ops
func.func @behind_ops(%x: tensor<4x8xf32>, %factor: tensor<4x2x3x3xf32>) -> (tensor<3x3x2x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x16xf32>, tensor<16x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[S:.*]] = grad.read @scaled : tensor<3x3x2x4xf32>
  // CHECK-NEXT: %[[BACK:.*]] = grad.transpose %[[S]] permutation [3, 2, 0, 1] : tensor<3x3x2x4xf32>
  // CHECK-NEXT: %[[M:.*]] = grad.mul %[[BACK]], %arg1 : tensor<4x2x3x3xf32>
  // CHECK-NEXT: grad.reduce_max %[[M]] dims [1, 2, 3]
  // CHECK: grad.transpose %{{.*}} permutation [2, 3, 1, 0]
  %w = grad.read @scaled : tensor<4x2x3x3xf32>
  %m = grad.mul %w, %factor : tensor<4x2x3x3xf32>
  %most = grad.reduce_max %m dims [1, 2, 3] : tensor<4x2x3x3xf32>
  %r = grad.round %m : tensor<4x2x3x3xf32>
  %t = grad.transpose %r permutation [2, 3, 1, 0] : tensor<4x2x3x3xf32>
  // CHECK: grad.read @two_ways : tensor<4x8xf32>
  %a = grad.read @two_ways : tensor<4x8xf32>
  %b = grad.neg %a : tensor<4x8xf32>
  %c = grad.transpose %b permutation [1, 0] : tensor<4x8xf32>
  %d = grad.transpose %a permutation [0, 1] : tensor<4x8xf32>
  %d2 = grad.neg %d : tensor<4x8xf32>
  %e = grad.transpose %d2 permutation [1, 0] : tensor<4x8xf32>
  // CHECK: grad.read @multiplied : tensor<8x16xf32>
  %f = grad.read @multiplied : tensor<8x16xf32>
  %g = grad.matmul %x, %f : tensor<4x8xf32>, tensor<8x16xf32>
  %h = grad.neg %f : tensor<8x16xf32>
  %i = grad.transpose %h permutation [1, 0] : tensor<8x16xf32>
  // CHECK: grad.read @negated : tensor<4x8xf32>
  %j = grad.read @negated : tensor<4x8xf32>
  %k = grad.neg %j : tensor<4x8xf32>
  return %t, %most, %c, %e, %g, %i, %k : tensor<3x3x2x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x16xf32>, tensor<16x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @exported
func.func @exported() -> tensor<4x2x3x3xi8> {
  // CHECK: %[[S:.*]] = grad.read @scaled : tensor<3x3x2x4xf32>
  // CHECK-NEXT: %[[BACK:.*]] = grad.transpose %[[S]] permutation [3, 2, 0, 1]
  // CHECK-NEXT: %[[R:.*]] = grad.round %[[BACK]]
  %w = grad.read @scaled : tensor<4x2x3x3xf32>
  %r = grad.round %w : tensor<4x2x3x3xf32>
  %codes = grad.cast %r : tensor<4x2x3x3xf32> -> tensor<4x2x3x3xi8>
  return %codes : tensor<4x2x3x3xi8>
}
