// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %s: tensor<3xf32>, %lr: tensor<f32>, %t: tensor<f32>, %go: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK: grad.adagrad %arg0, %arg1, %arg2, %arg3, %arg4, %arg5 {epsilon = 1.000000e-10 : f64, learning_rate_decay = 5.000000e-01 : f64}
  // DECOMPOSED-NOT: grad.adagrad
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg0
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg2
  %0:2 = grad.adagrad %p, %g, %s, %lr, %t, %go {epsilon = 1.0e-10 : f64, learning_rate_decay = 0.5 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xf32>
}

// FOLD-LABEL: @values
func.func @values() -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %p = grad.constant dense<1.0> : tensor<f64>
  %g = grad.constant dense<3.0> : tensor<f64>
  %s = grad.constant dense<7.0> : tensor<f64>
  %lr = grad.constant dense<2.0> : tensor<f64>
  %t = grad.constant dense<3.0> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // The rate of step 3 is 2 / (1 + 2 * 0.5): 1 - 3 / (4 + 2); Keras: 1 - 3 / sqrt(16 + 9).
  // FOLD-DAG: dense<5.000000e-01> : tensor<f64>
  // FOLD-DAG: dense<1.600000e+01> : tensor<f64>
  %0:2 = grad.adagrad %p, %g, %s, %lr, %t, %yes {epsilon = 2.0 : f64, learning_rate_decay = 0.5 : f64}
      : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>) -> (tensor<f64>, tensor<f64>)
  // FOLD-DAG: dense<{{4.000000e-01|0.39999.*}}> : tensor<f64>
  %1:2 = grad.adagrad %p, %g, %s, %lr, %t, %yes {epsilon = 9.0 : f64, learning_rate_decay = 0.5 : f64, keras}
      : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>) -> (tensor<f64>, tensor<f64>)
  return %0#0, %0#1, %1#0 : tensor<f64>, tensor<f64>, tensor<f64>
}
