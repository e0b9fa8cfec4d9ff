// RUN: gradc-opt %s --gradc-mix-precision | FileCheck %s
// RUN: gradc-opt %s --gradc-mix-precision --gradc-differentiate --canonicalize --cse | FileCheck %s --check-prefix=GRADIENT
// RUN: gradc-opt %s --gradc-mix-precision --canonicalize --cse --gradc-form-kernels --gradc-skip-roundings | FileCheck %s --check-prefix=KERNEL

// Factors are rounded, the bias is added before the result is stored, and the loss is computed in f32.
// CHECK-LABEL: @layer
// CHECK-SAME: attributes {other}
// CHECK: %[[X:.*]] = grad.cast %arg0 storage : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK: %[[W:.*]] = grad.cast %{{.*}} storage : tensor<8x2xf32> -> tensor<8x2xbf16>
// CHECK: %[[SUM:.*]] = grad.matmul %[[X]], %[[W]] wide : tensor<4x8xbf16>, tensor<8x2xbf16>
// CHECK: %[[STORED:.*]] = grad.cast %[[SUM]] storage : tensor<4x2xf32> -> tensor<4x2xbf16>
// CHECK: %[[READ:.*]] = grad.cast %[[STORED]] storage : tensor<4x2xbf16> -> tensor<4x2xf32>
// CHECK: %[[BIAS:.*]] = grad.broadcast %{{.*}} : tensor<2xf32> -> tensor<4x2xf32>
// CHECK: %[[ADDED:.*]] = grad.add %[[READ]], %[[BIAS]] : tensor<4x2xf32>
// CHECK: %[[SECOND:.*]] = grad.cast %[[ADDED]] storage : tensor<4x2xf32> -> tensor<4x2xbf16>
// A movement moves stored values.
// CHECK: grad.transpose %[[SECOND]] {{.*}} : tensor<4x2xbf16>
// CHECK-NEXT: grad.cast %{{.*}} storage : tensor<2x4xbf16> -> tensor<2x4xf32>
// CHECK-NEXT: %[[EXP:.*]] = grad.exp %{{.*}} : tensor<2x4xf32>
// CHECK-NEXT: grad.reduce_sum %[[EXP]]

// The backward's products are in 16 bits, too; gradients that reach parameters are f32.
// GRADIENT-LABEL: @layer
// GRADIENT-COUNT-2: grad.matmul {{.*}} wide : tensor<{{.*}}xbf16>, tensor<{{.*}}xbf16>
// GRADIENT: return {{.*}} : tensor<f32>, tensor<8x2xf32>

// The product's kernel adds the bias to the unrounded sum and stores only the result.
// KERNEL-LABEL: exec.kernel {{.*}}matmul
// KERNEL: %[[SUM:.*]] = grad.matmul {{.*}} wide
// KERNEL-NOT: grad.cast
// KERNEL: %[[ADDED:.*]] = grad.add %[[SUM]], %{{.*}} : tensor<4x2xf32>
// KERNEL: grad.cast %[[ADDED]] storage : tensor<4x2xf32> -> tensor<4x2xbf16>
grad.state parameter @w : tensor<8x2xf32> = dense<1.0> : tensor<8x2xf32>
grad.state parameter @b : tensor<2xf32> = dense<1.0> : tensor<2xf32>
func.func @layer(%x: tensor<4x8xf32>) -> (tensor<f32>, tensor<8x2xf32>) attributes {other, grad.precision = {type = bf16}} {
  %w = grad.read @w : tensor<8x2xf32>
  %b = grad.read @b : tensor<2xf32>
  %0 = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x2xf32>
  %1 = grad.broadcast %b dims [1] : tensor<2xf32> -> tensor<4x2xf32>
  %2 = grad.add %0, %1 : tensor<4x2xf32>
  %3 = grad.transpose %2 permutation [1, 0] : tensor<4x2xf32>
  %4 = grad.exp %3 : tensor<2x4xf32>
  %5 = grad.reduce_sum %4 dims [0, 1] : tensor<2x4xf32>
  %6 = grad.gradient %5 wrt %w : tensor<f32>, tensor<8x2xf32>
  return %5, %6 : tensor<f32>, tensor<8x2xf32>
}

