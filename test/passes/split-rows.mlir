// RUN: gradc-opt %s --gradc-split-rows --split-input-file | FileCheck %s
// RUN: gradc-opt %s --gradc-split-rows --gradc-form-kernels --split-input-file | FileCheck %s --check-prefix=KERNELS

// CHECK-LABEL: func.func @linear
// CHECK: %[[X:.*]] = grad.reshape %arg0 : tensor<1024x256xf32> -> tensor<8x128x256xf32>
// CHECK: %[[P:.*]] = grad.convolution %[[X]], %arg1 dims "aby,yz->abz" window <[]> : tensor<8x128x256xf32>, tensor<256x64xf32>
// CHECK: grad.relu %[[P]] : tensor<8x128x64xf32>
func.func @linear(%x: tensor<1024x256xf32>, %w: tensor<256x64xf32>) -> tensor<8x128x64xf32> {
  %0 = grad.matmul %x, %w : tensor<1024x256xf32>, tensor<256x64xf32>
  %1 = grad.reshape %0 : tensor<1024x64xf32> -> tensor<8x128x64xf32>
  %2 = grad.relu %1 : tensor<8x128x64xf32>
  return %2 : tensor<8x128x64xf32>
}

// -----

// The lhs had these dims before. A stored transposed weight, 16-bit factors of an unrounded sum, three dims.
// CHECK-LABEL: func.func @dims_of_the_lhs
// CHECK-NOT: grad.reshape
// CHECK: %[[P:.*]] = grad.convolution %arg0, %arg1 dims "abcy,zy->abcz" window <[]> wide : tensor<2x3x4x8xbf16>, tensor<16x8xbf16>
// CHECK-NEXT: grad.exp %[[P]] : tensor<2x3x4x16xf32>
func.func @dims_of_the_lhs(%x: tensor<2x3x4x8xbf16>, %w: tensor<16x8xbf16>) -> tensor<2x3x4x16xf32> {
  %0 = grad.reshape %x : tensor<2x3x4x8xbf16> -> tensor<24x8xbf16>
  %1 = grad.matmul %0, %w transpose_rhs wide : tensor<24x8xbf16>, tensor<16x8xbf16>
  %2 = grad.reshape %1 : tensor<24x16xf32> -> tensor<2x3x4x16xf32>
  %3 = grad.exp %2 : tensor<2x3x4x16xf32>
  return %3 : tensor<2x3x4x16xf32>
}

// -----

// Merged rows that are read as well, readers that are no pointwise ops, columns that are split, a transposed lhs.
// CHECK-LABEL: func.func @others
// CHECK-NOT: grad.convolution
func.func @others(%x: tensor<24x8xf32>, %w: tensor<8x16xf32>, %t: tensor<8x24xf32>) -> (tensor<24x16xf32>, tensor<4x6x16xf32>, tensor<4x6xf32>, tensor<4x6x4x4xf32>, tensor<4x6x16xf32>) {
  %0 = grad.matmul %x, %w : tensor<24x8xf32>, tensor<8x16xf32>
  %1 = grad.reshape %0 : tensor<24x16xf32> -> tensor<4x6x16xf32>
  %2 = grad.relu %1 : tensor<4x6x16xf32>
  %3 = grad.exp %x : tensor<24x8xf32>
  %4 = grad.matmul %3, %w : tensor<24x8xf32>, tensor<8x16xf32>
  %5 = grad.reshape %4 : tensor<24x16xf32> -> tensor<4x6x16xf32>
  %6 = grad.reduce_sum %5 dims [2] : tensor<4x6x16xf32>
  %7 = grad.tanh %x : tensor<24x8xf32>
  %8 = grad.matmul %7, %w : tensor<24x8xf32>, tensor<8x16xf32>
  %9 = grad.reshape %8 : tensor<24x16xf32> -> tensor<4x6x4x4xf32>
  %10 = grad.relu %9 : tensor<4x6x4x4xf32>
  %11 = grad.matmul %t, %w transpose_lhs : tensor<8x24xf32>, tensor<8x16xf32>
  %12 = grad.reshape %11 : tensor<24x16xf32> -> tensor<4x6x16xf32>
  %13 = grad.relu %12 : tensor<4x6x16xf32>
  return %0, %2, %6, %10, %13 : tensor<24x16xf32>, tensor<4x6x16xf32>, tensor<4x6xf32>, tensor<4x6x4x4xf32>, tensor<4x6x16xf32>
}

