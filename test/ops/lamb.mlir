// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %lr: tensor<f32>, %t: tensor<f32>, %go: tensor<i1>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK: grad.lamb %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6 {beta1 = 5.000000e-01 : f64, beta2 = 7.500000e-01 : f64, epsilon = 9.9999999999999995E-7 : f64} : tensor<3xf32>, tensor<f32>
  // DECOMPOSED-NOT: grad.lamb
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg0
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg2
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg3
  %0:3 = grad.lamb %p, %g, %m, %v, %lr, %t, %go {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 1.0e-6 : f64} : tensor<3xf32>, tensor<f32>
  return %0#0, %0#1, %0#2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Adam's direction is 1, with decay 4. The step has the length of the parameter: 3 - 0.5 * 3 / 4 * 4.

// FOLD-LABEL: @values
func.func @values() -> (tensor<f64>, tensor<f64>) {
  %p = grad.constant dense<3.0> : tensor<f64>
  %g = grad.constant dense<2.0> : tensor<f64>
  %zero = grad.constant dense<0.0> : tensor<f64>
  %lr = grad.constant dense<0.5> : tensor<f64>
  %t = grad.constant dense<1.0> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // FOLD-DAG: dense<1.500000e+00> : tensor<f64>
  %0:3 = grad.lamb %p, %g, %zero, %zero, %lr, %t, %yes {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 0.0 : f64, weight_decay = 1.0 : f64} : tensor<f64>, tensor<f64>
  // A zero parameter moves by the rate.
  // FOLD-DAG: dense<-5.000000e-01> : tensor<f64>
  %1:3 = grad.lamb %zero, %g, %zero, %zero, %lr, %t, %yes {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 0.0 : f64, weight_decay = 1.0 : f64} : tensor<f64>, tensor<f64>
  return %0#0, %1#0 : tensor<f64>, tensor<f64>
}
