// RUN: gradc-opt %s -gradc-simplify-algebra | FileCheck %s

// The largest float has the largest code: a pool takes codes, and its maxima become floats.

// CHECK-LABEL: func @pooled
// CHECK: %[[M:.*]], %{{.*}} = grad.window_max %arg0 window <[3, 3] stride [2, 2]> : tensor<9x9x2x8xui8>
// CHECK: %[[WIDE:.*]] = grad.cast %[[M]] : tensor<4x4x2x8xui8> -> tensor<4x4x2x8xi32>
// CHECK: %[[D:.*]] = grad.sub %[[WIDE]], %{{.*}} : tensor<4x4x2x8xi32>
// CHECK: %[[F:.*]] = grad.cast %[[D]] : tensor<4x4x2x8xi32> -> tensor<4x4x2x8xf32>
// CHECK: %[[Y:.*]] = grad.mul %[[F]], %{{.*}} : tensor<4x4x2x8xf32>
// CHECK: return %[[Y]]
func.func @pooled(%x: tensor<9x9x2x8xui8>) -> tensor<4x4x2x8xf32> {
  %zero = grad.constant dense<3> : tensor<9x9x2x8xi32>
  %scale = grad.constant dense<0.3> : tensor<9x9x2x8xf32>
  %a = grad.cast %x : tensor<9x9x2x8xui8> -> tensor<9x9x2x8xi32>
  %b = grad.sub %a, %zero : tensor<9x9x2x8xi32>
  %c = grad.cast %b : tensor<9x9x2x8xi32> -> tensor<9x9x2x8xf32>
  %d = grad.mul %c, %scale : tensor<9x9x2x8xf32>
  %m, %i = grad.window_max %d window <[3, 3] stride [2, 2]> : tensor<9x9x2x8xf32>
  return %m : tensor<4x4x2x8xf32>
}

// With the same scale and zero point, the maxima's codes are what they were computed from. Transposes stay between.

// CHECK-LABEL: func @requantized
// CHECK: %[[T:.*]] = grad.transpose %arg0 permutation [2, 3, 0, 1] : tensor<1x8x9x9xi8>
// CHECK-NEXT: %[[M:.*]], %{{.*}} = grad.window_max %[[T]] window <[3, 3] stride [2, 2] low [1, 1] high [1, 1]> : tensor<9x9x1x8xi8>
// CHECK-NEXT: %[[Y:.*]] = grad.transpose %[[M]] permutation [2, 3, 0, 1] : tensor<5x5x1x8xi8>
// CHECK-NEXT: return %[[Y]]
func.func @requantized(%x: tensor<1x8x9x9xi8>) -> tensor<1x8x5x5xi8> {
  %zero = grad.constant dense<-3> : tensor<1x8x9x9xi32>
  %scale = grad.constant dense<0.3> : tensor<1x8x9x9xf32>
  %small = grad.constant dense<0.3> : tensor<1x8x5x5xf32>
  %offset = grad.constant dense<-3.0> : tensor<1x8x5x5xf32>
  %a = grad.cast %x : tensor<1x8x9x9xi8> -> tensor<1x8x9x9xi32>
  %b = grad.sub %a, %zero : tensor<1x8x9x9xi32>
  %c = grad.cast %b : tensor<1x8x9x9xi32> -> tensor<1x8x9x9xf32>
  %d = grad.mul %c, %scale : tensor<1x8x9x9xf32>
  %e = grad.transpose %d permutation [2, 3, 0, 1] : tensor<1x8x9x9xf32>
  %m, %i = grad.window_max %e window <[3, 3] stride [2, 2] low [1, 1] high [1, 1]> : tensor<9x9x1x8xf32>
  %f = grad.transpose %m permutation [2, 3, 0, 1] : tensor<5x5x1x8xf32>
  %g = grad.div %f, %small : tensor<1x8x5x5xf32>
  %h = grad.round %g : tensor<1x8x5x5xf32>
  %j = grad.add %h, %offset : tensor<1x8x5x5xf32>
  %k = grad.cast %j : tensor<1x8x5x5xf32> -> tensor<1x8x5x5xi8>
  return %k : tensor<1x8x5x5xi8>
}

// The parts of a concatenation are quantized before; one of them was computed from such codes.

