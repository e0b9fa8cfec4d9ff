// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step | FileCheck %s

// Slots are created once for both entries, and each entry updates all parameters.

// CHECK: grad.state {{ ?}}parameter @w :
// CHECK-NEXT: grad.state {{ ?}}slot @w.first : tensor<3x4xf32> = dense<0.000000e+00> : tensor<3x4xf32> {grad.slot_rule = "adam"}
// CHECK-NEXT: grad.state {{ ?}}slot @w.second : tensor<3x4xf32> = dense<0.000000e+00> : tensor<3x4xf32> {grad.slot_rule = "adam"}
// CHECK-NOT: grad.state {{ ?}}slot
grad.state parameter @w : tensor<3x4xf32> = dense<0.5> : tensor<3x4xf32>
// expected-remark @+1 {{the loss does not reach parameter "unused": it stays constant}}
grad.state parameter @unused : tensor<4xf32> = dense<0.0> : tensor<4xf32>
// CHECK: grad.state {{ ?}}constant @unused
// expected-remark @+1 {{the loss does not reach parameter "rounded": it stays constant}}
grad.state parameter @rounded : tensor<4xf32> = dense<0.0> : tensor<4xf32>
// CHECK: grad.state {{ ?}}constant @rounded
// CHECK: grad.state {{ ?}}statistic @s
grad.state statistic @s : tensor<4xf32> = dense<0.0> : tensor<4xf32>

// CHECK-LABEL: func.func @train(
// CHECK-SAME: -> (tensor<f32>, tensor<f32> {grad.name = "gradient_norm", grad.role = "gradient_norm"}, tensor<i1> {grad.name = "proceed", grad.role = "proceed"})
// CHECK-NOT: grad.optimizer
// CHECK-NOT: grad.clip
func.func @train(%x: tensor<2x3xf32>, %lr: tensor<f32> {grad.role = "learning_rate"},
    %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}, grad.clip = {global_norm = 2.0}} {
  // CHECK: %[[W:.*]] = grad.read @w
  %w = grad.read @w : tensor<3x4xf32>
  %r = grad.read @rounded : tensor<4xf32>
  %s = grad.read @s : tensor<4xf32>
  // expected-note @+1 {{the gradient stops at grad.floor}}
  %0 = grad.floor %r : tensor<4xf32>
  %1 = grad.add %0, %s : tensor<4xf32>
  %2 = grad.broadcast %1 dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %3 = grad.matmul %x, %w : tensor<2x3xf32>, tensor<3x4xf32>
  %4 = grad.add %3, %2 : tensor<2x4xf32>
  // CHECK: %[[LOSS:.*]] = grad.reduce_mean
  %5 = grad.reduce_mean %4 dims [0, 1] : tensor<2x4xf32>
  // CHECK: %[[G:.*]] = grad.gradient %[[LOSS]] wrt %[[W]] :
  // CHECK: %[[FINITE:.*]] = grad.is_finite %[[LOSS]]
  // The norm first sums each row, so that threads can share the work.
  // CHECK: %[[SQUARES:.*]] = grad.mul %[[G]], %[[G]]
  // CHECK: %[[ROWS:.*]] = grad.reduce_sum %[[SQUARES]] dims [1]
  // CHECK: %[[TOTAL:.*]] = grad.reduce_sum %[[ROWS]] dims [0]
  // CHECK: %[[NORM:.*]] = grad.sqrt %[[TOTAL]]
  // CHECK: %[[SCALE:.*]] = grad.minimum
  // CHECK: %[[ALL:.*]] = grad.broadcast %[[SCALE]]
  // CHECK: %[[CLIPPED:.*]] = grad.mul %[[G]], %[[ALL]]
  // CHECK: %[[NORM_FINITE:.*]] = grad.is_finite %[[NORM]]
  // CHECK: %[[PROCEED:.*]] = grad.and %[[FINITE]], %[[NORM_FINITE]]
  // CHECK: %[[M:.*]] = grad.read @w.first
  // CHECK: %[[V:.*]] = grad.read @w.second
  // CHECK: %[[NEW:.*]], %[[SLOTS:.*]]:2 = grad.adam %[[W]], %[[CLIPPED]], %[[M]], %[[V]], %arg1, %arg2, %[[PROCEED]]
  // CHECK: grad.write @w, %[[NEW]]
  // CHECK: grad.write @w.first, %[[SLOTS]]#0
  // CHECK: grad.write @w.second, %[[SLOTS]]#1
  // CHECK: return %[[LOSS]], %[[NORM]], %[[PROCEED]]
  return %5 : tensor<f32>
}

// CHECK-LABEL: func.func @tail(
func.func @tail(%x: tensor<1x3xf32>, %lr: tensor<f32> {grad.role = "learning_rate"},
    %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}} {
  %w = grad.read @w : tensor<3x4xf32>
  %0 = grad.matmul %x, %w : tensor<1x3xf32>, tensor<3x4xf32>
  // CHECK: %[[LOSS:.*]] = grad.reduce_mean
  %1 = grad.reduce_mean %0 dims [0, 1] : tensor<1x4xf32>
  // Without clipping, only the loss decides whether the step proceeds.
  // CHECK: %[[PROCEED:.*]] = grad.is_finite %[[LOSS]]
  // CHECK: grad.read @w.first
  // CHECK: grad.adam
  // CHECK: return %[[LOSS]], %[[PROCEED]]
  return %1 : tensor<f32>
}

