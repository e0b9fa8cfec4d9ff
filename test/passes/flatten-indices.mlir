// RUN: gradc-opt %s -gradc-flatten-indices -canonicalize | FileCheck %s

// Points at cells of a canvas.
// CHECK-LABEL: @pillars
// CHECK-SAME: (%[[POINTS:.*]]: tensor<8000x32xf32>, %[[Y:.*]]: tensor<8000xi64>, %[[X:.*]]: tensor<8000xi32>)
func.func @pillars(%points: tensor<8000x32xf32>, %y: tensor<8000xi64>, %x: tensor<8000xi32>) -> tensor<128x64x32xf32> {
  %0 = grad.constant dense<0.0> : tensor<128x64x32xf32>
  %1 = grad.cast %x : tensor<8000xi32> -> tensor<8000xi64>
  // CHECK-DAG: %[[OUTSIDE:.*]] = grad.constant dense<8192>
  // CHECK-DAG: %[[WIDTH:.*]] = grad.constant dense<64>
  // CHECK: %[[ROW:.*]] = grad.mul %{{.*}}, %[[WIDTH]]
  // CHECK: %[[CELL:.*]] = grad.add %[[ROW]], %{{.*}}
  // CHECK: %[[AT:.*]] = grad.select %{{.*}}, %[[CELL]], %[[OUTSIDE]]
  // CHECK: %[[SUMS:.*]] = grad.scatter %{{.*}}[%[[AT]]] add %[[POINTS]] dims [-1, 1] index_dims [0] : tensor<8192x32xf32>
  // CHECK: grad.reshape %[[SUMS]] : tensor<8192x32xf32> -> tensor<128x64x32xf32>
  %2 = grad.scatter %0[%y, %1] add %points dims [-1, -2, 1] index_dims [0] : tensor<128x64x32xf32>, tensor<8000x32xf32>, tensor<8000xi64>, tensor<8000xi64>
  return %2 : tensor<128x64x32xf32>
}

// Rows of eight sets, each with its own indices.
// CHECK-LABEL: @of_sets
func.func @of_sets(%x: tensor<8x1024x64xf32>, %i: tensor<8x4096xi64>, %u: tensor<8x4096x64xf32>) -> tensor<8x1024x64xf32> {
  // CHECK: grad.iota dim 0 : tensor<8x4096xi64>
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] max %arg2 dims [-1, 2] index_dims [0, 1] : tensor<8192x64xf32>
  %0 = grad.scatter %x[%i] max %u dims [0, -1, 2] index_dims [0, 1] : tensor<8x1024x64xf32>, tensor<8x4096x64xf32>, tensor<8x4096xi64>
  return %0 : tensor<8x1024x64xf32>
}

// Of enough sets for the threads, each is a unit, which reads its own indices: rows, elements with an index each, and pixels that a
// pool chose in each plane. Of several indices, one of each set remains.
// CHECK-LABEL: @of_many_sets
func.func @of_many_sets(%x: tensor<16x1024x64xf32>, %i: tensor<16x4096xi64>, %u: tensor<16x4096x64xf32>, %e: tensor<16x4096x64xi64>,
                        %planes: tensor<2x64x12544xf32>, %pixels: tensor<2x64x3136xi64>, %v: tensor<2x64x3136xf32>)
    -> (tensor<16x1024x64xf32>, tensor<16x1024x64xf32>, tensor<2x64x12544xf32>) {
  // CHECK: grad.scatter %arg0[%arg1] max %arg2 dims [0, -1, 2] index_dims [0, 1]
  %0 = grad.scatter %x[%i] max %u dims [0, -1, 2] index_dims [0, 1] : tensor<16x1024x64xf32>, tensor<16x4096x64xf32>, tensor<16x4096xi64>
  // CHECK: grad.scatter %arg0[%arg3] add %arg2 dims [0, -1, 2] index_dims [0, 1, 2]
  %1 = grad.scatter %x[%e] add %u dims [0, -1, 2] index_dims [0, 1, 2] : tensor<16x1024x64xf32>, tensor<16x4096x64xf32>, tensor<16x4096x64xi64>
  // CHECK: grad.scatter %arg4[%arg5] replace %arg6 dims [0, 1, -1] index_dims [0, 1, 2]
  %2 = grad.scatter %planes[%pixels] replace %v dims [0, 1, -1] index_dims [0, 1, 2] : tensor<2x64x12544xf32>, tensor<2x64x3136xf32>, tensor<2x64x3136xi64>
  return %0, %1, %2 : tensor<16x1024x64xf32>, tensor<16x1024x64xf32>, tensor<2x64x12544xf32>
}
// CHECK-LABEL: @pairs_of_many_sets
func.func @pairs_of_many_sets(%x: tensor<16x32x32xf32>, %i: tensor<16x500xi64>, %u: tensor<16x500xf32>) -> tensor<16x32x32xf32> {
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] add %arg2 dims [0, -1] index_dims [0, 1] : tensor<16x1024xf32>
  %0 = grad.scatter %x[%i, %i] add %u dims [0, -1, -2] index_dims [0, 1] : tensor<16x32x32xf32>, tensor<16x500xf32>, tensor<16x500xi64>, tensor<16x500xi64>
  return %0 : tensor<16x32x32xf32>
}

