// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @inference
// CHECK: grad.reduce_scatter %{{.*}}, %{{.*}} of [@v, @w] : tensor<2x3xf32>, tensor<4xf32>
// CHECK: grad.reduce_scatter %{{.*}} of [@w] bf16 : tensor<4xf32>
func.func @inference(%x: tensor<2x3xf32>, %y: tensor<4xf32>) -> (tensor<2x3xf32>, tensor<4xf32>) {
  %0:2 = grad.reduce_scatter %x, %y of [@v, @w] : tensor<2x3xf32>, tensor<4xf32>
  %1 = grad.reduce_scatter %0#1 of [@w] bf16 : tensor<4xf32>
  return %0#0, %1 : tensor<2x3xf32>, tensor<4xf32>
}

// -----

func.func @c1_type(%x: tensor<4xf16>) {
  // expected-error @+1 {{expected f32, f64, i32 or i64, found 'f16'}}
  %0 = grad.reduce_scatter %x of [@w] : tensor<4xf16>
  return
}

// -----

func.func @c1_types(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+1 {{expected operands of one element type, found 'f32' and 'f64'}}
  %0:2 = grad.reduce_scatter %x, %y of [@v, @w] : tensor<4xf32>, tensor<4xf64>
  return
}

// -----

func.func @c2() {
  // expected-error @+1 {{expected an operand, found none}}
  "grad.reduce_scatter"() {states = []} : () -> ()
  return
}

// -----

func.func @c3(%x: tensor<4xf64>) {
  // expected-error @+1 {{expected f32 to travel as bf16, found 'f64'}}
  %0 = grad.reduce_scatter %x of [@w] bf16 : tensor<4xf64>
  return
}

// -----

func.func @c4(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a state for each of 1 operands, found 2}}
  %0 = grad.reduce_scatter %x of [@v, @w] : tensor<4xf32>
  return
}
