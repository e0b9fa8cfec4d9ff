// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3x4x2xf32>, %g: tensor<3x4x2xf32>, %v: tensor<3x4x2xf32>, %lr: tensor<f32>, %go: tensor<i1>)
    -> (tensor<3x4x2xf32>, tensor<3x4x2xf32>) {
  // CHECK: grad.muon %arg0, %arg1, %arg2, %arg3, %arg4 {momentum = 5.000000e-01 : f64, nesterov} : tensor<3x4x2xf32>, tensor<f32>
  // 3 rows are fewer than 8 columns: X X^T is 3 x 3.
  // DECOMPOSED-NOT: grad.muon
  // DECOMPOSED: grad.reshape %{{.*}} : tensor<3x4x2xf32> -> tensor<3x8xf32>
  // DECOMPOSED-COUNT-15: grad.matmul
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg0
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg2
  %0:2 = grad.muon %p, %g, %v, %lr, %go {momentum = 0.5 : f64, nesterov} : tensor<3x4x2xf32>, tensor<f32>
  return %0#0, %0#1 : tensor<3x4x2xf32>, tensor<3x4x2xf32>
}

// One iteration of x = 1.5 x - 0.5 x^3 on diag(3, 4) / 5, a matrix of singular values: 0.9 - 0.108 and 1.2 - 0.256.

// FOLD-LABEL: @values
func.func @values() -> (tensor<2x2xf64>, tensor<2x2xf64>) {
  %p = grad.constant dense<0.0> : tensor<2x2xf64>
  %g = grad.constant dense<[[3.0, 0.0], [0.0, 4.0]]> : tensor<2x2xf64>
  %lr = grad.constant dense<1.0> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // FOLD-DAG: dense<{{\[\[}}-0.79{{.*}}, {{-?}}0.000000e+00], [{{-?}}0.000000e+00, -0.94{{.*}}]]> : tensor<2x2xf64>
  %0:2 = grad.muon %p, %g, %p, %lr, %yes {momentum = 0.0 : f64, coefficients = array<f64: 1.5, -0.5, 0.0>, iterations = 1 : i64} : tensor<2x2xf64>, tensor<f64>
  return %0#0, %0#1 : tensor<2x2xf64>, tensor<2x2xf64>
}

// -----

func.func @vector(%p: tensor<3xf32>, %lr: tensor<f32>, %go: tensor<i1>) {
  // expected-error @+1 {{expected a parameter of 2 dims or more, found 'tensor<3xf32>'}}
  %0:2 = grad.muon %p, %p, %p, %lr, %go {momentum = 0.5 : f64} : tensor<3xf32>, tensor<f32>
  return
}

// -----

func.func @coefficients(%p: tensor<3x2xf32>, %lr: tensor<f32>, %go: tensor<i1>) {
  // expected-error @+1 {{expected three coefficients, found 2}}
  %0:2 = grad.muon %p, %p, %p, %lr, %go {momentum = 0.5 : f64, coefficients = array<f64: 1.5, -0.5>} : tensor<3x2xf32>, tensor<f32>
  return
}
