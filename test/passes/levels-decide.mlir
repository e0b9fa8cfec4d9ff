// Decisions for an A100 use its own numbers, not an H200's: it has 0.3 times the arithmetic and 0.4 times
// the memory bandwidth, and 108 multiprocessors instead of 132.

// RUN: gradc-opt %s -gradc-choose-libraries | FileCheck %s --check-prefix=CALLS90
// RUN: sed s/sm_90/sm_80/ %s | gradc-opt -gradc-choose-libraries | FileCheck %s --check-prefix=CALLS80
// RUN: gradc-opt %s -gradc-schedule | FileCheck %s --check-prefix=BLOCKS90
// RUN: sed s/sm_90/sm_80/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=BLOCKS80
// RUN: gradc-opt %s -gradc-schedule -gradc-group-launches | FileCheck %s --check-prefix=GROUPS90
// RUN: sed s/sm_90/sm_80/ %s | gradc-opt -gradc-schedule -gradc-group-launches | FileCheck %s --check-prefix=GROUPS80

module attributes {exec.level = "cuda:sm_90"} {

// On an H200, 50 MFLOP take less time in generated code than one more launch and pass through memory;
// on an A100 they take more.

// CALLS90: exec.launch @update(
// CALLS80-NOT: exec.launch @update(
// CALLS80: exec.launch @matmul
exec.kernel @update(%x: tensor<48x1024xf32>, %g: tensor<48x512xf32>, %w: tensor<1024x512xf32>) attributes {inplace = array<i64: 2>, flops = 50855936 : i64, bytes = 4489216 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<48x1024xf32>, tensor<48x512xf32>
  %1 = grad.sub %w, %0 : tensor<1024x512xf32>
  exec.yield %1 : tensor<1024x512xf32>
}
func.func @step(%x: tensor<48x1024xf32>, %g: tensor<48x512xf32>, %w: tensor<1024x512xf32>) -> tensor<1024x512xf32> {
  %0 = exec.launch @update(%x, %g, %w) {exec.nodes = []} : (tensor<48x1024xf32>, tensor<48x512xf32>, tensor<1024x512xf32>) -> tensor<1024x512xf32>
  return %0 : tensor<1024x512xf32>
}

// Fewer threads keep an A100 busy, so fewer threads share a sum.

// BLOCKS90-LABEL: exec.kernel @shared_sums(
// BLOCKS90-SAME: team = 16
// BLOCKS80-LABEL: exec.kernel @shared_sums(
// BLOCKS80-SAME: team = 8
exec.kernel @shared_sums(%x: tensor<256x1024xf32>, %w: tensor<1024x512xf32>) attributes {flops = 268435456 : i64, bytes = 3670016 : i64} {
  %0 = grad.matmul %x, %w : tensor<256x1024xf32>, tensor<1024x512xf32>
  exec.yield %0 : tensor<256x512xf32>
}

// 56 blocks that use shared memory fill half of an A100's multiprocessors, but not half of an H200's.

// BLOCKS90-LABEL: exec.kernel @staged(
// BLOCKS90-NOT: block = [16]
// BLOCKS80-LABEL: exec.kernel @staged(
// BLOCKS80-SAME: block = [16]
exec.kernel @staged(%x: tensor<512x1024xf32>, %w: tensor<1024x448xf32>) attributes {flops = 469762048 : i64, bytes = 4849664 : i64} {
  %0 = grad.matmul %x, %w : tensor<512x1024xf32>, tensor<1024x448xf32>
  exec.yield %0 : tensor<512x448xf32>
}

// On an H200, sums over 6 MB take less time than a launch, so they share one.

// GROUPS90: exec.launch @sum_and_1_more
// GROUPS80-NOT: _more
exec.kernel @sum(%x: tensor<300000x5xf32>) attributes {flops = 1500000 : i64, bytes = 6000020 : i64} {
  %0 = grad.reduce_sum %x dims [0] : tensor<300000x5xf32>
  exec.yield %0 : tensor<5xf32>
}
func.func @sums(%x: tensor<300000x5xf32>, %y: tensor<300000x5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = exec.launch @sum(%x) {exec.nodes = []} : (tensor<300000x5xf32>) -> tensor<5xf32>
  %1 = exec.launch @sum(%y) {exec.nodes = []} : (tensor<300000x5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<5xf32>, tensor<5xf32>
}
}
