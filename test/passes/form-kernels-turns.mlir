// RUN: gradc-opt %s -gradc-form-kernels | FileCheck %s
// RUN: gradc-opt %s -gradc-form-kernels -gradc-order-launches | FileCheck %s

// A stage of a pipeline sends the gradient of the first part of the batch before it receives the second part. Both read one number, and
// small kernels that do are merged elsewhere; here the merged kernel would wait for a value that is sent after its own.

// CHECK-LABEL: func.func @stage
// CHECK-NOT: :2 = exec.launch
// CHECK: grad.receive from 0 after() number 2 turn 3
// CHECK-NOT: :2 = exec.launch
// CHECK: return
func.func @stage(%c: tensor<f32>) {
  %rate = grad.exp %c : tensor<f32>
  %x0 = grad.receive from 0 after() number 0 turn 1 : () -> tensor<64xf32>
  %r0 = grad.broadcast %rate dims [] : tensor<f32> -> tensor<64xf32>
  %g0 = grad.mul %x0, %r0 : tensor<64xf32>
  grad.send %g0 to 0 number 1 turn 2 : tensor<64xf32>
  %x1 = grad.receive from 0 after() number 2 turn 3 : () -> tensor<64xf32>
  %r1 = grad.broadcast %rate dims [] : tensor<f32> -> tensor<64xf32>
  %g1 = grad.mul %x1, %r1 : tensor<64xf32>
  grad.send %g1 to 0 number 3 turn 4 : tensor<64xf32>
  return
}

// In one turn they are merged.
// CHECK-LABEL: func.func @one_turn
// CHECK: :2 = exec.launch
// CHECK: return
func.func @one_turn(%c: tensor<f32>) {
  %rate = grad.exp %c : tensor<f32>
  %x0 = grad.receive from 0 after() number 0 turn 1 : () -> tensor<64xf32>
  %r0 = grad.broadcast %rate dims [] : tensor<f32> -> tensor<64xf32>
  %g0 = grad.mul %x0, %r0 : tensor<64xf32>
  grad.send %g0 to 0 number 1 turn 2 : tensor<64xf32>
  %x1 = grad.receive from 0 after() number 2 turn 1 : () -> tensor<64xf32>
  %r1 = grad.broadcast %rate dims [] : tensor<f32> -> tensor<64xf32>
  %g1 = grad.mul %x1, %r1 : tensor<64xf32>
  grad.send %g1 to 0 number 3 turn 2 : tensor<64xf32>
  return
}
