// RUN: gradc-opt %s --gradc-merge-positions | FileCheck %s

// CHECK-LABEL: exec.kernel @epilogue
// CHECK-SAME: (%{{.*}}: tensor<196x1x1x8xf32>, %{{.*}}: tensor<1x1x8x4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<196x1x1x4xf32>)
// CHECK: grad.convolution {{.*}} : tensor<196x1x1x8xf32>, tensor<1x1x8x4xf32>
// CHECK: grad.constant dense<5.000000e-01> : tensor<196x1x1x4xf32>
// CHECK: grad.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK: grad.broadcast {{.*}} dims [3] : tensor<4xf32> -> tensor<196x1x1x4xf32>
// CHECK: exec.yield %{{.*}} : tensor<196x1x1x4xf32>
exec.kernel @epilogue(%x: tensor<14x14x1x8xf32>, %w: tensor<1x1x8x4xf32>, %b: tensor<4xf32>, %z: tensor<14x14x1x4xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[1, 1]> : tensor<14x14x1x8xf32>, tensor<1x1x8x4xf32>
  %half = grad.constant dense<0.5> : tensor<14x14x1x4xf32>
  %1 = grad.mul %0, %half : tensor<14x14x1x4xf32>
  %c = grad.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %2 = grad.add %b, %c : tensor<4xf32>
  %3 = grad.broadcast %2 dims [3] : tensor<4xf32> -> tensor<14x14x1x4xf32>
  %4 = grad.add %1, %3 : tensor<14x14x1x4xf32>
  %5 = grad.add %4, %z : tensor<14x14x1x4xf32>
  exec.yield %5 : tensor<14x14x1x4xf32>
}

// CHECK-LABEL: exec.kernel @back
// CHECK: grad.convolution {{.*}} : tensor<196x1x1x4xf32>, tensor<1x1x4x8xf32>
exec.kernel @back(%x: tensor<14x14x1x4xf32>, %w: tensor<1x1x4x8xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[1, 1]> : tensor<14x14x1x4xf32>, tensor<1x1x4x8xf32>
  exec.yield %0 : tensor<14x14x1x8xf32>
}

// Positions that have a value each, several taps, strides and several pictures keep their dims.
// CHECK-LABEL: exec.kernel @values
// CHECK-SAME: tensor<14x14x1x8xf32>
exec.kernel @values(%x: tensor<14x14x1x8xf32>, %w: tensor<1x1x8x4xf32>, %b: tensor<14x4xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[1, 1]> : tensor<14x14x1x8xf32>, tensor<1x1x8x4xf32>
  %1 = grad.broadcast %b dims [0, 3] : tensor<14x4xf32> -> tensor<14x14x1x4xf32>
  %2 = grad.add %0, %1 : tensor<14x14x1x4xf32>
  exec.yield %2 : tensor<14x14x1x4xf32>
}
// CHECK-LABEL: exec.kernel @taps
// CHECK-SAME: tensor<14x14x1x8xf32>
exec.kernel @taps(%x: tensor<14x14x1x8xf32>, %w: tensor<3x1x8x4xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 1] low [1, 0] high [1, 0]> : tensor<14x14x1x8xf32>, tensor<3x1x8x4xf32>
  exec.yield %0 : tensor<14x14x1x4xf32>
}
// CHECK-LABEL: exec.kernel @strides
// CHECK-SAME: tensor<14x14x1x8xf32>
exec.kernel @strides(%x: tensor<14x14x1x8xf32>, %w: tensor<1x1x8x4xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[1, 1] stride [2, 2]> : tensor<14x14x1x8xf32>, tensor<1x1x8x4xf32>
  exec.yield %0 : tensor<7x7x1x4xf32>
}
// CHECK-LABEL: exec.kernel @pictures
// CHECK-SAME: tensor<14x14x2x8xf32>
exec.kernel @pictures(%x: tensor<14x14x2x8xf32>, %w: tensor<1x1x8x4xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[1, 1]> : tensor<14x14x2x8xf32>, tensor<1x1x8x4xf32>
  exec.yield %0 : tensor<14x14x2x4xf32>
}

// One launch reads the other's result as it is.
// CHECK-LABEL: func.func @forward
// CHECK: %[[X:.*]] = grad.reshape %arg0 : tensor<14x14x1x8xf32> -> tensor<196x1x1x8xf32>
// CHECK: %[[Z:.*]] = grad.reshape %arg3 : tensor<14x14x1x4xf32> -> tensor<196x1x1x4xf32>
// CHECK: %[[H:.*]] = exec.launch @epilogue(%[[X]], %arg1, %arg2, %[[Z]])
// CHECK-NOT: grad.reshape
// CHECK: %[[Y:.*]] = exec.launch @back(%[[H]], %arg4)
// CHECK: %[[R:.*]] = grad.reshape %[[Y]] : tensor<196x1x1x8xf32> -> tensor<14x14x1x8xf32>
// CHECK: return %[[R]]
func.func @forward(%x: tensor<14x14x1x8xf32>, %w: tensor<1x1x8x4xf32>, %b: tensor<4xf32>, %z: tensor<14x14x1x4xf32>, %v: tensor<1x1x4x8xf32>) -> tensor<14x14x1x8xf32> {
  %0 = exec.launch @epilogue(%x, %w, %b, %z) {exec.nodes = []} : (tensor<14x14x1x8xf32>, tensor<1x1x8x4xf32>, tensor<4xf32>, tensor<14x14x1x4xf32>) -> tensor<14x14x1x4xf32>
  %1 = exec.launch @back(%0, %v) {exec.nodes = []} : (tensor<14x14x1x4xf32>, tensor<1x1x4x8xf32>) -> tensor<14x14x1x8xf32>
  return %1 : tensor<14x14x1x8xf32>
}
