// RUN: gradc-opt %s -gradc-move-transposes -cse | FileCheck %s

// A picture has dims N, C, H, W; convolutions and pools need H, W first. One transpose remains at the input, and one before
// the reshape, which needs the model's order. Bias and ReLU follow their convolution directly.

// CHECK-LABEL: @channels_first
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x8x8xf32>
// CHECK: %[[I:.*]] = grad.transpose %[[X]] permutation [2, 3, 0, 1]
// CHECK-NEXT: %[[C1:.*]] = grad.convolution %[[I]],
// CHECK-NEXT: %[[B1:.*]] = grad.broadcast %{{.*}} dims [3] : tensor<4xf32> -> tensor<8x8x2x4xf32>
// CHECK-NEXT: %[[S1:.*]] = grad.add %[[C1]], %[[B1]]
// CHECK-NEXT: %[[R1:.*]] = grad.relu %[[S1]]
// CHECK-NEXT: %[[P:.*]], %{{.*}} = grad.window_max %[[R1]]
// CHECK-NEXT: %[[C2:.*]] = grad.convolution %[[P]],
// CHECK-NEXT: %[[S2:.*]] = grad.add %[[C2]], %[[P]]
// CHECK-NEXT: %[[R2:.*]] = grad.relu %[[S2]]
// CHECK-NEXT: %[[T:.*]] = grad.transpose %[[R2]] permutation [2, 3, 0, 1]
// CHECK-NEXT: grad.reshape %[[T]]
// CHECK-NOT: grad.transpose
func.func @channels_first(%x: tensor<2x3x8x8xf32>, %w1: tensor<3x3x3x4xf32>, %b1: tensor<4xf32>, %w2: tensor<3x3x4x4xf32>) -> tensor<2x64xf32> {
  %0 = grad.transpose %x permutation [2, 3, 0, 1] : tensor<2x3x8x8xf32>
  %1 = grad.convolution %0, %w1 dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<8x8x2x3xf32>, tensor<3x3x3x4xf32>
  %2 = grad.transpose %1 permutation [2, 3, 0, 1] : tensor<8x8x2x4xf32>
  %3 = grad.broadcast %b1 dims [1] : tensor<4xf32> -> tensor<2x4x8x8xf32>
  %4 = grad.add %2, %3 : tensor<2x4x8x8xf32>
  %5 = grad.relu %4 : tensor<2x4x8x8xf32>
  %6 = grad.transpose %5 permutation [2, 3, 0, 1] : tensor<2x4x8x8xf32>
  %7, %index = grad.window_max %6 window <[2, 2] stride [2, 2]> : tensor<8x8x2x4xf32>
  %8 = grad.transpose %7 permutation [2, 3, 0, 1] : tensor<4x4x2x4xf32>
  %9 = grad.transpose %8 permutation [2, 3, 0, 1] : tensor<2x4x4x4xf32>
  %10 = grad.convolution %9, %w2 dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<4x4x2x4xf32>, tensor<3x3x4x4xf32>
  %11 = grad.transpose %10 permutation [2, 3, 0, 1] : tensor<4x4x2x4xf32>
  %12 = grad.add %11, %8 : tensor<2x4x4x4xf32>
  %13 = grad.relu %12 : tensor<2x4x4x4xf32>
  %14 = grad.reshape %13 : tensor<2x4x4x4xf32> -> tensor<2x64xf32>
  return %14 : tensor<2x64xf32>
}

// A model in N, H, W, C: its transposes to N, C, H, W and then to H, W, N, C are merged. Normalization by channel is still by channel, and
// after the mean over the picture no transpose back is needed.

