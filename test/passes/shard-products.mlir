// RUN: gradc-opt %s -split-input-file -gradc-shard-products=least-flops-per-byte=0 -verify-diagnostics | FileCheck %s

// Columns of one product and rows of the next: ranks sum their terms of the second product. The bias of sharded columns is sharded, the one
// after the sum is not. Entries that read the same states are sharded alike.
module attributes {grad.shards = 2 : i64} {

// CHECK: grad.state parameter @w : tensor<8x3xf32> shard [1, 1, 2] = dense<5.000000e-01> : tensor<8x6xf32>
// CHECK: grad.state parameter @b : tensor<3xf32> shard [0, 1, 2] = dense<0.000000e+00> : tensor<6xf32>
// CHECK: grad.state parameter @v : tensor<3x4xf32> shard [0, 1, 2] = dense<5.000000e-01> : tensor<6x4xf32>
// CHECK: grad.state parameter @c : tensor<4xf32> = dense<0.000000e+00> : tensor<4xf32>
// expected-remark @+1 {{ranks shard "w" along dim 1, "v" along dim 0, "b" along dim 0}}
grad.state parameter @w : tensor<8x6xf32> = dense<0.5> : tensor<8x6xf32>
grad.state parameter @b : tensor<6xf32> = dense<0.0> : tensor<6xf32>
grad.state parameter @v : tensor<6x4xf32> = dense<0.5> : tensor<6x4xf32>
grad.state parameter @c : tensor<4xf32> = dense<0.0> : tensor<4xf32>

// CHECK-LABEL: @train
// CHECK-SAME: (%[[X:.*]]: tensor<32x8xf32>
// CHECK: %[[IN:.*]] = grad.fan_out %[[X]] : tensor<32x8xf32>
// CHECK: %[[W:.*]] = grad.read @w : tensor<8x3xf32>
// CHECK: %[[B:.*]] = grad.read @b : tensor<3xf32>
// CHECK: %[[V:.*]] = grad.read @v : tensor<3x4xf32>
// CHECK: %[[H:.*]] = grad.matmul %[[IN]], %[[W]] : tensor<32x8xf32>, tensor<8x3xf32>
// CHECK: %[[ROWS:.*]] = grad.broadcast %[[B]] dims [1] : tensor<3xf32> -> tensor<32x3xf32>
// CHECK: %[[SUM:.*]] = grad.add %[[H]], %[[ROWS]]
// A constant splat is created again with the shard's shape.
// CHECK: %[[ZERO:.*]] = grad.constant dense<0.000000e+00> : tensor<32x3xf32>
// CHECK: %[[RELU:.*]] = grad.maximum %[[SUM]], %[[ZERO]] : tensor<32x3xf32>
// CHECK: %[[TERM:.*]] = grad.matmul %[[RELU]], %[[V]] : tensor<32x3xf32>, tensor<3x4xf32>
// CHECK: %[[Y:.*]] = grad.sum_shards %[[TERM]] : tensor<32x4xf32>
// CHECK: grad.add %[[Y]], %{{.*}} : tensor<32x4xf32>
func.func @train(%x: tensor<32x8xf32>) -> tensor<32x4xf32> {
  %w = grad.read @w : tensor<8x6xf32>
  %b = grad.read @b : tensor<6xf32>
  %v = grad.read @v : tensor<6x4xf32>
  %c = grad.read @c : tensor<4xf32>
  %zero = grad.constant dense<0.0> : tensor<32x6xf32>
  %0 = grad.matmul %x, %w : tensor<32x8xf32>, tensor<8x6xf32>
  %1 = grad.broadcast %b dims [1] : tensor<6xf32> -> tensor<32x6xf32>
  %2 = grad.add %0, %1 : tensor<32x6xf32>
  %3 = grad.maximum %2, %zero : tensor<32x6xf32>
  %4 = grad.matmul %3, %v : tensor<32x6xf32>, tensor<6x4xf32>
  %5 = grad.broadcast %c dims [1] : tensor<4xf32> -> tensor<32x4xf32>
  %6 = grad.add %4, %5 : tensor<32x4xf32>
  return %6 : tensor<32x4xf32>
}

// CHECK-LABEL: @forward
// CHECK: grad.matmul %{{.*}}, %{{.*}} : tensor<1x8xf32>, tensor<8x3xf32>
// CHECK: grad.sum_shards %{{.*}} : tensor<1x4xf32>
func.func @forward(%x: tensor<1x8xf32>) -> tensor<1x4xf32> {
  %w = grad.read @w : tensor<8x6xf32>
  %v = grad.read @v : tensor<6x4xf32>
  %0 = grad.matmul %x, %w : tensor<1x8xf32>, tensor<8x6xf32>
  %1 = grad.matmul %0, %v : tensor<1x6xf32>, tensor<6x4xf32>
  return %1 : tensor<1x4xf32>
}
}

// -----

