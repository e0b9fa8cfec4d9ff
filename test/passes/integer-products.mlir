// RUN: gradc-opt %s --gradc-integer-products --canonicalize | FileCheck %s

grad.state constant @w : tensor<64x32xi8> = dense<3> : tensor<64x32xi8>
grad.state constant @filter : tensor<3x3x8x16xi8> = dense<-2> : tensor<3x3x8x16xi8>
grad.state constant @depthwise : tensor<3x3x16xui8> = dense<130> : tensor<3x3x16xui8>
grad.state constant @zeros : tensor<16xi8> = dense<0> : tensor<16xi8>
grad.state constant @unequal : tensor<16xi8> = dense<[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]> : tensor<16xi8>
grad.state parameter @scales : tensor<32xf32> = dense<0.25> : tensor<32xf32>

// Products of scales, and of a bias' codes and scales, are stored instead of them; what a run may change is no constant.
// CHECK: grad.state constant @column_scales.product : tensor<32xf32> = dense<1.250000e-01> : tensor<32xf32>
// CHECK: grad.state constant @bias_scales.product : tensor<2xf32> = dense<[1.500000e+00, -2.000000e+00]> : tensor<2xf32>
// CHECK: grad.state constant @bias_scales.product_{{[0-9]+}} : tensor<2xf32> = dense<5.000000e-01> : tensor<2xf32>
// CHECK-NOT: @bias_scales.product
// CHECK: grad.state constant @tiny.product : tensor<6xf32> = dense<[0.000000e+00, -0.000000e+00, 0.000000e+00, -0.000000e+00, 2.000000e-38, 0x7FC00000]> : tensor<6xf32>

// So are codes less the zero points of their columns, once for all entries. One more bit may take two bytes.
// CHECK-NOT: @unsigned :
// CHECK: grad.state constant @unsigned.relative : tensor<4x2xi8> = dense<{{\[\[}}-1, -20], [0, -10], [126, 0], [1, 10]]>
// CHECK: grad.state constant @unsigned.relative_{{[0-9]+}} : tensor<4x2xi16> = dense<{{\[\[}}-1, 110], [0, 120], [126, 130], [1, 140]]>
// CHECK: grad.state constant @list.relative : tensor<4x2xi8> = dense<{{\[\[}}-1, 3], [0, 4], [1, 5], [2, 6]]>
// CHECK: grad.state constant @depthwise.numbers : tensor<3x3x16xf32> = dense<2.000000e+00>
// CHECK-NOT: grad.state constant
grad.state constant @unsigned : tensor<4x2xui8> = dense<[[0, 130], [1, 140], [127, 150], [2, 160]]> : tensor<4x2xui8>
grad.state constant @list : tensor<2x2x2xui8> = dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xui8>
grad.state constant @column_zeros : tensor<2xui8> = dense<[1, 150]> : tensor<2xui8>
grad.state constant @far_column_zeros : tensor<2xui8> = dense<[1, 20]> : tensor<2xui8>

grad.state constant @column_scales : tensor<32xf32> = dense<0.25> : tensor<32xf32>
grad.state constant @bias_scales : tensor<2xf32> = dense<[0.5, 0.25]> : tensor<2xf32>
grad.state constant @tiny : tensor<6xf32> = dense<[1.0e-40, -1.0e-40, 1.0e-20, 2.0e-20, 2.0e-38, 0x7FC00000]> : tensor<6xf32>
grad.state statistic @changing : tensor<2xf32> = dense<0.25> : tensor<2xf32>

// Codes are multiplied; both scales follow.
// CHECK-LABEL: func @both
// CHECK: %[[W:.*]] = grad.read @w
// CHECK: %[[SUM:.*]] = grad.matmul %arg0, %[[W]] wide : tensor<8x64xui8>, tensor<64x32xi8>
// CHECK: %[[F:.*]] = grad.cast %[[SUM]] : tensor<8x32xi32> -> tensor<8x32xf32>
// CHECK: %[[S:.*]] = grad.mul
// CHECK: %[[Y:.*]] = grad.mul %[[F]], %[[S]]
// CHECK: return %[[Y]]
func.func @both(%x: tensor<8x64xui8>) -> tensor<8x32xf32> attributes {grad.entry = "both"} {
  %scale = grad.constant dense<0.5> : tensor<8x64xf32>
  %a = grad.cast %x : tensor<8x64xui8> -> tensor<8x64xf32>
  %b = grad.mul %a, %scale : tensor<8x64xf32>
  %w = grad.read @w : tensor<64x32xi8>
  %scales = grad.read @scales : tensor<32xf32>
  %c = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xf32>
  %d = grad.broadcast %scales dims [1] : tensor<32xf32> -> tensor<64x32xf32>
  %e = grad.mul %c, %d : tensor<64x32xf32>
  %y = grad.matmul %b, %e : tensor<8x64xf32>, tensor<64x32xf32>
  return %y : tensor<8x32xf32>
}

