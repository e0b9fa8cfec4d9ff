// RUN: gradc-opt %s | gradc-opt | FileCheck %s

// CHECK: grad.state parameter @fc1.weight : tensor<2x3xf32> = dense<0.000000e+00> : tensor<2x3xf32>
grad.state parameter @fc1.weight : tensor<2x3xf32> = dense<0.0> : tensor<2x3xf32>
// CHECK: grad.state statistic @"layer/0:mean" : tensor<2xf32> = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
grad.state statistic @"layer/0:mean" : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
// CHECK: grad.state parameter @sharded : tensor<3x2xf32> permutation [1, 0] shard [0, 1, 2] = dense<0.000000e+00> : tensor<4x3xf32>
grad.state parameter @sharded : tensor<3x2xf32> permutation [1, 0] shard [0, 1, 2] = dense<0.0> : tensor<4x3xf32>

// CHECK-LABEL: @step
// CHECK: %[[W:.*]] = grad.read @fc1.weight : tensor<2x3xf32>
// CHECK: %[[G:.*]]:2 = grad.gradient %{{.*}} wrt %[[W]], %{{.*}} : tensor<f32>, tensor<2x3xf32>, tensor<2x3xf32>
// CHECK: grad.write @fc1.weight, %[[G]]#0 : tensor<2x3xf32>
func.func @step(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %w = grad.read @fc1.weight : tensor<2x3xf32>
  %m = grad.mul %x, %w : tensor<2x3xf32>
  %y = grad.reduce_sum %m dims [0, 1] : tensor<2x3xf32>
  %g:2 = grad.gradient %y wrt %w, %x : tensor<f32>, tensor<2x3xf32>, tensor<2x3xf32>
  grad.write @fc1.weight, %g#0 : tensor<2x3xf32>
  return %g#1 : tensor<2x3xf32>
}

// CHECK-LABEL: @constants
// CHECK: grad.constant dense<true> : tensor<3xi1>
// CHECK: grad.constant dense_resource<table> : tensor<4xf32>
func.func @constants() -> (tensor<3xi1>, tensor<4xf32>) {
  %0 = grad.constant dense<true> : tensor<3xi1>
  %1 = grad.constant dense_resource<table> : tensor<4xf32>
  return %0, %1 : tensor<3xi1>, tensor<4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      table: "0x100000000000803F000000400000404000008040"
    }
  }
#-}
