// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @inference
// CHECK: grad.all_gather %{{.*}}, %{{.*}} of [@v, @w] : tensor<2x3xf32>, tensor<4xf32>
func.func @inference(%x: tensor<2x3xf32>, %y: tensor<4xf32>) -> (tensor<2x3xf32>, tensor<4xf32>) {
  %0:2 = grad.all_gather %x, %y of [@v, @w] : tensor<2x3xf32>, tensor<4xf32>
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<4xf32>
}

// -----

func.func @c1_type(%x: tensor<4xbf16>) {
  // expected-error @+1 {{expected f32, f64, i32 or i64, found 'bf16'}}
  %0 = grad.all_gather %x of [@w] : tensor<4xbf16>
  return
}

// -----

func.func @c1_types(%x: tensor<4xi32>, %y: tensor<4xi64>) {
  // expected-error @+1 {{expected operands of one element type, found 'i32' and 'i64'}}
  %0:2 = grad.all_gather %x, %y of [@v, @w] : tensor<4xi32>, tensor<4xi64>
  return
}

// -----

func.func @c2() {
  // expected-error @+1 {{expected an operand, found none}}
  "grad.all_gather"() {states = []} : () -> ()
  return
}

// -----

func.func @c3(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a state for each of 1 operands, found 0}}
  %0 = grad.all_gather %x of [] : tensor<4xf32>
  return
}
