// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %lr: tensor<f32>, %go: tensor<i1>) -> tensor<3xf32> {
  // CHECK: grad.sgd %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {l2 = 1.000000e-01 : f64} : tensor<3xf32>, tensor<f32>
  // DECOMPOSED: %[[NEW:.*]] = grad.sub %arg0
  // DECOMPOSED: %[[GO:.*]] = grad.broadcast %arg3
  // DECOMPOSED: grad.select %[[GO]], %[[NEW]], %arg0
  %0 = grad.sgd %p, %g, %lr, %go {l2 = 0.1 : f64} : tensor<3xf32>, tensor<f32>
  return %0 : tensor<3xf32>
}

// FOLD-LABEL: @values
func.func @values() -> (tensor<2xf32>, tensor<2xf32>) {
  %p = grad.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %g = grad.constant dense<[3.0, 0x7FC00000]> : tensor<2xf32>
  %lr = grad.constant dense<0.5> : tensor<f32>
  %yes = grad.constant dense<true> : tensor<i1>
  %no = grad.constant dense<false> : tensor<i1>
  // 1 - 0.5 (3 + 2 * 1)
  // FOLD-DAG: dense<[-1.500000e+00, 0x7FC00000]> : tensor<2xf32>
  %0 = grad.sgd %p, %g, %lr, %yes {l2 = 2.0 : f64} : tensor<2xf32>, tensor<f32>
  // A step that does not proceed keeps the parameter, whatever the gradient is.
  // FOLD-DAG: dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf32>
  %1 = grad.sgd %p, %g, %lr, %no {l2 = 2.0 : f64} : tensor<2xf32>, tensor<f32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

func.func @types(%p: tensor<3xf32>, %g: tensor<2xf32>, %lr: tensor<f32>, %go: tensor<i1>) {
  // expected-error @+1 {{failed to verify that all of {parameter, gradient, new_parameter} have same type}}
  %0 = "grad.sgd"(%p, %g, %lr, %go) : (tensor<3xf32>, tensor<2xf32>, tensor<f32>, tensor<i1>) -> tensor<3xf32>
}
