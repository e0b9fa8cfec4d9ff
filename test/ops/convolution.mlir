// RUN: gradc-opt %s -split-input-file | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -gradc-differentiate -canonicalize -gradc-form-kernels | FileCheck %s --check-prefix=FLOPS

// CHECK-LABEL: @ordinary
// CHECK: grad.convolution %{{.*}}, %{{.*}} dims "nc,co->no" window <[3, 3] stride [2, 2] low [1, 1] high [1, 1]> : tensor<32x31x8x3xf32>, tensor<3x3x3x16xf32>
func.func @ordinary(%x: tensor<32x31x8x3xf32>, %w: tensor<3x3x3x16xf32>) -> tensor<16x16x8x16xf32> {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] stride [2, 2] low [1, 1] high [1, 1]> : tensor<32x31x8x3xf32>, tensor<3x3x3x16xf32>
  return %0 : tensor<16x16x8x16xf32>
}

// CHECK-LABEL: @groups
func.func @groups(%x: tensor<9x8x4x3xi32>, %w: tensor<3x4x3x5xi32>) -> tensor<5x8x4x5xi32> {
  %0 = grad.convolution %x, %w dims "ngc,gco->ngo" window <[3] dilation [2]> : tensor<9x8x4x3xi32>, tensor<3x4x3x5xi32>
  return %0 : tensor<5x8x4x5xi32>
}

// CHECK-LABEL: @transposed
func.func @transposed(%x: tensor<8x8x2x16xf32>, %w: tensor<2x2x3x16xf32>) -> tensor<2x3x16x16xf32> {
  // Dilated by 2, a kernel of 2 reaches 16 positions from 8; the result's dims come in any order.
  %0 = grad.convolution %x, %w dims "nc,oc->no" window <[2, 2] low [1, 1] high [1, 1] base [2, 2] reversed> : tensor<8x8x2x16xf32>, tensor<2x2x3x16xf32>
  %1 = grad.transpose %0 permutation [2, 3, 0, 1] : tensor<16x16x2x3xf32>
  return %1 : tensor<2x3x16x16xf32>
}

// -----

// Two convolutions per gradient. With 7 elements and 3 taps at stride 2 the last window ends at 6, so every element of x is reached. The
// windows of the adjoint have stride 1, over a dilated gradient.

// GRAD-LABEL: @gradient
// GRAD-SAME: (%[[X:.*]]: tensor<7x4x2xf32>, %[[W:.*]]: tensor<3x2x5xf32>
func.func @gradient(%x: tensor<7x4x2xf32>, %w: tensor<3x2x5xf32>) -> (tensor<7x4x2xf32>, tensor<3x2x5xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3] stride [2]> : tensor<7x4x2xf32>, tensor<3x2x5xf32>
  %1 = grad.reduce_sum %0 dims [0, 1, 2] : tensor<3x4x5xf32>
  // GRAD: %[[G:.*]] = grad.{{constant|broadcast}} {{.*}}tensor<3x4x5xf32>
  // GRAD: grad.convolution %[[G]], %[[W]] dims "no,co->nc" window <[3] low [2] high [2] base [2] reversed> :
  // GRAD: grad.convolution %[[X]], %[[G]] dims "nc,no->co" window <[3] dilation [2]> :
  %2:2 = grad.gradient %1 wrt %x, %w : tensor<f32>, tensor<7x4x2xf32>, tensor<3x2x5xf32>
  return %2#0, %2#1 : tensor<7x4x2xf32>, tensor<3x2x5xf32>
}

// The adjoint of a reversed window is not reversed, and the taps of its filter gradient come out reversed.

// GRAD-LABEL: @gradient_of_a_reversed_window
// GRAD-SAME: (%[[X:.*]]: tensor<7x4x2xf32>, %[[W:.*]]: tensor<3x2x5xf32>
func.func @gradient_of_a_reversed_window(%x: tensor<7x4x2xf32>, %w: tensor<3x2x5xf32>) -> (tensor<7x4x2xf32>, tensor<3x2x5xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3] low [1] high [1] reversed> : tensor<7x4x2xf32>, tensor<3x2x5xf32>
  %1 = grad.reduce_sum %0 dims [0, 1, 2] : tensor<7x4x5xf32>
  // GRAD: %[[G:.*]] = grad.{{constant|broadcast}} {{.*}}tensor<7x4x5xf32>
  // GRAD: grad.convolution %[[G]], %[[W]] dims "no,co->nc" window <[3] low [1] high [1]> :
  // GRAD: %[[D:.*]] = grad.convolution %[[X]], %[[G]] dims "nc,no->co" window <[7] low [1] high [1]> :
  // GRAD: grad.slice %[[D]] starts [2, 0, 0] sizes [3, 2, 5] strides [-1, 1, 1]
  %2:2 = grad.gradient %1 wrt %x, %w : tensor<f32>, tensor<7x4x2xf32>, tensor<3x2x5xf32>
  return %2#0, %2#1 : tensor<7x4x2xf32>, tensor<3x2x5xf32>
}

// The gradient of a transposed convolution's filter is a sum over windows of the result's gradient, in which no picture is dilated. Its
// columns are the channels of the lhs, so that the filter's order of dims takes a transpose. The taps are in order.

