// RUN: gradc-opt %s --gradc-separate-rows | FileCheck %s

grad.state parameter @weights : tensor<4096x4096xf32> = dense<1.0> : tensor<4096x4096xf32>
grad.state parameter @few : tensor<4096x4xf32> = dense<1.0> : tensor<4096x4xf32>

// Kernels that only a batch needs are dropped.

// CHECK-NOT: exec.kernel @relu(
// CHECK: exec.kernel @relu_of_row
exec.kernel @relu(%x: tensor<64x1048576xf32>) attributes {flops = 67108864 : i64} {
  %0 = grad.abs %x : tensor<64x1048576xf32>
  exec.yield %0 : tensor<64x1048576xf32>
}
exec.kernel @relu_of_row(%x: tensor<1x1048576xf32>) attributes {flops = 1048576 : i64} {
  %0 = grad.abs %x : tensor<1x1048576xf32>
  exec.yield %0 : tensor<1x1048576xf32>
}
exec.kernel @scale(%x: tensor<64x1048576xf32>, %rows: tensor<f32>) {
  %0 = grad.broadcast %rows dims [] : tensor<f32> -> tensor<64x1048576xf32>
  %1 = grad.mul %x, %0 : tensor<64x1048576xf32>
  exec.yield %1 : tensor<64x1048576xf32>
}

// 64 rows of 4 MiB do not stay in a cache, and there are no weights.

// CHECK: exec.entry @large arena 0 each_row @large.rows.1
// CHECK-SAME: inputs [{batched, name = "x", role = "data", type = tensor<64x1048576xf32>}]
// CHECK-SAME: outputs [{batched, role = "output", type = tensor<64x1048576xf32>}]
// CHECK-SAME: any_rows, batch = 64 : i64
// CHECK: func.func @large.rows.1
func.func @large(%x: tensor<64x1048576xf32> {grad.batched, grad.name = "x", grad.role = "data"})
    -> (tensor<64x1048576xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.rows} {
  %0 = exec.launch @relu(%x) : (tensor<64x1048576xf32>) -> tensor<64x1048576xf32>
  return %0 : tensor<64x1048576xf32>
}
func.func @large.rows.1(%x: tensor<1x1048576xf32> {grad.batched, grad.name = "x", grad.role = "data"})
    -> (tensor<1x1048576xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %0 = exec.launch @relu_of_row(%x) : (tensor<1x1048576xf32>) -> tensor<1x1048576xf32>
  return %0 : tensor<1x1048576xf32>
}

// Each row would read 64 MiB of weights.

// CHECK: func.func @heavy(
exec.kernel @product(%x: tensor<64x4096xf32>, %w: tensor<4096x4096xf32>) attributes {flops = 2147483648 : i64} {
  %0 = grad.matmul %x, %w : tensor<64x4096xf32>, tensor<4096x4096xf32>
  exec.yield %0 : tensor<64x4096xf32>
}
exec.kernel @product_of_row(%x: tensor<1x4096xf32>, %w: tensor<4096x4096xf32>) attributes {flops = 33554432 : i64} {
  %0 = grad.matmul %x, %w : tensor<1x4096xf32>, tensor<4096x4096xf32>
  exec.yield %0 : tensor<1x4096xf32>
}
func.func @heavy(%x: tensor<64x4096xf32> {grad.batched, grad.role = "data"})
    -> (tensor<64x4096xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.rows} {
  %w = grad.read @weights : tensor<4096x4096xf32>
  %0 = exec.launch @product(%x, %w) : (tensor<64x4096xf32>, tensor<4096x4096xf32>) -> tensor<64x4096xf32>
  return %0 : tensor<64x4096xf32>
}
func.func @heavy.rows.1(%x: tensor<1x4096xf32> {grad.batched, grad.role = "data"})
    -> (tensor<1x4096xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %w = grad.read @weights : tensor<4096x4096xf32>
  %0 = exec.launch @product_of_row(%x, %w) : (tensor<1x4096xf32>, tensor<4096x4096xf32>) -> tensor<1x4096xf32>
  return %0 : tensor<1x4096xf32>
}

// The result depends on the number of rows.

// CHECK: func.func @counts(
func.func @counts(%x: tensor<64x1048576xf32> {grad.batched, grad.role = "data"}, %rows: tensor<f32> {grad.role = "rows"})
    -> (tensor<64x1048576xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.rows} {
  %0 = exec.launch @scale(%x, %rows) : (tensor<64x1048576xf32>, tensor<f32>) -> tensor<64x1048576xf32>
  return %0 : tensor<64x1048576xf32>
}
func.func @counts.rows.1(%x: tensor<1x1048576xf32> {grad.batched, grad.role = "data"}, %rows: tensor<f32> {grad.role = "rows"})
    -> (tensor<1x1048576xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %0 = exec.launch @relu_of_row(%x) : (tensor<1x1048576xf32>) -> tensor<1x1048576xf32>
  return %0 : tensor<1x1048576xf32>
}

// A node couples the rows.

// CHECK: func.func @coupled(
exec.kernel @exp(%x: tensor<64x1048576xf32>) {
  %0 = grad.exp %x : tensor<64x1048576xf32>
  exec.yield %0 : tensor<64x1048576xf32>
}
func.func @coupled(%x: tensor<64x1048576xf32> {grad.batched, grad.role = "data"})
    -> (tensor<64x1048576xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.coupling_node = "mean", grad.rows} {
  %0 = exec.launch @exp(%x) : (tensor<64x1048576xf32>) -> tensor<64x1048576xf32>
  return %0 : tensor<64x1048576xf32>
}
func.func @coupled.rows.1(%x: tensor<1x1048576xf32> {grad.batched, grad.role = "data"})
    -> (tensor<1x1048576xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %0 = exec.launch @relu_of_row(%x) : (tensor<1x1048576xf32>) -> tensor<1x1048576xf32>
  return %0 : tensor<1x1048576xf32>
}
