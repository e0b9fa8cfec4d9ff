// RUN: sed s/LEVEL/x86-64-v3/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V3
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V4

// Factors across a sum are copied in panels (those of sums in blocks: schedule.mlir).
module attributes {exec.level = "LEVEL"} {

// With the whole sum. Panels of columns are in the inner loop if both factors are.

// V3-LABEL: exec.kernel @whole_sum(
// V3-SAME: tile = [6, 16], order = [0, 1], grain = 3, panels = [21, 1]>
// V4-LABEL: exec.kernel @whole_sum(
// V4-SAME: tile = [8, 32], order = [0, 1], grain = 3, panels = [32, 1]>
exec.kernel @whole_sum(%x: tensor<256x1024xf32>, %g: tensor<256x2048xf32>, %w: tensor<1024x2048xf32>) attributes {flops = 1075838976 : i64, bytes = 19922944 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<256x1024xf32>, tensor<256x2048xf32>
  %1 = grad.sub %w, %0 : tensor<1024x2048xf32>
  exec.yield %1 : tensor<1024x2048xf32>
}

// So is a factor that is no state.

// V4-LABEL: exec.kernel @columns(
// V4-SAME: order = [1, 0], grain = 1, panels = [0, 2]>
exec.kernel @columns(%x: tensor<512x1024xf32>, %y: tensor<1024x2048xf32>) attributes {flops = 2147483648 : i64, bytes = 14680064 : i64} {
  %0 = grad.matmul %x, %y : tensor<512x1024xf32>, tensor<1024x2048xf32>
  exec.yield %0 : tensor<512x2048xf32>
}

// Factors are read in place if a sum has few steps, if few tiles read them, or if something else reads them, too.

// V4-LABEL: exec.kernel @few_steps(
// V4-NOT: panels
// V4: grad.matmul
exec.kernel @few_steps(%x: tensor<32x1024xf32>, %g: tensor<32x2048xf32>) attributes {flops = 134217728 : i64, bytes = 8781824 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<32x1024xf32>, tensor<32x2048xf32>
  exec.yield %0 : tensor<1024x2048xf32>
}
// V4-LABEL: exec.kernel @few_readers(
// V4-NOT: panels
// V4: grad.matmul
exec.kernel @few_readers(%x: tensor<16x1024xf32>, %y: tensor<1024x2048xf32>) attributes {flops = 67108864 : i64, bytes = 8585216 : i64} {
  %0 = grad.matmul %x, %y : tensor<16x1024xf32>, tensor<1024x2048xf32>
  exec.yield %0 : tensor<16x2048xf32>
}
// V4-LABEL: exec.kernel @read_twice(
// V4-NOT: panels
// V4: grad.matmul
exec.kernel @read_twice(%x: tensor<512x512xf32>) attributes {flops = 268435456 : i64, bytes = 2097152 : i64} {
  %0 = grad.matmul %x, %x transpose_lhs : tensor<512x512xf32>, tensor<512x512xf32>
  exec.yield %0 : tensor<512x512xf32>
}
}
