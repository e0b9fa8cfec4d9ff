// RUN: gradc-opt %s -split-input-file -gradc-decompose -gradc-form-kernels | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-decompose -gradc-form-kernels=cuda | FileCheck %s --check-prefix=CUDA

// The kernel of a product with blocks of codes adds up the blocks as well, between what scales them and what follows the sum. Threads of a
// GPU share a sum.

grad.state constant @codes : tensor<64x32xi8> = dense<3> : tensor<64x32xi8>

// CHECK-LABEL: func.func @blocks
// CHECK: %[[CODES:.*]] = grad.reshape
// CHECK: %[[Y:.*]] = exec.launch @matmul_mul_reduce_sum_add(%arg0, %[[CODES]], %arg1, %arg2)
// CHECK-NEXT: return %[[Y]]
// CUDA-LABEL: func.func @blocks
// CUDA: exec.launch @matmul_mul(
// CUDA: exec.launch @reduce_sum_add(
func.func @blocks(%x: tensor<4x2x16xf32>, %scales: tensor<4x32xf32>, %bias: tensor<2x32xf32>) -> tensor<2x32xf32> {
  %w = grad.read @codes : tensor<64x32xi8>
  %codes = grad.reshape %w : tensor<64x32xi8> -> tensor<4x16x32xi8>
  %0 = grad.matmul %x, %codes wide : tensor<4x2x16xf32>, tensor<4x16x32xi8>
  %1 = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x2x32xf32>
  %2 = grad.mul %0, %1 : tensor<4x2x32xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<4x2x32xf32>
  %4 = grad.add %3, %bias : tensor<2x32xf32>
  return %4 : tensor<2x32xf32>
}

// -----

// So does that of codes of 16 bits, which those less their zero points may have.

grad.state constant @codes : tensor<64x32xi16> = dense<-200> : tensor<64x32xi16>

// CHECK-LABEL: func.func @wide_codes
// CHECK: %[[CODES:.*]] = grad.reshape
// CHECK: %[[Y:.*]] = exec.launch @matmul_mul_reduce_sum(%arg0, %[[CODES]], %arg1)
// CHECK-NEXT: return %[[Y]]
// CUDA-LABEL: func.func @wide_codes
// CUDA: exec.launch @matmul_mul(
// CUDA: exec.launch @reduce_sum(
func.func @wide_codes(%x: tensor<4x200x16xf32>, %scales: tensor<4x32xf32>) -> tensor<200x32xf32> {
  %w = grad.read @codes : tensor<64x32xi16>
  %codes = grad.reshape %w : tensor<64x32xi16> -> tensor<4x16x32xi16>
  %0 = grad.matmul %x, %codes wide : tensor<4x200x16xf32>, tensor<4x16x32xi16>
  %1 = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x200x32xf32>
  %2 = grad.mul %0, %1 : tensor<4x200x32xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<4x200x32xf32>
  return %3 : tensor<200x32xf32>
}

// -----

// A kernel has one product. Another one is written before it is read, in whatever order the ops are.

grad.state constant @gate : tensor<4x16x32xi8> = dense<3> : tensor<4x16x32xi8>
grad.state constant @up : tensor<4x16x32xi8> = dense<-2> : tensor<4x16x32xi8>

// CHECK-LABEL: func.func @two
// CHECK: %[[GATE:.*]] = exec.launch @matmul_mul_reduce_sum(%arg1, %arg0, %{{.*}})
// CHECK: %[[Y:.*]] = exec.launch @matmul_mul_reduce_sum{{.*}}(%arg1, %arg0, %{{.*}}, %[[GATE]])
// CHECK: return %[[Y]]
func.func @two(%x: tensor<4x2x16xf32>, %scales: tensor<4x32xf32>) -> tensor<2x32xf32> {
  %gate = grad.read @gate : tensor<4x16x32xi8>
  %up = grad.read @up : tensor<4x16x32xi8>
  %scale = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x2x32xf32>
  %0 = grad.matmul %x, %gate wide : tensor<4x2x16xf32>, tensor<4x16x32xi8>
  %1 = grad.matmul %x, %up wide : tensor<4x2x16xf32>, tensor<4x16x32xi8>
  %2 = grad.mul %0, %scale : tensor<4x2x32xf32>
  %3 = grad.mul %1, %scale : tensor<4x2x32xf32>
  %4 = grad.reduce_sum %2 dims [0] : tensor<4x2x32xf32>
  %5 = grad.reduce_sum %3 dims [0] : tensor<4x2x32xf32>
  %6 = grad.mul %4, %5 : tensor<2x32xf32>
  return %6 : tensor<2x32xf32>
}

