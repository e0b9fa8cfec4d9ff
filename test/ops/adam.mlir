// RUN: gradc-opt %s | FileCheck %s
// RUN: gradc-opt %s -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
// DECOMPOSED-LABEL: @round_trip
func.func @round_trip(%p: tensor<3xf32>, %g: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>,
    %lr: tensor<f32>, %t: tensor<f32>, %go: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK: grad.adam {{.*}} {beta1 = 9.000000e-01 : f64, beta2 = {{.*}} : f64, epsilon = 1.000000e-08 : f64} : (tensor<3xf32>
  // The bias corrections are scalars, computed once per step.
  // DECOMPOSED: grad.expm1 %{{.*}} : tensor<f32>
  // DECOMPOSED: grad.expm1 %{{.*}} : tensor<f32>
  // DECOMPOSED-NOT: grad.expm1
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg0
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg2
  // DECOMPOSED-DAG: grad.select %{{.*}}, %{{.*}}, %arg3
  %0:3 = grad.adam %p, %g, %m, %v, %lr, %t, %go {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// The first step of Adam has the size of the learning rate.

// FOLD-LABEL: @first_step
func.func @first_step() -> (tensor<f64>, tensor<f64>) {
  %p = grad.constant dense<1.0> : tensor<f64>
  %g = grad.constant dense<-0.25> : tensor<f64>
  %zero = grad.constant dense<0.0> : tensor<f64>
  %lr = grad.constant dense<0.5> : tensor<f64>
  %t = grad.constant dense<1.0> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // FOLD-DAG: dense<1.500000e+00> : tensor<f64>
  %0:3 = grad.adam %p, %g, %zero, %zero, %lr, %t, %yes {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 0.0 : f64}
      : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>) -> (tensor<f64>, tensor<f64>, tensor<f64>)
  // AdamW first shrinks the parameter: 1 (1 - 0.5 * 0.5) + 0.5.
  // FOLD-DAG: dense<1.250000e+00> : tensor<f64>
  %1:3 = grad.adam %p, %g, %zero, %zero, %lr, %t, %yes {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 0.0 : f64, weight_decay = 0.5 : f64}
      : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>) -> (tensor<f64>, tensor<f64>, tensor<f64>)
  return %0#0, %1#0 : tensor<f64>, tensor<f64>
}

// With a larger mean square before this step, AMSGrad divides by it: m = -1/8, w = 4, corrected by 1/2 and 1/4.

// FOLD-LABEL: @amsgrad
func.func @amsgrad() -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %p = grad.constant dense<1.0> : tensor<f64>
  %g = grad.constant dense<-0.25> : tensor<f64>
  %zero = grad.constant dense<0.0> : tensor<f64>
  %four = grad.constant dense<4.0> : tensor<f64>
  %lr = grad.constant dense<0.5> : tensor<f64>
  %t = grad.constant dense<1.0> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // 1 + 0.5 / 0.5 * 0.125 / (2 / 0.5)
  // FOLD-DAG: dense<1.031250e+00> : tensor<f64>
  // FOLD-DAG: dense<4.000000e+00> : tensor<f64>
  %0:4 = grad.adam %p, %g, %zero, %zero, %four, %lr, %t, %yes {amsgrad, beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 0.0 : f64}
      : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>)
      -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
  // Keras adds epsilon before the correction: 1 + 0.5 / 0.5 * 0.125 / ((2 + 2) / 0.5)
  // FOLD-DAG: dense<1.015625> : tensor<f64>
  %1:4 = grad.adam %p, %g, %zero, %zero, %four, %lr, %t, %yes {amsgrad, keras, beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 2.0 : f64}
      : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>)
      -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
  return %0#0, %0#3, %1#0 : tensor<f64>, tensor<f64>, tensor<f64>
}

// FOLD-LABEL: @cycled
func.func @cycled() -> tensor<f64> {
  %p = grad.constant dense<1.0> : tensor<f64>
  %g = grad.constant dense<-0.25> : tensor<f64>
  %m = grad.constant dense<0.25> : tensor<f64>
  %v = grad.constant dense<0.0> : tensor<f64>
  %lr = grad.constant dense<0.5> : tensor<f64>
  %t = grad.constant dense<1.0> : tensor<f64>
  %b1 = grad.constant dense<0.75> : tensor<f64>
  %yes = grad.constant dense<true> : tensor<i1>
  // m = 0.75 * 0.25 - 0.25 * 0.25 = 0.125; p = 1 - 0.5 / (1 - 0.75) * 0.125 / 0.25.
  // FOLD: dense<0.000000e+00> : tensor<f64>
  %0:3 = grad.adam %p, %g, %m, %v, %lr, %t, %b1, %yes {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 0.0 : f64, cycled}
      : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>) -> (tensor<f64>, tensor<f64>, tensor<f64>)
  return %0#0 : tensor<f64>
}