// An entry without an optimizer is left alone.

// CHECK-LABEL: func.func @evaluate(
func.func @evaluate(%x: tensor<1x3xf32>) -> tensor<1x4xf32> {
  // CHECK-NEXT: grad.read
  // CHECK-NEXT: grad.matmul
  // CHECK-NEXT: return
  %w = grad.read @w : tensor<3x4xf32>
  %0 = grad.matmul %x, %w : tensor<1x3xf32>, tensor<3x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

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

// A parameter that is read twice has one gradient and one update.

grad.state parameter @w : tensor<f32> = dense<0.5> : tensor<f32>

// CHECK-LABEL: func.func @momentum(
func.func @momentum(%lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "momentum", momentum = 0.9, nesterov, l2 = 0.1}} {
  // CHECK: %[[W:.*]] = grad.read @w :
  // CHECK-NOT: grad.read @w :
  %a = grad.read @w : tensor<f32>
  %b = grad.read @w : tensor<f32>
  // CHECK: grad.mul %[[W]], %[[W]]
  %0 = grad.mul %a, %b : tensor<f32>
  // CHECK: grad.momentum %[[W]], {{.*}} {l2 = 1.000000e-01 : f64, momentum = 9.000000e-01 : f64, nesterov}
  // CHECK: grad.write @w,
  // CHECK: grad.write @w.velocity,
  return %0 : tensor<f32>
}

// -----

// Statistics written by the forward are unchanged if the step does not proceed.

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32>
grad.state statistic @mean : tensor<4xf32> = dense<0.0> : tensor<4xf32>
// CHECK-LABEL: func.func @statistics(
func.func @statistics(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32>
    attributes {grad.optimizer = {name = "sgd"}} {
  %w = grad.read @w : tensor<4xf32>
  // CHECK: %[[NEW:.*]] = grad.mul %arg0
  %0 = grad.mul %x, %w : tensor<4xf32>
  grad.write @mean, %0 : tensor<4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4xf32>
  // CHECK: %[[PROCEED:.*]] = grad.is_finite
  // CHECK: %[[MASK:.*]] = grad.broadcast %[[PROCEED]] dims [] : tensor<i1> -> tensor<4xi1>
  // CHECK: %[[OLD:.*]] = grad.read @mean
  // CHECK: %[[KEPT:.*]] = grad.select %[[MASK]], %[[NEW]], %[[OLD]]
  // CHECK: grad.write @mean, %[[KEPT]]
  return %1 : tensor<f32>
}

// -----

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

// Two entries over one set of states: each requests the gradients of the parameters that it trains, and optimizers count the steps that
// train a parameter. The counter is created once, before all other states, and read and written once.

// CHECK: grad.state {{ ?}}slot @"gradc.steps/second" : tensor<f32>
// CHECK-NEXT: grad.state {{ ?}}slot @"gradc.steps/first" : tensor<f32> = dense<0.000000e+00>
// CHECK-NEXT: grad.state {{ ?}}parameter @a : tensor<4xf32> = dense<5.000000e-01> : tensor<4xf32>{{$}}
// CHECK-NEXT: grad.state {{ ?}}slot @a.first
// CHECK: grad.state {{ ?}}parameter @b
// CHECK: grad.state {{ ?}}parameter @c
// CHECK-NEXT: grad.state {{ ?}}slot @c.first
// CHECK-NEXT: grad.state {{ ?}}slot @c.second
// CHECK-NOT: grad.state
grad.state parameter @a : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.steps = @"gradc.steps/first"}
grad.state parameter @b : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.steps = @"gradc.steps/first"}
grad.state parameter @c : tensor<4xf32> = dense<0.5> : tensor<4xf32> {grad.steps = @"gradc.steps/second"}

// CHECK-LABEL: func.func @first(
// CHECK-NOT: grad.trains
func.func @first(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"})
    -> tensor<f32> attributes {grad.trains = [@a, @b],
    grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}} {
  // CHECK: %[[A:.*]] = grad.read @a
  // CHECK: %[[B:.*]] = grad.read @b
  // CHECK: grad.gradient %{{.*}} wrt %[[A]], %[[B]] :
  // CHECK: %[[PROCEED:.*]] = grad.is_finite
  // CHECK: %[[BEFORE:.*]] = grad.read @"gradc.steps/first"
  // CHECK: %[[NOW:.*]] = grad.add %[[BEFORE]], %
  // CHECK: %[[KEPT:.*]] = grad.select %[[PROCEED]], %[[NOW]], %[[BEFORE]]
  // CHECK: grad.write @"gradc.steps/first", %[[KEPT]]
  // CHECK: grad.adam %[[A]], %{{.*}}, %{{.*}}, %{{.*}}, %arg1, %[[NOW]], %[[PROCEED]]
  // CHECK-NOT: grad.read @"gradc.steps/first"
  // CHECK: grad.adam %[[B]], %{{.*}}, %{{.*}}, %{{.*}}, %arg1, %[[NOW]], %[[PROCEED]]
  // CHECK-NOT: grad.write @c
  // CHECK: return
  %a = grad.read @a : tensor<4xf32>
  %b = grad.read @b : tensor<4xf32>
  %c = grad.read @c : tensor<4xf32>
  %0 = grad.mul %x, %a : tensor<4xf32>
  %1 = grad.add %0, %b : tensor<4xf32>
  %2 = grad.mul %1, %c : tensor<4xf32>
  %3 = grad.reduce_mean %2 dims [0] : tensor<4xf32>
  return %3 : tensor<f32>
}

