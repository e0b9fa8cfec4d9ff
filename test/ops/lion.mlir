// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %m: tensor<3xf32>, %lr: tensor<f32>, %go: tensor<i1>)
    -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK: grad.lion %arg0, %arg1, %arg2, %arg3, %arg4 {beta1 = 5.000000e-01 : f64, beta2 = 7.500000e-01 : f64} : tensor<3xf32>, tensor<f32>
  // DECOMPOSED-NOT: grad.lion
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg0
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg2
  %0:2 = grad.lion %p, %g, %m, %lr, %go {beta1 = 0.5 : f64, beta2 = 0.75 : f64} : tensor<3xf32>, tensor<f32>
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xf32>
}

// The sign of 0.5 * -4 + 0.5 * 2 is -1; m = 0.75 * -4 + 0.25 * 2.

// FOLD-LABEL: @values
func.func @values() -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %p = grad.constant dense<1.0> : tensor<f64>
  %g = grad.constant dense<2.0> : tensor<f64>
  %m = grad.constant dense<-4.0> : tensor<f64>
  %lr = grad.constant dense<0.5> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // FOLD-DAG: dense<1.500000e+00> : tensor<f64>
  // FOLD-DAG: dense<-2.500000e+00> : tensor<f64>
  %0:2 = grad.lion %p, %g, %m, %lr, %yes {beta1 = 0.5 : f64, beta2 = 0.75 : f64} : tensor<f64>, tensor<f64>
  // 1 - 0.5 * 0.5 + 0.5
  // FOLD-DAG: dense<1.250000e+00> : tensor<f64>
  %1:2 = grad.lion %p, %g, %m, %lr, %yes {beta1 = 0.5 : f64, beta2 = 0.75 : f64, weight_decay = 0.5 : f64} : tensor<f64>, tensor<f64>
  return %0#0, %0#1, %1#0 : tensor<f64>, tensor<f64>, tensor<f64>
}
