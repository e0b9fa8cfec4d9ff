// RUN: gradc-opt %s --gradc-widen-columns | FileCheck %s
// RUN: gradc-opt %s --gradc-widen-columns --gradc-bind-rows="judge" | FileCheck %s --check-prefix=ROWS

// Nine taps are as many columns of one product, whose slices are added up.
// CHECK-LABEL: @taps
// CHECK-SAME: (%[[X:.*]]: tensor<512x4x16xf32>, %{{.*}}: tensor<9x16x1xf32>)
// CHECK-NOT: grad.pad
// CHECK: %[[Q:.*]] = grad.convolution %[[X]], %{{.*}} dims "nc,co->no" window <[1] low [4] high [4]> : tensor<512x4x16xf32>, tensor<1x16x9xf32>
// CHECK-NEXT: %[[A:.*]] = grad.slice %[[Q]] starts [0, 0, 0] sizes [512, 4, 1] strides [1, 1, 1] : tensor<520x4x9xf32>
// CHECK-NEXT: %[[B:.*]] = grad.slice %[[Q]] starts [1, 0, 1] sizes [512, 4, 1] strides [1, 1, 1]
// CHECK-NEXT: grad.add %[[A]], %[[B]]
// CHECK: grad.slice %[[Q]] starts [8, 0, 8] sizes [512, 4, 1] strides [1, 1, 1]
// CHECK-NEXT: %[[Y:.*]] = grad.add
// CHECK-NEXT: return %[[Y]]
func.func @taps(%x: tensor<512x4x16xf32>, %w: tensor<9x16x1xf32>) -> tensor<512x4x1xf32> {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[9] low [4] high [4]> : tensor<512x4x16xf32>, tensor<9x16x1xf32>
  return %0 : tensor<512x4x1xf32>
}

// Blocks of 1 by 3 taps are 14 columns. The window is reversed: a tap of 0 comes before the five along the second dim, and the first block
// has the last taps. Columns keep their place in the rhs.
// CHECK-LABEL: @reversed
// CHECK: grad.pad %{{.*}} low [0, 1, 0, 0] high [0, 0, 0, 0]
// CHECK: %[[Q:.*]] = grad.convolution %{{.*}}, %{{.*}} dims "no,co->nc" window <[1, 3] low [6, 4] high [6, 5] reversed> : tensor<24x24x4x16xf32>, tensor<1x3x14x16xf32>
// CHECK-NEXT: grad.slice %[[Q]] starts [6, 3, 0, 0] sizes [30, 28, 4, 1] strides [1, 1, 1, 1] : tensor<36x31x4x14xf32>
// CHECK-NEXT: grad.slice %[[Q]] starts [6, 0, 0, 1]
// CHECK: grad.slice %[[Q]] starts [0, 0, 0, 13]
func.func @reversed(%g: tensor<24x24x4x16xf32>, %w: tensor<7x5x1x16xf32>) -> tensor<30x28x4x1xf32> {
  %0 = grad.convolution %g, %w dims "no,co->nc" window <[7, 5] low [6, 4] high [6, 4] reversed> : tensor<24x24x4x16xf32>, tensor<7x5x1x16xf32>
  return %0 : tensor<30x28x4x1xf32>
}

// Elements that are spread by a stride: blocks as long as it have one tap on an element.
// CHECK-LABEL: @spread
// CHECK: grad.convolution %{{.*}}, %{{.*}} dims "no,co->nc" window <[2, 2] low [2, 2] high [2, 2] base [2, 2] reversed> : tensor<24x24x4x32xf32>, tensor<2x2x4x32xf32>
// CHECK-NEXT: grad.slice %{{.*}} starts [2, 2, 0, 0] sizes [48, 48, 4, 1] strides [1, 1, 1, 1] : tensor<50x50x4x4xf32>
// CHECK-NEXT: grad.slice %{{.*}} starts [2, 0, 0, 1]
func.func @spread(%g: tensor<24x24x4x32xf32>, %w: tensor<4x4x1x32xf32>) -> tensor<48x48x4x1xf32> {
  %0 = grad.convolution %g, %w dims "no,co->nc" window <[4, 4] low [2, 2] high [2, 2] base [2, 2] reversed> : tensor<24x24x4x32xf32>, tensor<4x4x1x32xf32>
  return %0 : tensor<48x48x4x1xf32>
}

