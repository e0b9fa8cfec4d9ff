// RUN: gradc-opt %s -gradc-raise-composites | FileCheck %s

// Layer and RMS normalization, written with means.

// Each row of a batch is normalized on its own, although its size is a multiple of the batch.
// CHECK-LABEL: @of_rows
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1]
// CHECK-NEXT: return %[[Y]]
func.func @of_rows(%x: tensor<4x8xf32> {grad.batched}) -> tensor<4x8xf32> attributes {grad.batch = 4 : i64} {
  %s = grad.reduce_sum %x dims [1] : tensor<4x8xf32>
  %n = grad.constant dense<8.0> : tensor<4xf32>
  %m = grad.div %s, %n : tensor<4xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The operand of the second normalization is only known after the first one has been replaced.
// CHECK-LABEL: @twice
// CHECK-COUNT-2: grad.normalize
// CHECK-NOT: grad.div
// CHECK: return
func.func @twice(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  %m2 = grad.reduce_mean %y dims [1] : tensor<4x8xf32>
  %b2 = grad.broadcast %m2 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c2 = grad.sub %y, %b2 : tensor<4x8xf32>
  %q2 = grad.mul %c2, %c2 : tensor<4x8xf32>
  %v2 = grad.reduce_mean %q2 dims [1] : tensor<4x8xf32>
  %a2 = grad.add %v2, %eps : tensor<4xf32>
  %d2 = grad.sqrt %a2 : tensor<4xf32>
  %r2 = grad.broadcast %d2 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y2 = grad.div %c2, %r2 : tensor<4x8xf32>
  return %y2 : tensor<4x8xf32>
}

// PyTorch before opset 17: division by the deviation.
// CHECK-LABEL: @divided
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1] epsilon {{(1.000000e-05|9.99999[0-9]*E-6)}}
// CHECK-NEXT: return %[[Y]]
func.func @divided(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// TensorFlow: multiplication by the inverse deviation; the power 0.5 counts as a root.
// CHECK-LABEL: @rsqrt
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1] epsilon {{(1.000000e-05|9.99999[0-9]*E-6)}}
// CHECK-NEXT: return %[[Y]]
func.func @rsqrt(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.rsqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.mul %c, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @power
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1] epsilon {{(1.000000e-05|9.99999[0-9]*E-6)}}
// CHECK-NEXT: return %[[Y]]
func.func @power(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %p = grad.constant dense<-0.5> : tensor<4xf32>
  %d = grad.pow %a, %p : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.mul %r, %c : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @reciprocal_of_power
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1] epsilon {{(1.000000e-05|9.99999[0-9]*E-6)}}
// CHECK-NEXT: return %[[Y]]
func.func @reciprocal_of_power(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %p = grad.constant dense<0.5> : tensor<4xf32>
  %w = grad.pow %a, %p : tensor<4xf32>
  %d = grad.reciprocal %w : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.mul %r, %c : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @one_over_root
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1] epsilon {{(1.000000e-05|9.99999[0-9]*E-6)}}
// CHECK-NEXT: return %[[Y]]
func.func @one_over_root(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %one = grad.constant dense<1.0> : tensor<4xf32>
  %w = grad.sqrt %a : tensor<4xf32>
  %d = grad.div %one, %w : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.mul %r, %c : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// JAX: means are sums over a count.
// CHECK-LABEL: @sums
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1] epsilon {{(1.000000e-05|9.99999[0-9]*E-6)}}
// CHECK-NEXT: return %[[Y]]
func.func @sums(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %t = grad.reduce_sum %x dims [1] : tensor<4x8xf32>
  %n = grad.constant dense<8.0> : tensor<4xf32>
  %m = grad.div %t, %n : tensor<4xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %u = grad.reduce_sum %q dims [1] : tensor<4x8xf32>
  %i = grad.constant dense<0.125> : tensor<4xf32>
  %v = grad.mul %i, %u : tensor<4xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Flax: the mean of the squares minus the square of the mean, at least 0; the gain is multiplied first.
// CHECK-LABEL: @flax
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[G:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1] epsilon {{(1.000000e-05|9.99999[0-9]*E-6)}}
// CHECK-NEXT: %[[Z:.*]] = grad.mul %[[Y]], %[[G]]
// CHECK-NEXT: return %[[Z]]
func.func @flax(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %xx = grad.mul %x, %x : tensor<4x8xf32>
  %s = grad.reduce_mean %xx dims [1] : tensor<4x8xf32>
  %mm = grad.mul %m, %m : tensor<4xf32>
  %w = grad.sub %s, %mm : tensor<4xf32>
  %zero = grad.constant dense<0.0> : tensor<4xf32>
  %v = grad.maximum %zero, %w : tensor<4xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.rsqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %rg = grad.mul %r, %g : tensor<4x8xf32>
  %y = grad.mul %c, %rg : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Keras: x s + (shift - mean s), with s = gain / deviation.
// CHECK-LABEL: @keras
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[G:.*]]: tensor<4x8xf32>, %[[H:.*]]: tensor<4x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1] epsilon {{(1.000000e-05|9.99999[0-9]*E-6)}}
// CHECK-NEXT: %[[Z:.*]] = grad.mul %[[Y]], %[[G]]
// CHECK-NEXT: %[[W:.*]] = grad.add %[[Z]], %[[H]]
// CHECK-NEXT: return %[[W]]
func.func @keras(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>, %h: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.rsqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %s = grad.mul %r, %g : tensor<4x8xf32>
  %xs = grad.mul %x, %s : tensor<4x8xf32>
  %ms = grad.mul %b, %s : tensor<4x8xf32>
  %k = grad.sub %h, %ms : tensor<4x8xf32>
  %y = grad.add %xs, %k : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The mean has another reader, for which it is kept.
// CHECK-LABEL: @mean_read
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[M:.*]] = grad.reduce_mean %[[X]]
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = grad.normalize %[[X]] dims [1] epsilon {{(1.000000e-05|9.99999[0-9]*E-6)}}
// CHECK-NEXT: return %[[Y]], %[[M]]
func.func @mean_read(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  return %y, %m : tensor<4x8xf32>, tensor<4xf32>
}

