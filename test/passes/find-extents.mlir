// RUN: gradc-opt %s --gradc-find-extents | FileCheck %s

// The product and its sum have rows; the update of the weight does not.
// CHECK: exec.kernel @matmul
// CHECK-SAME: extents = [array<i64: 1, 0>, array<i64: 0, 0>]
// CHECK-SAME: rows = array<i64: 1, 0>
exec.kernel @matmul(%x: tensor<32x4xf32>, %w: tensor<4x8xf32>) {
  %0 = grad.matmul %x, %w : tensor<32x4xf32>, tensor<4x8xf32>
  exec.yield %0 : tensor<32x8xf32>
}
// CHECK: exec.kernel @sum
// CHECK-SAME: extents = [array<i64: 1, 0>]
// CHECK-SAME: rows = array<i64: 0>
exec.kernel @sum(%x: tensor<32x8xf32>) {
  %0 = grad.reduce_sum %x dims [0] : tensor<32x8xf32>
  exec.yield %0 : tensor<8xf32>
}
// A kernel that two entries run with different extents is duplicated.
// CHECK: exec.kernel @double(%{{.*}}: tensor<32x8xf32>) {
// CHECK: exec.kernel @[[ROWS:double.+]](%{{.*}}: tensor<32x8xf32>) attributes
// CHECK-SAME: rows = array<i64: 1, 0>
exec.kernel @double(%x: tensor<32x8xf32>) {
  %0 = grad.add %x, %x : tensor<32x8xf32>
  exec.yield %0 : tensor<32x8xf32>
}

// CHECK: func.func @any
// CHECK-SAME: -> (tensor<8xf32>, tensor<32x8xf32> {grad.batched}, tensor<32x8xf32>)
// CHECK: exec.launch @[[ROWS]](
// CHECK: exec.launch @double(
func.func @any(%x: tensor<32x4xf32> {grad.batched}, %w: tensor<4x8xf32>, %v: tensor<32x8xf32>)
    -> (tensor<8xf32>, tensor<32x8xf32>, tensor<32x8xf32>) attributes {grad.batch = 32 : i64, grad.rows} {
  %0 = exec.launch @matmul(%x, %w) : (tensor<32x4xf32>, tensor<4x8xf32>) -> tensor<32x8xf32>
  %1 = exec.launch @double(%0) : (tensor<32x8xf32>) -> tensor<32x8xf32>
  %2 = exec.launch @sum(%1) : (tensor<32x8xf32>) -> tensor<8xf32>
  %3 = exec.launch @double(%v) : (tensor<32x8xf32>) -> tensor<32x8xf32>
  return %2, %1, %3 : tensor<8xf32>, tensor<32x8xf32>, tensor<32x8xf32>
}

func.func @exact(%v: tensor<32x8xf32>) -> tensor<32x8xf32> {
  // CHECK: exec.launch @double(
  %0 = exec.launch @double(%v) : (tensor<32x8xf32>) -> tensor<32x8xf32>
  return %0 : tensor<32x8xf32>
}
