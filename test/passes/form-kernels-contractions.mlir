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
