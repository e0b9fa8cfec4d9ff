// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %q: tensor<f32>, %lr: tensor<f32>, %t: tensor<f32>, %go: tensor<i1>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>) {
  // CHECK: grad.nadam %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7 {beta1 = 5.000000e-01 : f64, beta2 = 7.500000e-01 : f64, epsilon = 1.000000e-08 : f64, momentum_decay = 1.000000e+00 : f64}
  // DECOMPOSED-NOT: grad.nadam
  // The product of momentums is a scalar.
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg0 : tensor<3xf32>
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg4 : tensor<f32>
  %0:4 = grad.nadam %p, %g, %m, %v, %q, %lr, %t, %go {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 1.0e-8 : f64, momentum_decay = 1.0 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>
}

// Without momentum decay u is b1 / 2 = 0.25 in each step: m = 1; v = 1, corrected 4; p = 1 - 0.5 (0.75 / 0.75 * 2 +
// 0.25 / 0.9375 * 1) / 2.

// FOLD-LABEL: @values
func.func @values() -> (tensor<f64>, tensor<f64>) {
  %p = grad.constant dense<1.0> : tensor<f64>
  %g = grad.constant dense<2.0> : tensor<f64>
  %zero = grad.constant dense<0.0> : tensor<f64>
  %one = grad.constant dense<1.0> : tensor<f64>
  %lr = grad.constant dense<0.5> : tensor<f64>
  %t = grad.constant dense<1.0> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // FOLD-DAG: dense<0.433333{{.*}}> : tensor<f64>
  // FOLD-DAG: dense<2.500000e-01> : tensor<f64>
  %0:4 = grad.nadam %p, %g, %zero, %zero, %one, %lr, %t, %yes {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 0.0 : f64, momentum_decay = 0.0 : f64}
      : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
  return %0#0, %0#3 : tensor<f64>, tensor<f64>
}
