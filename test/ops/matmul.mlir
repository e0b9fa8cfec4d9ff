// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD

// CHECK-LABEL: @plain
// CHECK: grad.matmul %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3x4xf32>
func.func @plain(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = grad.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @batched_and_transposed
func.func @batched_and_transposed(%a: tensor<5x3x2xi32>, %b: tensor<5x4x3xi32>) -> tensor<5x2x4xi32> {
  // CHECK: transpose_lhs transpose_rhs
  %0 = grad.matmul %a, %b transpose_lhs transpose_rhs : tensor<5x3x2xi32>, tensor<5x4x3xi32>
  return %0 : tensor<5x2x4xi32>
}

// -----

// Two matmuls per gradient, never a transpose.

// GRAD-LABEL: @gradient_nn
// GRAD-SAME: (%[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<3x4xf32>
func.func @gradient_nn(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> (tensor<2x3xf32>, tensor<3x4xf32>) {
  %0 = grad.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<2x4xf32>
  // GRAD: %[[G:.*]] = grad.{{constant|broadcast}} {{.*}}tensor<2x4xf32>
  // GRAD-NOT: grad.transpose
  // GRAD: grad.matmul %[[G]], %[[B]] transpose_rhs :
  // GRAD: grad.matmul %[[A]], %[[G]] transpose_lhs :
  %2:2 = grad.gradient %1 wrt %a, %b : tensor<f32>, tensor<2x3xf32>, tensor<3x4xf32>
  return %2#0, %2#1 : tensor<2x3xf32>, tensor<3x4xf32>
}

// GRAD-LABEL: @gradient_nt
// GRAD-SAME: (%[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<4x3xf32>
func.func @gradient_nt(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<4x3xf32>) {
  %0 = grad.matmul %a, %b transpose_rhs : tensor<2x3xf32>, tensor<4x3xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<2x4xf32>
  // GRAD: %[[G:.*]] = grad.{{constant|broadcast}} {{.*}}tensor<2x4xf32>
  // GRAD: grad.matmul %[[G]], %[[B]] :
  // GRAD: grad.matmul %[[G]], %[[A]] transpose_lhs :
  %2:2 = grad.gradient %1 wrt %a, %b : tensor<f32>, tensor<2x3xf32>, tensor<4x3xf32>
  return %2#0, %2#1 : tensor<2x3xf32>, tensor<4x3xf32>
}

// GRAD-LABEL: @gradient_tn
// GRAD-SAME: (%[[A:.*]]: tensor<3x2xf32>, %[[B:.*]]: tensor<3x4xf32>
func.func @gradient_tn(%a: tensor<3x2xf32>, %b: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x4xf32>) {
  %0 = grad.matmul %a, %b transpose_lhs : tensor<3x2xf32>, tensor<3x4xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<2x4xf32>
  // GRAD: %[[G:.*]] = grad.{{constant|broadcast}} {{.*}}tensor<2x4xf32>
  // GRAD: grad.matmul %[[B]], %[[G]] transpose_rhs :
  // GRAD: grad.matmul %[[A]], %[[G]] :
  %2:2 = grad.gradient %1 wrt %a, %b : tensor<f32>, tensor<3x2xf32>, tensor<3x4xf32>
  return %2#0, %2#1 : tensor<3x2xf32>, tensor<3x4xf32>
}

// GRAD-LABEL: @gradient_tt
// GRAD-SAME: (%[[A:.*]]: tensor<3x2xf32>, %[[B:.*]]: tensor<4x3xf32>
func.func @gradient_tt(%a: tensor<3x2xf32>, %b: tensor<4x3xf32>) -> (tensor<3x2xf32>, tensor<4x3xf32>) {
  %0 = grad.matmul %a, %b transpose_lhs transpose_rhs : tensor<3x2xf32>, tensor<4x3xf32>
  %1 = grad.reduce_sum %0 dims [0, 1] : tensor<2x4xf32>
  // GRAD: %[[G:.*]] = grad.{{constant|broadcast}} {{.*}}tensor<2x4xf32>
  // GRAD: grad.matmul %[[B]], %[[G]] transpose_lhs transpose_rhs :
  // GRAD: grad.matmul %[[G]], %[[A]] transpose_lhs transpose_rhs :
  %2:2 = grad.gradient %1 wrt %a, %b : tensor<f32>, tensor<3x2xf32>, tensor<4x3xf32>
  return %2#0, %2#1 : tensor<3x2xf32>, tensor<4x3xf32>
}

// -----

func.func @c1_rank(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{expected lhs of rank 2 or more, found 'tensor<3xf32>'}}
  %0 = grad.matmul %a, %b : tensor<3xf32>, tensor<3xf32>
}

// -----

func.func @c1_ranks(%a: tensor<2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{expected lhs and rhs of the same rank, found 'tensor<2x3xf32>' and 'tensor<5x3x4xf32>'}}
  %0 = grad.matmul %a, %b : tensor<2x3xf32>, tensor<5x3x4xf32>
}

// -----

func.func @c1_batch(%a: tensor<6x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{expected batch dim 0 of lhs (6) to match rhs (5)}}
  %0 = grad.matmul %a, %b : tensor<6x2x3xf32>, tensor<5x3x4xf32>
}

// -----

func.func @c2(%a: tensor<32x784xf32>, %b: tensor<768x10xf32>) {
  // expected-error @+1 {{expected lhs dim 1 (784) to match rhs dim 0 (768)}}
  %0 = grad.matmul %a, %b : tensor<32x784xf32>, tensor<768x10xf32>
}

// -----

func.func @c2_transposed(%a: tensor<784x32xf32>, %b: tensor<10x768xf32>) {
  // expected-error @+1 {{expected lhs dim 0 (784) to match rhs dim 1 (768)}}
  %0 = grad.matmul %a, %b transpose_lhs transpose_rhs : tensor<784x32xf32>, tensor<10x768xf32>
}

// -----

func.func @c3(%a: tensor<2x3xf32>, %b: tensor<3x4xf64>) {
  // expected-error @+1 {{expected lhs and rhs of one element type, found 'f32' and 'f64'}}
  %0 = grad.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf64>
}

// -----

func.func @c3_wide(%a: tensor<2x3xf32>, %b: tensor<3x4xui16>) {
  // expected-error @+1 {{expected lhs and rhs of one element type, found 'f32' and 'ui16'}}
  %0 = grad.matmul %a, %b wide : tensor<2x3xf32>, tensor<3x4xui16>
}

// -----

func.func @c3_narrow(%a: tensor<2x3xf32>, %b: tensor<3x4xi16>) {
  // expected-error @+1 {{expected lhs and rhs of one element type, found 'f32' and 'i16'}}
  %0 = grad.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xi16>
}

// -----

func.func @c3_halves(%a: tensor<2x3xbf16>, %b: tensor<3x4xf16>) {
  // expected-error @+1 {{expected lhs and rhs of one element type, found 'bf16' and 'f16'}}
  %0 = grad.matmul %a, %b wide : tensor<2x3xbf16>, tensor<3x4xf16>
}