// One list of all sets: of few updates of each, of targets of one set that are too many for a cache, and if no dim has enough sets.
// CHECK-LABEL: @of_one_list
func.func @of_one_list(%x: tensor<128x200xf32>, %i: tensor<128x10xi64>, %u: tensor<128x10xf32>,
                       %large: tensor<16x2000000xf32>, %j: tensor<16x500xi64>, %v: tensor<16x500xf32>,
                       %few: tensor<8x8x200xf32>, %k: tensor<8x8x100xi64>, %w: tensor<8x8x100xf32>)
    -> (tensor<128x200xf32>, tensor<16x2000000xf32>, tensor<8x8x200xf32>) {
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] add %arg2 dims [-1] index_dims [0, 1] : tensor<25600xf32>
  %0 = grad.scatter %x[%i] add %u dims [0, -1] index_dims [0, 1] : tensor<128x200xf32>, tensor<128x10xf32>, tensor<128x10xi64>
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] add %arg5 dims [-1] index_dims [0, 1] : tensor<32000000xf32>
  %1 = grad.scatter %large[%j] add %v dims [0, -1] index_dims [0, 1] : tensor<16x2000000xf32>, tensor<16x500xf32>, tensor<16x500xi64>
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] add %arg8 dims [-1] index_dims [0, 1, 2] : tensor<12800xf32>
  %2 = grad.scatter %few[%k] add %w dims [0, 1, -1] index_dims [0, 1, 2] : tensor<8x8x200xf32>, tensor<8x8x100xf32>, tensor<8x8x100xi64>
  return %0, %1, %2 : tensor<128x200xf32>, tensor<16x2000000xf32>, tensor<8x8x200xf32>
}

// An index for each element.
// CHECK-LABEL: @of_elements
func.func @of_elements(%x: tensor<500x64xf32>, %i: tensor<99x64xi64>, %u: tensor<99x64xf32>) -> tensor<500x64xf32> {
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] add %arg2 dims [-1] index_dims [0, 1] : tensor<32000xf32>
  %0 = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [0, 1] : tensor<500x64xf32>, tensor<99x64xf32>, tensor<99x64xi64>
  return %0 : tensor<500x64xf32>
}

// Points at cells of each channel: the channels stay outside, where they are units.
// CHECK-LABEL: @channels
// CHECK-SAME: (%[[CANVAS:.*]]: tensor<32x128x64xf32>, %[[POINTS:.*]]: tensor<32x8000xf32>
func.func @channels(%canvas: tensor<32x128x64xf32>, %points: tensor<32x8000xf32>, %y: tensor<8000xi64>, %x: tensor<8000xi64>) -> tensor<32x128x64xf32> {
  // CHECK-DAG: grad.reshape %[[CANVAS]] : tensor<32x128x64xf32> -> tensor<32x8192xf32>
  // CHECK-DAG: %[[OUTSIDE:.*]] = grad.constant dense<8192>
  // CHECK: %[[AT:.*]] = grad.select %{{.*}}, %{{.*}}, %[[OUTSIDE]]
  // CHECK: %[[SUMS:.*]] = grad.scatter %{{.*}}[%[[AT]]] max %[[POINTS]] dims [0, -1] index_dims [1] : tensor<32x8192xf32>
  // CHECK: grad.reshape %[[SUMS]] : tensor<32x8192xf32> -> tensor<32x128x64xf32>
  %0 = grad.scatter %canvas[%y, %x] max %points dims [0, -1, -2] index_dims [1] : tensor<32x128x64xf32>, tensor<32x8000xf32>, tensor<8000xi64>, tensor<8000xi64>
  return %0 : tensor<32x128x64xf32>
}