// x / sqrt(mean(x^2) + epsilon): one inverse root per row.
// CHECK-LABEL: @rms_divided
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[V:.*]] = grad.reduce_mean
// CHECK: %[[A:.*]] = grad.add %[[V]]
// CHECK-NEXT: %[[R:.*]] = grad.rsqrt %[[A]]
// CHECK-NEXT: %[[B:.*]] = grad.broadcast %[[R]] dims [0]
// CHECK-NEXT: %[[Y:.*]] = grad.mul %[[X]], %[[B]]
// CHECK-NEXT: return %[[Y]]
func.func @rms_divided(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %q = grad.mul %x, %x : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %x, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @rms_reciprocal
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[V:.*]] = grad.reduce_mean
// CHECK: %[[A:.*]] = grad.add %[[V]]
// CHECK-NEXT: %[[R:.*]] = grad.rsqrt %[[A]]
// CHECK-NEXT: %[[B:.*]] = grad.broadcast %[[R]] dims [0]
// CHECK-NEXT: %[[Y:.*]] = grad.mul %[[X]], %[[B]]
// CHECK-NEXT: return %[[Y]]
func.func @rms_reciprocal(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %q = grad.mul %x, %x : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %w = grad.sqrt %a : tensor<4xf32>
  %d = grad.reciprocal %w : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.mul %x, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Near misses.

// The mean is over the rows of the batch, of which a run may have fewer, and ranks have only some.
// CHECK-LABEL: @over_rows
// CHECK-NOT: grad.normalize
// CHECK: return
func.func @over_rows(%x: tensor<8x4xf32> {grad.batched}) -> tensor<8x4xf32> attributes {grad.batch = 8 : i64} {
  %m = grad.reduce_mean %x dims [0] : tensor<8x4xf32>
  %b = grad.broadcast %m dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %c = grad.sub %x, %b : tensor<8x4xf32>
  %q = grad.mul %c, %c : tensor<8x4xf32>
  %v = grad.reduce_mean %q dims [0] : tensor<8x4xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %y = grad.div %c, %r : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// The mean is over the other dim.
// CHECK-LABEL: @other_axis
// CHECK-NOT: grad.normalize
// CHECK: return
func.func @other_axis(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %m = grad.reduce_mean %x dims [0] : tensor<8x8xf32>
  %b = grad.broadcast %m dims [1] : tensor<8xf32> -> tensor<8x8xf32>
  %c = grad.sub %x, %b : tensor<8x8xf32>
  %q = grad.mul %c, %c : tensor<8x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<8x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<8xf32>
  %a = grad.add %v, %eps : tensor<8xf32>
  %d = grad.sqrt %a : tensor<8xf32>
  %r = grad.broadcast %d dims [0] : tensor<8xf32> -> tensor<8x8xf32>
  %y = grad.div %c, %r : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// Epsilon is added to the deviation.
// CHECK-LABEL: @other_epsilon
// CHECK-NOT: grad.normalize
// CHECK: return
func.func @other_epsilon(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %s = grad.sqrt %v : tensor<4xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %d = grad.add %s, %eps : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @negative_epsilon
// CHECK-NOT: grad.normalize
// CHECK: return
func.func @negative_epsilon(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<-1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The sum is divided by N - 1, as in an unbiased variance.
// CHECK-LABEL: @unbiased
// CHECK-NOT: grad.normalize
// CHECK: return
func.func @unbiased(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %u = grad.reduce_sum %q dims [1] : tensor<4x8xf32>
  %n = grad.constant dense<7.0> : tensor<4xf32>
  %v = grad.div %u, %n : tensor<4xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The variance is that of another value.
// CHECK-LABEL: @other_value
// CHECK-NOT: grad.normalize
// CHECK: return
func.func @other_value(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %e = grad.reduce_mean %z dims [1] : tensor<4x8xf32>
  %f = grad.broadcast %e dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %o = grad.sub %z, %f : tensor<4x8xf32>
  %q = grad.mul %o, %o : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The root divides another value, or has another reader.
// CHECK-LABEL: @other_numerator
// CHECK-NOT: grad.normalize
// CHECK: return
func.func @other_numerator(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %x, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @root_read
// CHECK-NOT: grad.normalize
// CHECK: return
func.func @root_read(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %c, %r : tensor<4x8xf32>
  return %y, %r : tensor<4x8xf32>, tensor<4x8xf32>
}

// A scaled operand without its shift.
// CHECK-LABEL: @no_shift
// CHECK-NOT: grad.normalize
// CHECK: return
func.func @no_shift(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = grad.reduce_mean %x dims [1] : tensor<4x8xf32>
  %b = grad.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = grad.sub %x, %b : tensor<4x8xf32>
  %q = grad.mul %c, %c : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.rsqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %s = grad.mul %r, %g : tensor<4x8xf32>
  %y = grad.mul %x, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @rms_of_another
// CHECK-NOT: grad.rsqrt
// CHECK: return
func.func @rms_of_another(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %q = grad.mul %z, %z : tensor<4x8xf32>
  %v = grad.reduce_mean %q dims [1] : tensor<4x8xf32>
  %eps = grad.constant dense<1.0e-05> : tensor<4xf32>
  %a = grad.add %v, %eps : tensor<4xf32>
  %d = grad.sqrt %a : tensor<4xf32>
  %r = grad.broadcast %d dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = grad.div %x, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

