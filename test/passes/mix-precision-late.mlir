// RUN: gradc-opt %s --split-input-file --gradc-mix-precision=late-requests | FileCheck %s
// RUN: gradc-opt %s --split-input-file --gradc-mix-precision=late-requests --gradc-retype-f64 --gradc-differentiate --canonicalize --cse | FileCheck %s --check-prefix=EXACT

// A request for gradients of states waits, so that its constants are f64: 1 / 11 of the mean has all its digits.
// CHECK-LABEL: @parameter
// CHECK: grad.matmul {{.*}} wide
// CHECK: grad.gradient %{{.*}} wrt %{{.*}} : tensor<f32>, tensor<8x11xf32>
// EXACT-LABEL: @parameter
// EXACT: dense<0.0909090909090909{{[0-9]*}}>
// EXACT-NOT: grad.cast
// EXACT: return
grad.state parameter @w : tensor<8x11xf32> = dense<1.0> : tensor<8x11xf32>
func.func @parameter(%x: tensor<1x8xf32>) -> (tensor<f32>, tensor<8x11xf32>) attributes {grad.precision = {type = bf16}} {
  %w = grad.read @w : tensor<8x11xf32>
  %0 = grad.matmul %x, %w : tensor<1x8xf32>, tensor<8x11xf32>
  %1 = grad.exp %0 : tensor<1x11xf32>
  %2 = grad.reduce_mean %1 dims [0, 1] : tensor<1x11xf32>
  %3 = grad.gradient %2 wrt %w : tensor<f32>, tensor<8x11xf32>
  return %2, %3 : tensor<f32>, tensor<8x11xf32>
}

// -----

// A result of a product would not be found once it is stored.
// CHECK-LABEL: @computed
// CHECK-NOT: grad.gradient
// CHECK: return
func.func @computed(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> attributes {grad.precision = {type = bf16}} {
  %h = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x2xf32>
  %y = grad.exp %h : tensor<4x2xf32>
  %s = grad.reduce_sum %y dims [0, 1] : tensor<4x2xf32>
  %g = grad.gradient %s wrt %h : tensor<f32>, tensor<4x2xf32>
  return %g : tensor<4x2xf32>
}
