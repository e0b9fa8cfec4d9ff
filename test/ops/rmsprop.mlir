// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %v: tensor<3xf32>, %a: tensor<3xf32>, %b: tensor<3xf32>,
    %lr: tensor<f32>, %go: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK: grad.rmsprop %arg0, %arg1, %arg2, %arg5, %arg6 {alpha = 7.500000e-01 : f64, epsilon = 1.000000e-08 : f64}
  %0:2 = grad.rmsprop %p, %g, %v, %lr, %go {alpha = 0.75 : f64, epsilon = 1.0e-8 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>)
  // CHECK: grad.rmsprop %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6 {alpha = 7.500000e-01 : f64, centered, epsilon = 1.000000e-08 : f64, momentum = 9.000000e-01 : f64}
  %1:4 = grad.rmsprop %p, %g, %v, %a, %b, %lr, %go {alpha = 0.75 : f64, centered, epsilon = 1.0e-8 : f64, momentum = 0.9 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i1>)
      -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %1#0 : tensor<3xf32>, tensor<3xf32>
}

// torch.optim.RMSprop on p = 1 with g = 2, lr = 0.5, alpha = 0.75, eps = 0: v = 0.25 * 4 = 1, so p - 0.5 * 2 / 1 = 0.

// FOLD-LABEL: @first_step
func.func @first_step() -> (tensor<f64>, tensor<f64>) {
  %p = grad.constant dense<1.0> : tensor<f64>
  %g = grad.constant dense<2.0> : tensor<f64>
  %zero = grad.constant dense<0.0> : tensor<f64>
  %lr = grad.constant dense<0.5> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // FOLD-DAG: grad.constant dense<0.000000e+00> : tensor<f64>
  // FOLD-DAG: grad.constant dense<1.000000e+00> : tensor<f64>
  %0:2 = grad.rmsprop %p, %g, %zero, %lr, %yes {alpha = 0.75 : f64, epsilon = 0.0 : f64}
      : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>) -> (tensor<f64>, tensor<f64>)
  return %0#0, %0#1 : tensor<f64>, tensor<f64>
}

// -----

// One more slot than the hyperparameters require.
func.func @slots(%p: tensor<3xf32>, %lr: tensor<f32>, %go: tensor<i1>) {
  // expected-error @+1 {{expected 5 operands and 2 results, 1 of each for slots, found 6 and 3}}
  %0:3 = grad.rmsprop %p, %p, %p, %p, %lr, %go {alpha = 0.75 : f64, epsilon = 1.0e-8 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i1>)
      -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @slot_type(%p: tensor<3xf32>, %v: tensor<4xf32>, %lr: tensor<f32>, %go: tensor<i1>) {
  // expected-error @+1 {{expected square to be 'tensor<3xf32>', found 'tensor<4xf32>'}}
  %0:2 = grad.rmsprop %p, %p, %v, %lr, %go {alpha = 0.75 : f64, epsilon = 1.0e-8 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<4xf32>)
  return
}