// GRAD-LABEL: @gradient_of_a_transposed_convolution
// GRAD-SAME: (%[[X:.*]]: tensor<7x5x4x32xf32>, %[[W:.*]]: tensor<4x3x32x8xf32>
func.func @gradient_of_a_transposed_convolution(%x: tensor<7x5x4x32xf32>, %w: tensor<4x3x32x8xf32>) -> (tensor<7x5x4x32xf32>, tensor<4x3x32x8xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[4, 3] low [2, 1] high [2, 2] base [2, 2] reversed> : tensor<7x5x4x32xf32>, tensor<4x3x32x8xf32>
  %1 = grad.reduce_sum %0 dims [0, 1, 2, 3] : tensor<14x10x4x8xf32>
  // GRAD: %[[G:.*]] = grad.{{constant|broadcast}} {{.*}}tensor<14x10x4x8xf32>
  // GRAD: grad.convolution %[[G]], %[[W]] dims "no,co->nc" window <[4, 3] stride [2, 2] low [1, 1] high [1, 0]> :
  // GRAD: %[[D:.*]] = grad.convolution %[[G]], %[[X]] dims "no,nc->oc" window <[7, 5] low [1, 1] high [1, 0] dilation [2, 2]> :
  // GRAD-NOT: grad.slice
  // GRAD: grad.transpose %[[D]] permutation [0, 1, 3, 2] : tensor<4x3x8x32xf32>
  %2:2 = grad.gradient %1 wrt %x, %w : tensor<f32>, tensor<7x5x4x32xf32>, tensor<4x3x32x8xf32>
  return %2#0, %2#1 : tensor<7x5x4x32xf32>, tensor<4x3x32x8xf32>
}

// So few channels would leave vectors mostly empty: the columns are those of the first factor.

// GRAD-LABEL: @gradient_of_few_channels
func.func @gradient_of_few_channels(%x: tensor<7x4x2xf32>, %w: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[4] low [2] high [2] base [2] reversed> : tensor<7x4x2xf32>, tensor<4x2x8xf32>
  %1 = grad.reduce_sum %0 dims [0, 1, 2] : tensor<14x4x8xf32>
  // GRAD: %[[D:.*]] = grad.convolution %{{.*}}, %{{.*}} dims "no,nc->co" window <[7] low [1] high [1] dilation [2]> :
  // GRAD: return %[[D]]
  %2 = grad.gradient %1 wrt %w : tensor<f32>, tensor<4x2x8xf32>
  return %2 : tensor<4x2x8xf32>
}

// Windows that count upwards over a dilated lhs: the adjoint's are reversed, and the taps come out reversed. A dim with a stride, and of one
// channel per result.

// GRAD-LABEL: @gradient_over_a_dilated_lhs
func.func @gradient_over_a_dilated_lhs(%x: tensor<4x2x3xf32>, %w: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = grad.convolution %x, %w dims "nc,c->nc" window <[3] stride [2] low [1] high [3] base [5]> : tensor<4x2x3xf32>, tensor<3x3xf32>
  %1 = grad.reduce_sum %0 dims [0, 1, 2] : tensor<9x2x3xf32>
  // GRAD: %[[D:.*]] = grad.convolution %{{.*}}, %{{.*}} dims "nc,nc->c" window <[4] low [1] base [2] dilation [5]> :
  // GRAD: grad.slice %[[D]] starts [2, 0] sizes [3, 3] strides [-1, 1]
  %2 = grad.gradient %1 wrt %w : tensor<f32>, tensor<3x3xf32>
  return %2 : tensor<3x3xf32>
}

// A dilated lhs that has more positions than the result stays where it is.

// GRAD-LABEL: @gradient_of_fewer_results
func.func @gradient_of_fewer_results(%x: tensor<7x2x3xf32>, %w: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = grad.convolution %x, %w dims "nc,c->nc" window <[3] stride [4] base [2]> : tensor<7x2x3xf32>, tensor<3x3xf32>
  %1 = grad.reduce_sum %0 dims [0, 1, 2] : tensor<3x2x3xf32>
  // GRAD: grad.convolution %{{.*}}, %{{.*}} dims "nc,nc->c" window <[3] high [-2] base [2] dilation [4]> :
  %2 = grad.gradient %1 wrt %w : tensor<f32>, tensor<3x3xf32>
  return %2 : tensor<3x3xf32>
}

// Elements that windows leave out at the end, and cropped elements, get a gradient of 0: the adjoint pads or crops to fit.

// GRAD-LABEL: @gradient_of_a_rest
func.func @gradient_of_a_rest(%x: tensor<8x4x2xf32>, %w: tensor<3x2x5xf32>) -> tensor<8x4x2xf32> {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3] stride [2] low [-1] high [0]> : tensor<8x4x2xf32>, tensor<3x2x5xf32>
  %1 = grad.reduce_sum %0 dims [0, 1, 2] : tensor<3x4x5xf32>
  // GRAD: grad.convolution %{{.*}}, %{{.*}} dims "no,co->nc" window <[3] low [3] high [2] base [2] reversed> : tensor<3x4x5xf32>, tensor<3x2x5xf32>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<8x4x2xf32>
  return %2 : tensor<8x4x2xf32>
}

// -----

// A product counts only if its tap is on an element: of the 12 taps of 4 windows over 4 elements, padded on both sides, 10 are.

// FLOPS-LABEL: func.func @padded(
// FLOPS: exec.kernel @convolution({{.*}} flops = 200 :
func.func @padded(%x: tensor<4x5x2xf32>, %w: tensor<3x2x1xf32>) -> tensor<4x5x1xf32> {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3] low [1] high [1]> : tensor<4x5x2xf32>, tensor<3x2x1xf32>
  return %0 : tensor<4x5x1xf32>
}

// -----

// So are 10 of the 21 taps of 7 windows over 4 elements, dilated by 2.

// FLOPS-LABEL: func.func @spread(
// FLOPS: exec.kernel @convolution({{.*}} flops = 20 :
func.func @spread(%x: tensor<4x1x1xf32>, %w: tensor<3x1x1xf32>) -> tensor<7x1x1xf32> {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3] low [1] high [1] base [2]> : tensor<4x1x1xf32>, tensor<3x1x1xf32>
  return %0 : tensor<7x1x1xf32>
}
