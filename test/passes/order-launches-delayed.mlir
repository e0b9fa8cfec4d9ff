// RUN: gradc-opt %s -gradc-order-launches | FileCheck %s

// Memory is highest while the gradient of the input is computed, from panels of 4 KiB. The gradient of the weights, 4 KiB, is only read
// by the update: it is computed after that, because the gradient of the logits, which both read, is kept until then.

// CHECK-LABEL: func.func @weights_later
// CHECK: %[[DLOGITS:.*]] = exec.launch @logits(%arg0)
// CHECK-NEXT: %[[PANELS:.*]] = exec.launch @pack(%arg1)
// CHECK-NEXT: %[[DX:.*]] = exec.launch @input(%[[DLOGITS]], %[[PANELS]])
// CHECK-NEXT: %[[DW:.*]] = exec.launch @weights(%[[DLOGITS]])
// CHECK-NEXT: %[[NORM:.*]] = exec.launch @norm(%[[DX]])
// CHECK-NEXT: exec.launch @update(%[[DW]], %[[NORM]])
exec.kernel @logits(%x: tensor<512xf32>) {
  %0 = grad.exp %x : tensor<512xf32>
  exec.yield %0 : tensor<512xf32>
}
exec.kernel @weights(%d: tensor<512xf32>) {
  %0 = grad.broadcast %d dims [1] : tensor<512xf32> -> tensor<2x512xf32>
  exec.yield %0 : tensor<2x512xf32>
}
exec.kernel @pack(%w: tensor<2x512xf32>) {
  exec.yield %w : tensor<2x512xf32>
}
exec.kernel @input(%d: tensor<512xf32>, %w: tensor<2x512xf32>) {
  %0 = grad.reduce_sum %w dims [0] : tensor<2x512xf32>
  %1 = grad.mul %d, %0 : tensor<512xf32>
  exec.yield %1 : tensor<512xf32>
}
exec.kernel @norm(%x: tensor<512xf32>) {
  %0 = grad.reduce_sum %x dims [0] : tensor<512xf32>
  exec.yield %0 : tensor<f32>
}
exec.kernel @update(%g: tensor<2x512xf32>, %norm: tensor<f32>) {
  %0 = grad.broadcast %norm dims [] : tensor<f32> -> tensor<2x512xf32>
  %1 = grad.mul %g, %0 : tensor<2x512xf32>
  exec.yield %1 : tensor<2x512xf32>
}
func.func @weights_later(%x: tensor<512xf32>, %w: tensor<2x512xf32>) -> tensor<2x512xf32> {
  %d = exec.launch @logits(%x) : (tensor<512xf32>) -> tensor<512xf32>
  %g = exec.launch @weights(%d) : (tensor<512xf32>) -> tensor<2x512xf32>
  %p = exec.launch @pack(%w) : (tensor<2x512xf32>) -> tensor<2x512xf32>
  %dx = exec.launch @input(%d, %p) : (tensor<512xf32>, tensor<2x512xf32>) -> tensor<512xf32>
  %n = exec.launch @norm(%dx) : (tensor<512xf32>) -> tensor<f32>
  %u = exec.launch @update(%g, %n) : (tensor<2x512xf32>, tensor<f32>) -> tensor<2x512xf32>
  return %u : tensor<2x512xf32>
}

// Without the panels, nothing would be gained.

// CHECK-LABEL: func.func @weights_first
// CHECK: %[[D:.*]] = exec.launch @logits(%arg0)
// CHECK-NEXT: exec.launch @weights(%[[D]])
// CHECK-NEXT: exec.launch @input(%[[D]], %arg1)
func.func @weights_first(%x: tensor<512xf32>, %w: tensor<2x512xf32>) -> tensor<2x512xf32> {
  %d = exec.launch @logits(%x) : (tensor<512xf32>) -> tensor<512xf32>
  %g = exec.launch @weights(%d) : (tensor<512xf32>) -> tensor<2x512xf32>
  %dx = exec.launch @input(%d, %w) : (tensor<512xf32>, tensor<2x512xf32>) -> tensor<512xf32>
  %n = exec.launch @norm(%dx) : (tensor<512xf32>) -> tensor<f32>
  %u = exec.launch @update(%g, %n) : (tensor<2x512xf32>, tensor<f32>) -> tensor<2x512xf32>
  return %u : tensor<2x512xf32>
}

// A gradient takes the memory of what it overwrites, unless that is read later: then both are needed at once.

// CHECK-LABEL: func.func @before_overwriting
// CHECK: %[[T:.*]] = exec.launch @pack(%arg1)
// CHECK-NEXT: %[[E:.*]] = exec.launch @logits(%arg0)
// CHECK-NEXT: %[[DW:.*]] = exec.launch @rows(%[[T]], %[[E]])
// CHECK-NEXT: exec.launch @over(%[[T]], %[[E]])
exec.kernel @rows(%t: tensor<2x512xf32>, %d: tensor<512xf32>) {
  %0 = grad.reduce_sum %t dims [0] : tensor<2x512xf32>
  %1 = grad.mul %0, %d : tensor<512xf32>
  exec.yield %1 : tensor<512xf32>
}
exec.kernel @over(%t: tensor<2x512xf32>, %d: tensor<512xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.broadcast %d dims [1] : tensor<512xf32> -> tensor<2x512xf32>
  %1 = grad.mul %t, %0 : tensor<2x512xf32>
  exec.yield %1 : tensor<2x512xf32>
}
exec.kernel @norm_of_rows(%x: tensor<2x512xf32>) {
  %0 = grad.reduce_sum %x dims [0, 1] : tensor<2x512xf32>
  exec.yield %0 : tensor<f32>
}
exec.kernel @scaled(%g: tensor<512xf32>, %norm: tensor<f32>) {
  %0 = grad.broadcast %norm dims [] : tensor<f32> -> tensor<512xf32>
  %1 = grad.mul %g, %0 : tensor<512xf32>
  exec.yield %1 : tensor<512xf32>
}
func.func @before_overwriting(%x: tensor<512xf32>, %w: tensor<2x512xf32>) -> tensor<512xf32> {
  %t = exec.launch @pack(%w) : (tensor<2x512xf32>) -> tensor<2x512xf32>
  %d = exec.launch @logits(%x) : (tensor<512xf32>) -> tensor<512xf32>
  %g = exec.launch @rows(%t, %d) : (tensor<2x512xf32>, tensor<512xf32>) -> tensor<512xf32>
  %dt = exec.launch @over(%t, %d) : (tensor<2x512xf32>, tensor<512xf32>) -> tensor<2x512xf32>
  %n = exec.launch @norm_of_rows(%dt) : (tensor<2x512xf32>) -> tensor<f32>
  %u = exec.launch @scaled(%g, %n) : (tensor<512xf32>, tensor<f32>) -> tensor<512xf32>
  return %u : tensor<512xf32>
}
