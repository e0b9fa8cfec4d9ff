// RUN: gradc-opt %s -gradc-form-kernels | FileCheck %s

// A product without a column has no terms: it is a kernel like any other.

// CHECK-LABEL: func.func @no_columns
// CHECK: exec.launch
// CHECK: exec.kernel
// CHECK: grad.matmul %{{.*}}, %{{.*}} transpose_lhs : tensor<4x3xf32>, tensor<4x0xf32>
func.func @no_columns(%x: tensor<4x3xf32>, %y: tensor<4x0xf32>) -> tensor<3x0xf32> attributes {grad.entry = "forward"} {
  %0 = grad.matmul %x, %y transpose_lhs : tensor<4x3xf32>, tensor<4x0xf32>
  return %0 : tensor<3x0xf32>
}