// The gradient of words: each window of 24 has one tap on the only element along the second dim.
// CHECK-LABEL: @words
// CHECK-NOT: grad.pad
// CHECK: grad.convolution %{{.*}}, %{{.*}} dims "no,co->nc" window <[3] low [2] high [2] reversed> : tensor<64x8x32xf32>, tensor<3x24x32xf32>
// CHECK: grad.transpose %{{.*}} permutation [0, 2, 1, 3] : tensor<66x8x24x1xf32>
// CHECK-NEXT: return
func.func @words(%g: tensor<64x1x8x32xf32>, %w: tensor<3x24x1x32xf32>) -> tensor<66x24x8x1xf32> {
  %0 = grad.convolution %g, %w dims "no,co->nc" window <[3, 24] low [2, 23] high [2, 23] reversed> : tensor<64x1x8x32xf32>, tensor<3x24x1x32xf32>
  return %0 : tensor<66x24x8x1xf32>
}

// A product is left if there is no other dim. Windows take the taps that they have.
// CHECK-LABEL: @line
// CHECK: grad.slice %{{.*}} starts [17, 0, 0] sizes [16, 1, 64] strides [-1, 1, 1] : tensor<20x1x64xf32>
// CHECK: grad.convolution %{{.*}}, %{{.*}} dims "no,co->nc" window <[]> : tensor<512x64xf32>, tensor<16x64xf32>
func.func @line(%g: tensor<1x512x64xf32>, %w: tensor<20x1x64xf32>) -> tensor<16x512x1xf32> {
  %0 = grad.convolution %g, %w dims "no,co->nc" window <[20] low [17] high [17]> : tensor<1x512x64xf32>, tensor<20x1x64xf32>
  return %0 : tensor<16x512x1xf32>
}

// The gradient of a filter: 32 channels become columns, and windows come out in reverse order.
// CHECK-LABEL: @filter
// CHECK-SAME: (%[[X:.*]]: tensor<24x26x4x32xf32>, %[[G:.*]]: tensor<22x23x4x1xf32>)
// CHECK: %[[T:.*]] = grad.convolution %[[G]], %[[X]] dims "no,nc->oc" window <[24, 26] low [4, 3] high [4, 4]> : tensor<22x23x4x1xf32>, tensor<24x26x4x32xf32>
// CHECK-NEXT: %[[S:.*]] = grad.slice %[[T]] starts [6, 4, 0, 0] sizes [7, 5, 1, 32] strides [-1, -1, 1, 1] : tensor<7x5x1x32xf32>
// CHECK-NEXT: grad.transpose %[[S]] permutation [0, 1, 3, 2] : tensor<7x5x1x32xf32>
func.func @filter(%x: tensor<24x26x4x32xf32>, %g: tensor<22x23x4x1xf32>) -> tensor<7x5x32x1xf32> {
  %0 = grad.convolution %x, %g dims "nc,no->co" window <[22, 23] low [2, 1] high [2, 0]> : tensor<24x26x4x32xf32>, tensor<22x23x4x1xf32>
  return %0 : tensor<7x5x32x1xf32>
}

// Also in loops.
// CHECK-LABEL: @loop
// CHECK: grad.scan
// CHECK: grad.convolution {{.*}} window <[1] low [4] high [4]>
func.func @loop(%x: tensor<512x4x16xf32>, %w: tensor<9x16x1xf32>, %y: tensor<512x4x1xf32>) -> tensor<512x4x1xf32> {
  %0 = grad.scan 3 from (%y) over () with (%x, %w) : (tensor<512x4x1xf32>, tensor<512x4x16xf32>, tensor<9x16x1xf32>) -> tensor<512x4x1xf32> {
  ^bb0(%a: tensor<512x4x1xf32>, %b: tensor<512x4x16xf32>, %c: tensor<9x16x1xf32>):
    %1 = grad.convolution %b, %c dims "nc,co->no" window <[9] low [4] high [4]> : tensor<512x4x16xf32>, tensor<9x16x1xf32>
    %2 = grad.add %a, %1 : tensor<512x4x1xf32>
    grad.yield %2 : tensor<512x4x1xf32>
  }
  return %0 : tensor<512x4x1xf32>
}

// A picture that the taps cover has one window. Its channels are summed: it is no gradient of a filter.
// CHECK-LABEL: @whole
// CHECK: grad.convolution %{{.*}}, %{{.*}} dims "nc,co->no" window <[7, 7]> : tensor<7x7x64x512xf32>, tensor<7x7x512x1xf32>
func.func @whole(%x: tensor<7x7x64x512xf32>, %w: tensor<7x7x512x1xf32>) -> tensor<1x1x64x1xf32> {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[7, 7]> : tensor<7x7x64x512xf32>, tensor<7x7x512x1xf32>
  return %0 : tensor<1x1x64x1xf32>
}