// CHECK-LABEL: @channels_last
// CHECK-SAME: (%[[X:.*]]: tensor<2x8x8x3xf32>
// CHECK: %[[I:.*]] = grad.transpose %[[X]] permutation [1, 2, 0, 3]
// CHECK-NEXT: %[[C1:.*]] = grad.convolution %[[I]],
// CHECK-NEXT: %[[N:.*]], %[[MEAN:.*]], %{{.*}} = grad.normalize %[[C1]] dims [0, 1, 2]
// CHECK-NEXT: %[[C2:.*]] = grad.convolution %[[N]],
// CHECK-NEXT: %[[R:.*]] = grad.reduce_mean %[[C2]] dims [0, 1]
// CHECK-NEXT: return %[[R]], %[[MEAN]]
func.func @channels_last(%x: tensor<2x8x8x3xf32>, %w1: tensor<3x3x3x4xf32>, %w2: tensor<3x3x4x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  %0 = grad.transpose %x permutation [0, 3, 1, 2] : tensor<2x8x8x3xf32>
  %1 = grad.transpose %0 permutation [2, 3, 0, 1] : tensor<2x3x8x8xf32>
  %2 = grad.convolution %1, %w1 dims "nc,co->no" window <[3, 3]> : tensor<8x8x2x3xf32>, tensor<3x3x3x4xf32>
  %3 = grad.transpose %2 permutation [2, 3, 0, 1] : tensor<6x6x2x4xf32>
  %4 = grad.transpose %3 permutation [0, 2, 3, 1] : tensor<2x4x6x6xf32>
  %5:3 = grad.normalize %4 dims [0, 1, 2] epsilon 1.0e-5 : tensor<2x6x6x4xf32>
  %6 = grad.transpose %5#0 permutation [0, 3, 1, 2] : tensor<2x6x6x4xf32>
  %7 = grad.transpose %6 permutation [2, 3, 0, 1] : tensor<2x4x6x6xf32>
  %8 = grad.convolution %7, %w2 dims "nc,co->no" window <[3, 3]> : tensor<6x6x2x4xf32>, tensor<3x3x4x4xf32>
  %9 = grad.transpose %8 permutation [2, 3, 0, 1] : tensor<4x4x2x4xf32>
  %10 = grad.transpose %9 permutation [0, 2, 3, 1] : tensor<2x4x4x4xf32>
  %11 = grad.reduce_mean %10 dims [1, 2] : tensor<2x4x4x4xf32>
  return %11, %5#1 : tensor<2x4xf32>, tensor<4xf32>
}

// Dims are renumbered in every attribute.

// CHECK-LABEL: @attributes
// CHECK-SAME: (%[[X:.*]]: tensor<4x2x3xf32>
// CHECK: %[[SOFT:.*]] = grad.softmax %[[X]] dim 0
// CHECK: %[[SLICE:.*]] = grad.slice %[[SOFT]] starts [3, 0, 1] sizes [3, 2, 2] strides [-1, 1, 1]
// CHECK: %[[PAD:.*]] = grad.pad %[[SLICE]] low [1, 0, 0] high [0, 0, 2] interior [0, 1, 0] {value = 2.000000e+00 : f64}
// CHECK: %[[Y:.*]] = grad.pad %[[X]] low [0, 0, 1]
// CHECK: %[[BOTH:.*]] = grad.concatenate %[[PAD]], %[[Y]] dim 1 :
// CHECK: %[[AT:.*]] = grad.argmax %[[BOTH]] dim 2
// CHECK: return %[[BOTH]], %[[AT]]
func.func @attributes(%x: tensor<4x2x3xf32>) -> (tensor<4x5x4xf32>, tensor<4x5xi64>) {
  %0 = grad.transpose %x permutation [1, 2, 0] : tensor<4x2x3xf32>
  %1 = grad.softmax %0 dim 2 : tensor<2x3x4xf32>
  %2 = grad.slice %1 starts [0, 1, 3] sizes [2, 2, 3] strides [1, 1, -1] : tensor<2x3x4xf32>
  %3 = grad.pad %2 low [0, 0, 1] high [0, 2, 0] interior [1, 0, 0] {value = 2.0 : f64} : tensor<2x2x3xf32>
  %y = grad.pad %0 low [0, 1, 0] high [0, 0, 0] interior [0, 0, 0] : tensor<2x3x4xf32>
  %4 = grad.concatenate %3, %y dim 0 : tensor<3x4x4xf32>, tensor<2x4x4xf32>
  %5 = grad.transpose %4 permutation [2, 0, 1] : tensor<5x4x4xf32>
  %6 = grad.argmax %4 dim 1 : tensor<5x4x4xf32>
  %7 = grad.transpose %6 permutation [1, 0] : tensor<5x4xi64>
  return %5, %7 : tensor<4x5x4xf32>, tensor<4x5xi64>
}

