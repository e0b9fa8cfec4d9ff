// RUN: gradc-opt %s -gradc-build-step | FileCheck %s

// Parts take the rank's rows in turn. Nothing is summed over ranks within a part.

grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>

// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<32x3xf32>
// CHECK-SAME: %[[ROWS:[a-z0-9]*]]: tensor<f32> {grad.name = "rank_rows", grad.role = "rank_rows"}
// CHECK-SAME: attributes {grad.batch = 8 : i64, grad.in_parts, grad.ranks = {}, grad.row_unit = 4 : i64}
// CHECK: grad.all_reduce %[[ROWS]] : tensor<f32>
// CHECK: %[[TURNS:.*]] = grad.reshape %[[X]] : tensor<32x3xf32> -> tensor<8x4x3xf32>
// CHECK: %[[STEPS:.*]] = grad.transpose %[[TURNS]] permutation [1, 0, 2]
// A mask is counted over all parts of all ranks.
// CHECK: %[[COUNTED:.*]] = grad.scan 4
// CHECK: %[[THERE:.*]] = grad.select %{{.*}}, %[[COUNTED]],
// CHECK: grad.all_reduce %[[THERE]] : tensor<f32>
// CHECK: %[[LEFT:.*]]:3 = grad.scan 4 from({{.*}}) over(%[[STEPS]], %{{.*}})
// CHECK-NOT: grad.all_reduce
// CHECK: grad.yield
// CHECK: %[[G:.*]] = grad.all_reduce %[[LEFT]]#2 : tensor<3x4xf32>
// CHECK: grad.all_reduce %[[LEFT]]#1 : tensor<f32>
// CHECK: grad.sgd %{{.*}}, %[[G]],
func.func @train(%x: tensor<8x3xf32> {grad.batched}, %mask: tensor<8xf32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"},
        tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"})
    attributes {grad.batch = 8 : i64, grad.optimizer = {name = "sgd"}, grad.ranks = {}, grad.micro_batches = 4 : i64} {
  %w = grad.read @w : tensor<3x4xf32>
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_sum %0 dims [1] : tensor<8x4xf32>
  %2 = grad.mul %1, %mask : tensor<8xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<8xf32>
  %4 = grad.reduce_sum %mask dims [0] : tensor<8xf32>
  %5 = grad.reduce_mean %1 dims [0] : tensor<8xf32>
  return %5, %3, %4, %5, %one : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