// Attention by heads. Queries, keys and values are columns of one product, so a shard has a part of each third. A mask that is
// repeated for all heads is repeated for fewer.
module attributes {grad.shards = 2 : i64} {
// CHECK: grad.state parameter @qkv : tensor<12x18xf32> shard [1, 3, 2] = dense<5.000000e-01> : tensor<12x36xf32>
// CHECK: grad.state parameter @out : tensor<6x12xf32> shard [0, 1, 2]
// expected-remark @+1 {{ranks shard "qkv" along dim 1, "out" along dim 0}}
grad.state parameter @qkv : tensor<12x36xf32> = dense<0.5> : tensor<12x36xf32>
grad.state parameter @out : tensor<12x12xf32> = dense<0.5> : tensor<12x12xf32>

// CHECK-LABEL: @attention
// CHECK: grad.slice %{{.*}} starts [0, 6] sizes [10, 6] strides [1, 1] : tensor<10x18xf32>
// CHECK: grad.reshape %{{.*}} : tensor<10x6xf32> -> tensor<2x5x2x3xf32>
// CHECK: %[[MASK:.*]] = grad.broadcast %{{.*}} dims [2, 3] : tensor<5x5xf32> -> tensor<2x2x5x5xf32>
// CHECK: grad.softmax %{{.*}} dim 3 : tensor<2x2x5x5xf32>
// CHECK: grad.reshape %{{.*}} : tensor<2x5x2x3xf32> -> tensor<10x6xf32>
// CHECK: %[[TERM:.*]] = grad.matmul %{{.*}} : tensor<10x6xf32>, tensor<6x12xf32>
// CHECK: grad.sum_shards %[[TERM]] : tensor<10x12xf32>
func.func @attention(%x: tensor<10x12xf32>, %mask: tensor<5x5xf32>) -> tensor<10x12xf32> {
  %w = grad.read @qkv : tensor<12x36xf32>
  %o = grad.read @out : tensor<12x12xf32>
  %0 = grad.matmul %x, %w : tensor<10x12xf32>, tensor<12x36xf32>
  %q = grad.slice %0 starts [0, 0] sizes [10, 12] strides [1, 1] : tensor<10x36xf32>
  %k = grad.slice %0 starts [0, 12] sizes [10, 12] strides [1, 1] : tensor<10x36xf32>
  %v = grad.slice %0 starts [0, 24] sizes [10, 12] strides [1, 1] : tensor<10x36xf32>
  %q4 = grad.reshape %q : tensor<10x12xf32> -> tensor<2x5x4x3xf32>
  %k4 = grad.reshape %k : tensor<10x12xf32> -> tensor<2x5x4x3xf32>
  %v4 = grad.reshape %v : tensor<10x12xf32> -> tensor<2x5x4x3xf32>
  %qh = grad.transpose %q4 permutation [0, 2, 1, 3] : tensor<2x5x4x3xf32>
  %kh = grad.transpose %k4 permutation [0, 2, 1, 3] : tensor<2x5x4x3xf32>
  %vh = grad.transpose %v4 permutation [0, 2, 1, 3] : tensor<2x5x4x3xf32>
  %s = grad.matmul %qh, %kh transpose_rhs : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
  %m = grad.broadcast %mask dims [2, 3] : tensor<5x5xf32> -> tensor<2x4x5x5xf32>
  %masked = grad.add %s, %m : tensor<2x4x5x5xf32>
  %p = grad.softmax %masked dim 3 : tensor<2x4x5x5xf32>
  %a = grad.matmul %p, %vh : tensor<2x4x5x5xf32>, tensor<2x4x5x3xf32>
  %at = grad.transpose %a permutation [0, 2, 1, 3] : tensor<2x4x5x3xf32>
  %merged = grad.reshape %at : tensor<2x5x4x3xf32> -> tensor<10x12xf32>
  %y = grad.matmul %merged, %o : tensor<10x12xf32>, tensor<12x12xf32>
  return %y : tensor<10x12xf32>
}
}

// -----

// Channels of convolutions: the batch statistics and running statistics of a channel belong to one rank.
module attributes {grad.shards = 2 : i64} {
// expected-remark @+1 {{ranks shard "w" along dim 3, "v" along dim 2}}
grad.state parameter @w : tensor<3x3x2x4xf32> = dense<0.5> : tensor<3x3x2x4xf32>
grad.state parameter @v : tensor<3x3x4x2xf32> = dense<0.5> : tensor<3x3x4x2xf32>

// CHECK-LABEL: @convolutions
// CHECK: grad.sum_shards
func.func @convolutions(%x: tensor<6x6x1x2xf32>) -> tensor<2x2x1x2xf32> {
  %w = grad.read @w : tensor<3x3x2x4xf32>
  %v = grad.read @v : tensor<3x3x4x2xf32>
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3]> : tensor<6x6x1x2xf32>, tensor<3x3x2x4xf32>
  %1 = grad.tanh %0 : tensor<4x4x1x4xf32>
  %2 = grad.convolution %1, %v dims "nc,co->no" window <[3, 3]> : tensor<4x4x1x4xf32>, tensor<3x3x4x2xf32>
  return %2 : tensor<2x2x1x2xf32>
}
}
