// RUN: gradc-opt %s -gradc-schedule | FileCheck %s

// Which operands may be overwritten once the order of the loops is known.
module attributes {exec.level = "x86-64-v4"} {

// A row's maximum and sum are known before an element of the row is written.

// CHECK-LABEL: exec.kernel @softmax(
// CHECK-SAME: inplace = array<i64: 0>
// CHECK-SAME: order = [0, 1]
exec.kernel @softmax(%x: tensor<64x4096xf32>) attributes {flops = 1048576 : i64, bytes = 2097152 : i64, inplace = array<i64>} {
  %m = grad.reduce_max %x dims [1] : tensor<64x4096xf32>
  %n = grad.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x4096xf32>
  %s = grad.sub %x, %n : tensor<64x4096xf32>
  %e = grad.exp %s : tensor<64x4096xf32>
  %t = grad.reduce_sum %e dims [1] : tensor<64x4096xf32>
  %b = grad.broadcast %t dims [0] : tensor<64xf32> -> tensor<64x4096xf32>
  %p = grad.div %e, %b : tensor<64x4096xf32>
  exec.yield %m, %p : tensor<64xf32>, tensor<64x4096xf32>
}

// A column's sum needs all rows, and so does the sum of everything.

// CHECK-LABEL: exec.kernel @columns(
// CHECK-SAME: inplace = array<i64>
exec.kernel @columns(%x: tensor<64x64xf32>) attributes {flops = 8192 : i64, bytes = 32768 : i64, inplace = array<i64>} {
  %t = grad.reduce_sum %x dims [0] : tensor<64x64xf32>
  %b = grad.broadcast %t dims [1] : tensor<64xf32> -> tensor<64x64xf32>
  %p = grad.div %x, %b : tensor<64x64xf32>
  exec.yield %p : tensor<64x64xf32>
}
// CHECK-LABEL: exec.kernel @everything(
// CHECK-SAME: inplace = array<i64>
exec.kernel @everything(%x: tensor<64x64xf32>) attributes {flops = 8192 : i64, bytes = 32768 : i64, inplace = array<i64>} {
  %t = grad.reduce_sum %x dims [0, 1] : tensor<64x64xf32>
  %b = grad.broadcast %t dims [] : tensor<f32> -> tensor<64x64xf32>
  %p = grad.div %x, %b : tensor<64x64xf32>
  exec.yield %p : tensor<64x64xf32>
}

// Sums of rows that are read for each column are not what a row needs.

// CHECK-LABEL: exec.kernel @turned(
// CHECK-SAME: inplace = array<i64>
exec.kernel @turned(%x: tensor<64x64xf32>) attributes {flops = 8192 : i64, bytes = 32768 : i64, inplace = array<i64>} {
  %t = grad.reduce_sum %x dims [1] : tensor<64x64xf32>
  %b = grad.broadcast %t dims [1] : tensor<64xf32> -> tensor<64x64xf32>
  %p = grad.div %x, %b : tensor<64x64xf32>
  exec.yield %p : tensor<64x64xf32>
}

// Updates are added to the result, after each unit has taken the elements of its own targets; but not while other updates are these elements,
// nor where the sums lie elsewhere because they have more bits than the result.

// CHECK-LABEL: exec.kernel @updates(
// CHECK-SAME: inplace = array<i64: 0>
exec.kernel @updates(%x: tensor<500x64xf32>, %i: tensor<99xi64>, %u: tensor<99x64xf32>) attributes {flops = 6336 : i64, bytes = 282136 : i64, inplace = array<i64>} {
  %0 = grad.scatter %x[%i] replace %u dims [-1, 1] index_dims [0] : tensor<500x64xf32>, tensor<99x64xf32>, tensor<99xi64>
  exec.yield %0 : tensor<500x64xf32>
}
// CHECK-LABEL: exec.kernel @updates_of_themselves(
// CHECK-SAME: inplace = array<i64>
exec.kernel @updates_of_themselves(%x: tensor<500x64xf32>, %i: tensor<500xi64>) attributes {flops = 32000 : i64, bytes = 260000 : i64, inplace = array<i64>} {
  %0 = grad.scatter %x[%i] add %x dims [-1, 1] index_dims [0] : tensor<500x64xf32>, tensor<500x64xf32>, tensor<500xi64>
  exec.yield %0 : tensor<500x64xf32>
}
// CHECK-LABEL: exec.kernel @updates_of_halves(
// CHECK-SAME: inplace = array<i64>
exec.kernel @updates_of_halves(%x: tensor<500x64xbf16>, %i: tensor<99xi64>, %u: tensor<99x64xbf16>) attributes {flops = 6336 : i64, bytes = 141464 : i64, inplace = array<i64>} {
  %0 = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [0] : tensor<500x64xbf16>, tensor<99x64xbf16>, tensor<99xi64>
  exec.yield %0 : tensor<500x64xbf16>
}
// CHECK-LABEL: exec.kernel @few_updates(
// CHECK-SAME: inplace = array<i64>
exec.kernel @few_updates(%x: tensor<500x64xf32>, %i: tensor<9xi64>, %u: tensor<9x64xf32>) attributes {flops = 576 : i64, bytes = 258376 : i64, inplace = array<i64>} {
  %0 = grad.scatter %x[%i] replace %u dims [-1, 1] index_dims [0] : tensor<500x64xf32>, tensor<9x64xf32>, tensor<9xi64>
  exec.yield %0 : tensor<500x64xf32>
}

// Results that are summed over rows have loops of their own, after the others.

// CHECK-LABEL: exec.kernel @apart(
// CHECK-SAME: inplace = array<i64>
exec.kernel @apart(%x: tensor<64x64xf32>) attributes {flops = 8192 : i64, bytes = 32768 : i64, inplace = array<i64>} {
  %e = grad.exp %x : tensor<64x64xf32>
  %t = grad.reduce_sum %e dims [0] : tensor<64x64xf32>
  exec.yield %e, %t : tensor<64x64xf32>, tensor<64xf32>
}

// The first loop over three dims is not along the rows: a mean over the last two.

// CHECK-LABEL: exec.kernel @pictures(
// CHECK-SAME: inplace = array<i64: 0>
// CHECK-SAME: order = [0, 1, 2]
exec.kernel @pictures(%x: tensor<16x32x64xf32>, %w: tensor<64xf32>) attributes {flops = 65536 : i64, bytes = 262144 : i64, inplace = array<i64>} {
  %t = grad.reduce_sum %x dims [1, 2] : tensor<16x32x64xf32>
  %b = grad.broadcast %t dims [0] : tensor<16xf32> -> tensor<16x32x64xf32>
  %d = grad.sub %x, %b : tensor<16x32x64xf32>
  %s = grad.broadcast %w dims [2] : tensor<64xf32> -> tensor<16x32x64xf32>
  %p = grad.mul %d, %s : tensor<16x32x64xf32>
  exec.yield %p : tensor<16x32x64xf32>
}

// Rows whose length is that of the run end in conditions, in which the sum is computed again.

// CHECK-LABEL: exec.kernel @batch(
// CHECK-SAME: inplace = array<i64>
exec.kernel @batch(%x: tensor<64x64xf32>) attributes {flops = 8192 : i64, bytes = 32768 : i64, inplace = array<i64>, extents = [array<i64: 1, 1>], rows = array<i64: 1, 1>} {
  %t = grad.reduce_sum %x dims [1] : tensor<64x64xf32>
  %b = grad.broadcast %t dims [0] : tensor<64xf32> -> tensor<64x64xf32>
  %p = grad.div %x, %b : tensor<64x64xf32>
  exec.yield %p : tensor<64x64xf32>
}

// A mask is the root, and does not vary along its rows: the other result has loops of its own, after those that compute the maxima.

// CHECK-LABEL: exec.kernel @beside_mask(
// CHECK-SAME: inplace = array<i64>
exec.kernel @beside_mask(%f: tensor<64xf32>, %x: tensor<64x64xf32>) attributes {flops = 8192 : i64, bytes = 32768 : i64, inplace = array<i64>, extents = [array<i64: 1>, array<i64: 1, 1>], rows = array<i64: 1, 0>} {
  %z = grad.broadcast %f dims [0] : tensor<64xf32> -> tensor<64x64xf32>
  %c = grad.compare gt %z, %z : tensor<64x64xf32>
  %m = grad.reduce_max %x dims [1] : tensor<64x64xf32>
  %n = grad.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x64xf32>
  %s = grad.sub %x, %n : tensor<64x64xf32>
  exec.yield %c, %m, %s : tensor<64x64xi1>, tensor<64xf32>, tensor<64x64xf32>
}
}
