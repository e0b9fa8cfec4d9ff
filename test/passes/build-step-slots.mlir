// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step | FileCheck %s

// Slots depend on the hyperparameters, and are initialized and read in the order of the update.

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32>

// CHECK-LABEL: grad.state parameter @w :
// CHECK-NEXT: grad.state slot @w.square : tensor<4xf32> = dense<0.000000e+00>
// CHECK-NEXT: grad.state slot @w.average : tensor<4xf32> = dense<0.000000e+00>
// CHECK-NEXT: grad.state slot @w.velocity : tensor<4xf32> = dense<0.000000e+00>
// CHECK-LABEL: func.func @rmsprop
// CHECK-SAME: %[[LR:[a-z0-9]+]]: tensor<f32> {grad.role = "learning_rate"}
// CHECK: %[[W:.*]] = grad.read @w :
// CHECK: %[[G:.*]] = grad.gradient
// CHECK: %[[GO:.*]] = grad.is_finite
// CHECK-DAG: %[[S:.*]] = grad.read @w.square
// CHECK-DAG: %[[A:.*]] = grad.read @w.average
// CHECK-DAG: %[[V:.*]] = grad.read @w.velocity
// CHECK: %[[NEW:.*]], %[[SLOTS:.*]]:3 = grad.rmsprop %[[W]], %[[G]], %[[S]], %[[A]], %[[V]], %[[LR]], %[[GO]] {alpha = 7.500000e-01 : f64, centered, epsilon = 1.000000e-08 : f64, momentum = 9.000000e-01 : f64}
// CHECK: grad.write @w, %[[NEW]] :
// CHECK: grad.write @w.square, %[[SLOTS]]#0
// CHECK: grad.write @w.average, %[[SLOTS]]#1
// CHECK: grad.write @w.velocity, %[[SLOTS]]#2
func.func @rmsprop(%lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "rmsprop", alpha = 0.75, epsilon = 1.0e-8, momentum = 0.9, centered}} {
  %0 = grad.read @w : tensor<4xf32>
  %1 = grad.mul %0, %0 : tensor<4xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<4xf32>
  return %2 : tensor<f32>
}

// -----

// A state's own rule replaces the function's, and the rate of its group replaces the common one.

// CHECK: grad.state {{ ?}}parameter @w : tensor<4xf32> = dense<5.000000e-01> : tensor<4xf32>{{$}}
// CHECK-NEXT: grad.state {{ ?}}slot @w.sum : tensor<4xf32> = dense<2.500000e-01>
grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32>
    {grad.optimizer = {name = "adagrad", epsilon = 1.0e-6, initial_accumulator = 0.25}, grad.rate = "w*"}
grad.state parameter @b : tensor<4xf32> = dense<0.5> : tensor<4xf32>

// CHECK-LABEL: func.func @groups(
func.func @groups(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"},
    %own: tensor<f32> {grad.field = "w*", grad.role = "learning_rate"}) -> tensor<f32> attributes {grad.optimizer = {name = "sgd"}} {
  // CHECK: grad.adagrad %{{.*}}, %{{.*}}, %{{.*}}, %arg3, %arg2
  // CHECK: grad.sgd %{{.*}}, %{{.*}}, %arg1
  %w = grad.read @w : tensor<4xf32>
  %b = grad.read @b : tensor<4xf32>
  %0 = grad.mul %x, %w : tensor<4xf32>
  %1 = grad.add %0, %b : tensor<4xf32>
  %2 = grad.reduce_mean %1 dims [0] : tensor<4xf32>
  return %2 : tensor<f32>
}

// -----

// Muon's matrix is that of the model: its rows are the first dim, which is stored last. The slot is stored in the model's order.

// CHECK: grad.state {{ ?}}slot @w.velocity : tensor<2x3xf32> = dense<0.000000e+00>
grad.state parameter @w : tensor<3x2xf32> permutation [1, 0] = dense<0.5> : tensor<2x3xf32>