// For pools over the same spatial dims, the order of the other dims does not matter.

// CHECK-LABEL: @pool
// CHECK-SAME: (%[[X:.*]]: tensor<8x2x3xf32>
// CHECK-NEXT: %[[S:.*]] = grad.window_sum %[[X]]
// CHECK-NEXT: return %[[S]]
func.func @pool(%x: tensor<8x2x3xf32>) -> tensor<4x2x3xf32> {
  %0 = grad.transpose %x permutation [0, 2, 1] : tensor<8x2x3xf32>
  %1 = grad.window_sum %0 window <[2] stride [2]> : tensor<8x3x2xf32>
  %2 = grad.transpose %1 permutation [0, 2, 1] : tensor<4x3x2xf32>
  return %2 : tensor<4x2x3xf32>
}

// It does if the spatial dims differ.

// CHECK-LABEL: @pool_over_another_dim
// CHECK: grad.transpose
// CHECK: grad.window_sum
// CHECK: grad.transpose
func.func @pool_over_another_dim(%x: tensor<3x8xf32>) -> tensor<3x4xf32> {
  %0 = grad.transpose %x permutation [1, 0] : tensor<3x8xf32>
  %1 = grad.window_sum %0 window <[2] stride [2]> : tensor<8x3xf32>
  %2 = grad.transpose %1 permutation [1, 0] : tensor<4x3xf32>
  return %2 : tensor<3x4xf32>
}

// The letters of a convolution absorb permutations that keep the spatial dims in place.

// CHECK-LABEL: @letters
// CHECK-SAME: (%[[X:.*]]: tensor<8x2x3xf32>, %[[W:.*]]: tensor<3x5x2xf32>
// CHECK-NEXT: grad.convolution %[[X]], %[[W]] dims "cn,oc->no"
func.func @letters(%x: tensor<8x2x3xf32>, %w: tensor<3x5x2xf32>) -> tensor<6x3x5xf32> {
  %0 = grad.transpose %x permutation [0, 2, 1] : tensor<8x2x3xf32>
  %1 = grad.transpose %w permutation [0, 2, 1] : tensor<3x5x2xf32>
  %2 = grad.convolution %0, %1 dims "nc,co->no" window <[3]> : tensor<8x3x2xf32>, tensor<3x2x5xf32>
  return %2 : tensor<6x3x5xf32>
}

// They do not absorb permutations that move the spatial dims.

// CHECK-LABEL: @not_letters
// CHECK: grad.transpose
// CHECK: grad.convolution %{{.*}}, %{{.*}} dims "nc,co->no"
func.func @not_letters(%x: tensor<3x8x2xf32>, %w: tensor<3x2x5xf32>) -> tensor<6x3x5xf32> {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<3x8x2xf32>
  %1 = grad.convolution %0, %w dims "nc,co->no" window <[3]> : tensor<8x3x2xf32>, tensor<3x2x5xf32>
  return %1 : tensor<6x3x5xf32>
}

// A broadcast passes a transpose on; if its dims would be out of order, its operand is transposed.

// CHECK-LABEL: @broadcasts
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<3x4xf32>
// CHECK: %[[A:.*]] = grad.broadcast %[[X]] dims [1] : tensor<3xf32> -> tensor<2x3xf32>
// CHECK: %[[T:.*]] = grad.transpose %[[Y]] permutation [1, 0]
// CHECK: %[[B:.*]] = grad.broadcast %[[T]] dims [0, 1] : tensor<4x3xf32> -> tensor<4x3x2xf32>
// CHECK: return %[[A]], %[[B]]
func.func @broadcasts(%x: tensor<3xf32>, %y: tensor<3x4xf32>) -> (tensor<2x3xf32>, tensor<4x3x2xf32>) {
  %0 = grad.broadcast %x dims [0] : tensor<3xf32> -> tensor<3x2xf32>
  %1 = grad.transpose %0 permutation [1, 0] : tensor<3x2xf32>
  %2 = grad.broadcast %y dims [1, 2] : tensor<3x4xf32> -> tensor<2x3x4xf32>
  %3 = grad.transpose %2 permutation [2, 1, 0] : tensor<2x3x4xf32>
  return %1, %3 : tensor<2x3xf32>, tensor<4x3x2xf32>
}

