// RUN: gradc-opt %s --gradc-integer-products --canonicalize --gradc-bind-rows="judge" | FileCheck %s

// Entries keep their free number of rows: what is added to each row is a state, once for all entries, and not a constant of as many rows as
// the largest run has.
// CHECK: grad.state constant @product.terms : tensor<2xi32> = dense<[48, 60]>
// CHECK-NOT: .terms
grad.state constant @w : tensor<4x2xi8> = dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
grad.state constant @filter : tensor<1x1x4x2xi8> = dense<[[[[1, 2], [3, 4], [5, 6], [7, 8]]]]> : tensor<1x1x4x2xi8>

// Rows and positions are one dim of the product.
// CHECK-LABEL: func.func @positions
// CHECK-SAME: grad.rows
// CHECK: %[[SUM:.*]] = grad.matmul %{{.*}} wide : tensor<128x4xui8>, tensor<4x2xi8>
// CHECK: %[[READ:.*]] = grad.read @product.terms
// CHECK: %[[TERMS:.*]] = grad.broadcast %[[READ]] dims [1] : tensor<2xi32> -> tensor<128x2xi32>
// CHECK: grad.sub %[[SUM]], %[[TERMS]]
func.func @positions(%x: tensor<4x32x4xui8> {grad.batched}) -> tensor<4x32x2xf32> attributes {grad.entry = "positions", grad.batch = 4 : i64} {
  %zero = grad.constant dense<3> : tensor<4x32x4xi32>
  %scale = grad.constant dense<0.5> : tensor<4x32x4xf32>
  %a = grad.cast %x : tensor<4x32x4xui8> -> tensor<4x32x4xi32>
  %b = grad.sub %a, %zero : tensor<4x32x4xi32>
  %c = grad.cast %b : tensor<4x32x4xi32> -> tensor<4x32x4xf32>
  %d = grad.mul %c, %scale : tensor<4x32x4xf32>
  %e = grad.reshape %d : tensor<4x32x4xf32> -> tensor<128x4xf32>
  %w = grad.read @w : tensor<4x2xi8>
  %half = grad.constant dense<0.5> : tensor<4x2xf32>
  %f = grad.cast %w : tensor<4x2xi8> -> tensor<4x2xf32>
  %g = grad.mul %f, %half : tensor<4x2xf32>
  %y = grad.matmul %e, %g : tensor<128x4xf32>, tensor<4x2xf32>
  %z = grad.reshape %y : tensor<128x2xf32> -> tensor<4x32x2xf32>
  return %z : tensor<4x32x2xf32>
}

// The zero point is computed in the run.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: grad.rows
// CHECK: grad.matmul %{{.*}} wide : tensor<128x4xui8>, tensor<4x2xi8>
func.func @dynamic(%x: tensor<4x32x4xui8> {grad.batched}, %zero: tensor<ui8>) -> tensor<4x32x2xi32> attributes {grad.entry = "dynamic", grad.batch = 4 : i64} {
  %n = grad.cast %zero : tensor<ui8> -> tensor<i32>
  %z = grad.broadcast %n dims [] : tensor<i32> -> tensor<4x32x4xi32>
  %a = grad.cast %x : tensor<4x32x4xui8> -> tensor<4x32x4xi32>
  %b = grad.sub %a, %z : tensor<4x32x4xi32>
  %c = grad.reshape %b : tensor<4x32x4xi32> -> tensor<128x4xi32>
  %w = grad.read @w : tensor<4x2xi8>
  %d = grad.cast %w : tensor<4x2xi8> -> tensor<4x2xi32>
  %y = grad.matmul %c, %d : tensor<128x4xi32>, tensor<4x2xi32>
  %e = grad.reshape %y : tensor<128x2xi32> -> tensor<4x32x2xi32>
  return %e : tensor<4x32x2xi32>
}

// Rows of pictures are behind their positions.
// CHECK-LABEL: func.func @pictures
// CHECK-SAME: grad.rows
// CHECK: %[[SUM:.*]] = grad.convolution %{{.*}} wide : tensor<5x5x4x4xui8>, tensor<1x1x4x2xi8>
// CHECK: %[[READ:.*]] = grad.read @product.terms
// CHECK: grad.broadcast %[[READ]] dims [3] : tensor<2xi32> -> tensor<5x5x4x2xi32>
func.func @pictures(%x: tensor<4x4x5x5xui8> {grad.batched}) -> tensor<4x2x5x5xi32> attributes {grad.entry = "pictures", grad.batch = 4 : i64} {
  %zero = grad.constant dense<3> : tensor<4x4x5x5xi32>
  %a = grad.cast %x : tensor<4x4x5x5xui8> -> tensor<4x4x5x5xi32>
  %b = grad.sub %a, %zero : tensor<4x4x5x5xi32>
  %c = grad.transpose %b permutation [2, 3, 0, 1] : tensor<4x4x5x5xi32>
  %w = grad.read @filter : tensor<1x1x4x2xi8>
  %d = grad.cast %w : tensor<1x1x4x2xi8> -> tensor<1x1x4x2xi32>
  %y = grad.convolution %c, %d dims "nc,co->no" window <[1, 1]> : tensor<5x5x4x4xi32>, tensor<1x1x4x2xi32>
  %e = grad.transpose %y permutation [2, 3, 0, 1] : tensor<5x5x4x2xi32>
  return %e : tensor<4x2x5x5xi32>
}