// -----

// A statistic of rows is in no kernel of a product, and the sum of blocks in none of a statistic.

grad.state constant @codes : tensor<4x16x32xi8> = dense<3> : tensor<4x16x32xi8>

// CHECK-LABEL: func.func @beside_statistic
// CHECK: %[[SUM:.*]] = exec.launch @matmul_mul_reduce_sum(%arg0,
// CHECK: exec.launch @reduce_sum_add_mul(%arg2, %[[SUM]])
func.func @beside_statistic(%x: tensor<4x2x16xf32>, %scales: tensor<4x32xf32>, %z: tensor<2x32xf32>) -> tensor<2x32xf32> {
  %codes = grad.read @codes : tensor<4x16x32xi8>
  %0 = grad.matmul %x, %codes wide : tensor<4x2x16xf32>, tensor<4x16x32xi8>
  %1 = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x2x32xf32>
  %2 = grad.mul %0, %1 : tensor<4x2x32xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<4x2x32xf32>
  %4 = grad.reduce_sum %z dims [1] : tensor<2x32xf32>
  %5 = grad.broadcast %4 dims [0] : tensor<2xf32> -> tensor<2x32xf32>
  %6 = grad.add %3, %5 : tensor<2x32xf32>
  %7 = grad.mul %6, %z : tensor<2x32xf32>
  return %7 : tensor<2x32xf32>
}

// -----

// Codes that are no state lie in no panels, so only a product whose results would take more bytes than they do is reduced where it is
// computed.

// CHECK-LABEL: func.func @computed_codes
// CHECK: exec.launch @matmul_mul(
// CHECK: exec.launch @reduce_sum(
// CHECK: exec.launch @matmul_reduce_sum(
func.func @computed_codes(%x: tensor<4x2x16xf32>, %many: tensor<4x8x16xf32>, %codes: tensor<4x16x32xi8>, %scales: tensor<4x32xf32>) -> (tensor<2x32xf32>, tensor<8x32xf32>) {
  %0 = grad.matmul %x, %codes wide : tensor<4x2x16xf32>, tensor<4x16x32xi8>
  %1 = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x2x32xf32>
  %2 = grad.mul %0, %1 : tensor<4x2x32xf32>
  %3 = grad.reduce_sum %2 dims [0] : tensor<4x2x32xf32>
  %4 = grad.matmul %many, %codes wide : tensor<4x8x16xf32>, tensor<4x16x32xi8>
  %5 = grad.reduce_sum %4 dims [0] : tensor<4x8x32xf32>
  return %3, %5 : tensor<2x32xf32>, tensor<8x32xf32>
}

// -----

// So are no products that others read, no sums over rows, and no batches of floats.

grad.state constant @codes : tensor<4x16x32xi8> = dense<3> : tensor<4x16x32xi8>

// CHECK-LABEL: func.func @apart
// CHECK: %[[READ:.*]] = exec.launch @matmul(%arg0,
// CHECK: exec.launch @reduce_sum(%[[READ]])
// CHECK: %[[PRODUCT:.*]] = exec.launch @matmul(%arg1,
// CHECK: exec.launch @reduce_sum_0(%[[PRODUCT]])
// CHECK: %[[FLOATS:.*]] = exec.launch @matmul_1(%arg0, %arg2)
// CHECK: exec.launch @reduce_sum(%[[FLOATS]])
func.func @apart(%x: tensor<4x2x16xf32>, %z: tensor<4x2x16xf32>, %w: tensor<4x16x32xf32>) -> (tensor<4x2x32xf32>, tensor<2x32xf32>, tensor<32xf32>, tensor<2x32xf32>) {
  %codes = grad.read @codes : tensor<4x16x32xi8>
  %0 = grad.matmul %x, %codes wide : tensor<4x2x16xf32>, tensor<4x16x32xi8>
  %1 = grad.reduce_sum %0 dims [0] : tensor<4x2x32xf32>
  %2 = grad.matmul %z, %codes wide : tensor<4x2x16xf32>, tensor<4x16x32xi8>
  %3 = grad.reduce_sum %2 dims [0, 1] : tensor<4x2x32xf32>
  %4 = grad.matmul %x, %w : tensor<4x2x16xf32>, tensor<4x16x32xf32>
  %5 = grad.reduce_sum %4 dims [0] : tensor<4x2x32xf32>
  return %0, %1, %3, %5 : tensor<4x2x32xf32>, tensor<2x32xf32>, tensor<32xf32>, tensor<2x32xf32>
}