// CHECK-LABEL: func.func @second(
func.func @second(%x: tensor<4xf32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"})
    -> tensor<f32> attributes {grad.trains = [@c],
    grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}} {
  // CHECK: %[[C:.*]] = grad.read @c
  // CHECK: grad.gradient %{{.*}} wrt %[[C]] :
  // CHECK-NOT: grad.write @a
  // CHECK: grad.write @"gradc.steps/second"
  // CHECK: grad.write @c
  // CHECK-NOT: grad.write @a
  %a = grad.read @a : tensor<4xf32>
  %c = grad.read @c : tensor<4xf32>
  %0 = grad.mul %x, %a : tensor<4xf32>
  %1 = grad.mul %0, %c : tensor<4xf32>
  %2 = grad.reduce_mean %1 dims [0] : tensor<4xf32>
  return %2 : tensor<f32>
}

// -----

// Watched gradients are returned in the model's shape and order of dims. Nothing is written, and no other result remains but the largest
// index.

grad.state parameter @w : tensor<3x2xf32> shape [1, 2, 3] permutation [1, 0] = dense<0.5> : tensor<1x2x3xf32>
grad.state parameter @b : tensor<3x2xf32> = dense<0.5> : tensor<3x2xf32>
grad.state statistic @s : tensor<f32> = dense<0.5> : tensor<f32>

// CHECK-LABEL: func.func @watch(
// CHECK-SAME: -> (tensor<i64> {grad.classes = 7 : i64, grad.role = "indices"}, tensor<1x2x3xf32> {grad.name = "w", grad.role = "gradient"})
// CHECK-SAME: attributes {grad.watch = [@w]}
func.func @watch(%x: tensor<3x2xf32>, %i: tensor<i64>, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<i64> {grad.classes = 7 : i64, grad.role = "indices"})
    attributes {grad.optimizer = {name = "sgd"}, grad.clip = {norm = 1.0}, grad.watch = [@w]} {
  // CHECK: %[[W:.*]] = grad.read @w
  // CHECK: %[[G:.*]] = grad.gradient %{{.*}} wrt %[[W]] :
  // CHECK-NOT: grad.write
  // CHECK: %[[ORDERED:.*]] = grad.transpose %[[G]] permutation [1, 0]
  // CHECK: %[[MODELS:.*]] = grad.reshape %[[ORDERED]] : tensor<2x3xf32> -> tensor<1x2x3xf32>
  // CHECK: return %arg1, %[[MODELS]] :
  %w = grad.read @w : tensor<3x2xf32>
  %b = grad.read @b : tensor<3x2xf32>
  %0 = grad.mul %x, %w : tensor<3x2xf32>
  %1 = grad.mul %0, %b : tensor<3x2xf32>
  %2 = grad.reduce_mean %1 dims [0, 1] : tensor<3x2xf32>
  grad.write @s, %2 : tensor<f32>
  return %2, %i : tensor<f32>, tensor<i64>
}

// -----

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

// -----

// A step goes on if indices are in range; of results that are no indices, which a negative limit says, if they are 0.

grad.state parameter @w : tensor<4xf32> = dense<0.5> : tensor<4xf32>

// CHECK-LABEL: func.func @limits(
// CHECK: %[[TWICE:.*]] = grad.constant dense<14> : tensor<ui64>
// CHECK: grad.compare lt %arg1, %[[TWICE]]
// CHECK: %[[ONE:.*]] = grad.constant dense<1> : tensor<ui64>
// CHECK: grad.compare lt %arg2, %[[ONE]]
func.func @limits(%x: tensor<4xf32>, %i: tensor<ui64>, %j: tensor<ui64>, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<ui64> {grad.classes = 7 : i64, grad.role = "indices"}, tensor<ui64> {grad.classes = -2 : i64, grad.role = "indices"})
    attributes {grad.optimizer = {name = "sgd"}} {
  %w = grad.read @w : tensor<4xf32>
  %0 = grad.mul %x, %w : tensor<4xf32>
  %1 = grad.reduce_mean %0 dims [0] : tensor<4xf32>
  return %1, %i, %j : tensor<f32>, tensor<ui64>, tensor<ui64>
}