// CHECK-LABEL: func @fixed
// CHECK-DAG: %[[SCALES:.*]] = grad.read @column_scales.product : tensor<32xf32>
// CHECK-DAG: %[[BIAS:.*]] = grad.read @bias_scales.product : tensor<2xf32>
// CHECK-DAG: %[[CHANGING:.*]] = grad.read @changing : tensor<2xf32>
// CHECK-DAG: %[[SUM:.*]] = grad.matmul %arg0, %{{.*}} wide : tensor<8x64xui8>, tensor<64x32xi8>
// CHECK-DAG: %[[F:.*]] = grad.cast %[[SUM]] : tensor<8x32xi32> -> tensor<8x32xf32>
// CHECK-DAG: %[[S:.*]] = grad.broadcast %[[SCALES]] dims [1] : tensor<32xf32> -> tensor<8x32xf32>
// CHECK-DAG: %[[Y:.*]] = grad.mul %[[F]], %[[S]] : tensor<8x32xf32>
// CHECK-DAG: %[[OTHER:.*]] = grad.mul %[[CHANGING]], %{{.*}} : tensor<2xf32>
// CHECK: return %[[Y]], %[[BIAS]], %[[OTHER]]
func.func @fixed(%x: tensor<8x64xui8>) -> (tensor<8x32xf32>, tensor<2xf32>, tensor<2xf32>) attributes {grad.entry = "fixed"} {
  %scale = grad.constant dense<0.5> : tensor<8x64xf32>
  %a = grad.cast %x : tensor<8x64xui8> -> tensor<8x64xf32>
  %b = grad.mul %a, %scale : tensor<8x64xf32>
  %w = grad.read @w : tensor<64x32xi8>
  %scales = grad.read @column_scales : tensor<32xf32>
  %c = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xf32>
  %d = grad.broadcast %scales dims [1] : tensor<32xf32> -> tensor<64x32xf32>
  %e = grad.mul %c, %d : tensor<64x32xf32>
  %y = grad.matmul %b, %e : tensor<8x64xf32>, tensor<64x32xf32>
  %codes = grad.constant dense<[3.0, -8.0]> : tensor<2xf32>
  %bias_scales = grad.read @bias_scales : tensor<2xf32>
  %bias = grad.mul %bias_scales, %codes : tensor<2xf32>
  %changing = grad.read @changing : tensor<2xf32>
  %other = grad.mul %changing, %codes : tensor<2xf32>
  return %y, %bias, %other : tensor<8x32xf32>, tensor<2xf32>, tensor<2xf32>
}

