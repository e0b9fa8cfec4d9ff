// RUN: gradc-opt %s -split-input-file -gradc-shard-products -verify-diagnostics | FileCheck %s

// States that ranks do not shard, and the reasons.

// CHECK-NOT: grad.sum_shards
// CHECK-NOT: grad.fan_out
// CHECK-NOT: shard [

module attributes {grad.shards = 3 : i64} {
// expected-remark @+1 {{each rank has all of "w": its 4 elements are no multiple of 3}}
grad.state parameter @w : tensor<2x4xf32> = dense<0.5> : tensor<2x4xf32>
func.func @divides_nothing(%x: tensor<8x2xf32>) -> tensor<8x4xf32> {
  // expected-note @+1 {{at grad.read}}
  %w = grad.read @w : tensor<2x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
  return %0 : tensor<8x4xf32>
}
}

// -----

module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": a result of the model would be sharded}}
grad.state parameter @w : tensor<2x4xf32> = dense<0.5> : tensor<2x4xf32>
func.func @is_the_last_one(%x: tensor<8x2xf32>) -> tensor<8x4xf32> {
  %w = grad.read @w : tensor<2x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
  // expected-note @+1 {{at func.return}}
  return %0 : tensor<8x4xf32>
}
}

// -----

// An op needs whole rows.
module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": it combines elements of several shards}}
grad.state parameter @w : tensor<2x4xf32> = dense<0.5> : tensor<2x4xf32>
func.func @softmax(%x: tensor<8x2xf32>) -> tensor<8x4xf32> {
  %w = grad.read @w : tensor<2x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
  // expected-note @+1 {{at grad.softmax}}
  %1 = grad.softmax %0 dim 1 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
}

// -----

// A reduction other than a sum.
module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": it combines elements of several shards}}
grad.state parameter @w : tensor<2x4xf32> = dense<0.5> : tensor<2x4xf32>
func.func @maximum(%x: tensor<8x2xf32>) -> tensor<8xf32> {
  %w = grad.read @w : tensor<2x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
  // expected-note @+1 {{at grad.reduce_max}}
  %1 = grad.reduce_max %0 dims [1] : tensor<8x4xf32>
  return %1 : tensor<8xf32>
}
}

// -----

// Values that depend on an element's position: each rank would compute those of the first shard.
module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": it combines elements of several shards}}
grad.state parameter @w : tensor<2x4xf32> = dense<0.5> : tensor<2x4xf32>
func.func @dropout(%x: tensor<8x2xf32>, %seed: tensor<i32>, %step: tensor<i32>) -> tensor<8x4xf32> {
  %w = grad.read @w : tensor<2x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
  // expected-note @+1 {{at grad.dropout}}
  %1 = grad.dropout %0, %seed, %step stream 3 ratio 0.3 : tensor<8x4xf32>, tensor<i32>
  return %1 : tensor<8x4xf32>
}
}

// -----

module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": it reshapes across shards}}
grad.state parameter @w : tensor<2x6xf32> = dense<0.5> : tensor<2x6xf32>
func.func @reshape(%x: tensor<8x2xf32>) -> tensor<8x3x2xf32> {
  %w = grad.read @w : tensor<2x6xf32>
  %0 = grad.matmul %x, %w : tensor<8x2xf32>, tensor<2x6xf32>
  // expected-note @+1 {{at grad.reshape}}
  %1 = grad.reshape %0 : tensor<8x6xf32> -> tensor<8x3x2xf32>
  return %1 : tensor<8x3x2xf32>
}
}

// -----

module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": it takes 2 of 8 elements, which are no whole shards}}
grad.state parameter @w : tensor<2x8xf32> = dense<0.5> : tensor<2x8xf32>
func.func @slice(%x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %w = grad.read @w : tensor<2x8xf32>
  %0 = grad.matmul %x, %w : tensor<8x2xf32>, tensor<2x8xf32>
  // expected-note @+1 {{at grad.slice}}
  %1 = grad.slice %0 starts [0, 0] sizes [8, 2] strides [1, 1] : tensor<8x8xf32>
  return %1 : tensor<8x2xf32>
}
}

// -----

// Each rank would need its own elements of the constant.
module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": a constant would be sharded}}
grad.state parameter @w : tensor<2x4xf32> = dense<0.5> : tensor<2x4xf32>
func.func @constant(%x: tensor<1x2xf32>) -> tensor<1xf32> {
  // expected-note @+1 {{at grad.constant}}
  %c = grad.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %w = grad.read @w : tensor<2x4xf32>
  %0 = grad.matmul %x, %w : tensor<1x2xf32>, tensor<2x4xf32>
  %1 = grad.add %0, %c : tensor<1x4xf32>
  %2 = grad.reduce_sum %1 dims [1] : tensor<1x4xf32>
  return %2 : tensor<1xf32>
}
}

