// RUN: gradc-opt %s -gradc-form-kernels | FileCheck %s

// An op that moves nothing but dims of one element, and joins no kernel, is a view. Other movements are launches.

// CHECK-LABEL: func.func @views
// CHECK-DAG: %[[BLOCKS:.*]] = grad.reshape %arg0 : tensor<1x4x32xf32> -> tensor<4x1x32xf32>
// CHECK-DAG: %[[SCALES:.*]] = grad.reshape %arg1 : tensor<4x8xf32> -> tensor<4x1x8xf32>
// CHECK-DAG: %[[TURNED:.*]] = exec.launch @[[TRANSPOSE:.*]](%arg0)
// CHECK-DAG: %[[MANY:.*]] = exec.launch @[[REPEAT:.*]](%arg1)
// CHECK-DAG: %[[SUM:.*]] = exec.launch @exp_add(%arg2, %arg3)
// CHECK: return %[[BLOCKS]], %[[SCALES]], %[[TURNED]], %[[MANY]], %[[SUM]]
func.func @views(%x: tensor<1x4x32xf32>, %s: tensor<4x8xf32>, %a: tensor<4x8xf32>, %b: tensor<4x1x8xf32>)
    -> (tensor<4x1x32xf32>, tensor<4x1x8xf32>, tensor<1x32x4xf32>, tensor<4x2x8xf32>, tensor<4x1x8xf32>) {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<1x4x32xf32>
  %1 = grad.broadcast %s dims [0, 2] : tensor<4x8xf32> -> tensor<4x1x8xf32>
  %2 = grad.transpose %x permutation [0, 2, 1] : tensor<1x4x32xf32>
  %3 = grad.broadcast %s dims [0, 2] : tensor<4x8xf32> -> tensor<4x2x8xf32>
  %4 = grad.broadcast %a dims [0, 2] : tensor<4x8xf32> -> tensor<4x1x8xf32>
  %5 = grad.exp %4 : tensor<4x1x8xf32>
  %6 = grad.add %5, %b : tensor<4x1x8xf32>
  return %0, %1, %2, %3, %6 : tensor<4x1x32xf32>, tensor<4x1x8xf32>, tensor<1x32x4xf32>, tensor<4x2x8xf32>, tensor<4x1x8xf32>
}