// Each of the three forms takes any number of rows.
// ROWS: func.func @rows
// ROWS-SAME: grad.rows
// CHECK-LABEL: @rows
// CHECK: grad.convolution {{.*}} window <[1] low [4] high [4]>
// CHECK: grad.convolution {{.*}} window <[3] low [2] high [2] reversed>
// CHECK: grad.convolution {{.*}} dims "no,nc->oc" window <[512] low [4] high [4]>
func.func @rows(%x: tensor<6x512x32xf32> {grad.batched}, %w: tensor<9x32x1xf32>, %g: tensor<6x64x1x32xf32> {grad.batched}, %v: tensor<3x24x1x32xf32>,
                %dy: tensor<6x512x1xf32> {grad.batched})
    -> (tensor<6x512x1xf32>, tensor<6x66x24x1xf32>, tensor<9x32x1xf32>) attributes {grad.batch = 6 : i64} {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<6x512x32xf32>
  %1 = grad.convolution %0, %w dims "nc,co->no" window <[9] low [4] high [4]> : tensor<512x6x32xf32>, tensor<9x32x1xf32>
  %2 = grad.transpose %1 permutation [1, 0, 2] : tensor<512x6x1xf32>
  %3 = grad.transpose %g permutation [1, 2, 0, 3] : tensor<6x64x1x32xf32>
  %4 = grad.convolution %3, %v dims "no,co->nc" window <[3, 24] low [2, 23] high [2, 23] reversed> : tensor<64x1x6x32xf32>, tensor<3x24x1x32xf32>
  %5 = grad.transpose %4 permutation [2, 0, 1, 3] : tensor<66x24x6x1xf32>
  %6 = grad.transpose %dy permutation [1, 0, 2] : tensor<6x512x1xf32>
  %7 = grad.convolution %0, %6 dims "nc,no->co" window <[512] low [4] high [4]> : tensor<512x6x32xf32>, tensor<512x6x1xf32>
  return %2, %5, %7 : tensor<6x512x1xf32>, tensor<6x66x24x1xf32>, tensor<9x32x1xf32>
}

// Channels of a depthwise convolution are convolved one by one, each with eleven columns of taps.
// CHECK-LABEL: @channels
// CHECK-SAME: (%[[X:.*]]: tensor<128x128x4x3xf32>, %[[W:.*]]: tensor<11x11x3xf32>)
// CHECK: grad.slice %[[W]] starts [0, 0, 0] sizes [11, 11, 1]
// CHECK: %[[P:.*]] = grad.slice %[[X]] starts [0, 0, 0, 0] sizes [128, 128, 4, 1]
// CHECK: grad.convolution %[[P]], %{{.*}} dims "nc,ca->na" window <[11, 1] low [5, 5] high [5, 5]> : tensor<128x128x4x1xf32>, tensor<11x1x1x11xf32>
// CHECK: %[[Q:.*]] = grad.slice %[[X]] starts [0, 0, 0, 1] sizes [128, 128, 4, 1]
// CHECK: grad.convolution %[[Q]], %{{.*}} dims "nc,ca->na"
// CHECK: grad.slice %[[X]] starts [0, 0, 0, 2] sizes [128, 128, 4, 1]
// CHECK: %[[Y:.*]] = grad.concatenate %{{.*}}, %{{.*}}, %{{.*}} dim 3 : tensor<128x128x4x1xf32>, tensor<128x128x4x1xf32>, tensor<128x128x4x1xf32>
// CHECK-NEXT: return %[[Y]]
func.func @channels(%x: tensor<128x128x4x3xf32>, %w: tensor<11x11x3xf32>) -> tensor<128x128x4x3xf32> {
  %0 = grad.convolution %x, %w dims "nc,c->nc" window <[11, 11] low [5, 5] high [5, 5]> : tensor<128x128x4x3xf32>, tensor<11x11x3xf32>
  return %0 : tensor<128x128x4x3xf32>
}