// The dim between those of the indices is a part of the index; few updates of each channel stay.
// CHECK-LABEL: @between
func.func @between(%x: tensor<6x30x4x8xf32>, %u: tensor<6x99x4xf32>, %i: tensor<99x4xi64>, %few: tensor<6x9x4xf32>, %j: tensor<9x4xi64>)
    -> (tensor<6x30x4x8xf32>, tensor<6x30x4x8xf32>) {
  // CHECK: grad.iota dim 1 : tensor<99x4xi64>
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] add %arg1 dims [0, -1] index_dims [1, 2] : tensor<6x960xf32>
  %0 = grad.scatter %x[%i, %i] add %u dims [0, -1, 2, -2] index_dims [1, 2] : tensor<6x30x4x8xf32>, tensor<6x99x4xf32>, tensor<99x4xi64>, tensor<99x4xi64>
  // CHECK: grad.scatter %arg0[%arg4, %arg4] add %arg3
  %1 = grad.scatter %x[%j, %j] add %few dims [0, -1, 2, -2] index_dims [1, 2] : tensor<6x30x4x8xf32>, tensor<6x9x4xf32>, tensor<9x4xi64>, tensor<9x4xi64>
  return %0, %1 : tensor<6x30x4x8xf32>, tensor<6x30x4x8xf32>
}

// One index of rows, few updates, few targets for each, and dims that are not adjacent, or not outermost, stay.
// CHECK-LABEL: @unchanged
func.func @unchanged(%x: tensor<500x64xf32>, %i: tensor<99xi64>, %u: tensor<99x64xf32>, %few: tensor<9xi64>, %v: tensor<9xf32>,
                     %scores: tensor<2048x64xf32>, %best: tensor<2048x2xi64>, %gates: tensor<2048x2xf32>,
                     %apart: tensor<300x4x8xf32>, %w: tensor<99x4xf32>,
                     %inner: tensor<8x64x1024xf32>, %k: tensor<64x512xi64>, %t: tensor<8x64x512xf32>)
    -> (tensor<500x64xf32>, tensor<500x64xf32>, tensor<2048x64xf32>, tensor<300x4x8xf32>, tensor<8x64x1024xf32>) {
  // CHECK-COUNT-5: grad.scatter %arg
  // CHECK-NOT: grad.reshape
  %0 = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [0] : tensor<500x64xf32>, tensor<99x64xf32>, tensor<99xi64>
  %1 = grad.scatter %x[%few, %few] add %v dims [-1, -2] index_dims [0] : tensor<500x64xf32>, tensor<9xf32>, tensor<9xi64>, tensor<9xi64>
  %2 = grad.scatter %scores[%best] replace %gates dims [0, -1] index_dims [0, 1] : tensor<2048x64xf32>, tensor<2048x2xf32>, tensor<2048x2xi64>
  %3 = grad.scatter %apart[%i, %i] add %w dims [-1, 1, -2] index_dims [0] : tensor<300x4x8xf32>, tensor<99x4xf32>, tensor<99xi64>, tensor<99xi64>
  %4 = grad.scatter %inner[%k] add %t dims [0, 1, -1] index_dims [1, 2] : tensor<8x64x1024xf32>, tensor<8x64x512xf32>, tensor<64x512xi64>
  return %0, %1, %2, %3, %4 : tensor<500x64xf32>, tensor<500x64xf32>, tensor<2048x64xf32>, tensor<300x4x8xf32>, tensor<8x64x1024xf32>
}

// Each row of a run has its own updates alone, at one index or several.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<8x1024x64xf32> {grad.batched}, %i: tensor<8x4096xi64> {grad.batched}, %u: tensor<8x4096x64xf32> {grad.batched})
    -> tensor<8x1024x64xf32> attributes {grad.batch = 8 : i64, grad.rows} {
  // CHECK: grad.scatter %arg0[%arg1] add %arg2 dims [0, -1, 2] index_dims [0, 1]
  %0 = grad.scatter %x[%i] add %u dims [0, -1, 2] index_dims [0, 1] : tensor<8x1024x64xf32>, tensor<8x4096x64xf32>, tensor<8x4096xi64>
  return %0 : tensor<8x1024x64xf32>
}
// CHECK-LABEL: @pairs_of_rows
func.func @pairs_of_rows(%x: tensor<8x64x64xf32> {grad.batched}, %i: tensor<8x500xi64> {grad.batched}, %u: tensor<8x500xf32> {grad.batched})
    -> tensor<8x64x64xf32> attributes {grad.batch = 8 : i64, grad.rows} {
  // CHECK: grad.scatter %{{.*}}[%{{.*}}] add %arg2 dims [0, -1] index_dims [0, 1] : tensor<8x4096xf32>
  %0 = grad.scatter %x[%i, %i] add %u dims [0, -1, -2] index_dims [0, 1] : tensor<8x64x64xf32>, tensor<8x500xf32>, tensor<8x500xi64>, tensor<8x500xi64>
  return %0 : tensor<8x64x64xf32>
}