// -----

// The columns of one product would be columns of an input.
module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": each rank gets all of an input}}
grad.state parameter @w : tensor<2x4xf32> = dense<0.5> : tensor<2x4xf32>
// expected-note @+1 {{at func.func}}
func.func @input(%x: tensor<8x2xf32>, %y: tensor<8x4xf32>) -> tensor<8x8xf32> {
  %w = grad.read @w : tensor<2x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
  %1 = grad.matmul %0, %y transpose_rhs : tensor<8x4xf32>, tensor<8x4xf32>
  return %1 : tensor<8x8xf32>
}
}

// -----

// Rows and columns of one product would meet in a sum.
module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": its shards would be of two dims}}
grad.state parameter @w : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
func.func @two_dims(%x: tensor<4x4xf32>) -> tensor<f32> {
  %w = grad.read @w : tensor<4x4xf32>
  %0 = grad.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = grad.reshape %0 : tensor<4x4xf32> -> tensor<4x2x2xf32>
  %2 = grad.transpose %0 permutation [1, 0] : tensor<4x4xf32>
  // expected-note @+1 {{at grad.reshape}}
  %3 = grad.reshape %2 : tensor<4x4xf32> -> tensor<4x2x2xf32>
  %4 = grad.add %1, %3 : tensor<4x2x2xf32>
  %5 = grad.reduce_sum %4 dims [0, 1, 2] : tensor<4x2x2xf32>
  return %5 : tensor<f32>
}
}

// -----

// More combinations of sharded operands than are tried.
module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": it has too many operands}}
grad.state parameter @w : tensor<2x4xf32> = dense<0.5> : tensor<2x4xf32>
func.func @operands(%x: tensor<1x2xf32>, %y: tensor<1x4xf32>) -> tensor<14x4xf32> {
  %w = grad.read @w : tensor<2x4xf32>
  %0 = grad.matmul %x, %w : tensor<1x2xf32>, tensor<2x4xf32>
  // expected-note @+1 {{at grad.concatenate}}
  %1 = grad.concatenate %0, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y dim 0
    : tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>,
      tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
  return %1 : tensor<14x4xf32>
}
}

// -----

module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": "w" is not of f32 or f64}}
grad.state parameter @w : tensor<4x4xf16> = dense<0.5> : tensor<4x4xf16>
func.func @half(%x: tensor<8x4xf16>) -> tensor<8x4xf16> {
  %w = grad.read @w : tensor<4x4xf16>
  %0 = grad.matmul %x, %w : tensor<8x4xf16>, tensor<4x4xf16>
  return %0 : tensor<8x4xf16>
}
}

// -----

module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": the optimizer's rule needs all of "w"}}
grad.state parameter @w : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
func.func @rule(%x: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {grad.optimizer = {name = "lars", momentum = 0.9, trust_coefficient = 0.001}} {
  %w = grad.read @w : tensor<4x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32>
  return %0 : tensor<8x4xf32>
}
}

// -----

module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": the model's own gradients would be sharded}}
grad.state parameter @w : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
func.func @gradient(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %w = grad.read @w : tensor<4x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<8x4xf32>
  // expected-note @+1 {{at grad.gradient}}
  %2 = grad.gradient %1 wrt %0 : tensor<f32>, tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
}

// -----

// A run of 4 rows saves 2 x 4 x 4 x 4 operations of two products, and sums 2 x 4 x 4 numbers.
module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": its products are too small to be worth the sums over ranks}}
grad.state parameter @w : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
// expected-remark @+1 {{each rank has all of "v": its products are too small to be worth the sums over ranks}}
grad.state parameter @v : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
func.func @small(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %w = grad.read @w : tensor<4x4xf32>
  %v = grad.read @v : tensor<4x4xf32>
  %0 = grad.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = grad.matmul %0, %v : tensor<4x4xf32>, tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
}

// -----

module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{each rank has all of "w": it is in a branch or a loop}}
grad.state parameter @w : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
func.func @branch(%x: tensor<8x4xf32>, %c: tensor<i1>) -> tensor<8x4xf32> {
  %w = grad.read @w : tensor<4x4xf32>
  %0 = grad.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32>
  // expected-note @+1 {{at grad.if}}
  %1 = grad.if %c with (%0) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    grad.yield %a : tensor<8x4xf32>
  } else {
  ^bb0(%a: tensor<8x4xf32>):
    grad.yield %a : tensor<8x4xf32>
  }
  return %1 : tensor<8x4xf32>
}
}
