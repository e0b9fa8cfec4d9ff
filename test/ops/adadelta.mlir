// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %v: tensor<3xf32>, %d: tensor<3xf32>, %lr: tensor<f32>, %go: tensor<i1>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK: grad.adadelta %arg0, %arg1, %arg2, %arg3, %arg4, %arg5 {epsilon = 2.500000e-01 : f64, rho = 5.000000e-01 : f64} : tensor<3xf32>, tensor<f32>
  // DECOMPOSED-NOT: grad.adadelta
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg0
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg2
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg3
  %0:3 = grad.adadelta %p, %g, %v, %d, %lr, %go {rho = 0.5 : f64, epsilon = 0.25 : f64} : tensor<3xf32>, tensor<f32>
  return %0#0, %0#1, %0#2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// v = 2 + 2; u = sqrt(31 + 5) / sqrt(4 + 5) * 2 = 4; d = 15.5 + 8; p = 1 - 0.5 * 4.

// FOLD-LABEL: @values
func.func @values() -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %p = grad.constant dense<1.0> : tensor<f64>
  %g = grad.constant dense<2.0> : tensor<f64>
  %v = grad.constant dense<4.0> : tensor<f64>
  %d = grad.constant dense<31.0> : tensor<f64>
  %lr = grad.constant dense<0.5> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // FOLD-DAG: dense<-1.000000e+00> : tensor<f64>
  // FOLD-DAG: dense<4.000000e+00> : tensor<f64>
  // FOLD-DAG: dense<2.350000e+01> : tensor<f64>
  %0:3 = grad.adadelta %p, %g, %v, %d, %lr, %yes {rho = 0.5 : f64, epsilon = 5.0 : f64} : tensor<f64>, tensor<f64>
  return %0#0, %0#1, %0#2 : tensor<f64>, tensor<f64>, tensor<f64>
}
