// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate -canonicalize -cse | FileCheck %s --check-prefix=GRAD

// CHECK-LABEL: @inference
// CHECK: grad.all_reduce %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<4xf32>
// CHECK: grad.all_reduce %{{.*}} bf16 : tensor<4xf32>
// CHECK: grad.all_reduce %{{.*}} : tensor<i64>
func.func @inference(%x: tensor<2x3xf32>, %y: tensor<4xf32>, %n: tensor<i64>) -> (tensor<2x3xf32>, tensor<4xf32>, tensor<i64>) {
  %0:2 = grad.all_reduce %x, %y : tensor<2x3xf32>, tensor<4xf32>
  %1 = grad.all_reduce %0#1 bf16 : tensor<4xf32>
  %2 = grad.all_reduce %n : tensor<i64>
  return %0#0, %1, %2 : tensor<2x3xf32>, tensor<4xf32>, tensor<i64>
}

// -----

// The number of ranks is known only at run time.
// GRAD-LABEL: @of_a_constant
// GRAD: %[[ONE:.*]] = grad.constant dense<1.0
// GRAD: grad.all_reduce %[[ONE]]
func.func @of_a_constant() -> tensor<f32> {
  %0 = grad.constant dense<1.0> : tensor<f32>
  %1 = grad.all_reduce %0 : tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Gradients are those of the sum of all ranks' objectives: y is a factor in each of them.
// GRAD-LABEL: @gradient
// GRAD-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
// GRAD: %[[PART:.*]] = grad.mul %[[Y]], %{{.*}} : tensor<4xf32>
// GRAD: %[[G:.*]] = grad.all_reduce %[[PART]] : tensor<4xf32>
// GRAD: return %[[G]]
func.func @gradient(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = grad.all_reduce %x, %y : tensor<4xf32>, tensor<4xf32>
  %1 = grad.mul %0#0, %y : tensor<4xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<4xf32>
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

func.func @c1_type(%x: tensor<4xf16>) {
  // expected-error @+1 {{expected f32, f64, i32 or i64, found 'f16'}}
  %0 = grad.all_reduce %x : tensor<4xf16>
  return
}

// -----

func.func @c1_types(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+1 {{expected operands of one element type, found 'f32' and 'f64'}}
  %0:2 = grad.all_reduce %x, %y : tensor<4xf32>, tensor<4xf64>
  return
}

// -----

func.func @c2() {
  // expected-error @+1 {{expected an operand, found none}}
  "grad.all_reduce"() : () -> ()
  return
}

// -----

func.func @c3(%x: tensor<4xf64>) {
  // expected-error @+1 {{expected f32 to travel as bf16, found 'f64'}}
  %0 = grad.all_reduce %x bf16 : tensor<4xf64>
  return
}
