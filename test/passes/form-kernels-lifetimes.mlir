// RUN: gradc-opt %s -split-input-file -gradc-form-kernels | FileCheck %s

// The loss is added to the norm of a gradient at the end. What it reads of the logits, 2 MiB, is read by a kernel of its own, so that
// the logits need no memory until then.

// CHECK-LABEL: func.func @label_of_logits
// CHECK: %[[LOGITS:.*]] = exec.launch @exp(%arg0)
// CHECK-NEXT: %[[LOSSES:.*]] = exec.launch @move(%[[LOGITS]], %arg1)
// CHECK-NEXT: %[[G:.*]] = exec.launch @matmul(%[[LOGITS]], %arg2)
// CHECK-NEXT: %[[H:.*]] = exec.launch @{{matmul.*}}(%[[G]], %arg3)
// CHECK-NEXT: exec.launch @{{.*}}(%[[LOSSES]], %[[H]])
// CHECK-NEXT: return
func.func @label_of_logits(%x: tensor<512x1024xf32>, %labels: tensor<512xi32>, %w: tensor<1024x16xf32>, %v: tensor<16x16xf32>) -> tensor<f32> {
  %logits = grad.exp %x : tensor<512x1024xf32>
  %losses = grad.gather %logits[%labels] dims [0, -1] index_dims [0] : tensor<512x1024xf32>, tensor<512xi32>
  %loss = grad.reduce_sum %losses dims [0] : tensor<512xf32>
  %g = grad.matmul %logits, %w : tensor<512x1024xf32>, tensor<1024x16xf32>
  %h = grad.matmul %g, %v : tensor<512x16xf32>, tensor<16x16xf32>
  %norm = grad.reduce_sum %h dims [0, 1] : tensor<512x16xf32>
  %0 = grad.add %loss, %norm : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Fewer logits, 32 KiB, are kept instead of a launch.

// CHECK-LABEL: func.func @label_of_few
// CHECK: %[[LOGITS:.*]] = exec.launch @exp(%arg0)
// CHECK-NEXT: %[[G:.*]] = exec.launch @matmul(%[[LOGITS]], %arg2)
// CHECK-NEXT: %[[H:.*]] = exec.launch @{{matmul.*}}(%[[G]], %arg3)
// CHECK-NEXT: exec.launch @{{.*}}(%[[LOGITS]], %arg1, %[[H]])
// CHECK-NEXT: return
func.func @label_of_few(%x: tensor<8x1024xf32>, %labels: tensor<8xi32>, %w: tensor<1024x16xf32>, %v: tensor<16x16xf32>) -> tensor<f32> {
  %logits = grad.exp %x : tensor<8x1024xf32>
  %losses = grad.gather %logits[%labels] dims [0, -1] index_dims [0] : tensor<8x1024xf32>, tensor<8xi32>
  %loss = grad.reduce_sum %losses dims [0] : tensor<8xf32>
  %g = grad.matmul %logits, %w : tensor<8x1024xf32>, tensor<1024x16xf32>
  %h = grad.matmul %g, %v : tensor<8x16xf32>, tensor<16x16xf32>
  %norm = grad.reduce_sum %h dims [0, 1] : tensor<8x16xf32>
  %0 = grad.add %loss, %norm : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// The loss waits for the sum of a row, which is computed with the gradient, and that may overwrite the logits: a kernel of its own
// picks the labels' logits before.

// CHECK-LABEL: func.func @label_before_gradient
// CHECK: %[[SCORES:.*]] = exec.launch @matmul(%arg0, %arg2)
// CHECK-NEXT: %[[PICKED:.*]] = exec.launch @move(%[[SCORES]], %arg1)
// CHECK-NEXT: %[[SUMS:.*]]:2 = exec.launch @{{.*}}(%[[SCORES]])
// CHECK-NEXT: exec.launch @{{.*}}(%[[SUMS]]#0, %[[PICKED]])
func.func @label_before_gradient(%w: tensor<512x64xf32>, %labels: tensor<512xi64>, %v: tensor<64x1024xf32>) -> (tensor<f32>, tensor<512x1024xf32>) {
  %logits = grad.matmul %w, %v : tensor<512x64xf32>, tensor<64x1024xf32>
  %e = grad.exp %logits : tensor<512x1024xf32>
  %sum = grad.reduce_sum %e dims [1] : tensor<512x1024xf32>
  %picked = grad.gather %logits[%labels] dims [0, -1] index_dims [0] : tensor<512x1024xf32>, tensor<512xi64>
  %log = grad.log %sum : tensor<512xf32>
  %losses = grad.sub %log, %picked : tensor<512xf32>
  %loss = grad.reduce_sum %losses dims [0] : tensor<512xf32>
  %sums = grad.broadcast %sum dims [0] : tensor<512xf32> -> tensor<512x1024xf32>
  %gradient = grad.div %e, %sums : tensor<512x1024xf32>
  return %loss, %gradient : tensor<f32>, tensor<512x1024xf32>
}
