// RUN: gradc-opt %s -gradc-flatten-indices -canonicalize -split-input-file | FileCheck %s

// A step of a cache with four dims: rows of 64 elements, one for each head. Keys and values of all layers share the rows' numbers.
// CHECK-LABEL: @step
// CHECK-SAME: (%[[K:.*]]: tensor<1x12x1024x64xf32>, %[[V:.*]]: tensor<1x12x1024x64xf32>, %[[KEY:.*]]: tensor<1x12x1x64xf32>, %[[VALUE:.*]]: tensor<1x12x1x64xf32>
func.func @step(%k: tensor<1x12x1024x64xf32>, %v: tensor<1x12x1024x64xf32>, %key: tensor<1x12x1x64xf32>, %value: tensor<1x12x1x64xf32>,
                %at: tensor<1x1xi64>) -> (tensor<1x12x1024x64xf32>, tensor<1x12x1024x64xf32>) {
  // CHECK-DAG: grad.constant dense<12288>
  // CHECK-DAG: %[[NEWKEY:.*]] = grad.reshape %[[KEY]] : tensor<1x12x1x64xf32> -> tensor<12x64xf32>
  // CHECK-DAG: %[[TABLE:.*]] = grad.reshape %[[K]] : tensor<1x12x1024x64xf32> -> tensor<12288x64xf32>
  // CHECK: %[[AT:.*]] = grad.reshape %{{.*}} : tensor<1x12x1xi64> -> tensor<12xi64>
  // CHECK-NEXT: %[[SET:.*]] = grad.set_rows %[[TABLE]][%[[AT]]], %[[NEWKEY]] : tensor<12288x64xf32>, tensor<12x64xf32>, tensor<12xi64>
  // CHECK: grad.set_rows %{{.*}}[%[[AT]]], %{{.*}} : tensor<12288x64xf32>
  // CHECK-NOT: grad.scatter
  %0 = grad.scatter %k[%at] replace %key dims [0, 1, -1, 3] index_dims [0, 2] : tensor<1x12x1024x64xf32>, tensor<1x12x1x64xf32>, tensor<1x1xi64>
  %1 = grad.scatter %v[%at] replace %value dims [0, 1, -1, 3] index_dims [0, 2] : tensor<1x12x1024x64xf32>, tensor<1x12x1x64xf32>, tensor<1x1xi64>
  return %0, %1 : tensor<1x12x1024x64xf32>, tensor<1x12x1024x64xf32>
}

// -----

// Several steps count from a start of each row of the batch.
// CHECK-LABEL: @steps
func.func @steps(%k: tensor<2x4x100x8xbf16>, %key: tensor<2x4x3x8xbf16>, %start: tensor<2xi64>) -> tensor<2x4x100x8xbf16> {
  // CHECK: grad.set_rows %{{.*}}[%{{.*}}], %{{.*}} : tensor<800x8xbf16>, tensor<24x8xbf16>, tensor<24xi64>
  // CHECK-NEXT: grad.reshape %{{.*}} : tensor<800x8xbf16> -> tensor<2x4x100x8xbf16>
  %0 = grad.iota dim 1 : tensor<2x3xi64>
  %1 = grad.broadcast %start dims [0] : tensor<2xi64> -> tensor<2x3xi64>
  %2 = grad.add %0, %1 : tensor<2x3xi64>
  %3 = grad.scatter %k[%2] replace %key dims [0, 1, -1, 3] index_dims [0, 2] : tensor<2x4x100x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x3xi64>
  return %3 : tensor<2x4x100x8xbf16>
}

// -----

// Views of an input and of a result are the input and the result. Rows may be single elements.
// CHECK-LABEL: @elements
func.func @elements(%x: tensor<10x10xi64>, %i: tensor<1xi32>, %u: tensor<1xi64>) -> tensor<10x10xi64> {
  // CHECK: grad.set_rows %{{.*}}[%{{.*}}], %{{.*}} : tensor<100xi64>, tensor<1xi64>, tensor<1xi64>
  %0 = grad.reshape %x : tensor<10x10xi64> -> tensor<100xi64>
  %1 = grad.scatter %0[%i] replace %u dims [-1] index_dims [0] : tensor<100xi64>, tensor<1xi64>, tensor<1xi32>
  %2 = grad.reshape %1 : tensor<100xi64> -> tensor<10x10xi64>
  return %2 : tensor<10x10xi64>
}

// -----

// What is not returned, what is no input, sums, rows that may be alike, parts of rows with indices of their own, and updates of more than
// half of the input stay scatters.
// CHECK-LABEL: @unchanged
// CHECK-NOT: grad.set_rows
func.func @unchanged(%x: tensor<16x8xf32>, %i: tensor<2xi64>, %u: tensor<2x8xf32>, %one: tensor<1xi64>, %v: tensor<1x8xf32>,
                     %e: tensor<1x8xi64>, %many: tensor<9x8xf32>)
    -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) {
  %0 = grad.scatter %x[%one] replace %v dims [-1, 1] index_dims [0] : tensor<16x8xf32>, tensor<1x8xf32>, tensor<1xi64>
  %1 = grad.exp %0 : tensor<16x8xf32>
  %2 = grad.exp %x : tensor<16x8xf32>
  %3 = grad.scatter %2[%one] replace %v dims [-1, 1] index_dims [0] : tensor<16x8xf32>, tensor<1x8xf32>, tensor<1xi64>
  %4 = grad.scatter %x[%one] add %v dims [-1, 1] index_dims [0] : tensor<16x8xf32>, tensor<1x8xf32>, tensor<1xi64>
  %5 = grad.scatter %x[%i] replace %u dims [-1, 1] index_dims [0] : tensor<16x8xf32>, tensor<2x8xf32>, tensor<2xi64>
  %6 = grad.scatter %x[%e] replace %v dims [-1, 1] index_dims [0, 1] : tensor<16x8xf32>, tensor<1x8xf32>, tensor<1x8xi64>
  %7 = grad.iota dim 0 : tensor<9xi64>
  %8 = grad.scatter %x[%7] replace %many dims [-1, 1] index_dims [0] : tensor<16x8xf32>, tensor<9x8xf32>, tensor<9xi64>
  return %1, %3, %4, %5, %6, %8 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
}

// -----

// The kernel of a set_rows has a fixed number of rows.
// CHECK-LABEL: @rows
// CHECK: grad.scatter
func.func @rows(%k: tensor<4x100x8xf32> {grad.batched}, %key: tensor<4x1x8xf32> {grad.batched}, %at: tensor<4x1xi64> {grad.batched}) -> tensor<4x100x8xf32>
    attributes {grad.batch = 4 : i64, grad.rows} {
  %0 = grad.scatter %k[%at] replace %key dims [0, -1, 2] index_dims [0, 1] : tensor<4x100x8xf32>, tensor<4x1x8xf32>, tensor<4x1xi64>
  return %0 : tensor<4x100x8xf32>
}
