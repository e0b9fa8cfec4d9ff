// RUN: gradc-opt %s -split-input-file | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-differentiate | FileCheck %s --check-prefix=GRAD

// CHECK-LABEL: @pools
func.func @pools(%x: tensor<8x7x2x3xf32>, %long: tensor<200x3xi32>) -> (tensor<4x4x2x3xf32>, tensor<4x4x2x3xf32>, tensor<4x4x2x3xi8>, tensor<1x3xi32>) {
  // CHECK: grad.window_sum %{{.*}} window <[2, 3] stride [2, 2] low [0, 1] high [0, 1]> : tensor<8x7x2x3xf32>
  %0 = grad.window_sum %x window <[2, 3] stride [2, 2] low [0, 1] high [0, 1]> : tensor<8x7x2x3xf32>
  // CHECK: grad.window_max %{{.*}} window <[2, 3] stride [2, 2] low [0, 1] high [0, 1]> : tensor<8x7x2x3xf32>
  %1, %index = grad.window_max %x window <[2, 3] stride [2, 2] low [0, 1] high [0, 1]> : tensor<8x7x2x3xf32>
  // The number of one of 200 taps does not fit in 8 bits.
  %2, %at = grad.window_max %long window <[200]> : tensor<200x3xi32>
  return %0, %1, %index, %at : tensor<4x4x2x3xf32>, tensor<4x4x2x3xf32>, tensor<4x4x2x3xi8>, tensor<1x3xi32>
}

// With `wide`, the sums of 16-bit floats stay in f32.

// CHECK-LABEL: @wide
func.func @wide(%x: tensor<8x3xf16>) -> tensor<4x3xf32> {
  // CHECK: grad.window_sum %{{.*}} window <[2] stride [2]> wide : tensor<8x3xf16>
  %0 = grad.window_sum %x window <[2] stride [2]> wide : tensor<8x3xf16>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: @choices
func.func @choices(%x: tensor<8x2xf32>, %y: tensor<4x2xf32>, %index: tensor<4x2xi8>) -> (tensor<4x2xf32>, tensor<8x2xf32>) {
  // CHECK: grad.window_gather %{{.*}}, %{{.*}} window <[2] stride [2]> : tensor<8x2xf32>, tensor<4x2xi8>
  %0 = grad.window_gather %x, %index window <[2] stride [2]> : tensor<8x2xf32>, tensor<4x2xi8>
  // CHECK: grad.window_scatter %{{.*}}, %{{.*}} size [8] window <[2] stride [2]> : tensor<4x2xf32>, tensor<4x2xi8>
  %1 = grad.window_scatter %y, %index size [8] window <[2] stride [2]> : tensor<4x2xf32>, tensor<4x2xi8>
  return %0, %1 : tensor<4x2xf32>, tensor<8x2xf32>
}

// -----

// GRAD-LABEL: @sum
func.func @sum(%x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = grad.window_sum %x window <[3] stride [2] low [1]> : tensor<8x2xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<4x2xf32>
  // GRAD: %[[G:.*]] = grad.{{constant|broadcast}} {{.*}}tensor<4x2xf32>
  // GRAD: grad.window_sum %[[G]] window <[3] low [1] high [2] base [2] reversed> : tensor<4x2xf32>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// The gradient of a wide sum is stored like the operand.

// GRAD-LABEL: @wide_sum
func.func @wide_sum(%x: tensor<8x2xf16>, %w: tensor<4x2xf32>) -> tensor<8x2xf16> {
  %0 = grad.window_sum %x window <[3] stride [2] low [1]> wide : tensor<8x2xf16>
  %1 = grad.mul %0, %w : tensor<4x2xf32>
  %2 = grad.reduce_sum %1 dims [0, 1] : tensor<4x2xf32>
  // GRAD: %[[G:.*]] = grad.cast %{{.*}} storage : tensor<4x2xf32> -> tensor<4x2xf16>
  // GRAD: grad.window_sum %[[G]] window <[3] low [1] high [2] base [2] reversed> : tensor<4x2xf16>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<8x2xf16>
  return %3 : tensor<8x2xf16>
}

// The gradient goes to the tap that was the maximum; the second derivative comes from there.

// GRAD-LABEL: @max
// GRAD-SAME: (%[[X:.*]]: tensor<8x2xf32>
func.func @max(%x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  // GRAD: %[[Y:.*]], %[[I:.*]] = grad.window_max %[[X]]
  %0, %index = grad.window_max %x window <[3] stride [2] low [1]> : tensor<8x2xf32>
  %square = grad.mul %0, %0 : tensor<4x2xf32>
  %1 = grad.reduce_sum %square dims [0, 1] : tensor<4x2xf32>
  // GRAD: %[[D:.*]] = grad.window_scatter %{{.*}}, %[[I]] size [8] window <[3] stride [2] low [1]>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<8x2xf32>
  %twice = grad.mul %2, %2 : tensor<8x2xf32>
  %3 = grad.reduce_sum %twice dims [0, 1] : tensor<8x2xf32>
  // GRAD: grad.window_gather %{{.*}}, %[[I]] window <[3] stride [2] low [1]>
  %4 = grad.gradient %3 wrt %x : tensor<f32>, tensor<8x2xf32>
  return %4 : tensor<8x2xf32>
}

// GRAD-LABEL: @gather
// GRAD-SAME: , %[[I:[a-z0-9]+]]: tensor<4x2xi8>
func.func @gather(%x: tensor<8x2xf32>, %index: tensor<4x2xi8>) -> tensor<8x2xf32> {
  %0 = grad.window_gather %x, %index window <[2] stride [2]> : tensor<8x2xf32>, tensor<4x2xi8>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<4x2xf32>
  // GRAD: grad.window_scatter %{{.*}}, %[[I]] size [8] window <[2] stride [2]>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}
