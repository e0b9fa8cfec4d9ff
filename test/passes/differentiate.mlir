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

// A barrier has done its work: values that rewrites may merge from now on.

// CHECK-LABEL: @barrier
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @barrier(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: grad.optimization_barrier
  // CHECK: %[[SQUARE:.*]] = grad.mul %[[X]], %[[X]]
  // CHECK: %[[TO_T:.*]] = grad.mul %[[X]], %
  // CHECK: %[[TO_X:.*]] = grad.add
  // CHECK: return %[[TO_T]], %[[TO_X]]
  %t = grad.optimization_barrier "t" %x : tensor<4xf32>
  %0 = grad.mul %t, %x : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  %2:2 = grad.gradient %1 wrt %t, %x : tensor<f32>, tensor<4xf32>, tensor<4xf32>
  return %2#0, %2#1 : tensor<4xf32>, tensor<4xf32>
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

// Gradients of slices that do not overlap are put side by side, in whatever order they are added, with zeros in the gaps between them. Slices
// with strides, and slices of several dims, are padded and added.

// CHECK-LABEL: @slices
func.func @slices(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  // CHECK: %[[JOINED:.*]] = grad.concatenate %{{.*}}, %{{.*}}, %{{.*}} dim 1 : tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x3xf32>
  // CHECK-NEXT: return %[[JOINED]]
  %a = grad.slice %x starts [0, 0] sizes [2, 2] strides [1, 1] : tensor<2x6xf32>
  %b = grad.slice %x starts [0, 3] sizes [2, 3] strides [1, 1] : tensor<2x6xf32>
  %c = grad.slice %x starts [0, 2] sizes [2, 1] strides [1, 1] : tensor<2x6xf32>
  %0 = grad.sin %a : tensor<2x2xf32>
  %1 = grad.exp %b : tensor<2x3xf32>
  %2 = grad.tanh %c : tensor<2x1xf32>
  %s0 = grad.reduce_sum %0 dims [0, 1] : tensor<2x2xf32>
  %s1 = grad.reduce_sum %1 dims [0, 1] : tensor<2x3xf32>
  %s2 = grad.reduce_sum %2 dims [0, 1] : tensor<2x1xf32>
  %s = grad.add %s0, %s1 : tensor<f32>
  %loss = grad.add %s, %s2 : tensor<f32>
  %dx = grad.gradient %loss wrt %x : tensor<f32>, tensor<2x6xf32>
  return %dx : tensor<2x6xf32>
}

// CHECK-LABEL: @some_slices
func.func @some_slices(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  // CHECK: %[[JOINED:.*]] = grad.concatenate %{{.*}}, %{{.*}} dim 1 : tensor<2x1xf32>, tensor<2x3xf32>
  // CHECK: %[[PADDED:.*]] = grad.pad %[[JOINED]] low [0, 1] high [0, 1]
  // CHECK-NEXT: return %[[PADDED]]
  %a = grad.slice %x starts [0, 1] sizes [2, 1] strides [1, 1] : tensor<2x6xf32>
  %b = grad.slice %x starts [0, 2] sizes [2, 3] strides [1, 1] : tensor<2x6xf32>
  %0 = grad.exp %a : tensor<2x1xf32>
  %1 = grad.exp %b : tensor<2x3xf32>
  %s0 = grad.reduce_sum %0 dims [0, 1] : tensor<2x1xf32>
  %s1 = grad.reduce_sum %1 dims [0, 1] : tensor<2x3xf32>
  %loss = grad.add %s0, %s1 : tensor<f32>
  %dx = grad.gradient %loss wrt %x : tensor<f32>, tensor<2x6xf32>
  return %dx : tensor<2x6xf32>
}

// CHECK-LABEL: @gaps
func.func @gaps(%x: tensor<2x9xf32>) -> tensor<2x9xf32> {
  // CHECK: %[[ZERO:.*]] = grad.constant dense<0.000000e+00> : tensor<2x3xf32>
  // CHECK: %[[JOINED:.*]] = grad.concatenate %{{.*}}, %[[ZERO]], %{{.*}} dim 1 : tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x2xf32>
  // CHECK: %[[PADDED:.*]] = grad.pad %[[JOINED]] low [0, 1] high [0, 2]
  // CHECK-NEXT: return %[[PADDED]]
  %a = grad.slice %x starts [0, 1] sizes [2, 1] strides [1, 1] : tensor<2x9xf32>
  %b = grad.slice %x starts [0, 5] sizes [2, 2] strides [1, 1] : tensor<2x9xf32>
  %0 = grad.exp %a : tensor<2x1xf32>
  %1 = grad.exp %b : tensor<2x2xf32>
  %s0 = grad.reduce_sum %0 dims [0, 1] : tensor<2x1xf32>
  %s1 = grad.reduce_sum %1 dims [0, 1] : tensor<2x2xf32>
  %loss = grad.add %s0, %s1 : tensor<f32>
  %dx = grad.gradient %loss wrt %x : tensor<f32>, tensor<2x9xf32>
  return %dx : tensor<2x9xf32>
}

// A gap is filled by a slice that comes later, also where the pieces cover the tensor from its beginning to its end.
// CHECK-LABEL: @filled_gap
func.func @filled_gap(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  // CHECK: %[[JOINED:.*]] = grad.concatenate %{{.*}}, %{{.*}}, %{{.*}} dim 1 : tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x3xf32>
  // CHECK-NEXT: return %[[JOINED]]
  %c = grad.slice %x starts [0, 2] sizes [2, 1] strides [1, 1] : tensor<2x6xf32>
  %a = grad.slice %x starts [0, 0] sizes [2, 2] strides [1, 1] : tensor<2x6xf32>
  %b = grad.slice %x starts [0, 3] sizes [2, 3] strides [1, 1] : tensor<2x6xf32>
  %0 = grad.sin %a : tensor<2x2xf32>
  %1 = grad.exp %b : tensor<2x3xf32>
  %2 = grad.tanh %c : tensor<2x1xf32>
  %s0 = grad.reduce_sum %0 dims [0, 1] : tensor<2x2xf32>
  %s1 = grad.reduce_sum %1 dims [0, 1] : tensor<2x3xf32>
  %s2 = grad.reduce_sum %2 dims [0, 1] : tensor<2x1xf32>
  %s = grad.add %s0, %s1 : tensor<f32>
  %loss = grad.add %s, %s2 : tensor<f32>
  %dx = grad.gradient %loss wrt %x : tensor<f32>, tensor<2x6xf32>
  return %dx : tensor<2x6xf32>
}

// Of windows that overlap, every other one is beside the next: two concatenations are added in place of four pads.
// CHECK-LABEL: @windows
func.func @windows(%x: tensor<2x10xf32>) -> tensor<2x10xf32> {
  // CHECK: %[[ODD:.*]] = grad.concatenate %{{.*}}, %{{.*}} dim 1 : tensor<2x4xf32>, tensor<2x4xf32>
  // CHECK: %[[ODDS:.*]] = grad.pad %[[ODD]] low [0, 2] high [0, 0]
  // CHECK: %[[EVEN:.*]] = grad.concatenate %{{.*}}, %{{.*}} dim 1 : tensor<2x4xf32>, tensor<2x4xf32>
  // CHECK: %[[EVENS:.*]] = grad.pad %[[EVEN]] low [0, 0] high [0, 2]
  // CHECK: %[[SUM:.*]] = grad.add %[[ODDS]], %[[EVENS]]
  // CHECK-NEXT: return %[[SUM]]
  %a = grad.slice %x starts [0, 0] sizes [2, 4] strides [1, 1] : tensor<2x10xf32>
  %b = grad.slice %x starts [0, 2] sizes [2, 4] strides [1, 1] : tensor<2x10xf32>
  %c = grad.slice %x starts [0, 4] sizes [2, 4] strides [1, 1] : tensor<2x10xf32>
  %d = grad.slice %x starts [0, 6] sizes [2, 4] strides [1, 1] : tensor<2x10xf32>
  %0 = grad.exp %a : tensor<2x4xf32>
  %1 = grad.sin %b : tensor<2x4xf32>
  %2 = grad.tanh %c : tensor<2x4xf32>
  %3 = grad.cos %d : tensor<2x4xf32>
  %s0 = grad.add %0, %1 : tensor<2x4xf32>
  %s1 = grad.add %2, %3 : tensor<2x4xf32>
  %s = grad.add %s0, %s1 : tensor<2x4xf32>
  %loss = grad.reduce_sum %s dims [0, 1] : tensor<2x4xf32>
  %dx = grad.gradient %loss wrt %x : tensor<f32>, tensor<2x10xf32>
  return %dx : tensor<2x10xf32>
}

// CHECK-LABEL: @apart
// CHECK-NOT: grad.concatenate
// CHECK: return
func.func @apart(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = grad.slice %x starts [0, 0] sizes [4, 2] strides [1, 1] : tensor<4x6xf32>
  %b = grad.slice %x starts [0, 1] sizes [4, 2] strides [1, 2] : tensor<4x6xf32>
  %c = grad.slice %x starts [2, 4] sizes [2, 2] strides [1, 1] : tensor<4x6xf32>
  %0 = grad.exp %a : tensor<4x2xf32>
  %1 = grad.exp %b : tensor<4x2xf32>
  %2 = grad.exp %c : tensor<2x2xf32>
  %s0 = grad.reduce_sum %0 dims [0, 1] : tensor<4x2xf32>
  %s1 = grad.reduce_sum %1 dims [0, 1] : tensor<4x2xf32>
  %s2 = grad.reduce_sum %2 dims [0, 1] : tensor<2x2xf32>
  %s = grad.add %s0, %s1 : tensor<f32>
  %loss = grad.add %s, %s2 : tensor<f32>
  %dx = grad.gradient %loss wrt %x : tensor<f32>, tensor<4x6xf32>
  return %dx : tensor<4x6xf32>
}

// What is repeated for each row gets the gradient of a mean over rows times their number, which the mean's operand shows.

// CHECK-LABEL: @mean_of_rows
// CHECK-NOT: grad.reduce_sum %{{.*}} dims [0] : tensor<8x2xf32>
// CHECK: %[[ROWS:.*]] = grad.count %{{.*}} dims [0] : tensor<8x1x2xf32>
// CHECK: grad.broadcast %[[ROWS]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK: %[[SAME:.*]] = grad.count %{{.*}} dims [0] : tensor<8x2xf32>
// CHECK: grad.mul %{{.*}}, %[[SAME]]
// CHECK: %[[SUM:.*]] = grad.add
// CHECK: return %[[SUM]] : tensor<2xf32>
func.func @mean_of_rows(%x: tensor<8x3xf32> {grad.batched}, %w: tensor<3x2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> attributes {grad.batch = 8 : i64} {
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x2xf32>
  %1 = grad.broadcast %b dims [1] : tensor<2xf32> -> tensor<8x2xf32>
  %2 = grad.add %0, %1 : tensor<8x2xf32>
  %3 = grad.reduce_mean %2 dims [0, 1] : tensor<8x2xf32>
  %4 = grad.sub %1, %0 : tensor<8x2xf32>
  %5 = grad.reshape %4 : tensor<8x2xf32> -> tensor<8x1x2xf32>
  %6 = grad.reduce_mean %5 dims [0, 1] : tensor<8x1x2xf32>
  %7 = grad.reduce_sum %6 dims [0] : tensor<2xf32>
  %8 = grad.sub %3, %7 : tensor<f32>
  %9 = grad.gradient %8 wrt %b : tensor<f32>, tensor<2xf32>
  return %9 : tensor<2xf32>
}
