// RUN: gradc-opt %s -gradc-build-step | FileCheck %s

// A rank's share of the loss is its sum divided by the count of all ranks. Its gradients are summed before any op reads them.

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
grad.state statistic @mean : tensor<4xf32> = dense<0.0> : tensor<4xf32>

// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[ROWS:[a-z0-9]*]]: tensor<f32> {grad.name = "rank_rows", grad.role = "rank_rows"}
// CHECK-NOT: loss_numerator
// CHECK: %[[ALL:.*]] = grad.all_reduce %[[ROWS]] : tensor<f32>
// CHECK: %[[PORTION:.*]] = grad.div %[[ROWS]], %[[ALL]]
// CHECK: %[[W:.*]] = grad.read @w
// CHECK: %[[SUM:.*]] = grad.reduce_sum %{{.*}} dims [0] : tensor<8xf32>
// CHECK: %[[N:.*]] = grad.reduce_sum %arg1 dims [0]
// CHECK: %[[MEAN:.*]] = grad.reduce_mean
// A rank without rows counts 0.
// CHECK: %[[HAS:.*]] = grad.compare  gt %[[ROWS]],
// CHECK: %[[THERE:.*]] = grad.select %[[HAS]], %[[N]],
// CHECK: grad.all_reduce %[[THERE]] : tensor<f32>
// CHECK: %[[FIRST:.*]] = grad.mul %[[SUM]], %{{.*}}
// A mean computed by the model, or a regularizer, is weighted by the rank's number of rows.
// CHECK: grad.mul %[[MEAN]], %[[PORTION]]
// CHECK: %[[SECOND:.*]] = grad.select
// CHECK: %[[SHARE:.*]] = grad.add %[[FIRST]], %[[SECOND]]
// CHECK: %[[METRIC:.*]] = grad.all_reduce %{{.*}} : tensor<f32>
// CHECK: %[[STATISTIC:.*]] = grad.all_reduce %{{.*}} : tensor<4xf32>
// CHECK: %[[PART:.*]] = grad.gradient %[[SHARE]] wrt %[[W]] :
// CHECK: %[[G:.*]] = grad.all_reduce %[[PART]] bf16 : tensor<3x4xf32>
// CHECK: %[[LOSS:.*]] = grad.all_reduce %[[SHARE]] : tensor<f32>
// CHECK: grad.is_finite %[[LOSS]]
// CHECK: grad.mul %[[G]], %[[G]]
// CHECK: grad.select %{{.*}}, %[[STATISTIC]],
// CHECK: return %[[LOSS]], %[[METRIC]],
func.func @train(%x: tensor<8x3xf32> {grad.batched}, %mask: tensor<8xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "metric"}, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"},
        tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.clip = {global_norm = 2.0}, grad.ranks = {bf16}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_sum %0 dims [1] : tensor<8x4xf32>
  %2 = grad.mul %1, %mask : tensor<8xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<8xf32>
  %4 = grad.reduce_sum %mask dims [0] : tensor<8xf32>
  %5 = grad.reduce_mean %1 dims [0] : tensor<8xf32>
  %6 = grad.reduce_sum %0 dims [0] : tensor<8x4xf32>
  grad.write @mean, %6 : tensor<4xf32>
  return %5, %3, %3, %4, %5, %one : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// The gradient of a sum over rows with respect to rows is not scaled; that of a rank's mean is scaled to the mean over all ranks.

