// RUN: gradc-opt %s -split-input-file -gradc-decompose -gradc-form-kernels | FileCheck %s

// What is joined may be slices of other tensors, as in a roll: they are not written first.

// CHECK-LABEL: func.func @roll
// CHECK-NEXT: %[[Y:.*]] = exec.launch @{{.*}}(%arg0)
// CHECK-NEXT: return %[[Y]]
// CHECK: exec.kernel
// CHECK-COUNT-2: grad.slice
// CHECK: grad.concatenate
func.func @roll(%x: tensor<2x7x5xf32>) -> tensor<2x7x5xf32> {
  %0 = grad.slice %x starts [0, 3, 0] sizes [2, 4, 5] strides [1, 1, 1] : tensor<2x7x5xf32>
  %1 = grad.slice %x starts [0, 0, 0] sizes [2, 3, 5] strides [1, 1, 1] : tensor<2x7x5xf32>
  %2 = grad.concatenate %0, %1 dim 1 : tensor<2x4x5xf32>, tensor<2x3x5xf32>
  return %2 : tensor<2x7x5xf32>
}

// -----

// Vectors keep their elements side by side, also if rows come in reverse, as in a reflection.

// CHECK-LABEL: func.func @reflection
// CHECK-NEXT: %[[Y:.*]] = exec.launch @{{.*}}(%arg0)
// CHECK-NEXT: return %[[Y]]
func.func @reflection(%x: tensor<7x5xf32>) -> tensor<9x5xf32> {
  %0 = grad.slice %x starts [2, 0] sizes [2, 5] strides [-1, 1] : tensor<7x5xf32>
  %1 = grad.concatenate %0, %x dim 0 : tensor<2x5xf32>, tensor<7x5xf32>
  return %1 : tensor<9x5xf32>
}

// -----

// Elements in reverse, what is computed, and what others read as well, are tensors of their own.

// CHECK-LABEL: func.func @others
// CHECK-DAG: %[[A:.*]] = exec.launch @move{{.*}}(%arg0) {{.*}} -> tensor<7x2xf32>
// CHECK-DAG: %[[B:.*]] = exec.launch @exp{{.*}}(%arg0) {{.*}} -> tensor<7x5xf32>
// CHECK-DAG: %[[C:.*]] = exec.launch @move{{.*}}(%arg0) {{.*}} -> tensor<7x3xf32>
// CHECK: exec.launch @{{.*}}(%[[A]], %[[B]], %[[C]])
func.func @others(%x: tensor<7x5xf32>) -> (tensor<7x10xf32>, tensor<7x3xf32>) {
  %0 = grad.slice %x starts [0, 1] sizes [7, 2] strides [1, -1] : tensor<7x5xf32>
  %1 = grad.exp %x : tensor<7x5xf32>
  %2 = grad.slice %x starts [0, 0] sizes [7, 3] strides [1, 1] : tensor<7x5xf32>
  %3 = grad.concatenate %0, %1, %2 dim 1 : tensor<7x2xf32>, tensor<7x5xf32>, tensor<7x3xf32>
  return %3, %2 : tensor<7x10xf32>, tensor<7x3xf32>
}
