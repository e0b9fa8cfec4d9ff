// RUN: gradc-opt %s -split-input-file -gradc-reassociate-sums -cse | FileCheck %s

// A factor that is constant along all summed dims leaves the sum, also from a product of products: of the four sums of a
// normalization's gradient, two remain.

// CHECK-LABEL: @factors
// CHECK-DAG: %[[SUM:.*]] = grad.reduce_sum %arg0 dims [0]
// CHECK-DAG: %[[PRODUCT:.*]] = grad.mul %arg0, %arg1
// CHECK-DAG: %[[CROSS:.*]] = grad.reduce_sum %[[PRODUCT]] dims [0]
// CHECK-DAG: %[[SCALED:.*]] = grad.mul %[[SUM]], %arg2
// CHECK-DAG: %[[SCALED_CROSS:.*]] = grad.mul %[[CROSS]], %arg2
// CHECK-NOT: grad.reduce_sum
// CHECK: return %[[SUM]], %[[CROSS]], %[[SCALED]], %[[SCALED_CROSS]]
func.func @factors(%dy: tensor<32x8xf32>, %x: tensor<32x8xf32>, %scale: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %b = grad.broadcast %scale dims [1] : tensor<8xf32> -> tensor<32x8xf32>
  %scaled = grad.mul %dy, %b : tensor<32x8xf32>
  %cross = grad.mul %dy, %x : tensor<32x8xf32>
  %scaledcross = grad.mul %scaled, %x : tensor<32x8xf32>
  %0 = grad.reduce_sum %dy dims [0] : tensor<32x8xf32>
  %1 = grad.reduce_sum %cross dims [0] : tensor<32x8xf32>
  %2 = grad.reduce_sum %scaled dims [0] : tensor<32x8xf32>
  %3 = grad.reduce_sum %scaledcross dims [0] : tensor<32x8xf32>
  return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// The factor keeps its position among the remaining dims.

// CHECK-LABEL: @factor_of_kept_dims
// CHECK: %[[SUM:.*]] = grad.reduce_sum %arg0 dims [1] : tensor<4x32x8xf32>
// CHECK: %[[FACTOR:.*]] = grad.broadcast %arg1 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
// CHECK: grad.mul %[[SUM]], %[[FACTOR]]
func.func @factor_of_kept_dims(%x: tensor<4x32x8xf32>, %scale: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x32x8xf32>) {
  %b = grad.broadcast %scale dims [2] : tensor<8xf32> -> tensor<4x32x8xf32>
  %0 = grad.mul %b, %x : tensor<4x32x8xf32>
  %1 = grad.reduce_sum %0 dims [1] : tensor<4x32x8xf32>
  %2 = grad.relu %x : tensor<4x32x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x32x8xf32>
}

// -----

// A factor that varies along a summed dim remains, and so does a factor of a value computed only for this sum. Sums of f16 may
// overflow in another order.

// CHECK-LABEL: @factors_stay
// CHECK: %[[ROWS:.*]] = grad.mul %arg0, %{{.*}}
// CHECK: grad.reduce_sum %[[ROWS]]
// CHECK: %[[ALONE:.*]] = grad.mul %{{.*}}, %{{.*}}
// CHECK: grad.reduce_sum %[[ALONE]]
// CHECK: %[[HALF:.*]] = grad.mul %arg3, %{{.*}}
// CHECK: grad.reduce_sum %[[HALF]]
func.func @factors_stay(%x: tensor<32x8xf32>, %rows: tensor<32xf32>, %scale: tensor<8xf32>, %h: tensor<32x8xf16>, %hs: tensor<8xf16>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf16>, tensor<32x8xf16>) {
  %0 = grad.broadcast %rows dims [0] : tensor<32xf32> -> tensor<32x8xf32>
  %1 = grad.mul %x, %0 : tensor<32x8xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<32x8xf32>
  %3 = grad.exp %x : tensor<32x8xf32>
  %4 = grad.broadcast %scale dims [1] : tensor<8xf32> -> tensor<32x8xf32>
  %5 = grad.mul %3, %4 : tensor<32x8xf32>
  %6 = grad.reduce_sum %5 dims [0] : tensor<32x8xf32>
  %7 = grad.broadcast %hs dims [1] : tensor<8xf16> -> tensor<32x8xf16>
  %8 = grad.mul %h, %7 : tensor<32x8xf16>
  %9 = grad.reduce_sum %8 dims [0] : tensor<32x8xf16>
  return %2, %6, %9, %h : tensor<8xf32>, tensor<8xf32>, tensor<8xf16>, tensor<32x8xf16>
}

// -----

// Few, long columns are summed in two steps, so that threads have rows to share.

// CHECK-LABEL: @long_columns
// CHECK: %[[PARTS:.*]] = grad.reduce_sum %arg0 dims [1, 2] : tensor<16x16x32x64xf32>
// CHECK: %[[SUM:.*]] = grad.reduce_sum %[[PARTS]] dims [0] : tensor<16x64xf32>
// CHECK: return %[[SUM]]
func.func @long_columns(%x: tensor<16x16x32x64xf32>) -> tensor<64xf32> {
  %0 = grad.reduce_sum %x dims [0, 1, 2] : tensor<16x16x32x64xf32>
  return %0 : tensor<64xf32>
}

// So are many columns, if memory is read for them: threads share the rows, and each reads whole rows.

// CHECK-LABEL: @wide_rows
// CHECK: %[[PARTS:.*]] = grad.reduce_sum %arg0 dims [1, 2] : tensor<8x8x32x1024xf32>
// CHECK: grad.reduce_sum %[[PARTS]] dims [0] : tensor<8x1024xf32>
func.func @wide_rows(%x: tensor<8x8x32x1024xf32>) -> tensor<1024xf32> {
  %0 = grad.reduce_sum %x dims [0, 1, 2] : tensor<8x8x32x1024xf32>
  return %0 : tensor<1024xf32>
}

// CHECK-LABEL: @columns_stay
// CHECK: grad.reduce_sum %arg0 dims [0, 1, 2] : tensor<16x16x32x2048xf32>
// CHECK: grad.reduce_sum %arg1 dims [0, 1] : tensor<4x4x64xf32>
// CHECK: grad.reduce_sum %arg2 dims [1, 2] : tensor<64x32x32xf32>
// CHECK: grad.reduce_sum %arg2 dims [0, 1, 2] : tensor<64x32x32xf32>
// CHECK: grad.reduce_sum %arg3 dims [0, 1] : tensor<4x512x512xf32>
// CHECK: grad.reduce_sum %arg4 dims [0, 1] : tensor<8x64x384xf32>
// CHECK-NOT: grad.reduce_sum
func.func @columns_stay(%many: tensor<16x16x32x2048xf32>, %short: tensor<4x4x64xf32>, %rows: tensor<64x32x32xf32>, %few_pieces: tensor<4x512x512xf32>, %cached: tensor<8x64x384xf32>) -> (tensor<2048xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<512xf32>, tensor<384xf32>) {
  %0 = grad.reduce_sum %many dims [0, 1, 2] : tensor<16x16x32x2048xf32>
  %1 = grad.reduce_sum %short dims [0, 1] : tensor<4x4x64xf32>
  %2 = grad.reduce_sum %rows dims [1, 2] : tensor<64x32x32xf32>
  %3 = grad.reduce_sum %rows dims [0, 1, 2] : tensor<64x32x32xf32>
  %4 = grad.reduce_sum %few_pieces dims [0, 1] : tensor<4x512x512xf32>
  %5 = grad.reduce_sum %cached dims [0, 1] : tensor<8x64x384xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2048xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<512xf32>, tensor<384xf32>
}
