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

// Each row of the batch is padded by itself, here to 8 elements: 10 of them take 320 bytes, and a run with fewer rows has the first ones.
// CHECK-LABEL: @rows
// CHECK: %[[ROWS:.*]] = grad.reshape %{{.*}} : tensor<3x10x2x2xf32> -> tensor<3x10x4xf32>
// CHECK: %[[PADDED:.*]] = grad.pad %[[ROWS]] low [0, 0, 0] high [0, 0, 4]
// CHECK: %[[YS:.*]] = grad.scan 3 from() over(%[[PADDED]]) with() : (tensor<3x10x8xf32>) -> tensor<3x10x8xf32>
// CHECK: grad.slice %{{.*}} starts [0, 0] sizes [10, 4] strides [1, 1] : tensor<10x8xf32>
// CHECK: grad.pad %{{.*}} low [0, 0] high [0, 4]
// CHECK: grad.slice %[[YS]] starts [0, 0, 0] sizes [3, 10, 4]
func.func @rows(%x: tensor<10x3x2x2xf32> {grad.batched}) -> tensor<10x3x2x2xf32> attributes {grad.batch = 10 : i64} {
  %xs = grad.transpose %x permutation [1, 0, 2, 3] : tensor<10x3x2x2xf32>
  %ys = grad.scan 3 from () over (%xs) with () : (tensor<3x10x2x2xf32>) -> tensor<3x10x2x2xf32> {
  ^bb0(%s: tensor<10x2x2xf32>):
    %0 = grad.exp %s : tensor<10x2x2xf32>
    grad.yield %0 : tensor<10x2x2xf32>
  }
  %y = grad.transpose %ys permutation [1, 0, 2, 3] : tensor<3x10x2x2xf32>
  return %y : tensor<10x3x2x2xf32>
}

// A scan without steps, which canonicalization would have removed, has stacks without elements.
// CHECK-LABEL: @never
// CHECK: %[[YS:.*]]:2 = grad.scan 0 from(%arg1) over(%{{.*}}) with() : (tensor<4xf32>, tensor<0x16xf32>) -> (tensor<4xf32>, tensor<0x16xf32>)
// CHECK: grad.slice %[[YS]]#1 starts [0, 0] sizes [0, 4]
func.func @never(%xs: tensor<0x4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  %last, %all = grad.scan 0 from (%h) over (%xs) with () : (tensor<4xf32>, tensor<0x4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  ^bb0(%a: tensor<4xf32>, %x: tensor<4xf32>):
    %0 = grad.add %a, %x : tensor<4xf32>
    grad.yield %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  return %last, %all : tensor<4xf32>, tensor<0x4xf32>
}