// Two products of one state are two states, which entries share.
// CHECK-LABEL: func @products
// CHECK: grad.read @bias_scales.product : tensor<2xf32>
// CHECK: grad.read @[[SECOND:bias_scales.product_[0-9]+]] : tensor<2xf32>
// CHECK-LABEL: func @again
// CHECK: grad.read @[[SECOND]] : tensor<2xf32>
// CHECK: grad.read @bias_scales.product : tensor<2xf32>
func.func @products() -> (tensor<2xf32>, tensor<2xf32>) attributes {grad.entry = "products"} {
  %scales = grad.read @bias_scales : tensor<2xf32>
  %first = grad.constant dense<[3.0, -8.0]> : tensor<2xf32>
  %second = grad.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = grad.mul %scales, %first : tensor<2xf32>
  %1 = grad.mul %scales, %second : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
func.func @again() -> (tensor<2xf32>, tensor<2xf32>) attributes {grad.entry = "again"} {
  %scales = grad.read @bias_scales : tensor<2xf32>
  %first = grad.constant dense<[3.0, -8.0]> : tensor<2xf32>
  %second = grad.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = grad.mul %scales, %second : tensor<2xf32>
  %1 = grad.mul %scales, %first : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// A product of known numbers is the one that kernels compute, which flush denormals to zeros of their signs.
// CHECK-LABEL: func @denormals
// CHECK: grad.read @tiny.product
func.func @denormals() -> tensor<6xf32> attributes {grad.entry = "denormals"} {
  %tiny = grad.read @tiny : tensor<6xf32>
  %factors = grad.constant dense<[1.0e+5, 1.0e+5, 1.0e-20, -1.0e-20, 1.0, 1.0]> : tensor<6xf32>
  %0 = grad.mul %tiny, %factors : tensor<6xf32>
  return %0 : tensor<6xf32>
}

// Signed codes become unsigned, which adds 128 to their zero point. Sums of the weights' columns are known: (5 + 128) * 64 * 3.
// CHECK-LABEL: func @signed
// CHECK-DAG: %[[ZERO:.*]] = grad.constant dense<25536> : tensor<8x32xi32>
// CHECK-DAG: %[[OFFSET:.*]] = grad.constant dense<128> : tensor<8x64xi32>
// CHECK: %[[WIDE:.*]] = grad.cast %arg0 : tensor<8x64xi8> -> tensor<8x64xi32>
// CHECK: %[[SHIFTED:.*]] = grad.add %[[WIDE]], %[[OFFSET]]
// CHECK: %[[CODES:.*]] = grad.cast %[[SHIFTED]] : tensor<8x64xi32> -> tensor<8x64xui8>
// CHECK: grad.matmul %[[CODES]], %{{.*}} wide : tensor<8x64xui8>, tensor<64x32xi8>
// CHECK: grad.sub %{{.*}}, %[[ZERO]]
func.func @signed(%x: tensor<8x64xi8>) -> tensor<8x32xi32> attributes {grad.entry = "signed"} {
  %zero = grad.constant dense<5> : tensor<8x64xi32>
  %a = grad.cast %x : tensor<8x64xi8> -> tensor<8x64xi32>
  %b = grad.sub %a, %zero : tensor<8x64xi32>
  %w = grad.read @w : tensor<64x32xi8>
  %c = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xi32>
  %y = grad.matmul %b, %c : tensor<8x64xi32>, tensor<64x32xi32>
  return %y : tensor<8x32xi32>
}

// Both have zero points, of which one is computed: sums of columns and of rows.
// CHECK-LABEL: func @computed
// CHECK: grad.matmul %arg0, %{{.*}} wide : tensor<2x8x64xui8>, tensor<2x64x32xi8>
// CHECK-DAG: grad.reduce_sum %{{.*}} dims [1] : tensor<2x64x32xi32>
// CHECK-DAG: grad.reduce_sum %{{.*}} dims [2] : tensor<2x8x64xi32>
func.func @computed(%x: tensor<2x8x64xui8>, %zero: tensor<i32>, %w: tensor<2x64x32xui8>) -> tensor<2x8x32xi32> attributes {grad.entry = "computed"} {
  %a = grad.cast %x : tensor<2x8x64xui8> -> tensor<2x8x64xi32>
  %z = grad.broadcast %zero dims [] : tensor<i32> -> tensor<2x8x64xi32>
  %b = grad.sub %a, %z : tensor<2x8x64xi32>
  %c = grad.cast %w : tensor<2x64x32xui8> -> tensor<2x64x32xi32>
  %y = grad.matmul %b, %c : tensor<2x8x64xi32>, tensor<2x64x32xi32>
  return %y : tensor<2x8x32xi32>
}

// Padding is the zero point, and channels are padded to words of four by weights of 0.
// CHECK-LABEL: func @padded
// CHECK: %[[P:.*]] = grad.pad %arg0 low [1, 1, 0, 0] high [1, 1, 0, 0] interior [0, 0, 0, 0] {value = 9.000000e+00
// CHECK: grad.convolution %[[P]], %{{.*}} dims "nc,co->no" window <[3, 3]> wide : tensor<11x11x2x8xui8>, tensor<3x3x8x16xi8>
func.func @padded(%x: tensor<9x9x2x8xui8>) -> tensor<9x9x2x16xi32> attributes {grad.entry = "padded"} {
  %zero = grad.constant dense<9> : tensor<9x9x2x8xi32>
  %a = grad.cast %x : tensor<9x9x2x8xui8> -> tensor<9x9x2x8xi32>
  %b = grad.sub %a, %zero : tensor<9x9x2x8xi32>
  %w = grad.read @filter : tensor<3x3x8x16xi8>
  %c = grad.cast %w : tensor<3x3x8x16xi8> -> tensor<3x3x8x16xi32>
  %y = grad.convolution %b, %c dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<9x9x2x8xi32>, tensor<3x3x8x16xi32>
  return %y : tensor<9x9x2x16xi32>
}

// A filter with a zero point needs the sums of windows, relative to the picture's zero point: of the channels first.
// CHECK-LABEL: func @filter_zero
// CHECK-DAG: %[[P:.*]] = grad.pad %arg0 low [1, 1, 0, 0] high [1, 1, 0, 1] interior [0, 0, 0, 0] {value = 9.000000e+00
// CHECK-DAG: %[[SUM:.*]] = grad.convolution %[[P]], %{{.*}} window <[3, 3] stride [2, 2]> wide : tensor<11x11x2x8xui8>, tensor<3x3x8x16xi8>
// CHECK-DAG: %[[WIDE:.*]] = grad.cast %[[P]] : tensor<11x11x2x8xui8> -> tensor<11x11x2x8xi32>
// CHECK-DAG: %[[CHANNELS:.*]] = grad.reduce_sum %[[WIDE]] dims [3] : tensor<11x11x2x8xi32>
// CHECK-DAG: %[[WINDOWS:.*]] = grad.window_sum %[[CHANNELS]] window <[3, 3] stride [2, 2]> : tensor<11x11x2xi32>
// CHECK-DAG: grad.constant dense<648> : tensor<5x5x2xi32>
// CHECK: grad.broadcast %{{.*}} dims [0, 1, 2] : tensor<5x5x2xi32> -> tensor<5x5x2x16xi32>
func.func @filter_zero(%x: tensor<9x9x2x7xui8>, %w: tensor<3x3x7x16xi8>) -> tensor<5x5x2x16xi32> attributes {grad.entry = "filter_zero"} {
  %zero = grad.constant dense<9> : tensor<9x9x2x7xi32>
  %a = grad.cast %x : tensor<9x9x2x7xui8> -> tensor<9x9x2x7xi32>
  %b = grad.sub %a, %zero : tensor<9x9x2x7xi32>
  %five = grad.constant dense<5> : tensor<3x3x7x16xi32>
  %c = grad.cast %w : tensor<3x3x7x16xi8> -> tensor<3x3x7x16xi32>
  %d = grad.sub %c, %five : tensor<3x3x7x16xi32>
  %y = grad.convolution %b, %d dims "nc,co->no" window <[3, 3] stride [2, 2] low [1, 1] high [1, 1]> : tensor<9x9x2x7xi32>, tensor<3x3x7x16xi32>
  return %y : tensor<5x5x2x16xi32>
}

// Channels that are added have 0 in place of a zero point that is computed, so 3 * 3 * 7 elements have it.
// CHECK-LABEL: func @filter_zero_of_computed
// CHECK-DAG: grad.pad %arg0 low [0, 0, 0, 0] high [0, 0, 0, 1] interior [0, 0, 0, 0] : tensor<9x9x2x7xui8>
// CHECK-DAG: %[[COUNT:.*]] = grad.constant dense<63> : tensor<7x7x2xi32>
// CHECK: %[[ZEROS:.*]] = grad.broadcast %arg2 dims [] : tensor<i32> -> tensor<7x7x2xi32>
// CHECK: grad.mul %[[ZEROS]], %[[COUNT]]
func.func @filter_zero_of_computed(%x: tensor<9x9x2x7xui8>, %w: tensor<3x3x7x16xi8>, %zero: tensor<i32>) -> tensor<7x7x2x16xi32> attributes {grad.entry = "filter_zero_of_computed"} {
  %zeros = grad.broadcast %zero dims [] : tensor<i32> -> tensor<9x9x2x7xi32>
  %a = grad.cast %x : tensor<9x9x2x7xui8> -> tensor<9x9x2x7xi32>
  %b = grad.sub %a, %zeros : tensor<9x9x2x7xi32>
  %five = grad.constant dense<5> : tensor<3x3x7x16xi32>
  %c = grad.cast %w : tensor<3x3x7x16xi8> -> tensor<3x3x7x16xi32>
  %d = grad.sub %c, %five : tensor<3x3x7x16xi32>
  %y = grad.convolution %b, %d dims "nc,co->no" window <[3, 3]> : tensor<9x9x2x7xi32>, tensor<3x3x7x16xi32>
  return %y : tensor<7x7x2x16xi32>
}

// CHECK-LABEL: func @three_channels
// CHECK-DAG: grad.pad %arg0 low [0, 0, 0, 0] high [0, 0, 0, 1]
// CHECK-DAG: grad.pad %arg1 low [0, 0, 0, 0] high [0, 0, 1, 0]
// CHECK: grad.convolution %{{.*}} window <[3, 3] low [1, 1] high [1, 1]> wide : tensor<9x9x2x4xui8>, tensor<3x3x4x16xi8>
func.func @three_channels(%x: tensor<9x9x2x3xui8>, %w: tensor<3x3x3x16xi8>) -> tensor<9x9x2x16xi32> attributes {grad.entry = "three_channels"} {
  %b = grad.cast %x : tensor<9x9x2x3xui8> -> tensor<9x9x2x3xi32>
  %c = grad.cast %w : tensor<3x3x3x16xi8> -> tensor<3x3x3x16xi32>
  %y = grad.convolution %b, %c dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<9x9x2x3xi32>, tensor<3x3x3x16xi32>
  return %y : tensor<9x9x2x16xi32>
}

// Pictures are padded once, before their channels become the last dim.
// CHECK-LABEL: func @transposed_picture
// CHECK: %[[P:.*]] = grad.pad %arg0 low [0, 0, 1, 2] high [0, 1, 3, 4] interior [0, 0, 0, 0] {value = 9.000000e+00 : f64} : tensor<2x3x9x8xui8>
// CHECK: %[[T:.*]] = grad.transpose %[[P]] permutation [2, 3, 0, 1] : tensor<2x4x13x14xui8>
// CHECK: grad.convolution %[[T]], %{{.*}} window <[3, 3]> wide : tensor<13x14x2x4xui8>, tensor<3x3x4x16xi8>
func.func @transposed_picture(%x: tensor<2x3x9x8xui8>, %w: tensor<3x3x3x16xi8>) -> tensor<11x12x2x16xi32> attributes {grad.entry = "transposed_picture"} {
  %zero = grad.constant dense<9> : tensor<2x3x9x8xi32>
  %a = grad.cast %x : tensor<2x3x9x8xui8> -> tensor<2x3x9x8xi32>
  %b = grad.sub %a, %zero : tensor<2x3x9x8xi32>
  %c = grad.transpose %b permutation [2, 3, 0, 1] : tensor<2x3x9x8xi32>
  %d = grad.cast %w : tensor<3x3x3x16xi8> -> tensor<3x3x3x16xi32>
  %y = grad.convolution %c, %d dims "nc,co->no" window <[3, 3] low [1, 2] high [3, 4]> : tensor<9x8x2x3xi32>, tensor<3x3x3x16xi32>
  return %y : tensor<11x12x2x16xi32>
}

// Floats times quantized weights: codes are converted in the product, and scales follow.
// CHECK-LABEL: func @weights
// CHECK: %[[Y:.*]] = grad.matmul %arg0, %{{.*}} wide : tensor<8x64xf32>, tensor<64x32xi8>
// CHECK: grad.mul %[[Y]]
func.func @weights(%x: tensor<8x64xf32>) -> tensor<8x32xf32> attributes {grad.entry = "weights"} {
  %w = grad.read @w : tensor<64x32xi8>
  %scales = grad.read @scales : tensor<32xf32>
  %c = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xf32>
  %d = grad.broadcast %scales dims [1] : tensor<32xf32> -> tensor<64x32xf32>
  %e = grad.mul %d, %c : tensor<64x32xf32>
  %y = grad.matmul %x, %e : tensor<8x64xf32>, tensor<64x32xf32>
  return %y : tensor<8x32xf32>
}

// Zero points of columns are subtracted from the codes, in either order of their dims: a product with sums of an infinite lhs would be NaN.
// CHECK-LABEL: func @weights_zeros
// CHECK-NOT: grad.sub
// CHECK: grad.matmul %arg0, %{{.*}} wide : tensor<8x4xf32>, tensor<4x2xi8>
// CHECK-NOT: grad.sub
// CHECK: grad.matmul %arg0, %{{.*}} transpose_rhs wide : tensor<8x4xf32>, tensor<2x4xi16>
// CHECK-NOT: grad.sub
// CHECK: return
func.func @weights_zeros(%x: tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) attributes {grad.entry = "weights_zeros"} {
  %scales = grad.constant dense<0.5> : tensor<4x2xf32>
  %w = grad.read @unsigned : tensor<4x2xui8>
  %a = grad.cast %w : tensor<4x2xui8> -> tensor<4x2xi32>
  %b = grad.read @column_zeros : tensor<2xui8>
  %c = grad.cast %b : tensor<2xui8> -> tensor<2xi32>
  %d = grad.broadcast %c dims [1] : tensor<2xi32> -> tensor<4x2xi32>
  %e = grad.sub %a, %d : tensor<4x2xi32>
  %f = grad.cast %e : tensor<4x2xi32> -> tensor<4x2xf32>
  %g = grad.mul %f, %scales : tensor<4x2xf32>
  %near = grad.matmul %x, %g : tensor<8x4xf32>, tensor<4x2xf32>

  %h = grad.read @far_column_zeros : tensor<2xui8>
  %i = grad.cast %h : tensor<2xui8> -> tensor<2xi32>
  %j = grad.broadcast %i dims [1] : tensor<2xi32> -> tensor<4x2xi32>
  %k = grad.sub %a, %j : tensor<4x2xi32>
  %l = grad.cast %k : tensor<4x2xi32> -> tensor<4x2xf32>
  %m = grad.mul %l, %scales : tensor<4x2xf32>
  %n = grad.transpose %m permutation [1, 0] : tensor<4x2xf32>
  %far = grad.matmul %x, %n transpose_rhs : tensor<8x4xf32>, tensor<2x4xf32>
  return %near, %far : tensor<8x2xf32>, tensor<8x2xf32>
}

// Codes that are reshaped as well are stored in the shape that the product reads.
// CHECK-LABEL: func @reshaped_zeros
// CHECK: %[[CODES:.*]] = grad.read @list.relative : tensor<4x2xi8>
// CHECK: grad.matmul %arg0, %[[CODES]] wide : tensor<8x4xf32>, tensor<4x2xi8>
func.func @reshaped_zeros(%x: tensor<8x4xf32>) -> tensor<8x2xf32> attributes {grad.entry = "reshaped_zeros"} {
  %w = grad.read @list : tensor<2x2x2xui8>
  %zero = grad.constant dense<2> : tensor<2x2x2xi32>
  %scale = grad.constant dense<0.5> : tensor<2x2x2xf32>
  %a = grad.cast %w : tensor<2x2x2xui8> -> tensor<2x2x2xi32>
  %b = grad.sub %a, %zero : tensor<2x2x2xi32>
  %c = grad.cast %b : tensor<2x2x2xi32> -> tensor<2x2x2xf32>
  %d = grad.mul %c, %scale : tensor<2x2x2xf32>
  %e = grad.reshape %d : tensor<2x2x2xf32> -> tensor<2x4xf32>
  %f = grad.transpose %e permutation [1, 0] : tensor<2x4xf32>
  %y = grad.matmul %x, %f : tensor<8x4xf32>, tensor<4x2xf32>
  return %y : tensor<8x2xf32>
}

// Zero points that a run computes are subtracted in every run.
// CHECK-LABEL: func @weights_computed
// CHECK: grad.sub %{{.*}} : tensor<64x32xi32>
// CHECK: grad.matmul %arg0, %{{.*}} : tensor<8x64xf32>, tensor<64x32xf32>
func.func @weights_computed(%x: tensor<8x64xf32>, %zeros: tensor<32xi32>) -> tensor<8x32xf32> attributes {grad.entry = "weights_computed"} {
  %scales = grad.constant dense<0.5> : tensor<64x32xf32>
  %w = grad.read @w : tensor<64x32xi8>
  %a = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xi32>
  %b = grad.broadcast %zeros dims [1] : tensor<32xi32> -> tensor<64x32xi32>
  %c = grad.sub %a, %b : tensor<64x32xi32>
  %d = grad.cast %c : tensor<64x32xi32> -> tensor<64x32xf32>
  %e = grad.mul %d, %scales : tensor<64x32xf32>
  %y = grad.matmul %x, %e : tensor<8x64xf32>, tensor<64x32xf32>
  return %y : tensor<8x32xf32>
}

// The filter of a depthwise convolution becomes floats, relative to its zero point: 130 - 128.
// CHECK-LABEL: func @depthwise_filter
// CHECK-DAG: %[[FILTER:.*]] = grad.read @depthwise.numbers : tensor<3x3x16xf32>
// CHECK-DAG: %[[SCALE:.*]] = grad.constant dense<5.000000e-01> : tensor<9x9x2x16xf32>
// CHECK: %[[Y:.*]] = grad.convolution %arg0, %[[FILTER]] dims "nc,c->nc"
// CHECK: grad.mul %[[Y]], %[[SCALE]]
func.func @depthwise_filter(%x: tensor<9x9x2x16xf32>) -> tensor<9x9x2x16xf32> attributes {grad.entry = "depthwise_filter"} {
  %w = grad.read @depthwise : tensor<3x3x16xui8>
  %zero = grad.constant dense<128> : tensor<3x3x16xi32>
  %scale = grad.constant dense<0.5> : tensor<3x3x16xf32>
  %a = grad.cast %w : tensor<3x3x16xui8> -> tensor<3x3x16xi32>
  %b = grad.sub %a, %zero : tensor<3x3x16xi32>
  %c = grad.cast %b : tensor<3x3x16xi32> -> tensor<3x3x16xf32>
  %d = grad.mul %c, %scale : tensor<3x3x16xf32>
  %y = grad.convolution %x, %d dims "nc,c->nc" window <[3, 3] low [1, 1] high [1, 1]> : tensor<9x9x2x16xf32>, tensor<3x3x16xf32>
  return %y : tensor<9x9x2x16xf32>
}

// A scale for each row of the sum cannot leave it; a window over computed zero points is padded by what is not known; sums of more than
// 65536 products may not fit.
// CHECK-LABEL: func @unchanged
// CHECK: grad.matmul %{{.*}} : tensor<8x64xf32>, tensor<64x32xf32>
// CHECK: grad.convolution %{{.*}} : tensor<9x9x2x8xi32>, tensor<3x3x8x16xi32>
// CHECK: grad.matmul %{{.*}} : tensor<1x65540xf32>, tensor<65540x8xf32>
func.func @unchanged(%x: tensor<8x64xui8>, %scales: tensor<64xf32>, %picture: tensor<9x9x2x8xui8>, %zero: tensor<i32>, %row: tensor<1x65540xui8>,
                     %long: tensor<65540x8xi8>) -> (tensor<8x32xf32>, tensor<9x9x2x16xi32>, tensor<1x8xf32>) attributes {grad.entry = "unchanged"} {
  %half = grad.constant dense<0.5> : tensor<8x64xf32>
  %a = grad.cast %x : tensor<8x64xui8> -> tensor<8x64xf32>
  %b = grad.mul %a, %half : tensor<8x64xf32>
  %w = grad.read @w : tensor<64x32xi8>
  %c = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xf32>
  %d = grad.broadcast %scales dims [0] : tensor<64xf32> -> tensor<64x32xf32>
  %e = grad.mul %c, %d : tensor<64x32xf32>
  %0 = grad.matmul %b, %e : tensor<8x64xf32>, tensor<64x32xf32>

  %f = grad.cast %picture : tensor<9x9x2x8xui8> -> tensor<9x9x2x8xi32>
  %g = grad.broadcast %zero dims [] : tensor<i32> -> tensor<9x9x2x8xi32>
  %h = grad.sub %f, %g : tensor<9x9x2x8xi32>
  %i = grad.read @filter : tensor<3x3x8x16xi8>
  %j = grad.cast %i : tensor<3x3x8x16xi8> -> tensor<3x3x8x16xi32>
  %1 = grad.convolution %h, %j dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<9x9x2x8xi32>, tensor<3x3x8x16xi32>

  %k = grad.constant dense<0.5> : tensor<1x65540xf32>
  %l = grad.cast %row : tensor<1x65540xui8> -> tensor<1x65540xf32>
  %m = grad.mul %l, %k : tensor<1x65540xf32>
  %n = grad.constant dense<0.5> : tensor<65540x8xf32>
  %o = grad.cast %long : tensor<65540x8xi8> -> tensor<65540x8xf32>
  %p = grad.mul %o, %n : tensor<65540x8xf32>
  %2 = grad.matmul %m, %p : tensor<1x65540xf32>, tensor<65540x8xf32>
  return %0, %1, %2 : tensor<8x32xf32>, tensor<9x9x2x16xi32>, tensor<1x8xf32>
}

// Zero points of many columns are a state. If all are 0, no window of the picture is summed; the last product has others.
// CHECK-LABEL: func @zeros_of_columns
// CHECK: grad.convolution %arg0, %{{.*}} window <[3, 3] low [1, 1] high [1, 1]> wide : tensor<9x9x2x8xui8>, tensor<3x3x8x16xi8>
// CHECK-NOT: grad.window_sum
// CHECK: grad.convolution %arg0, %{{.*}} window <[3, 3] low [1, 1] high [1, 1]> wide : tensor<9x9x2x8xui8>, tensor<3x3x8x16xi8>
// CHECK: grad.window_sum %{{.*}} window <[3, 3] low [1, 1] high [1, 1]> : tensor<9x9x2xi32>
func.func @zeros_of_columns(%x: tensor<9x9x2x8xui8>) -> (tensor<9x9x2x16xi32>, tensor<9x9x2x16xi32>) attributes {grad.entry = "zeros_of_columns"} {
  %a = grad.cast %x : tensor<9x9x2x8xui8> -> tensor<9x9x2x8xi32>
  %w = grad.read @filter : tensor<3x3x8x16xi8>
  %b = grad.cast %w : tensor<3x3x8x16xi8> -> tensor<3x3x8x16xi32>
  %c = grad.read @zeros : tensor<16xi8>
  %d = grad.cast %c : tensor<16xi8> -> tensor<16xi32>
  %e = grad.broadcast %d dims [3] : tensor<16xi32> -> tensor<3x3x8x16xi32>
  %f = grad.sub %b, %e : tensor<3x3x8x16xi32>
  %0 = grad.convolution %a, %f dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<9x9x2x8xi32>, tensor<3x3x8x16xi32>
  %g = grad.read @unequal : tensor<16xi8>
  %h = grad.cast %g : tensor<16xi8> -> tensor<16xi32>
  %i = grad.broadcast %h dims [3] : tensor<16xi32> -> tensor<3x3x8x16xi32>
  %j = grad.sub %b, %i : tensor<3x3x8x16xi32>
  %1 = grad.convolution %a, %j dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<9x9x2x8xi32>, tensor<3x3x8x16xi32>
  return %0, %1 : tensor<9x9x2x16xi32>, tensor<9x9x2x16xi32>
}

// The zero point of the lhs is multiplied by the sums of columns before these are repeated for each row.
// CHECK-LABEL: func @zero_of_rows
// CHECK: %[[Z:.*]] = grad.broadcast %arg1 dims [] : tensor<i32> -> tensor<32xi32>
// CHECK: %[[SUMS:.*]] = grad.mul %{{.*}} : tensor<32xi32>
// CHECK: grad.broadcast %[[SUMS]] dims [1] : tensor<32xi32> -> tensor<8x32xi32>
func.func @zero_of_rows(%x: tensor<8x64xui8>, %zero: tensor<i32>, %w: tensor<64x32xi8>) -> tensor<8x32xi32> attributes {grad.entry = "zero_of_rows"} {
  %a = grad.cast %x : tensor<8x64xui8> -> tensor<8x64xi32>
  %z = grad.broadcast %zero dims [] : tensor<i32> -> tensor<8x64xi32>
  %b = grad.sub %a, %z : tensor<8x64xi32>
  %c = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xi32>
  %y = grad.matmul %b, %c : tensor<8x64xi32>, tensor<64x32xi32>
  return %y : tensor<8x32xi32>
}

// Integers have no gradients.
// CHECK-LABEL: func @differentiated
// CHECK: grad.matmul %{{.*}} : tensor<8x64xf32>, tensor<64x32xf32>
func.func @differentiated(%x: tensor<8x64xui8>, %scale: tensor<f32>) -> tensor<f32> attributes {grad.entry = "differentiated"} {
  %s = grad.broadcast %scale dims [] : tensor<f32> -> tensor<8x64xf32>
  %a = grad.cast %x : tensor<8x64xui8> -> tensor<8x64xf32>
  %b = grad.mul %a, %s : tensor<8x64xf32>
  %w = grad.read @w : tensor<64x32xi8>
  %half = grad.constant dense<0.5> : tensor<64x32xf32>
  %c = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xf32>
  %e = grad.mul %c, %half : tensor<64x32xf32>
  %y = grad.matmul %b, %e : tensor<8x64xf32>, tensor<64x32xf32>
  %loss = grad.reduce_sum %y dims [0, 1] : tensor<8x32xf32>
  %g = grad.gradient %loss wrt %scale : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}
