// RUN: gradc-opt %s -split-input-file -verify-diagnostics | gradc-opt -split-input-file | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics --gradc-bind-rows | FileCheck %s --check-prefix=BOUND

// CHECK-LABEL: @inference
// CHECK: grad.count %{{.*}} dims [0, 2] : tensor<2x3x4xf32>
// CHECK: grad.count %{{.*}} dims [0] least 2 : tensor<2x3xf64>
// Outside of an entry with a batch, a count is a constant.
// BOUND-LABEL: @inference
// BOUND-DAG: grad.constant dense<8.000000e+00> : tensor<f32>
// BOUND-DAG: grad.constant dense<2.000000e+00> : tensor<f64>
// BOUND-NOT: grad.count
func.func @inference(%x: tensor<2x3x4xf32>, %y: tensor<2x3xf64>) -> (tensor<f32>, tensor<f64>) {
  %0 = grad.count %x dims [0, 2] : tensor<2x3x4xf32>
  %1 = grad.count %y dims [0] least 2 : tensor<2x3xf64>
  return %0, %1 : tensor<f32>, tensor<f64>
}

// -----

// Masks are counted, too.
// CHECK-LABEL: @of_a_mask
// CHECK: grad.count %{{.*}} dims [1] : tensor<2x5xi1>
// BOUND-LABEL: @of_a_mask
// BOUND: grad.constant dense<5.000000e+00> : tensor<f32>
func.func @of_a_mask(%x: tensor<2x5xi1>) -> tensor<f32> {
  %0 = grad.count %x dims [1] : tensor<2x5xi1>
  return %0 : tensor<f32>
}

// -----

func.func @c1_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found 2}}
  %0 = grad.count %x dims [2] : tensor<2x3xf32>
  return
}
