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