// Depthwise convolutions that stay: few taps, more channels, strides, and the gradient of a filter.
// CHECK-LABEL: @depthwise_stays
// CHECK-NOT: grad.slice
// CHECK: return
func.func @depthwise_stays(%x: tensor<128x128x4x3xf32>, %y: tensor<128x128x4x5xf32>, %a: tensor<3x3x3xf32>, %b: tensor<11x11x5xf32>,
                           %c: tensor<11x11x3xf32>)
    -> (tensor<128x128x4x3xf32>, tensor<128x128x4x5xf32>, tensor<64x64x4x3xf32>, tensor<11x11x3xf32>) {
  %0 = grad.convolution %x, %a dims "nc,c->nc" window <[3, 3] low [1, 1] high [1, 1]> : tensor<128x128x4x3xf32>, tensor<3x3x3xf32>
  %1 = grad.convolution %y, %b dims "nc,c->nc" window <[11, 11] low [5, 5] high [5, 5]> : tensor<128x128x4x5xf32>, tensor<11x11x5xf32>
  %2 = grad.convolution %x, %c dims "nc,c->nc" window <[11, 11] stride [2, 2] low [5, 5] high [4, 4]> : tensor<128x128x4x3xf32>, tensor<11x11x3xf32>
  %3 = grad.convolution %x, %x dims "nc,nc->c" window <[128, 128] low [5, 5] high [5, 5]> : tensor<128x128x4x3xf32>, tensor<128x128x4x3xf32>
  return %0, %1, %2, %3 : tensor<128x128x4x3xf32>, tensor<128x128x4x5xf32>, tensor<64x64x4x3xf32>, tensor<11x11x3xf32>
}

// What stays: enough columns, one tap, strides, too little work, groups, 16 bits, no columns, columns of two dims.
// CHECK-LABEL: @stay
// CHECK-NOT: grad.slice
// CHECK: return
func.func @stay(%x: tensor<512x4x16xf32>, %a: tensor<9x16x5xf32>, %b: tensor<1x16x1xf32>, %c: tensor<9x16x1xf32>, %small: tensor<64x1x16xf32>,
                %groups: tensor<512x4x2x16xf32>, %d: tensor<9x2x16x1xf32>, %short: tensor<512x4x16xbf16>, %e: tensor<9x16x1xbf16>,
                %f: tensor<9x16xf32>, %g: tensor<9x16x1x2xf32>)
    -> (tensor<512x4x5xf32>, tensor<512x4x1xf32>, tensor<256x4x1xf32>, tensor<64x1x1xf32>, tensor<512x4x2x1xf32>, tensor<512x4x1xbf16>,
        tensor<512x4xf32>, tensor<512x4x1x2xf32>) {
  %0 = grad.convolution %x, %a dims "nc,co->no" window <[9] low [4] high [4]> : tensor<512x4x16xf32>, tensor<9x16x5xf32>
  %1 = grad.convolution %x, %b dims "nc,co->no" window <[1]> : tensor<512x4x16xf32>, tensor<1x16x1xf32>
  %2 = grad.convolution %x, %c dims "nc,co->no" window <[9] stride [2] low [4] high [4]> : tensor<512x4x16xf32>, tensor<9x16x1xf32>
  %3 = grad.convolution %small, %c dims "nc,co->no" window <[9] low [4] high [4]> : tensor<64x1x16xf32>, tensor<9x16x1xf32>
  %4 = grad.convolution %groups, %d dims "ngc,gco->ngo" window <[9] low [4] high [4]> : tensor<512x4x2x16xf32>, tensor<9x2x16x1xf32>
  %5 = grad.convolution %short, %e dims "nc,co->no" window <[9] low [4] high [4]> : tensor<512x4x16xbf16>, tensor<9x16x1xbf16>
  %6 = grad.convolution %x, %f dims "nc,c->n" window <[9] low [4] high [4]> : tensor<512x4x16xf32>, tensor<9x16xf32>
  %7 = grad.convolution %x, %g dims "nc,cop->nop" window <[9] low [4] high [4]> : tensor<512x4x16xf32>, tensor<9x16x1x2xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<512x4x5xf32>, tensor<512x4x1xf32>, tensor<256x4x1xf32>, tensor<64x1x1xf32>,
      tensor<512x4x2x1xf32>, tensor<512x4x1xbf16>, tensor<512x4xf32>, tensor<512x4x1x2xf32>
}

// Filters of codes stay as they are: a convolution with other columns would need floats.
// CHECK-LABEL: @codes
// CHECK-NEXT: grad.convolution %{{.*}} wide
// CHECK-NEXT: return
func.func @codes(%x: tensor<70x70x2x3xf32>, %w: tensor<7x7x3x2xi8>) -> tensor<64x64x2x2xf32> {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[7, 7]> wide : tensor<70x70x2x3xf32>, tensor<7x7x3x2xi8>
  return %0 : tensor<64x64x2x2xf32>
}