// CHECK-LABEL: func @concatenated
// CHECK: %[[Q:.*]] = grad.div %arg0, %{{.*}} : tensor<2x4x3xf32>
// CHECK: %[[R:.*]] = grad.round %[[Q]]
// CHECK: %[[C:.*]] = grad.cast %[[R]] : tensor<2x4x3xf32> -> tensor<2x4x3xui8>
// CHECK: %[[Y:.*]] = grad.concatenate %[[C]], %arg1 dim 1 : tensor<2x4x3xui8>, tensor<2x8x3xui8>
// CHECK: return %[[Y]]
func.func @concatenated(%x: tensor<2x4x3xf32>, %y: tensor<2x8x3xui8>) -> tensor<2x12x3xui8> {
  %scale = grad.constant dense<0.3> : tensor<2x8x3xf32>
  %wide = grad.constant dense<0.3> : tensor<2x12x3xf32>
  %a = grad.cast %y : tensor<2x8x3xui8> -> tensor<2x8x3xf32>
  %b = grad.mul %scale, %a : tensor<2x8x3xf32>
  %c = grad.concatenate %x, %b dim 1 : tensor<2x4x3xf32>, tensor<2x8x3xf32>
  %d = grad.div %c, %wide : tensor<2x12x3xf32>
  %e = grad.round %d : tensor<2x12x3xf32>
  %f = grad.cast %e : tensor<2x12x3xf32> -> tensor<2x12x3xui8>
  return %f : tensor<2x12x3xui8>
}

// Unchanged: maxima whose taps are read, of a negative scale, of a window without a tap on an element, and of a zero point far
// from the codes; a concatenation that is read as floats too; another scale, and another type of codes.

// CHECK-LABEL: func @others
// CHECK-COUNT-4: grad.window_max %{{.*}} : tensor<7x13xf32>
// CHECK: grad.concatenate %{{.*}} : tensor<7x13xf32>, tensor<7x13xf32>
// CHECK-COUNT-3: grad.div
func.func @others(%x: tensor<7x13xui8>, %y: tensor<7x13xf32>)
    -> (tensor<3x13xf32>, tensor<3x13xi8>, tensor<3x13xf32>, tensor<6x13xf32>, tensor<3x13xf32>, tensor<14x13xf32>, tensor<14x13xui8>, tensor<7x13xui8>,
        tensor<7x13xi8>) {
  %scale = grad.constant dense<0.3> : tensor<7x13xf32>
  %negative = grad.constant dense<-0.3> : tensor<7x13xf32>
  %other = grad.constant dense<0.4> : tensor<7x13xf32>
  %wide = grad.constant dense<0.3> : tensor<14x13xf32>
  %far = grad.constant dense<2147483647> : tensor<7x13xi32>
  %a = grad.cast %x : tensor<7x13xui8> -> tensor<7x13xf32>
  %b = grad.mul %a, %scale : tensor<7x13xf32>
  %m0, %i0 = grad.window_max %b window <[2] stride [2]> : tensor<7x13xf32>
  %c = grad.mul %a, %negative : tensor<7x13xf32>
  %m1, %i1 = grad.window_max %c window <[2] stride [2]> : tensor<7x13xf32>
  %m2, %i2 = grad.window_max %b window <[2] stride [2] low [3] high [2]> : tensor<7x13xf32>
  %d = grad.cast %x : tensor<7x13xui8> -> tensor<7x13xi32>
  %e = grad.sub %d, %far : tensor<7x13xi32>
  %f = grad.cast %e : tensor<7x13xi32> -> tensor<7x13xf32>
  %g = grad.mul %f, %scale : tensor<7x13xf32>
  %m3, %i3 = grad.window_max %g window <[2] stride [2]> : tensor<7x13xf32>
  %h = grad.concatenate %y, %b dim 0 : tensor<7x13xf32>, tensor<7x13xf32>
  %j = grad.div %h, %wide : tensor<14x13xf32>
  %k = grad.round %j : tensor<14x13xf32>
  %l = grad.cast %k : tensor<14x13xf32> -> tensor<14x13xui8>
  %n = grad.div %b, %other : tensor<7x13xf32>
  %o = grad.round %n : tensor<7x13xf32>
  %p = grad.cast %o : tensor<7x13xf32> -> tensor<7x13xui8>
  %q = grad.div %b, %scale : tensor<7x13xf32>
  %r = grad.round %q : tensor<7x13xf32>
  %s = grad.cast %r : tensor<7x13xf32> -> tensor<7x13xi8>
  return %m0, %i0, %m1, %m2, %m3, %h, %l, %p, %s
      : tensor<3x13xf32>, tensor<3x13xi8>, tensor<3x13xf32>, tensor<6x13xf32>, tensor<3x13xf32>, tensor<14x13xf32>, tensor<14x13xui8>, tensor<7x13xui8>,
        tensor<7x13xi8>
}

// Both zeros are the integer 0, so adding 0 changes no code. Other floats keep the sum, which turns -0.0 around.

// CHECK-LABEL: func @sums
// CHECK-DAG: grad.cast %arg0 : tensor<4xf32> -> tensor<4xi8>
// CHECK-DAG: grad.add %arg0, %{{.*}} : tensor<4xf32>
// CHECK: return
func.func @sums(%x: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xf64>) {
  %zero = grad.constant dense<0.0> : tensor<4xf32>
  %a = grad.add %x, %zero : tensor<4xf32>
  %b = grad.cast %a : tensor<4xf32> -> tensor<4xi8>
  %c = grad.cast %a : tensor<4xf32> -> tensor<4xf64>
  return %b, %c : tensor<4xi8>, tensor<4xf64>
}
