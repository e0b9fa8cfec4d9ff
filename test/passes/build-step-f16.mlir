// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step | FileCheck %s

// The update of f16 is computed in f32, and its slots are f32: squares of gradients would vanish in f16.

// CHECK: grad.state {{ ?}}parameter @w : tensor<3x4xf16>
// CHECK-NEXT: grad.state {{ ?}}slot @w.first : tensor<3x4xf32> = dense<0.000000e+00>
// CHECK-NEXT: grad.state {{ ?}}slot @w.second : tensor<3x4xf32> = dense<0.000000e+00>
grad.state parameter @w : tensor<3x4xf16> = dense<0.5> : tensor<3x4xf16>

// CHECK-LABEL: func.func @short(
func.func @short(%x: tensor<3x4xf16>, %lr: tensor<f32> {grad.role = "learning_rate"},
    %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}} {
  // CHECK: %[[W:.*]] = grad.read @w
  %w = grad.read @w : tensor<3x4xf16>
  %0 = grad.mul %x, %w : tensor<3x4xf16>
  %1 = grad.cast %0 : tensor<3x4xf16> -> tensor<3x4xf32>
  %2 = grad.reduce_mean %1 dims [0, 1] : tensor<3x4xf32>
  // CHECK: %[[G:.*]] = grad.gradient %{{.*}} wrt %[[W]] :
  // CHECK-DAG: %[[WIDE:.*]] = grad.cast %[[W]] : tensor<3x4xf16> -> tensor<3x4xf32>
  // CHECK-DAG: %[[SLOPE:.*]] = grad.cast %[[G]] : tensor<3x4xf16> -> tensor<3x4xf32>
  // CHECK-DAG: %[[M:.*]] = grad.read @w.first : tensor<3x4xf32>
  // CHECK: %[[NEW:.*]], %[[SLOTS:.*]]:2 = grad.adam %[[WIDE]], %[[SLOPE]], %[[M]],
  // CHECK: %[[ROUNDED:.*]] = grad.cast %[[NEW]] : tensor<3x4xf32> -> tensor<3x4xf16>
  // CHECK: grad.write @w, %[[ROUNDED]]
  // CHECK: grad.write @w.first, %[[SLOTS]]#0
  return %2 : tensor<f32>
}

// -----

// Gradients of f16 are divided by the scale of the loss and clipped in f32: they would become 0 in f16.

grad.state parameter @w : tensor<3x4xf16> = dense<0.5> : tensor<3x4xf16>

// CHECK-LABEL: func.func @scaled(
func.func @scaled(%x: tensor<3x4xf16>, %lr: tensor<f32> {grad.role = "learning_rate"},
    %s: tensor<f32> {grad.role = "loss_scale"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "sgd"}, grad.clip = {global_norm = 0.5}} {
  %w = grad.read @w : tensor<3x4xf16>
  %0 = grad.mul %x, %w : tensor<3x4xf16>
  %1 = grad.cast %0 : tensor<3x4xf16> -> tensor<3x4xf32>
  %2 = grad.reduce_mean %1 dims [0, 1] : tensor<3x4xf32>
  // CHECK: %[[G:.*]] = grad.gradient %{{.*}} wrt %{{.*}} : tensor<f32>, tensor<3x4xf16>
  // CHECK: %[[WIDE:.*]] = grad.cast %[[G]] : tensor<3x4xf16> -> tensor<3x4xf32>
  // CHECK: %[[SLOPE:.*]] = grad.mul %[[WIDE]], %{{.*}} : tensor<3x4xf32>
  // CHECK: grad.mul %[[SLOPE]], %[[SLOPE]]
  // CHECK: %[[CLIPPED:.*]] = grad.mul %[[SLOPE]], %{{.*}} : tensor<3x4xf32>
  // CHECK: grad.sgd %{{.*}}, %[[CLIPPED]]
  return %2 : tensor<f32>
}

// -----

grad.state parameter @w : tensor<3x4xf16> = dense<0.5> : tensor<3x4xf16>

// CHECK-LABEL: func.func @clipped(
func.func @clipped(%x: tensor<3x4xf16>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "sgd"}, grad.clip = {value = 1.0e-9}} {
  %w = grad.read @w : tensor<3x4xf16>
  %0 = grad.mul %x, %w : tensor<3x4xf16>
  %1 = grad.cast %0 : tensor<3x4xf16> -> tensor<3x4xf32>
  %2 = grad.reduce_mean %1 dims [0, 1] : tensor<3x4xf32>
  // CHECK: %[[G:.*]] = grad.gradient %{{.*}} wrt %{{.*}} : tensor<f32>, tensor<3x4xf16>
  // CHECK: %[[WIDE:.*]] = grad.cast %[[G]] : tensor<3x4xf16> -> tensor<3x4xf32>
  // CHECK: %[[ABOVE:.*]] = grad.maximum %[[WIDE]], %{{.*}} : tensor<3x4xf32>
  // CHECK: grad.minimum %[[ABOVE]], %{{.*}} : tensor<3x4xf32>
  return %2 : tensor<f32>
}