// Nothing would be gained, so the transpose stays.

// CHECK-LABEL: @stays
// CHECK: %[[T:.*]] = grad.transpose
// CHECK-NEXT: %[[E:.*]] = grad.exp %[[T]]
// CHECK-NEXT: return %[[E]]
func.func @stays(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %0 = grad.transpose %x permutation [1, 0] : tensor<3x4xf32>
  %1 = grad.exp %0 : tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// Transposing the sums would transpose the other operands instead.

// CHECK-LABEL: @other_operands
// CHECK-SAME: (%[[X:.*]]: tensor<3x4xf32>
// CHECK: grad.transpose %[[X]]
// CHECK: %[[S:.*]] = grad.sub
// CHECK: grad.transpose %[[S]]
// CHECK-NOT: grad.transpose
// CHECK: return
func.func @other_operands(%x: tensor<3x4xf32>, %y: tensor<4x3xf32>, %z: tensor<4x3xf32>) -> tensor<3x4xf32> {
  %0 = grad.transpose %x permutation [1, 0] : tensor<3x4xf32>
  %1 = grad.add %0, %y : tensor<4x3xf32>
  %2 = grad.sub %1, %z : tensor<4x3xf32>
  %3 = grad.transpose %2 permutation [1, 0] : tensor<4x3xf32>
  return %3 : tensor<3x4xf32>
}

// A value that is needed in both orders is transposed once.

// CHECK-LABEL: @both_ways
// CHECK-SAME: (%[[X:.*]]: tensor<3x4xf32>
// CHECK: %[[E:.*]] = grad.exp %[[X]]
// CHECK-NEXT: %[[T:.*]] = grad.transpose %[[E]] permutation [1, 0]
// CHECK-NOT: grad.transpose
// CHECK: return %[[E]], %[[T]], %{{.*}}
func.func @both_ways(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<4x3xf32>, tensor<12xf32>) {
  %0 = grad.transpose %x permutation [1, 0] : tensor<3x4xf32>
  %1 = grad.exp %0 : tensor<4x3xf32>
  %2 = grad.transpose %1 permutation [1, 0] : tensor<4x3xf32>
  %3 = grad.reshape %1 : tensor<4x3xf32> -> tensor<12xf32>
  return %2, %1, %3 : tensor<3x4xf32>, tensor<4x3xf32>, tensor<12xf32>
}

// A value next to its own transpose: after a move it would look the same, forever.

// CHECK-LABEL: @itself
// CHECK-COUNT-1: grad.transpose
// CHECK-NOT: grad.transpose
// CHECK: return
func.func @itself(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = grad.exp %x : tensor<4x4xf32>
  %1 = grad.transpose %0 permutation [1, 0] : tensor<4x4xf32>
  %2 = grad.add %0, %1 : tensor<4x4xf32>
  %3 = grad.tanh %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// The objective must depend on the target itself, not on a value from which the target is computed.

// CHECK-LABEL: @target
// CHECK: %[[T:.*]] = grad.optimization_barrier "t"
// CHECK: %[[E:.*]] = grad.optimization_barrier "e"
// CHECK: grad.gradient %{{.*}} wrt %[[T]], %[[E]]
func.func @target(%x: tensor<3x4xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = grad.transpose %x permutation [1, 0] : tensor<3x4xf32>
  %t = grad.optimization_barrier "t" %0 : tensor<4x3xf32>
  %1 = grad.exp %t : tensor<4x3xf32>
  %e = grad.optimization_barrier "e" %1 : tensor<4x3xf32>
  %2 = grad.tanh %e : tensor<4x3xf32>
  %3 = grad.transpose %2 permutation [1, 0] : tensor<4x3xf32>
  %4 = grad.reduce_sum %3 dims [0, 1] : tensor<3x4xf32>
  %5:2 = grad.gradient %4 wrt %t, %e : tensor<f32>, tensor<4x3xf32>, tensor<4x3xf32>
  return %5#0, %5#1 : tensor<4x3xf32>, tensor<4x3xf32>
}
