// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step | FileCheck %s

// Rows run along the last dim, whatever the rank: a filter has many elements there, and only nine taps.

grad.state parameter @w : tensor<3x3x8xf32> = dense<0.5> : tensor<3x3x8xf32>

// CHECK-LABEL: func.func @filter(
func.func @filter(%x: tensor<3x3x8xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "sgd"}, grad.clip = {global_norm = 2.0}} {
  // CHECK: %[[ROWS:.*]] = grad.reduce_sum %{{.*}} dims [2] : tensor<3x3x8xf32>
  // CHECK: grad.reduce_sum %[[ROWS]] dims [0, 1] : tensor<3x3xf32>
  %w = grad.read @w : tensor<3x3x8xf32>
  %0 = grad.mul %x, %w : tensor<3x3x8xf32>
  %1 = grad.reduce_mean %0 dims [0, 1, 2] : tensor<3x3x8xf32>
  return %1 : tensor<f32>
}

// -----

// Each element is clipped; the returned norm is that of the unclipped gradient.

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32>

// CHECK-LABEL: func.func @clip_values(
func.func @clip_values(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "sgd"}, grad.clip = {value = 2.0}} {
  // CHECK-DAG: %[[LEAST:.*]] = grad.constant dense<-2.000000e+00> : tensor<4xf32>
  // CHECK-DAG: %[[MOST:.*]] = grad.constant dense<2.000000e+00> : tensor<4xf32>
  // CHECK-DAG: %[[G:.*]] = grad.gradient
  // CHECK-DAG: grad.mul %[[G]], %[[G]]
  // CHECK-DAG: %[[ABOVE:.*]] = grad.maximum %[[G]], %[[LEAST]]
  // CHECK: %[[BOTH:.*]] = grad.minimum %[[ABOVE]], %[[MOST]]
  // CHECK: %[[NORM:.*]] = grad.sqrt
  // CHECK: grad.sgd %{{.*}}, %[[BOTH]]
  // CHECK: return %{{.*}}, %[[NORM]]
  %w = grad.read @w : tensor<4xf32>
  %0 = grad.mul %x, %w : tensor<4xf32>
  %1 = grad.reduce_mean %0 dims [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

// Each tensor has its own scale.

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32>
grad.state parameter @b : tensor<4xf32> = dense<0.5> : tensor<4xf32>

// CHECK-LABEL: func.func @clip_norms(
func.func @clip_norms(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "sgd"}, grad.clip = {norm = 2.0}} {
  // CHECK: %[[G:.*]]:2 = grad.gradient
  // CHECK: %[[W2:.*]] = grad.reduce_sum
  // CHECK: grad.sqrt %[[W2]]
  // CHECK: %[[CLIPPED_W:.*]] = grad.mul %[[G]]#0
  // CHECK: %[[B2:.*]] = grad.reduce_sum
  // CHECK: %[[ALL:.*]] = grad.add %[[W2]], %[[B2]]
  // CHECK: grad.sqrt %[[B2]]
  // CHECK: %[[CLIPPED_B:.*]] = grad.mul %[[G]]#1
  // CHECK: %[[NORM:.*]] = grad.sqrt %[[ALL]]
  // CHECK: grad.sgd %{{.*}}, %[[CLIPPED_W]]
  // CHECK: grad.sgd %{{.*}}, %[[CLIPPED_B]]
  // CHECK: return %{{.*}}, %[[NORM]]
  %w = grad.read @w : tensor<4xf32>
  %b = grad.read @b : tensor<4xf32>
  %0 = grad.mul %x, %w : tensor<4xf32>
  %1 = grad.add %0, %b : tensor<4xf32>
  %2 = grad.reduce_mean %1 dims [0] : tensor<4xf32>
  return %2 : tensor<f32>
}
