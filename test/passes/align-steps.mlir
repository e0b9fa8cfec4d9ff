// RUN: gradc-opt %s --gradc-align-steps | FileCheck %s

// Steps of 64 bytes are left alone.
// CHECK-LABEL: @aligned
// CHECK: grad.scan 3 from() over(%arg0) with() : (tensor<3x16xf32>) -> tensor<3x16xf32>
func.func @aligned(%xs: tensor<3x16xf32>) -> tensor<3x16xf32> {
  %ys = grad.scan 3 from () over (%xs) with () : (tensor<3x16xf32>) -> tensor<3x16xf32> {
  ^bb0(%x: tensor<16xf32>):
    %0 = grad.exp %x : tensor<16xf32>
    grad.yield %0 : tensor<16xf32>
  }
  return %ys : tensor<3x16xf32>
}

// Stacks that are read are padded before the scan; stacks that are written are sliced after it, unless another scan reads them.
// CHECK-LABEL: @padded
// CHECK: %[[ROWS:.*]] = grad.reshape %arg0 : tensor<3x2x2xf32> -> tensor<3x4xf32>
// CHECK: %[[PADDED:.*]] = grad.pad %[[ROWS]] low [0, 0] high [0, 12]
// CHECK: %[[YS:.*]] = grad.scan 3 from() over(%[[PADDED]]) with() : (tensor<3x16xf32>) -> tensor<3x16xf32>
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<16xf32>):
// CHECK: grad.slice %[[X]] starts [0] sizes [4] strides [1]
// CHECK: grad.exp %{{.*}} : tensor<2x2xf32>
// CHECK: grad.pad %{{.*}} low [0] high [12]
// CHECK: %[[CUT:.*]] = grad.slice %[[YS]] starts [0, 0] sizes [3, 4]
// CHECK: %[[RESULT:.*]] = grad.reshape %[[CUT]] : tensor<3x4xf32> -> tensor<3x2x2xf32>
// CHECK: grad.scan 3 reverse from() over(%[[YS]]) with() : (tensor<3x16xf32>) -> tensor<3x16xf32>
// CHECK: return %[[RESULT]]
func.func @padded(%xs: tensor<3x2x2xf32>) -> (tensor<3x2x2xf32>, tensor<3x2x2xf32>) {
  %ys = grad.scan 3 from () over (%xs) with () : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32> {
  ^bb0(%x: tensor<2x2xf32>):
    %0 = grad.exp %x : tensor<2x2xf32>
    grad.yield %0 : tensor<2x2xf32>
  }
  %zs = grad.scan 3 reverse from () over (%ys) with () : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32> {
  ^bb0(%y: tensor<2x2xf32>):
    %0 = grad.tanh %y : tensor<2x2xf32>
    grad.yield %0 : tensor<2x2xf32>
  }
  return %ys, %zs : tensor<3x2x2xf32>, tensor<3x2x2xf32>
}