// A gradient inside the loss is built before values are rounded: it reads the same values as the loss.
// CHECK-LABEL: @nested
// CHECK: %[[H:.*]] = grad.matmul {{.*}} wide
// CHECK-NOT: grad.gradient
// CHECK: %[[FACTOR:.*]] = grad.cast {{.*}} storage : tensor<4x2xf32> -> tensor<4x2xbf16>
// CHECK: grad.matmul %{{.*}}, %{{.*}} transpose_rhs wide
// CHECK-NOT: grad.constant dense<0.000000e+00>
// CHECK: return
func.func @nested(%x: tensor<4x8xf32>, %v: tensor<2x3xf32>) -> tensor<4x2xf32> attributes {grad.precision = {type = bf16}} {
  %w = grad.read @w : tensor<8x2xf32>
  %h = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x2xf32>
  %y = grad.matmul %h, %v : tensor<4x2xf32>, tensor<2x3xf32>
  %z = grad.tanh %y : tensor<4x3xf32>
  %s = grad.reduce_sum %z dims [0, 1] : tensor<4x3xf32>
  %g = grad.gradient %s wrt %h : tensor<f32>, tensor<4x2xf32>
  return %g : tensor<4x2xf32>
}

// For a view, its operand is rounded, in the kernel that computes it.
// CHECK-LABEL: @viewed
// CHECK: %[[E:.*]] = grad.exp %arg0
// CHECK-NEXT: %[[STORED:.*]] = grad.cast %[[E]] storage : tensor<2x4x8xf32> -> tensor<2x4x8xbf16>
// CHECK: %[[ROWS:.*]] = grad.reshape %[[STORED]] : tensor<2x4x8xbf16> -> tensor<8x8xbf16>
// CHECK: grad.matmul %[[ROWS]], %{{.*}} wide
func.func @viewed(%x: tensor<2x4x8xf32>) -> tensor<8x2xf32> attributes {grad.precision = {type = bf16}} {
  %w = grad.read @w : tensor<8x2xf32>
  %0 = grad.exp %x : tensor<2x4x8xf32>
  %1 = grad.reshape %0 : tensor<2x4x8xf32> -> tensor<8x8xf32>
  %2 = grad.matmul %1, %w : tensor<8x8xf32>, tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// Squares stay in f32 if only reductions read them, since f16 has no square of 300; sums of windows, which are stored otherwise, follow them.
// CHECK-LABEL: @squares
// CHECK: %[[Y:.*]] = grad.cast %{{.*}} storage : tensor<4x2xbf16> -> tensor<4x2xf32>
// CHECK-NEXT: %[[SQUARE:.*]] = grad.mul %[[Y]], %[[Y]] : tensor<4x2xf32>
// CHECK-NEXT: grad.reduce_sum %[[SQUARE]] dims [1]
// CHECK-NEXT: grad.window_sum %[[SQUARE]]
// CHECK-NEXT: grad.window_sum %[[Y]]
// CHECK-NEXT: grad.cast %{{.*}} storage : tensor<2x2xf32> -> tensor<2x2xbf16>
// Other readers load 16 bits.
// CHECK: %[[READ:.*]] = grad.mul %[[Y]], %[[Y]] : tensor<4x2xf32>
// CHECK-NEXT: grad.cast %[[READ]] storage : tensor<4x2xf32> -> tensor<4x2xbf16>
func.func @squares(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<4x2xf32>, tensor<4xf32>) attributes {grad.precision = {type = bf16}} {
  %y = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x2xf32>
  %0 = grad.mul %y, %y : tensor<4x2xf32>
  %1 = grad.reduce_sum %0 dims [1] : tensor<4x2xf32>
  %2 = grad.window_sum %0 window <[2] stride [2]> : tensor<4x2xf32>
  %3 = grad.window_sum %y window <[2] stride [2]> : tensor<4x2xf32>
  %4 = grad.mul %y, %y : tensor<4x2xf32>
  %5 = grad.relu %4 : tensor<4x2xf32>
  %6 = grad.reduce_sum %4 dims [1] : tensor<4x2xf32>
  return %1, %2, %3, %5, %6 : tensor<4xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<4x2xf32>, tensor<4xf32>
}