// -----

// A value for each position, read behind the bias, and one for each sequence.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: grad.convolution
func.func @apart(%x: tensor<24x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>, %p: tensor<6x16xf32>, %s: tensor<4xf32>) -> (tensor<4x6x16xf32>, tensor<4x6x16xf32>) {
  %0 = grad.matmul %x, %w : tensor<24x8xf32>, tensor<8x16xf32>
  %1 = grad.reshape %0 : tensor<24x16xf32> -> tensor<4x6x16xf32>
  %2 = grad.broadcast %b dims [2] : tensor<16xf32> -> tensor<4x6x16xf32>
  %3 = grad.add %1, %2 : tensor<4x6x16xf32>
  %4 = grad.broadcast %p dims [1, 2] : tensor<6x16xf32> -> tensor<4x6x16xf32>
  %5 = grad.add %3, %4 : tensor<4x6x16xf32>
  %6 = grad.exp %x : tensor<24x8xf32>
  %7 = grad.matmul %6, %w : tensor<24x8xf32>, tensor<8x16xf32>
  %8 = grad.reshape %7 : tensor<24x16xf32> -> tensor<4x6x16xf32>
  %9 = grad.broadcast %s dims [0] : tensor<4xf32> -> tensor<4x6x16xf32>
  %10 = grad.mul %8, %9 : tensor<4x6x16xf32>
  return %5, %10 : tensor<4x6x16xf32>, tensor<4x6x16xf32>
}

// -----

// The reshape of a sum of blocks moves behind the pointwise ops, whose values are one for each column, one for each row, one for all, and
// one for each element. All of them are one kernel then.
// CHECK-LABEL: func.func @blocks
// CHECK-DAG: %[[B:.*]] = grad.broadcast %arg3 dims [1] : tensor<32xf32> -> tensor<200x32xf32>
// CHECK-DAG: %[[ROWS:.*]] = grad.reshape %arg4 : tensor<2x100xf32> -> tensor<200xf32>
// CHECK-DAG: %[[S:.*]] = grad.broadcast %[[ROWS]] dims [0] : tensor<200xf32> -> tensor<200x32xf32>
// CHECK-DAG: %[[HALF:.*]] = grad.constant dense<5.000000e-01> : tensor<200x32xf32>
// CHECK-DAG: %[[Z:.*]] = grad.reshape %arg5 : tensor<2x100x32xf32> -> tensor<200x32xf32>
// CHECK-DAG: %[[SUM:.*]] = grad.reduce_sum
// CHECK-DAG: %[[BIASED:.*]] = grad.add %[[SUM]], %[[B]] : tensor<200x32xf32>
// CHECK-DAG: %[[GATE:.*]] = grad.tanh %[[BIASED]] : tensor<200x32xf32>
// CHECK-DAG: %[[GATED:.*]] = grad.mul %[[BIASED]], %[[GATE]] : tensor<200x32xf32>
// CHECK-DAG: %[[SCALED:.*]] = grad.mul %[[GATED]], %[[S]] : tensor<200x32xf32>
// CHECK-DAG: %[[HALVED:.*]] = grad.mul %[[SCALED]], %[[HALF]] : tensor<200x32xf32>
// CHECK: %[[MERGED:.*]] = grad.add %[[HALVED]], %[[Z]] : tensor<200x32xf32>
// CHECK: %[[Y:.*]] = grad.reshape %[[MERGED]] : tensor<200x32xf32> -> tensor<2x100x32xf32>
// CHECK: return %[[Y]]
// KERNELS-LABEL: func.func @blocks
// KERNELS: exec.launch @matmul_mul_add_tanh(
// KERNELS-NOT: exec.launch
// KERNELS: return
func.func @blocks(%x: tensor<4x200x16xf32>, %codes: tensor<4x16x32xi8>, %scales: tensor<4x32xf32>, %b: tensor<32xf32>, %rows: tensor<2x100xf32>, %z: tensor<2x100x32xf32>) -> tensor<2x100x32xf32> {
  %half = grad.constant dense<0.5> : tensor<2x100x32xf32>
  %0 = grad.matmul %x, %codes wide : tensor<4x200x16xf32>, tensor<4x16x32xi8>
  %1 = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x200x32xf32>
  %2 = grad.mul %0, %1 : tensor<4x200x32xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<4x200x32xf32>
  %4 = grad.reshape %3 : tensor<200x32xf32> -> tensor<2x100x32xf32>
  %5 = grad.broadcast %b dims [2] : tensor<32xf32> -> tensor<2x100x32xf32>
  %6 = grad.add %4, %5 : tensor<2x100x32xf32>
  %7 = grad.tanh %6 : tensor<2x100x32xf32>
  %8 = grad.mul %6, %7 : tensor<2x100x32xf32>
  %9 = grad.broadcast %rows dims [0, 1] : tensor<2x100xf32> -> tensor<2x100x32xf32>
  %10 = grad.mul %8, %9 : tensor<2x100x32xf32>
  %11 = grad.mul %10, %half : tensor<2x100x32xf32>
  %12 = grad.add %11, %z : tensor<2x100x32xf32>
  return %12 : tensor<2x100x32xf32>
}

