// RUN: gradc-opt %s -split-input-file -gradc-decompose -gradc-form-kernels | FileCheck %s

// Independent scalar kernels are merged into one launch, unless one depends on another through a third kernel.

// CHECK-LABEL: func.func @scalars
// CHECK-NEXT: %[[R:.*]]:3 = exec.launch @exp_sqrt_neg(%arg0, %arg1)
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @scalars(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = grad.exp %a : tensor<f32>
  %1 = grad.sqrt %b : tensor<f32>
  %2 = grad.neg %b : tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @dependent_scalars
// CHECK-NEXT: %[[A:.*]] = exec.launch @exp(%arg1)
// CHECK-NEXT: %[[B:.*]] = exec.launch @mul(%[[A]], %arg0)
// CHECK-NEXT: %[[VIEW:.*]] = grad.reshape %[[B]]
// CHECK-NEXT: %[[C:.*]] = exec.launch @sqrt(%[[VIEW]])
// CHECK-NEXT: return %[[A]], %[[C]]
func.func @dependent_scalars(%x: tensor<1xf32>, %a: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = grad.exp %a : tensor<f32>
  %1 = grad.broadcast %0 dims [] : tensor<f32> -> tensor<1xf32>
  %2 = grad.mul %x, %1 : tensor<1xf32>
  %3 = grad.reshape %2 : tensor<1xf32> -> tensor<f32>
  %4 = grad.sqrt %3 : tensor<f32>
  return %0, %4 : tensor<f32>, tensor<f32>
}

// -----

// A scalar joins the kernel of a matrix, unless it is also a result: every unit would write it, so
// it stays outside.

// CHECK-LABEL: func.func @scalar_inside
// CHECK-NEXT: exec.launch @exp_mul(%arg1, %arg0)
// CHECK-NEXT: return
func.func @scalar_inside(%x: tensor<8x32xf32>, %s: tensor<f32>) -> tensor<8x32xf32> {
  %0 = grad.exp %s : tensor<f32>
  %1 = grad.broadcast %0 dims [] : tensor<f32> -> tensor<8x32xf32>
  %2 = grad.mul %x, %1 : tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @scalar_result
// CHECK-NEXT: %[[S:.*]] = exec.launch @exp(%arg1)
// CHECK-NEXT: %[[Y:.*]] = exec.launch @mul(%[[S]], %arg0)
// CHECK-NEXT: return %[[Y]], %[[S]]
func.func @scalar_result(%x: tensor<8x32xf32>, %s: tensor<f32>) -> (tensor<8x32xf32>, tensor<f32>) {
  %0 = grad.exp %s : tensor<f32>
  %1 = grad.broadcast %0 dims [] : tensor<f32> -> tensor<8x32xf32>
  %2 = grad.mul %x, %1 : tensor<8x32xf32>
  return %2, %0 : tensor<8x32xf32>, tensor<f32>
}

// -----

// Kernels that only share a computed scalar are merged while they are small. Large kernels stay apart,
// so that each can join its own contraction.

// CHECK-LABEL: func.func @number_of_small_kernels
// CHECK-NEXT: %[[R:.*]]:2 = exec.launch @exp_mul(%arg1, %arg0, %arg2)
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1
func.func @number_of_small_kernels(%x: tensor<32x128xf32>, %s: tensor<f32>, %y: tensor<32x128xf32>)
    -> (tensor<32x128xf32>, tensor<32x128xf32>) {
  %0 = grad.exp %s : tensor<f32>
  %1 = grad.broadcast %0 dims [] : tensor<f32> -> tensor<32x128xf32>
  %2 = grad.mul %x, %1 : tensor<32x128xf32>
  %3 = grad.mul %y, %1 : tensor<32x128xf32>
  return %2, %3 : tensor<32x128xf32>, tensor<32x128xf32>
}

// CHECK-LABEL: func.func @number_of_large_kernels
// CHECK-NEXT: %[[S:.*]] = exec.launch @exp(%arg1)
// CHECK-NEXT: %[[A:.*]] = exec.launch @matmul_mul(%arg0, %arg2, %[[S]])
// CHECK-NEXT: %[[B:.*]] = exec.launch @matmul_mul(%arg0, %arg3, %[[S]])
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @number_of_large_kernels(%x: tensor<33x8xf32>, %s: tensor<f32>, %y: tensor<8x128xf32>,
    %z: tensor<8x128xf32>) -> (tensor<33x128xf32>, tensor<33x128xf32>) {
  %a = grad.matmul %x, %y : tensor<33x8xf32>, tensor<8x128xf32>
  %b = grad.matmul %x, %z : tensor<33x8xf32>, tensor<8x128xf32>
  %0 = grad.exp %s : tensor<f32>
  %1 = grad.broadcast %0 dims [] : tensor<f32> -> tensor<33x128xf32>
  %2 = grad.mul %a, %1 : tensor<33x128xf32>
  %3 = grad.mul %b, %1 : tensor<33x128xf32>
  return %2, %3 : tensor<33x128xf32>, tensor<33x128xf32>
}

// -----

// Siblings with one root become one kernel around the values that they share.

// CHECK-LABEL: func.func @siblings
// CHECK-NEXT: exec.launch @exp_sqrt_neg(%arg0)
// CHECK-NEXT: return
// CHECK: exec.kernel @exp_sqrt_neg({{.*}}inplace = array<i64: 0>
// CHECK-COUNT-1: grad.exp
// CHECK-NOT: grad.exp
func.func @siblings(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = grad.exp %x : tensor<8x4xf32>
  %1 = grad.sqrt %0 : tensor<8x4xf32>
  %2 = grad.neg %0 : tensor<8x4xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// A producer does not join one user if another user, on which the first depends, needs it as well.

// CHECK-LABEL: func.func @cycle_through_kernel
// CHECK-NEXT: %[[X:.*]] = exec.launch @exp(%arg0)
// CHECK-NEXT: %[[SUM:.*]] = exec.launch @reduce_sum(%[[X]])
// CHECK-NEXT: exec.launch @sub(%[[SUM]], %[[X]])
// CHECK-NEXT: return
func.func @cycle_through_kernel(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = grad.exp %x : tensor<8x32xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<8x32xf32>
  %2 = grad.broadcast %1 dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %3 = grad.sub %0, %2 : tensor<8x32xf32>
  return %3 : tensor<8x32xf32>
}

// -----

// Reshapes stay outside, and a value that leaves through one may come back.

// CHECK-LABEL: func.func @cycle_through_view
// CHECK-NEXT: %[[X:.*]] = exec.launch @exp(%arg0)
// CHECK-NEXT: %[[VIEW:.*]] = grad.reshape %[[X]]
// CHECK-NEXT: %[[SUM:.*]] = exec.launch @add(%[[VIEW]], %arg1)
// CHECK-NEXT: %[[BACK:.*]] = grad.reshape %[[SUM]]
// CHECK-NEXT: exec.launch @add_0(%[[X]], %[[BACK]])
// CHECK-NOT: grad.reshape
func.func @cycle_through_view(%x: tensor<8x8xf32>, %y: tensor<16x4xf32>) -> tensor<8x8xf32> {
  %0 = grad.exp %x : tensor<8x8xf32>
  %1 = grad.reshape %0 : tensor<8x8xf32> -> tensor<16x4xf32>
  %2 = grad.add %1, %y : tensor<16x4xf32>
  %3 = grad.reshape %2 : tensor<16x4xf32> -> tensor<8x8xf32>
  %4 = grad.add %0, %3 : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// -----

// Ops that assemble tensors are kernels of their own.

// CHECK-LABEL: func.func @assembly
// CHECK-NEXT: %[[X:.*]] = exec.launch @exp(%arg0)
// CHECK-NEXT: %[[BOTH:.*]] = exec.launch @concatenate(%[[X]], %arg1)
// CHECK-NEXT: exec.launch @neg(%[[BOTH]])
// CHECK-NEXT: return
func.func @assembly(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<16xf32> {
  %0 = grad.exp %x : tensor<8xf32>
  %1 = grad.concatenate %0, %y dim 0 : tensor<8xf32>, tensor<8xf32>
  %2 = grad.neg %1 : tensor<16xf32>
  return %2 : tensor<16xf32>
}

// -----

// Broadcasts are cloned for every user, and merged again inside a kernel.

// CHECK-LABEL: func.func @free
// CHECK-NOT: grad.broadcast
// CHECK: return
// CHECK: exec.kernel @mul(
// CHECK-NEXT: grad.broadcast
// CHECK: exec.kernel @add_sub(
// CHECK-NEXT: %[[S:.*]] = grad.broadcast
// CHECK-NEXT: %[[SUM:.*]] = grad.add %{{.*}}, %[[S]]
// CHECK-NEXT: %[[DIFFERENCE:.*]] = grad.sub %[[SUM]], %[[S]]
// CHECK-NEXT: exec.yield %[[DIFFERENCE]]
func.func @free(%x: tensor<8xf32>, %y: tensor<4x2xf32>, %s: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = grad.broadcast %s dims [] : tensor<f32> -> tensor<8xf32>
  %1 = grad.mul %x, %0 : tensor<8xf32>
  %2 = grad.reshape %1 : tensor<8xf32> -> tensor<4x2xf32>
  %3 = grad.add %2, %y : tensor<4x2xf32>
  %4 = grad.reshape %3 : tensor<4x2xf32> -> tensor<8xf32>
  %5 = grad.add %4, %0 : tensor<8xf32>
  %6 = grad.sub %5, %0 : tensor<8xf32>
  return %1, %6 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Equal computations share a kernel, also across functions; another shape needs another kernel.

// CHECK-LABEL: func.func @equal
// CHECK: exec.launch @exp(%arg0)
// CHECK: exec.launch @exp(%{{[0-9]+}})
// CHECK-LABEL: func.func @again
// CHECK-DAG: exec.launch @exp(%arg0)
// CHECK-DAG: exec.launch @exp_0(%arg1)
// CHECK: exec.kernel @exp(%{{.*}}: tensor<8xf32>)
// CHECK: exec.kernel @exp_0(%{{.*}}: tensor<4xf32>)
// CHECK-NOT: exec.kernel
func.func @equal(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = grad.exp %a : tensor<8xf32> loc("first")
  %1 = grad.reshape %0 : tensor<8xf32> -> tensor<2x4xf32>
  %2 = grad.reshape %1 : tensor<2x4xf32> -> tensor<8xf32>
  %3 = grad.exp %2 : tensor<8xf32> loc("second")
  return %3 : tensor<8xf32>
}
func.func @again(%a: tensor<8xf32>, %b: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = grad.exp %a : tensor<8xf32>
  %1 = grad.exp %b : tensor<4xf32>
  return %0, %1 : tensor<8xf32>, tensor<4xf32>
}

// -----

// Tables become states; a splat stays a constant in the kernel.

// CHECK: grad.state constant @constant.0 : tensor<4xf32> = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK-LABEL: func.func @constants
// CHECK-NEXT: %[[TABLE:.*]] = grad.read @constant.0
// CHECK-NEXT: exec.launch @mul_add(%arg0, %[[TABLE]])
// CHECK: exec.kernel @mul_add(
// CHECK-NEXT: grad.constant dense<2.000000e+00>
func.func @constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = grad.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = grad.constant dense<2.0> : tensor<4xf32>
  %2 = grad.mul %x, %0 : tensor<4xf32>
  %3 = grad.add %2, %1 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// Ops without readers are in no kernel, whichever passes ran before.

// CHECK-LABEL: func.func @dead
// CHECK-NEXT: %[[Y:.*]] = exec.launch @relu(%arg0)
// CHECK-NEXT: return %[[Y]]
// CHECK-NOT: exec.kernel @{{.*}}exp
func.func @dead(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = grad.exp %x : tensor<8xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<8xf32>
  %2 = grad.relu %x : tensor<8xf32>
  return %2 : tensor<8xf32>
}
