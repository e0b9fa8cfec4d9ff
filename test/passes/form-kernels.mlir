// RUN: gradc-opt %s -split-input-file -gradc-decompose -gradc-form-kernels | FileCheck %s

// A contraction includes the ops after it. The bytes are those of the kernel's operands and results.

// CHECK-LABEL: func.func @epilogue
// CHECK-NEXT: %[[Y:.*]] = exec.launch @matmul_add_relu(%arg0, %arg1, %arg2) {exec.nodes = ["fc", "act"]}
// CHECK-NEXT: return %[[Y]]
// CHECK: exec.kernel @matmul_add_relu(%[[X:.*]]: tensor<8x16xf32>, %[[W:.*]]: tensor<16x32xf32>, %[[B:.*]]: tensor<32xf32>)
// CHECK-SAME: bytes = 3712 : i64, flops = {{[0-9]+}} : i64, inplace = array<i64>
// CHECK-NEXT: %[[PRODUCT:.*]] = grad.matmul %[[X]], %[[W]]
// CHECK-NEXT: %[[BIAS:.*]] = grad.broadcast %[[B]] dims [1]
// CHECK-NEXT: %[[SUM:.*]] = grad.add %[[PRODUCT]], %[[BIAS]]
// CHECK-NEXT: %[[RELU:.*]] = grad.relu %[[SUM]]
// CHECK-NEXT: exec.yield %[[RELU]]
func.func @epilogue(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %0 = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32> loc("fc")
  %1 = grad.broadcast %b dims [1] : tensor<32xf32> -> tensor<8x32xf32> loc("fc")
  %2 = grad.add %0, %1 : tensor<8x32xf32> loc("fc")
  %3 = grad.relu %2 : tensor<8x32xf32> loc("act")
  return %3 : tensor<8x32xf32>
}

// -----

// The producer of a contraction's operand would be computed once per tile, so it stays outside.

// CHECK-LABEL: func.func @contraction_operand
// CHECK-NEXT: %[[X:.*]] = exec.launch @relu(%arg0)
// CHECK-NEXT: %[[Y:.*]] = exec.launch @matmul(%[[X]], %arg1)
// CHECK-NEXT: return %[[Y]]
// CHECK: exec.kernel @relu({{.*}}bytes = 1024 : i64, flops = 128 : i64, inplace = array<i64: 0>
// CHECK: exec.kernel @matmul({{.*}}bytes = 3584 : i64, flops = 8192 : i64, inplace = array<i64>
func.func @contraction_operand(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %0 = grad.relu %x : tensor<8x16xf32>
  %1 = grad.matmul %0, %w : tensor<8x16xf32>, tensor<16x32xf32>
  return %1 : tensor<8x32xf32>
}

// -----

// The kernel of a contraction includes no reduction, neither of its result nor beside it.