// CHECK-LABEL: func.func @requests(
// CHECK: %[[PORTION:.*]] = grad.div
// CHECK: %[[SUM:.*]] = grad.reduce_sum %{{.*}} dims [0, 1] : tensor<8x4xf32>
// CHECK: %[[OWN:.*]] = grad.gradient %[[SUM]] wrt %[[X:.*]] :
// CHECK: %[[MEAN:.*]] = grad.reduce_mean
// CHECK: %[[LARGE:.*]]:2 = grad.gradient %[[MEAN]] wrt %[[X]], %
// CHECK: %[[SPREAD:.*]] = grad.broadcast %[[PORTION]]
// CHECK: %[[SCALED:.*]] = grad.mul %[[LARGE]]#0, %[[SPREAD]]
// CHECK: grad.mul %[[OWN]], %[[SCALED]]
// CHECK: grad.reduce_sum %[[LARGE]]#1
func.func @requests(%x: tensor<8x3xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"}, tensor<f32> {grad.role = "metric"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<8x4xf32>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<8x3xf32>
  %3 = grad.reduce_mean %0 dims [0, 1] : tensor<8x4xf32>
  %4:2 = grad.gradient %3 wrt %x, %w : tensor<f32>, tensor<8x3xf32>, tensor<3x4xf32>
  %5 = grad.mul %2, %4#0 : tensor<8x3xf32>
  %6 = grad.reduce_mean %5 dims [0, 1] : tensor<8x3xf32>
  %target = grad.optimization_barrier "target" %6 : tensor<f32>
  %7 = grad.reduce_sum %4#1 dims [0, 1] : tensor<3x4xf32>
  return %target, %target, %one, %7 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// A sum over rows is shared as it is: the whole batch's is the sum of those of the ranks. One that is divided by the number of rows is a mean, whether that
// number is still a count or has become an argument.

// CHECK-LABEL: func.func @sums(
// CHECK: %[[PORTION:.*]] = grad.div
// CHECK: %[[SUM:.*]] = grad.reduce_sum %{{.*}} dims [0, 1] : tensor<8x4xf32>
// CHECK: %[[HALF:.*]] = grad.mul %[[SUM]], %
// CHECK: %[[COUNTED:.*]] = grad.div %[[SUM]], %
// CHECK: %[[MEAN:.*]] = grad.div %[[SUM]], %[[ROWS:arg[0-9]+]]
// CHECK-NOT: grad.mul %[[HALF]],
// CHECK: grad.div %[[HALF]], %
// CHECK: grad.mul %[[COUNTED]], %[[PORTION]]
// CHECK: grad.mul %[[MEAN]], %[[PORTION]]
func.func @sums(%x: tensor<8x3xf32> {grad.batched}, %rows: tensor<f32> {grad.role = "rows"}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"},
        tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"},
        tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %half = grad.constant dense<0.5> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %n = grad.count %x dims [0] : tensor<8x3xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<8x4xf32>
  %2 = grad.mul %1, %half : tensor<f32>
  %3 = grad.div %1, %n : tensor<f32>
  %4 = grad.div %1, %rows : tensor<f32>
  return %1, %2, %one, %3, %one, %4, %one : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// Gradients of 16 bits are summed in f32. Those of bf16 travel as bf16, since their sum is rounded to it anyway.

grad.state parameter @half : tensor<3x4xf16> = dense<0.5> : tensor<3x4xf16>
grad.state parameter @brain : tensor<3x4xbf16> = dense<0.5> : tensor<3x4xbf16>

// CHECK-LABEL: func.func @narrow(
// CHECK: %[[PARTS:.*]]:2 = grad.gradient
// CHECK: %[[HALF:.*]] = grad.cast %[[PARTS]]#0 : tensor<3x4xf16> -> tensor<3x4xf32>
// CHECK: %[[SUM:.*]] = grad.all_reduce %[[HALF]] : tensor<3x4xf32>
// CHECK: grad.cast %[[SUM]] : tensor<3x4xf32> -> tensor<3x4xf16>
// CHECK: %[[BRAIN:.*]] = grad.cast %[[PARTS]]#1 : tensor<3x4xbf16> -> tensor<3x4xf32>
// CHECK: %[[OTHER:.*]] = grad.all_reduce %[[BRAIN]] bf16 : tensor<3x4xf32>
// CHECK: grad.cast %[[OTHER]] : tensor<3x4xf32> -> tensor<3x4xbf16>
func.func @narrow(%x: tensor<8x3xf16> {grad.batched}, %y: tensor<8x3xbf16> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}} {
  %w = grad.read @half : tensor<3x4xf16>
  %v = grad.read @brain : tensor<3x4xbf16>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf16>, tensor<3x4xf16>
  %1 = grad.matmul %y, %v : tensor<8x3xbf16>, tensor<3x4xbf16>
  %2 = grad.cast %0 : tensor<8x4xf16> -> tensor<8x4xf32>
  %3 = grad.cast %1 : tensor<8x4xbf16> -> tensor<8x4xf32>
  %4 = grad.add %2, %3 : tensor<8x4xf32>
  %5 = grad.reduce_mean %4 dims [0, 1] : tensor<8x4xf32>
  return %5, %5, %one : tensor<f32>, tensor<f32>, tensor<f32>
}