// CHECK-LABEL: func.func @ordered(
func.func @ordered(%x: tensor<3x2xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "muon", momentum = 0.9}} {
  // CHECK-DAG: %[[W:.*]] = grad.transpose %{{.*}} permutation [1, 0] : tensor<3x2xf32>
  // CHECK-DAG: %[[G:.*]] = grad.transpose %{{.*}} permutation [1, 0] : tensor<3x2xf32>
  // CHECK: %[[NEW:.*]], %{{.*}} = grad.muon %[[W]], %[[G]], %{{.*}} : tensor<2x3xf32>, tensor<f32>
  // CHECK: %[[STORED:.*]] = grad.transpose %[[NEW]] permutation [1, 0] : tensor<2x3xf32>
  // CHECK: grad.write @w, %[[STORED]] : tensor<3x2xf32>
  %w = grad.read @w : tensor<3x2xf32>
  %0 = grad.mul %x, %w : tensor<3x2xf32>
  %1 = grad.reduce_mean %0 dims [0, 1] : tensor<3x2xf32>
  return %1 : tensor<f32>
}

// -----

// The same where entries see the model's matrix in another shape.

// CHECK: grad.state {{ ?}}slot @w.velocity : tensor<2x3xf32> = dense<0.000000e+00>
grad.state parameter @w : tensor<3x2x1xf32> shape [2, 3] permutation [1, 0, 2] = dense<0.5> : tensor<2x3xf32>

// CHECK-LABEL: func.func @reshaped(
func.func @reshaped(%x: tensor<3x2x1xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "muon", momentum = 0.9}} {
  // CHECK: %[[W:.*]] = grad.reshape %{{.*}} : tensor<2x3x1xf32> -> tensor<2x3xf32>
  // CHECK: %[[G:.*]] = grad.reshape %{{.*}} : tensor<2x3x1xf32> -> tensor<2x3xf32>
  // CHECK: %[[NEW:.*]], %{{.*}} = grad.muon %[[W]], %[[G]], %{{.*}} : tensor<2x3xf32>, tensor<f32>
  // CHECK: %[[SHAPED:.*]] = grad.reshape %[[NEW]] : tensor<2x3xf32> -> tensor<2x3x1xf32>
  // CHECK: %[[STORED:.*]] = grad.transpose %[[SHAPED]] permutation [1, 0, 2] : tensor<2x3x1xf32>
  // CHECK: grad.write @w, %[[STORED]] : tensor<3x2x1xf32>
  %w = grad.read @w : tensor<3x2x1xf32>
  %0 = grad.mul %x, %w : tensor<3x2x1xf32>
  %1 = grad.reduce_mean %0 dims [0, 1, 2] : tensor<3x2x1xf32>
  return %1 : tensor<f32>
}

// -----

// Slots of other rules are stored like the parameter, in checkpoints as well.

// CHECK: grad.state {{ ?}}slot @w.velocity : tensor<3x2xf32> shape [1, 2, 3] permutation [1, 0] = dense<0.000000e+00> : tensor<1x2x3xf32>
grad.state parameter @w : tensor<3x2xf32> shape [1, 2, 3] permutation [1, 0] = dense<0.5> : tensor<1x2x3xf32>

func.func @alike(%x: tensor<3x2xf32>, %lr: tensor<f32> {grad.role = "learning_rate"},
    %t: tensor<f32> {grad.role = "step"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "momentum", momentum = 0.9}} {
  %w = grad.read @w : tensor<3x2xf32>
  %0 = grad.mul %x, %w : tensor<3x2xf32>
  %1 = grad.reduce_mean %0 dims [0, 1] : tensor<3x2xf32>
  return %1 : tensor<f32>
}

// -----

// Slots of one name say what keeps them: Keras' momentum adds up steps, not gradients.

// CHECK: grad.state {{ ?}}slot @w.velocity : {{.*}} {grad.slot_rule = "keras momentum"}
// CHECK: grad.state {{ ?}}slot @b.velocity : {{.*}} {grad.slot_rule = "lars"}
grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32>
grad.state parameter @b : tensor<4xf32> = dense<0.5> : tensor<4xf32>
    {grad.optimizer = {name = "lars", momentum = 0.9, trust_coefficient = 0.001}}

func.func @kinds(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"})
    -> tensor<f32> attributes {grad.optimizer = {name = "momentum", momentum = 0.9, keras}} {
  %w = grad.read @w : tensor<4xf32>
  %b = grad.read @b : tensor<4xf32>
  %0 = grad.mul %x, %w : tensor<4xf32>
  %1 = grad.add %0, %b : tensor<4xf32>
  %2 = grad.reduce_mean %1 dims [0] : tensor<4xf32>
  return %2 : tensor<f32>
}