// CHECK-LABEL: func.func @reduced_contraction
// CHECK-NEXT: %[[Y:.*]] = exec.launch @matmul_relu(%arg0, %arg1)
// CHECK-NEXT: %[[SUM:.*]] = exec.launch @reduce_sum(%[[Y]])
// CHECK-NEXT: return %[[Y]], %[[SUM]]
func.func @reduced_contraction(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> (tensor<8x32xf32>, tensor<8xf32>) {
  %0 = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32>
  %1 = grad.relu %0 : tensor<8x32xf32>
  %2 = grad.reduce_sum %1 dims [1] : tensor<8x32xf32>
  return %1, %2 : tensor<8x32xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @reduced_epilogue_operand
// CHECK-NEXT: %[[PRODUCT:.*]] = exec.launch @matmul(%arg0, %arg1)
// CHECK-NEXT: exec.launch @reduce_sum_add(%arg2, %[[PRODUCT]])
// CHECK-NEXT: return
func.func @reduced_epilogue_operand(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %y: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32>
  %1 = grad.reduce_sum %y dims [1] : tensor<8x32xf32>
  %2 = grad.broadcast %1 dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %3 = grad.add %0, %2 : tensor<8x32xf32>
  return %3 : tensor<8x32xf32>
}

// -----

// Adam joins the contraction that computes its gradient, so the gradient is never written. Old
// values are only read at the index that is written, so new values may overwrite them.

grad.state parameter @w : tensor<16x32xf32> = dense<1.0> : tensor<16x32xf32>
grad.state slot @w.first : tensor<16x32xf32> = dense<0.0> : tensor<16x32xf32>
grad.state slot @w.second : tensor<16x32xf32> = dense<0.0> : tensor<16x32xf32>

// CHECK-LABEL: func.func @adam
// CHECK-DAG: %[[W:.*]] = grad.read @w :
// CHECK-DAG: %[[M:.*]] = grad.read @w.first
// CHECK-DAG: %[[V:.*]] = grad.read @w.second
// CHECK: %[[NEW:.*]]:3 = exec.launch @[[UPDATE:matmul.*]](%arg0, %arg1, %[[M]], %[[V]], {{.*}}%[[W]]
// CHECK-NOT: exec.launch
// CHECK: grad.write @w, %[[NEW]]#
// CHECK: grad.write @w.first, %[[NEW]]#
// CHECK: grad.write @w.second, %[[NEW]]#
// CHECK: exec.kernel @[[UPDATE]](%[[X:.*]]: tensor<8x16xf32>, %[[D:.*]]: tensor<8x32xf32>, %{{.*}}: tensor<16x32xf32>, %{{.*}}: tensor<16x32xf32>
// CHECK-SAME: inplace = array<i64: 2, 3, {{[0-9]+}}>
// CHECK: grad.matmul %[[X]], %[[D]] transpose_lhs
// CHECK: grad.sqrt
// CHECK: exec.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>
func.func @adam(%x: tensor<8x16xf32>, %d: tensor<8x32xf32>, %rate: tensor<f32>, %step: tensor<f32>, %go: tensor<i1>) {
  %w = grad.read @w : tensor<16x32xf32>
  %m = grad.read @w.first : tensor<16x32xf32>
  %v = grad.read @w.second : tensor<16x32xf32>
  %g = grad.matmul %x, %d transpose_lhs : tensor<8x16xf32>, tensor<8x32xf32>
  %0:3 = grad.adam %w, %g, %m, %v, %rate, %step, %go {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64}
      : (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>)
  grad.write @w, %0#0 : tensor<16x32xf32>
  grad.write @w.first, %0#1 : tensor<16x32xf32>
  grad.write @w.second, %0#2 : tensor<16x32xf32>
  return
}

// -----

// A softmax is one kernel over rows, which may also write its statistics. The operand of a reduction
// may not be overwritten.

// CHECK-LABEL: func.func @softmax_rows
// CHECK-NEXT: %[[R:.*]]:2 = exec.launch @[[ROWS:.*]](%arg0) {{.*}} -> (tensor<8xf32>, tensor<8x32xf32>)
// CHECK-NEXT: return %[[R]]#1, %[[R]]#0
// CHECK: exec.kernel @[[ROWS]](%[[X:.*]]: tensor<8x32xf32>)
// CHECK-SAME: inplace = array<i64>
// CHECK: grad.reduce_max %[[X]] dims [1]
// CHECK: %[[SUM:.*]] = grad.reduce_sum %{{.*}} dims [1]
// CHECK: %[[Y:.*]] = grad.div
// CHECK: exec.yield %[[SUM]], %[[Y]]
func.func @softmax_rows(%x: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8xf32>) {
  %0 = grad.reduce_max %x dims [1] : tensor<8x32xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %2 = grad.sub %x, %1 : tensor<8x32xf32>
  %3 = grad.exp %2 : tensor<8x32xf32>
  %4 = grad.reduce_sum %3 dims [1] : tensor<8x32xf32>
  %5 = grad.broadcast %4 dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %6 = grad.div %3, %5 : tensor<8x32xf32>
  return %6, %4 : tensor<8x32xf32>, tensor<8xf32>
}

// -----

// The sum over columns that computes a bias gradient joins the bias's update.

// CHECK-LABEL: func.func @column_sum
// CHECK-NEXT: exec.launch @reduce_sum_mul_sub(%arg0, %arg2, %arg1)
// CHECK-NEXT: return
// CHECK: exec.kernel @reduce_sum_mul_sub({{.*}}inplace = array<i64: 2>
func.func @column_sum(%d: tensor<8x32xf32>, %b: tensor<32xf32>, %rate: tensor<f32>) -> tensor<32xf32> {
  %g = grad.reduce_sum %d dims [0] : tensor<8x32xf32>
  %r = grad.broadcast %rate dims [] : tensor<f32> -> tensor<32xf32>
  %0 = grad.mul %g, %r : tensor<32xf32>
  %1 = grad.sub %b, %0 : tensor<32xf32>
  return %1 : tensor<32xf32>
}

// -----

// A column sum reads each element once, so it includes pointwise ops on its operand. Cheap values that several kernels need are
// recomputed in each; within a kernel they are computed once.

// CHECK-LABEL: func.func @column_variance
// CHECK-NEXT: %[[MEAN:.*]] = exec.launch @reduce_sum_mul(%arg0)
// CHECK-NEXT: %[[VARIANCE:.*]] = exec.launch @[[SQUARES:sub_mul.*]](%[[MEAN]], %arg0)
// CHECK-NEXT: %[[Y:.*]] = exec.launch @[[NORMALIZE:sub_exp.*]](%[[MEAN]], %arg0)
// CHECK-NEXT: return %[[VARIANCE]], %[[Y]]
// CHECK: exec.kernel @[[SQUARES]](
// CHECK: grad.sub
// CHECK: exec.kernel @[[NORMALIZE]](
// CHECK: grad.sub
func.func @column_variance(%x: tensor<8x32xf32>, %n: tensor<32xf32>) -> (tensor<32xf32>, tensor<8x32xf32>) {
  %s = grad.reduce_sum %x dims [0] : tensor<8x32xf32>
  %eighth = grad.constant dense<0.125> : tensor<32xf32>
  %mean = grad.mul %s, %eighth : tensor<32xf32>
  %b = grad.broadcast %mean dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %centered = grad.sub %x, %b : tensor<8x32xf32>
  %square = grad.mul %centered, %centered : tensor<8x32xf32>
  %variance = grad.reduce_sum %square dims [0] : tensor<8x32xf32>
  %y = grad.exp %centered : tensor<8x32xf32>
  return %variance, %y : tensor<32xf32>, tensor<8x32xf32>
}

// -----

// Only cheap ops with one tensor operand are repeated, in kernels that read them once: a contraction reads its operands many times.

// CHECK-LABEL: func.func @not_repeated
// CHECK-NEXT: %[[E:.*]] = exec.launch @exp(%arg0)
// CHECK-NEXT: %[[S:.*]] = exec.launch @sub(%arg0, %arg1)
// CHECK-NEXT: exec.launch @reduce_sum(%[[E]])
// CHECK: exec.launch @reduce_sum{{.*}}(%[[S]])
// CHECK: exec.launch @matmul{{.*}}(%[[S]], %arg2)
func.func @not_repeated(%x: tensor<8x32xf32>, %y: tensor<8x32xf32>, %w: tensor<32x4xf32>) -> (tensor<32xf32>, tensor<8xf32>, tensor<32xf32>, tensor<8x4xf32>) {
  %e = grad.exp %x : tensor<8x32xf32>
  %d = grad.sub %x, %y : tensor<8x32xf32>
  %0 = grad.reduce_sum %e dims [0] : tensor<8x32xf32>
  %1 = grad.reduce_sum %e dims [1] : tensor<8x32xf32>
  %2 = grad.reduce_sum %d dims [0] : tensor<8x32xf32>
  %3 = grad.matmul %d, %w : tensor<8x32xf32>, tensor<32x4xf32>
  return %0, %1, %2, %3 : tensor<32xf32>, tensor<8xf32>, tensor<32xf32>, tensor<8x4xf32>
}

// -----

// A small reduction may be repeated inside another one, a large reduction may not.

// CHECK-LABEL: func.func @small_nested_reduction
// CHECK-NEXT: exec.launch @reduce_sum_exp(%arg0)
// CHECK-NEXT: return
func.func @small_nested_reduction(%x: tensor<8x32xf32>) -> tensor<f32> {
  %0 = grad.reduce_sum %x dims [1] : tensor<8x32xf32>
  %1 = grad.exp %0 : tensor<8xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<8xf32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func.func @large_nested_reduction
// CHECK-NEXT: %[[ROWS:.*]] = exec.launch @reduce_sum(%arg0)
// CHECK-NEXT: exec.launch @exp_reduce_sum(%[[ROWS]])
// CHECK-NEXT: return
func.func @large_nested_reduction(%x: tensor<512x64xf32>) -> tensor<f32> {
  %0 = grad.reduce_sum %x dims [1] : tensor<512x64xf32>
  %1 = grad.exp %0 : tensor<512xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<512xf32>
  return %2 : tensor<f32>
}

// -----

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

// A value broadcast along rows is computed once per row. Broadcast along columns, it would be computed
// once per element, so it stays outside.

// CHECK-LABEL: func.func @row_broadcast
// CHECK-NEXT: exec.launch @exp_mul(%arg1, %arg0)
// CHECK-NEXT: return
func.func @row_broadcast(%x: tensor<8x32xf32>, %b: tensor<8xf32>) -> tensor<8x32xf32> {
  %0 = grad.exp %b : tensor<8xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %2 = grad.mul %x, %1 : tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @column_broadcast
// CHECK-NEXT: %[[B:.*]] = exec.launch @exp(%arg1)
// CHECK-NEXT: exec.launch @mul(%[[B]], %arg0)
// CHECK-NEXT: return
func.func @column_broadcast(%x: tensor<8x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %0 = grad.exp %b : tensor<32xf32>
  %1 = grad.broadcast %0 dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %2 = grad.mul %x, %1 : tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
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

// A convolution includes its epilogue like any contraction; a filter gradient is computed in blocks, in its own kernel.

// CHECK-LABEL: func.func @convolutions
// CHECK: exec.launch @convolution_relu(%arg0, %arg1)
// CHECK: %[[G:.*]] = exec.launch @convolution(%arg0, %arg2)
// CHECK: exec.launch @add(%[[G]], %arg1)
func.func @convolutions(%x: tensor<16x16x8x4xf32>, %w: tensor<3x3x4x8xf32>, %g: tensor<16x16x8x8xf32>) -> (tensor<16x16x8x8xf32>, tensor<3x3x4x8xf32>) {
  %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<16x16x8x4xf32>, tensor<3x3x4x8xf32>
  %1 = grad.relu %0 : tensor<16x16x8x8xf32>
  %2 = grad.convolution %x, %g dims "nc,no->co" window <[16, 16] low [1, 1] high [1, 1]> : tensor<16x16x8x4xf32>, tensor<16x16x8x8xf32>
  %3 = grad.add %2, %w : tensor<3x3x4x8xf32>
  return %1, %3 : tensor<16x16x8x8xf32>, tensor<3x3x4x8xf32>
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

// -----

// Overlapping windows would compute their operand 2.25 times per element, so it stays outside.

// CHECK-LABEL: func.func @overlapping_windows
// CHECK-NEXT: %[[X:.*]] = exec.launch @tanh(%arg0)
// CHECK-NEXT: exec.launch @window_max(%[[X]])
func.func @overlapping_windows(%x: tensor<16x16x8x32xf32>) -> tensor<7x7x8x32xf32> {
  %0 = grad.tanh %x : tensor<16x16x8x32xf32>
  %1, %2 = grad.window_max %0 window <[3, 3] stride [2, 2]> : tensor<16x16x8x32xf32>
  return %1 : tensor<7x7x8x32xf32>
}

// -----

// Windows that do not overlap visit each element once.

// CHECK-LABEL: func.func @windows_apart
// CHECK-NEXT: exec.launch @tanh_window_max(%arg0)
// CHECK-NEXT: return
func.func @windows_apart(%x: tensor<16x16x8x32xf32>) -> tensor<8x8x8x32xf32> {
  %0 = grad.tanh %x : tensor<16x16x8x32xf32>
  %1, %2 = grad.window_max %0 window <[2, 2] stride [2, 2]> : tensor<16x16x8x32xf32>
  return %1 : tensor<8x8x8x32xf32>
}

// -----

// In the gradient, each element of the result reads the window above it, so each window is read four times.

// CHECK-LABEL: func.func @windows_back
// CHECK-NEXT: %[[G:.*]] = exec.launch @tanh(%arg0)
// CHECK-NEXT: exec.launch @window_scatter(%[[G]], %arg1)
func.func @windows_back(%g: tensor<8x8x8x32xf32>, %index: tensor<8x8x8x32xi8>) -> tensor<16x16x8x32xf32> {
  %0 = grad.tanh %g : tensor<8x8x8x32xf32>
  %1 = grad.window_scatter %0, %index size [16, 16] window <[2, 2] stride [2, 2]> : tensor<8x8x8x32xf32>, tensor<8x8x8x32xi8>
  return %1 : tensor<16x16x8x32xf32>
}

// -----

// A row sum inside an argmax over columns would be computed once per column.

// CHECK-LABEL: func.func @argmax_of_columns
// CHECK-NEXT: %[[SUM:.*]] = exec.launch @reduce_sum(%arg0)
// CHECK-NEXT: exec.launch @{{.*}}argmax
func.func @argmax_of_columns(%x: tensor<64x512xf32>) -> tensor<512xi64> {
  %0 = grad.reduce_sum %x dims [1] : tensor<64x512xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<64xf32> -> tensor<64x512xf32>
  %2 = grad.div %x, %1 : tensor<64x512xf32>
  %3 = grad.argmax %2 dim 0 : tensor<64x512xf32>
  return %3 : tensor<512xi64>
}

// -----

// The loss and its gradient both divide by the number of rows, which makes neither depend on the other.

// CHECK-LABEL: func.func @mean
// CHECK-NEXT: %[[LOSS:.*]] = exec.launch @div_reduce_sum_mul(%arg1, %arg0)
// CHECK-NEXT: %[[GRADIENT:.*]] = exec.launch @div_mul(%arg1, %arg0)
// CHECK-NEXT: return %[[LOSS]], %[[GRADIENT]]
func.func @mean(%x: tensor<64x512xf32>, %rows: tensor<f32> {grad.role = "rows"})
    -> (tensor<f32>, tensor<64x512xf32>) {
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.div %one, %rows : tensor<f32>
  %1 = grad.reduce_sum %x dims [0, 1] : tensor<64x512xf32>
  %2 = grad.mul %1, %0 : tensor<f32>
  %3 = grad.broadcast %0 dims [] : tensor<f32> -> tensor<64x512xf32>
  %4 = grad.mul %x, %3 : tensor<64x512xf32>
  return %2, %4 : tensor<f32>, tensor<64x512xf32>
}
