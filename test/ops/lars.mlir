// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %v: tensor<3xf32>, %lr: tensor<f32>, %go: tensor<i1>)
    -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK: grad.lars %arg0, %arg1, %arg2, %arg3, %arg4 {momentum = 5.000000e-01 : f64, trust_coefficient = 2.500000e-01 : f64} : tensor<3xf32>, tensor<f32>
  // DECOMPOSED-NOT: grad.lars
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg0
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg2
  %0:2 = grad.lars %p, %g, %v, %lr, %go {momentum = 0.5 : f64, trust_coefficient = 0.25 : f64} : tensor<3xf32>, tensor<f32>
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xf32>
}

// The ratio is 0.5 * 5 / (2 + 0.5) = 1; v = [1, 1 + 2].

// FOLD-LABEL: @values
func.func @values() -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) {
  %p = grad.constant dense<[3.0, 4.0]> : tensor<2xf64>
  %g = grad.constant dense<[0.0, 2.0]> : tensor<2xf64>
  %v = grad.constant dense<2.0> : tensor<2xf64>
  %lr = grad.constant dense<1.0> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // FOLD-DAG: dense<[2.000000e+00, 1.000000e+00]> : tensor<2xf64>
  // FOLD-DAG: dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf64>
  %0:2 = grad.lars %p, %g, %v, %lr, %yes {momentum = 0.5 : f64, trust_coefficient = 0.5 : f64, epsilon = 0.5 : f64} : tensor<2xf64>, tensor<f64>
  // [3, 4] - [0 + 0.5, 2 + 1.5]
  // FOLD-DAG: dense<[2.500000e+00, 5.000000e-01]> : tensor<2xf64>
  %1:2 = grad.lars %p, %g, %v, %lr, %yes {momentum = 0.5 : f64, trust_coefficient = 0.5 : f64, epsilon = 0.5 : f64, nesterov} : tensor<2xf64>, tensor<f64>
  return %0#0, %0#1, %1#0 : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
}
