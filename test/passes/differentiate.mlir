// RUN: gradc-opt %s -gradc-differentiate | FileCheck %s

// Contributions are added, and ops that only the input's gradient would need are not built.

// CHECK-LABEL: @fan_out
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>)
func.func @fan_out(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[E:.*]] = grad.exp %[[W]]
  // CHECK: %[[PRODUCT:.*]] = grad.mul %[[E]], %[[W]]
  // CHECK: grad.reduce_sum
  // CHECK: %[[TO_E:.*]] = grad.mul %{{.*}}, %[[W]]
  // CHECK: %[[TO_W:.*]] = grad.mul %{{.*}}, %[[E]]
  // CHECK: %[[THROUGH:.*]] = grad.mul %[[TO_E]], %[[E]]
  // CHECK: %[[SUM:.*]] = grad.add %[[TO_W]], %[[THROUGH]]
  // CHECK-NEXT: return %[[SUM]]
  %0 = grad.exp %w : tensor<4xf32>
  %1 = grad.mul %0, %w : tensor<4xf32>
  %2 = grad.mul %1, %x : tensor<4xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<4xf32>
  %4 = grad.gradient %3 wrt %w : tensor<f32>, tensor<4xf32>
  return %4 : tensor<4xf32>
}

// Several requests for one objective share the forward and the backward.

// CHECK-LABEL: @shared
func.func @shared(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<2x3xf32>) {
  // CHECK-COUNT-1: grad.tanh
  // CHECK: grad.matmul %{{.*}} transpose_rhs
  // CHECK: grad.matmul %{{.*}} transpose_lhs
  // CHECK-NOT: grad.matmul
  // CHECK: return
  %0 = grad.matmul %x, %w : tensor<2x3xf32>, tensor<3x4xf32>
  %1 = grad.tanh %0 : tensor<2x4xf32>
  %2 = grad.reduce_sum %1 dims [0, 1] : tensor<2x4xf32>
  %3 = grad.gradient %2 wrt %w : tensor<f32>, tensor<3x4xf32>
  %4 = grad.gradient %2 wrt %x : tensor<f32>, tensor<2x3xf32>
  return %3, %4 : tensor<3x4xf32>, tensor<2x3xf32>
}

// An intermediate value can be a target, and so can the objective.

// CHECK-LABEL: @intermediate
func.func @intermediate(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  // CHECK: %[[Y:.*]] = grad.exp
  // CHECK: %[[Z:.*]] = grad.exp %[[Y]]
  // CHECK: %[[ONE:.*]] = grad.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: %[[TO_Y:.*]] = grad.mul {{.*}}%[[Z]]
  // CHECK-NEXT: return %[[TO_Y]], %[[ONE]]
  %y = grad.exp %x : tensor<4xf32>
  %z = grad.exp %y : tensor<4xf32>
  %s = grad.reduce_sum %z dims [0] : tensor<4xf32>
  %0:2 = grad.gradient %s wrt %y, %s : tensor<f32>, tensor<4xf32>, tensor<f32>
  return %0#0, %0#1 : tensor<4xf32>, tensor<f32>
}

// Requests nest; DifferentiateTest.cpp checks the numbers.

// CHECK-LABEL: @nested
func.func @nested(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NOT: grad.gradient
  // CHECK: return
  %0 = grad.mul %x, %x : tensor<f32>
  %1 = grad.gradient %0 wrt %x : tensor<f32>, tensor<f32>
  %2 = grad.mul %1, %0 : tensor<f32>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<f32>
  return %3 : tensor<f32>
}

// A target that the objective does not depend on, or only through steps, has a zero gradient.

// CHECK-LABEL: @zero
func.func @zero(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[X:.*]] = grad.constant dense<0.000000e+00> : tensor<4xf32>
  // CHECK-DAG: %[[Y:.*]] = grad.constant dense<0.000000e+00> : tensor<4xf32>
  // CHECK: return %{{.*}}, %{{.*}}
  %0 = grad.floor %x : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  %2:2 = grad.gradient %1 wrt %x, %y : tensor<f32>, tensor<4xf32>, tensor<4xf32>
  return %2#0, %2#1 : tensor<4xf32>, tensor<4xf32>
}

// Functions without requests are unchanged.

// CHECK-LABEL: @untouched
func.func @untouched(%x: tensor<4xf32>) -> tensor<f32> {
  // CHECK-NEXT: grad.exp
  // CHECK-NEXT: grad.reduce_sum
  // CHECK-NEXT: return
  %0 = grad.exp %x : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// A zero gradient has rows of the batch if its target has; a constant has none.
// CHECK-LABEL: func.func @zero_of_rows
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK: %[[FINITE:.*]] = grad.is_finite %[[X]]
// CHECK: %[[FACTOR:.*]] = grad.cast %[[FINITE]]
// CHECK: %[[G:.*]] = grad.mul %[[FACTOR]]
// CHECK: return %[[G]]
func.func @zero_of_rows(%x: tensor<8x4xf32>, %s: tensor<f32>) -> tensor<8x4xf32> attributes {grad.batch = 8 : i64} {
  %0 = grad.gradient %s wrt %x : tensor<f32>, tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
