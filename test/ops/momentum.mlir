// RUN: gradc-opt %s | FileCheck %s
// RUN: gradc-opt %s -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %v: tensor<3xf32>, %lr: tensor<f32>, %t: tensor<f32>, %go: tensor<i1>)
    -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK: grad.momentum {{.*}} {momentum = 9.000000e-01 : f64, nesterov} : (tensor<3xf32>
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg0
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg2
  %0:2 = grad.momentum %p, %g, %v, %lr, %t, %go {momentum = 0.9 : f64, nesterov} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xf32>
}

// FOLD-LABEL: @values
func.func @values() -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %p = grad.constant dense<1.0> : tensor<f32>
  %g = grad.constant dense<3.0> : tensor<f32>
  %v = grad.constant dense<4.0> : tensor<f32>
  %lr = grad.constant dense<2.0> : tensor<f32>
  %t = grad.constant dense<2.0> : tensor<f32>
  %yes = grad.constant dense<true> : tensor<i1>
  // v = 0.5 * 4 + 3 = 5; p = 1 - 2 * 5; Nesterov: 1 - 2 (3 + 0.5 * 5).
  // FOLD-DAG: dense<-9.000000e+00> : tensor<f32>
  // FOLD-DAG: dense<5.000000e+00> : tensor<f32>
  %0:2 = grad.momentum %p, %g, %v, %lr, %t, %yes {momentum = 0.5 : f64} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  // FOLD-DAG: dense<-1.000000e+01> : tensor<f32>
  %1:2 = grad.momentum %p, %g, %v, %lr, %t, %yes {momentum = 0.5 : f64, nesterov} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  return %0#0, %0#1, %1#0 : tensor<f32>, tensor<f32>, tensor<f32>
}

// FOLD-LABEL: @dampening
func.func @dampening() -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %p = grad.constant dense<1.0> : tensor<f32>
  %g = grad.constant dense<3.0> : tensor<f32>
  %v = grad.constant dense<4.0> : tensor<f32>
  %lr = grad.constant dense<2.0> : tensor<f32>
  %first = grad.constant dense<1.0> : tensor<f32>
  %t = grad.constant dense<2.0> : tensor<f32>
  %yes = grad.constant dense<true> : tensor<i1>
  // After the first step v = 0.5 * 4 + (1 - 0.75) 3 = 2.75; in it v = 0.5 * 4 + 3.
  // FOLD-DAG: dense<2.750000e+00> : tensor<f32>
  %0:2 = grad.momentum %p, %g, %v, %lr, %t, %yes {momentum = 0.5 : f64, dampening = 0.75 : f64} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  // FOLD-DAG: dense<5.000000e+00> : tensor<f32>
  %1:2 = grad.momentum %p, %g, %v, %lr, %first, %yes {momentum = 0.5 : f64, dampening = 0.75 : f64} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  // With the rate inside the sum: v = 0.5 * 4 + 2 * 3; p = 1 - 8.
  // FOLD-DAG: dense<-7.000000e+00> : tensor<f32>
  %2:2 = grad.momentum %p, %g, %v, %lr, %t, %yes {momentum = 0.5 : f64, keras} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  return %0#1, %1#1, %2#0 : tensor<f32>, tensor<f32>, tensor<f32>
}

// FOLD-LABEL: @cycled
func.func @cycled() -> (tensor<f32>, tensor<f32>) {
  %p = grad.constant dense<1.0> : tensor<f32>
  %g = grad.constant dense<3.0> : tensor<f32>
  %v = grad.constant dense<4.0> : tensor<f32>
  %lr = grad.constant dense<2.0> : tensor<f32>
  %t = grad.constant dense<2.0> : tensor<f32>
  %mu = grad.constant dense<0.25> : tensor<f32>
  %yes = grad.constant dense<true> : tensor<i1>
  // The step's momentum of 0.25 replaces 0.5: v = 0.25 * 4 + 3 = 4; p = 1 - 2 (3 + 0.25 * 4).
  // FOLD-DAG: dense<4.000000e+00> : tensor<f32>
  // FOLD-DAG: dense<-7.000000e+00> : tensor<f32>
  %0:2 = grad.momentum %p, %g, %v, %lr, %t, %mu, %yes {momentum = 0.5 : f64, nesterov, cycled}
      : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}
