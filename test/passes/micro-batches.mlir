// RUN: gradc-opt %s --gradc-build-step | FileCheck %s

// Batched inputs are split into parts; the sum of the weights over all of them is computed before the first part. Gradients, the loss and
// values written by the body are carried; clipping and the update run once.
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x3xf32> {grad.batched}, %[[M:[a-z0-9]+]]: tensor<8xf32> {grad.batched}
// CHECK-SAME: grad.batch = 8
// CHECK: %[[W:.*]] = grad.read @w : tensor<3xf32>
// CHECK: %[[XS:.*]] = grad.reshape %[[X]] : tensor<8x3xf32> -> tensor<4x2x3xf32>
// CHECK: %[[MS:.*]] = grad.reshape %[[M]] : tensor<8xf32> -> tensor<4x2xf32>
// CHECK: %[[TOTAL:.*]] = grad.scan 4 from(%{{.*}}) over(%[[XS]], %[[MS]])
// CHECK: grad.reduce_sum
// CHECK: grad.yield
// CHECK: %[[NOTHING:.*]] = grad.compare eq %[[TOTAL]], %{{.*}}
// CHECK: %[[INVERSE:.*]] = grad.div %{{.*}}, %[[TOTAL]]
// CHECK: grad.select %[[NOTHING]], %{{.*}}, %[[INVERSE]]
// CHECK: %[[ALL:.*]]:5 = grad.scan 4 from({{.*}}) over(%[[XS]], %[[MS]]) with(
// CHECK: %[[G:.*]] = grad.gradient %{{.*}} wrt %{{.*}} : tensor<f32>, tensor<3xf32>
// CHECK: grad.add %{{.*}}, %[[G]] : tensor<3xf32>
// CHECK: grad.yield
// CHECK: %[[MEAN:.*]] = grad.mul %[[ALL]]#3, %{{.*}} : tensor<f32>
// CHECK: grad.is_finite %[[ALL]]#2
// CHECK: grad.sgd %[[W]], %[[ALL]]#4
// CHECK: return %[[ALL]]#2, %[[MEAN]], %{{.*}} : tensor<f32>, tensor<f32>, tensor<i1>
grad.state parameter @w : tensor<3xf32> = dense<0.5> : tensor<3xf32>
grad.state statistic @s : tensor<f32> = dense<0.0> : tensor<f32>
func.func @train(%x: tensor<2x3xf32> {grad.batched}, %m: tensor<2xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "metric"}, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 2 : i64, grad.micro_batches = 4 : i64, grad.optimizer = {name = "sgd"}} {
  %w = grad.read @w : tensor<3xf32>
  %s = grad.read @s : tensor<f32>
  %0 = grad.broadcast %w dims [1] : tensor<3xf32> -> tensor<2x3xf32>
  %1 = grad.mul %x, %0 : tensor<2x3xf32>
  %2 = grad.reduce_sum %1 dims [1] : tensor<2x3xf32>
  %3 = grad.mul %2, %m : tensor<2xf32>
  %4 = grad.reduce_sum %3 dims [0] : tensor<2xf32>
  %5 = grad.reduce_sum %m dims [0] : tensor<2xf32>
  %6 = grad.div %4, %5 : tensor<f32>
  %7 = grad.add %s, %4 : tensor<f32>
  grad.write @s, %7 : tensor<f32>
  return %6, %4, %4, %5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// The last, smaller batch of a run has fewer parts. Its random numbers do not repeat those of earlier steps: counters advance by as many
// as a whole batch uses.

// CHECK-LABEL: func.func @rest(
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<i32> {grad.role = "counter"}
// CHECK-NOT: grad.most_micro_batches
// CHECK: grad.scan 2
// CHECK: grad.scan 2
// CHECK: %[[FOUR:.*]] = grad.constant dense<4> : tensor<i32>
// CHECK: %[[FIRST:.*]] = grad.mul %{{.*}}, %[[FOUR]] : tensor<i32>
// CHECK: %[[COUNTER:.*]] = grad.add %[[FIRST]], %{{.*}} : tensor<i32>
// CHECK: grad.cast %[[COUNTER]] : tensor<i32> -> tensor<f32>
func.func @rest(%x: tensor<2xf32> {grad.batched}, %c: tensor<i32> {grad.role = "counter"},
    %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 2 : i64, grad.micro_batches = 2 : i64, grad.most_micro_batches = 4 : i64, grad.optimizer = {name = "sgd"}} {
  %w = grad.read @w : tensor<3xf32>
  %0 = grad.reduce_sum %w dims [0] : tensor<3xf32>
  %1 = grad.reduce_sum %x dims [0] : tensor<2xf32>
  %2 = grad.cast %c : tensor<i32> -> tensor<f32>
  %3 = grad.mul %0, %2 : tensor<f32>
  %4 = grad.mul %3, %1 : tensor<f32>
  return %4, %4, %1 : tensor<f32>, tensor<f32>, tensor<f32>
}

// Gradients of bf16 are summed in f32.

// CHECK-LABEL: func.func @short(
// CHECK: %[[V:.*]] = grad.read @v : tensor<3xbf16>
// CHECK: %[[ALL:.*]]:3 = grad.scan 4 from(
// CHECK: %[[G:.*]] = grad.gradient %{{.*}} wrt %{{.*}} : tensor<f32>, tensor<3xbf16>
// CHECK: %[[WIDE:.*]] = grad.cast %[[G]] : tensor<3xbf16> -> tensor<3xf32>
// CHECK: grad.add %{{.*}}, %[[WIDE]] : tensor<3xf32>
// CHECK: grad.yield
// CHECK: %[[OLD:.*]] = grad.cast %[[V]] : tensor<3xbf16> -> tensor<3xf32>
// CHECK: grad.sgd %[[OLD]], %[[ALL]]#2
grad.state parameter @v : tensor<3xbf16> = dense<0.5> : tensor<3xbf16>
func.func @short(%x: tensor<2x3xbf16> {grad.batched}, %m: tensor<2xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 2 : i64, grad.micro_batches = 4 : i64, grad.optimizer = {name = "sgd"}} {
  %v = grad.read @v : tensor<3xbf16>
  %0 = grad.broadcast %v dims [1] : tensor<3xbf16> -> tensor<2x3xbf16>
  %1 = grad.mul %x, %0 : tensor<2x3xbf16>
  %2 = grad.cast %1 : tensor<2x3xbf16> -> tensor<2x3xf32>
  %3 = grad.reduce_sum %2 dims [1] : tensor<2x3xf32>
  %4 = grad.mul %3, %m : tensor<2xf32>
  %5 = grad.reduce_sum %4 dims [0] : tensor<2xf32>
  %6 = grad.reduce_sum %m dims [0] : tensor<2xf32>
  %7 = grad.div %5, %6 : tensor<f32>
  return %7, %5, %6 : tensor<f32>, tensor<f32>, tensor<f32>
}
