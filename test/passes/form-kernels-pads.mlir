// RUN: gradc-opt %s -split-input-file -gradc-decompose -gradc-form-kernels | FileCheck %s

// One kernel adds pads of slices of what lies in memory.

// CHECK-LABEL: func.func @shifted
// CHECK-NEXT: %[[Y:.*]] = exec.launch @{{.*}}(%arg0)
// CHECK-NEXT: return %[[Y]]
// CHECK: exec.kernel
// CHECK-COUNT-2: grad.slice
// CHECK: exec.yield
func.func @shifted(%x: tensor<4x2x8x16xf32>) -> tensor<4x1x8x17xf32> {
  %0 = grad.slice %x starts [0, 0, 0, 0] sizes [4, 1, 8, 16] strides [1, 1, 1, 1] : tensor<4x2x8x16xf32>
  %1 = grad.pad %0 low [0, 0, 0, 0] high [0, 0, 0, 1] interior [0, 0, 0, 0] : tensor<4x1x8x16xf32>
  %2 = grad.slice %x starts [0, 1, 0, 0] sizes [4, 1, 8, 16] strides [1, 1, 1, 1] : tensor<4x2x8x16xf32>
  %3 = grad.pad %2 low [0, 0, 0, 1] high [0, 0, 0, 0] interior [0, 0, 0, 0] : tensor<4x1x8x16xf32>
  %4 = grad.add %1, %3 : tensor<4x1x8x17xf32>
  return %4 : tensor<4x1x8x17xf32>
}

// -----

// What is computed is not computed again for each pad's elements, and neither are elements that lie apart read one by one.

// CHECK-LABEL: func.func @computed
// CHECK-NEXT: %[[E:.*]] = exec.launch @exp(%arg0)
// CHECK-NEXT: %[[S:.*]] = exec.launch @{{.*}}(%arg0)
// CHECK-NEXT: %[[Y:.*]] = exec.launch @{{.*}}(%[[E]], %[[S]])
// CHECK-NEXT: return %[[Y]]
func.func @computed(%x: tensor<8x16xf32>) -> tensor<8x17xf32> {
  %0 = grad.exp %x : tensor<8x16xf32>
  %1 = grad.pad %0 low [0, 0] high [0, 1] interior [0, 0] : tensor<8x16xf32>
  %2 = grad.slice %x starts [0, 0] sizes [8, 8] strides [1, 2] : tensor<8x16xf32>
  %3 = grad.pad %2 low [0, 9] high [0, 0] interior [0, 0] : tensor<8x8xf32>
  %4 = grad.add %1, %3 : tensor<8x17xf32>
  return %4 : tensor<8x17xf32>
}

// -----

// A transpose under the slices has a kernel of its own: each pad would gather its elements one by one.

// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: %[[T:.*]] = exec.launch @move(%arg0)
// CHECK-NEXT: %[[Y:.*]] = exec.launch @{{.*}}(%[[T]])
// CHECK-NEXT: return %[[Y]]
func.func @transposed(%x: tensor<64x8xf32>) -> tensor<8x64xf32> {
  %0 = grad.transpose %x permutation [1, 0] : tensor<64x8xf32>
  %1 = grad.slice %0 starts [0, 0] sizes [8, 48] strides [1, 1] : tensor<8x64xf32>
  %2 = grad.pad %1 low [0, 0] high [0, 16] interior [0, 0] : tensor<8x48xf32>
  %3 = grad.slice %0 starts [0, 1] sizes [8, 48] strides [1, 1] : tensor<8x64xf32>
  %4 = grad.pad %3 low [0, 1] high [0, 15] interior [0, 0] : tensor<8x48xf32>
  %5 = grad.add %2, %4 : tensor<8x64xf32>
  return %5 : tensor<8x64xf32>
}

// -----

// Pads with gaps, pads that others read, and those beside a product, whose epilogue reads them, have kernels of their own.

// CHECK-LABEL: func.func @with_gaps
// CHECK-COUNT-3: exec.launch
// CHECK-NEXT: return
func.func @with_gaps(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<8x31xf32> {
  %0 = grad.pad %x low [0, 0] high [0, 0] interior [0, 1] : tensor<8x16xf32>
  %1 = grad.pad %y low [0, 0] high [0, 0] interior [0, 1] : tensor<8x16xf32>
  %2 = grad.add %0, %1 : tensor<8x31xf32>
  return %2 : tensor<8x31xf32>
}

// -----

// CHECK-LABEL: func.func @read_again
// CHECK-COUNT-2: exec.launch
// CHECK-NEXT: return
func.func @read_again(%x: tensor<8x16xf32>) -> (tensor<8x17xf32>, tensor<8x17xf32>) {
  %0 = grad.pad %x low [0, 0] high [0, 1] interior [0, 0] : tensor<8x16xf32>
  %1 = grad.neg %0 : tensor<8x17xf32>
  return %0, %1 : tensor<8x17xf32>, tensor<8x17xf32>
}

// -----

// CHECK-LABEL: func.func @beside_a_product
// CHECK-DAG: exec.launch @pad(
// CHECK-DAG: exec.launch @matmul_add(
// CHECK: return
func.func @beside_a_product(%x: tensor<8x16xf32>, %a: tensor<8x32xf32>, %b: tensor<32x17xf32>) -> tensor<8x17xf32> {
  %0 = grad.matmul %a, %b : tensor<8x32xf32>, tensor<32x17xf32>
  %1 = grad.pad %x low [0, 0] high [0, 1] interior [0, 0] : tensor<8x16xf32>
  %2 = grad.add %0, %1 : tensor<8x17xf32>
  return %2 : tensor<8x17xf32>
}
