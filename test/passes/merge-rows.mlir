// RUN: gradc-opt %s --gradc-merge-rows --split-input-file | FileCheck %s

// An epilogue with a value for each column, one for each row, a splat, and a second result.
// CHECK-LABEL: func.func @forward
// CHECK-DAG: %[[X:.*]] = grad.reshape %arg0 : tensor<4x6x8xf32> -> tensor<24x8xf32>
// CHECK-DAG: %[[R:.*]] = grad.reshape %arg3 : tensor<4x6xf32> -> tensor<24xf32>
// CHECK: %[[H:.*]]:2 = exec.launch @[[K:.*]](%[[X]], %arg1, %arg2, %[[R]])
// One launch reads the other's result as it is.
// CHECK-NEXT: grad.reshape %[[H]]#0 : tensor<24x16xf32> -> tensor<4x6x16xf32>
// CHECK-NEXT: %[[Y:.*]] = exec.launch @[[B:.*]](%[[H]]#1, %arg1)
// CHECK-NEXT: grad.reshape %[[Y]] : tensor<24x8xf32> -> tensor<4x6x8xf32>
// CHECK: exec.kernel @[[K]](%[[KX:.*]]: tensor<24x8xf32>, %[[KW:.*]]: tensor<8x16xf32>, %{{.*}}: tensor<16xf32>, %{{.*}}: tensor<24xf32>)
// CHECK: grad.matmul %[[KX]], %[[KW]] : tensor<24x8xf32>, tensor<8x16xf32>
// CHECK: grad.broadcast %{{.*}} dims [1] : tensor<16xf32> -> tensor<24x16xf32>
// CHECK: grad.broadcast %{{.*}} dims [0] : tensor<24xf32> -> tensor<24x16xf32>
// CHECK: grad.constant dense<5.000000e-01> : tensor<24x16xf32>
// CHECK: exec.kernel @[[B]](
// CHECK: grad.matmul %{{.*}}, %{{.*}} transpose_rhs : tensor<24x16xf32>, tensor<8x16xf32>
func.func @forward(%x: tensor<4x6x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>, %r: tensor<4x6xf32>) -> (tensor<4x6x16xf32>, tensor<4x6x8xf32>) {
  %0:2 = exec.launch @epilogue(%x, %w, %b, %r) {exec.nodes = []} : (tensor<4x6x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<4x6xf32>) -> (tensor<4x6x16xf32>, tensor<4x6x16xf32>)
  %1 = exec.launch @back(%0#1, %w) {exec.nodes = []} : (tensor<4x6x16xf32>, tensor<8x16xf32>) -> tensor<4x6x8xf32>
  return %0#0, %1 : tensor<4x6x16xf32>, tensor<4x6x8xf32>
}
exec.kernel @epilogue(%x: tensor<4x6x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>, %r: tensor<4x6xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "aby,yz->abz" window <[]> : tensor<4x6x8xf32>, tensor<8x16xf32>
  %1 = grad.broadcast %b dims [2] : tensor<16xf32> -> tensor<4x6x16xf32>
  %2 = grad.add %0, %1 : tensor<4x6x16xf32>
  %3 = grad.broadcast %r dims [0, 1] : tensor<4x6xf32> -> tensor<4x6x16xf32>
  %4 = grad.mul %2, %3 : tensor<4x6x16xf32>
  %half = grad.constant dense<0.5> : tensor<4x6x16xf32>
  %5 = grad.mul %4, %half : tensor<4x6x16xf32>
  exec.yield %2, %5 : tensor<4x6x16xf32>, tensor<4x6x16xf32>
}
exec.kernel @back(%x: tensor<4x6x16xf32>, %w: tensor<8x16xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "aby,zy->abz" window <[]> : tensor<4x6x16xf32>, tensor<8x16xf32>
  exec.yield %0 : tensor<4x6x8xf32>
}

// -----

// Sums over both dims, behind the same product without them: one kernel.
// CHECK-LABEL: func.func @weight_gradient
// CHECK: %[[X:.*]] = grad.reshape %arg0 : tensor<4x6x8xf32> -> tensor<24x8xf32>
// CHECK: %[[G:.*]] = grad.reshape %arg1 : tensor<4x6x16xf32> -> tensor<24x16xf32>
// CHECK: exec.launch @product(%[[X]], %[[G]])
// CHECK: exec.launch @product(%arg2, %arg3)
// CHECK-NOT: exec.kernel @sums
// CHECK: exec.kernel @product
// CHECK-NOT: exec.kernel
func.func @weight_gradient(%x: tensor<4x6x8xf32>, %g: tensor<4x6x16xf32>, %u: tensor<24x8xf32>, %v: tensor<24x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = exec.launch @sums(%x, %g) {exec.nodes = []} : (tensor<4x6x8xf32>, tensor<4x6x16xf32>) -> tensor<8x16xf32>
  %1 = exec.launch @product(%u, %v) {exec.nodes = []} : (tensor<24x8xf32>, tensor<24x16xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
}
exec.kernel @sums(%x: tensor<4x6x8xf32>, %g: tensor<4x6x16xf32>) attributes {bytes = 4352 : i64, flops = 6144 : i64} {
  %0 = grad.convolution %x, %g dims "aby,abz->yz" window <[]> : tensor<4x6x8xf32>, tensor<4x6x16xf32>
  exec.yield %0 : tensor<8x16xf32>
}
exec.kernel @product(%x: tensor<24x8xf32>, %g: tensor<24x16xf32>) attributes {bytes = 2816 : i64, flops = 6144 : i64} {
  %0 = grad.matmul %x, %g transpose_lhs : tensor<24x8xf32>, tensor<24x16xf32>
  exec.yield %0 : tensor<8x16xf32>
}

// -----

// A value for each position of the second dim, a batch of products, a factor that looks like rows, and sums whose factor is read
// by the epilogue, too.
// CHECK: exec.kernel @positions(%{{.*}}: tensor<4x6x8xf32>
exec.kernel @positions(%x: tensor<4x6x8xf32>, %w: tensor<8x16xf32>, %p: tensor<6x16xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "aby,yz->abz" window <[]> : tensor<4x6x8xf32>, tensor<8x16xf32>
  %1 = grad.broadcast %p dims [1, 2] : tensor<6x16xf32> -> tensor<4x6x16xf32>
  %2 = grad.add %0, %1 : tensor<4x6x16xf32>
  exec.yield %2 : tensor<4x6x16xf32>
}
// CHECK: exec.kernel @batch(%{{.*}}: tensor<4x6x8xf32>
exec.kernel @batch(%x: tensor<4x6x8xf32>, %w: tensor<4x8x16xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.matmul %x, %w : tensor<4x6x8xf32>, tensor<4x8x16xf32>
  exec.yield %0 : tensor<4x6x16xf32>
}
// CHECK: exec.kernel @alike(%{{.*}}: tensor<4x6x4xf32>, %{{.*}}: tensor<4x6xf32>
exec.kernel @alike(%x: tensor<4x6x4xf32>, %w: tensor<4x6xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "aby,yz->abz" window <[]> : tensor<4x6x4xf32>, tensor<4x6xf32>
  exec.yield %0 : tensor<4x6x6xf32>
}
// CHECK: exec.kernel @square(%{{.*}}: tensor<4x6x4xf32>, %{{.*}}: tensor<4x6x6xf32>
exec.kernel @square(%x: tensor<4x6x4xf32>, %g: tensor<4x6x6xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %g dims "aby,abz->yz" window <[]> : tensor<4x6x4xf32>, tensor<4x6x6xf32>
  %1 = grad.reduce_sum %x dims [2] : tensor<4x6x4xf32>
  %2 = grad.add %0, %1 : tensor<4x6xf32>
  exec.yield %2 : tensor<4x6xf32>
}

// -----

// A dropout's bits are drawn by position. A factor that repeats a vector keeps the numbers of its dims.
// CHECK: exec.kernel @{{.*}}(%[[X:.*]]: tensor<24x8xf32>, %[[V:.*]]: tensor<16xf32>
// CHECK: %[[W:.*]] = grad.broadcast %[[V]] dims [1] : tensor<16xf32> -> tensor<8x16xf32>
// CHECK: grad.matmul %[[X]], %[[W]] : tensor<24x8xf32>, tensor<8x16xf32>
// CHECK: grad.random_bits {{.*}} -> tensor<24x16xui32>
exec.kernel @dropout(%x: tensor<4x6x8xf32>, %v: tensor<16xf32>, %seed: tensor<i32>, %step: tensor<i32>) attributes {bytes = 0 : i64} {
  %w = grad.broadcast %v dims [1] : tensor<16xf32> -> tensor<8x16xf32>
  %0 = grad.convolution %x, %w dims "aby,yz->abz" window <[]> : tensor<4x6x8xf32>, tensor<8x16xf32>
  %bits = grad.random_bits %seed, %step stream 1 : tensor<i32> -> tensor<4x6x16xui32>
  %1 = grad.cast %bits : tensor<4x6x16xui32> -> tensor<4x6x16xf32>
  %2 = grad.mul %0, %1 : tensor<4x6x16xf32>
  exec.yield %2 : tensor<4x6x16xf32>
}

// -----

// In an entry that takes any number of rows, these must lead the dims of all operands: not behind others, and not one row for all.
// CHECK-LABEL: func.func @any_rows
// CHECK: %[[T:.*]] = exec.launch @turn(%arg0)
// CHECK: exec.launch @behind(%[[T]], %arg2)
// CHECK: %[[R:.*]] = exec.launch @repeat(%arg1)
// CHECK: exec.launch @add(%arg0, %arg2, %[[R]])
// CHECK: %[[X:.*]] = grad.reshape %arg0 : tensor<4x6x8xf32> -> tensor<24x8xf32>
// CHECK: exec.launch @matmul(%[[X]], %arg2)
func.func @any_rows(%x: tensor<4x6x8xf32> {grad.batched}, %p: tensor<6x16xf32>, %w: tensor<8x16xf32>) -> (tensor<6x4x16xf32>, tensor<4x6x16xf32>, tensor<4x6x16xf32>) attributes {grad.rows} {
  %0 = exec.launch @turn(%x) {exec.nodes = []} : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  %1 = exec.launch @behind(%0, %w) {exec.nodes = []} : (tensor<6x4x8xf32>, tensor<8x16xf32>) -> tensor<6x4x16xf32>
  %2 = exec.launch @repeat(%p) {exec.nodes = []} : (tensor<6x16xf32>) -> tensor<4x6x16xf32>
  %3 = exec.launch @add(%x, %w, %2) {exec.nodes = []} : (tensor<4x6x8xf32>, tensor<8x16xf32>, tensor<4x6x16xf32>) -> tensor<4x6x16xf32>
  %4 = exec.launch @rows(%x, %w) {exec.nodes = []} : (tensor<4x6x8xf32>, tensor<8x16xf32>) -> tensor<4x6x16xf32>
  return %1, %3, %4 : tensor<6x4x16xf32>, tensor<4x6x16xf32>, tensor<4x6x16xf32>
}
exec.kernel @turn(%x: tensor<4x6x8xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<4x6x8xf32>
  exec.yield %0 : tensor<6x4x8xf32>
}
exec.kernel @repeat(%p: tensor<6x16xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.broadcast %p dims [1, 2] : tensor<6x16xf32> -> tensor<4x6x16xf32>
  exec.yield %0 : tensor<4x6x16xf32>
}
exec.kernel @behind(%x: tensor<6x4x8xf32>, %w: tensor<8x16xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "aby,yz->abz" window <[]> : tensor<6x4x8xf32>, tensor<8x16xf32>
  exec.yield %0 : tensor<6x4x16xf32>
}
exec.kernel @add(%x: tensor<4x6x8xf32>, %w: tensor<8x16xf32>, %p: tensor<4x6x16xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "aby,yz->abz" window <[]> : tensor<4x6x8xf32>, tensor<8x16xf32>
  %1 = grad.add %0, %p : tensor<4x6x16xf32>
  exec.yield %1 : tensor<4x6x16xf32>
}
exec.kernel @rows(%x: tensor<4x6x8xf32>, %w: tensor<8x16xf32>) attributes {bytes = 0 : i64} {
  %0 = grad.convolution %x, %w dims "aby,yz->abz" window <[]> : tensor<4x6x8xf32>, tensor<8x16xf32>
  exec.yield %0 : tensor<4x6x16xf32>
}