// -----

// It stays in front of an op that reads a value for each position, and of ops that read rows of some dims. Other sums, and those that are
// read as well, keep their reshapes.
// CHECK-LABEL: func.func @other_sums
// CHECK-DAG: %[[SUM:.*]] = grad.reduce_sum %{{.*}} dims [0] : tensor<4x200x32xf32>
// CHECK-DAG: %[[R:.*]] = grad.relu %[[SUM]] : tensor<200x32xf32>
// CHECK-DAG: %[[V:.*]] = grad.reshape %[[R]] : tensor<200x32xf32> -> tensor<2x100x32xf32>
// CHECK-DAG: grad.add %[[V]], %{{.*}} : tensor<2x100x32xf32>
// CHECK-DAG: grad.reduce_max %[[V]] dims [1] : tensor<2x100x32xf32>
// CHECK-DAG: grad.exp %{{.*}} : tensor<2x100x32xf32>
// CHECK-DAG: grad.sqrt %{{.*}} : tensor<2x100x32xf32>
func.func @other_sums(%x: tensor<4x200x16xf32>, %codes: tensor<4x16x32xi8>, %p: tensor<100x32xf32>, %z: tensor<4x200x32xf32>)
    -> (tensor<2x100x32xf32>, tensor<2x32xf32>, tensor<2x100x32xf32>, tensor<200x32xf32>, tensor<2x100x32xf32>) {
  %0 = grad.matmul %x, %codes wide : tensor<4x200x16xf32>, tensor<4x16x32xi8>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4x200x32xf32>
  %2 = grad.reshape %1 : tensor<200x32xf32> -> tensor<2x100x32xf32>
  %3 = grad.relu %2 : tensor<2x100x32xf32>
  %4 = grad.broadcast %p dims [1, 2] : tensor<100x32xf32> -> tensor<2x100x32xf32>
  %5 = grad.add %3, %4 : tensor<2x100x32xf32>
  %6 = grad.reduce_max %3 dims [1] : tensor<2x100x32xf32>

  %7 = grad.reduce_sum %z dims [0] : tensor<4x200x32xf32>
  %8 = grad.reshape %7 : tensor<200x32xf32> -> tensor<2x100x32xf32>
  %9 = grad.exp %8 : tensor<2x100x32xf32>

  %10 = grad.tanh %x : tensor<4x200x16xf32>
  %11 = grad.matmul %10, %codes wide : tensor<4x200x16xf32>, tensor<4x16x32xi8>
  %12 = grad.reduce_sum %11 dims [0] : tensor<4x200x32xf32>
  %13 = grad.reshape %12 : tensor<200x32xf32> -> tensor<2x100x32xf32>
  %14 = grad.sqrt %13 : tensor<2x100x32xf32>
  return %5, %6, %9, %12, %14 : tensor<2x100x32xf32>, tensor<2x32xf32>, tensor<2x100x32xf32>, tensor<200x32xf32>, tensor<2x100x32xf32>
}
