// RUN: gradc-opt %s --split-input-file --gradc-separate-rows | FileCheck %s

// 64 rows of 1 MiB do not stay in a cache, a row does, and there are no weights. Kernels that only a batch needs are dropped.

// CHECK-NOT: exec.kernel @exp(
// CHECK: exec.entry @large arena 0 each_row @large.rows.1
// CHECK-SAME: inputs [{batched, name = "x", role = "data", type = tensor<64x262144xf32>}]
// CHECK-SAME: outputs [{batched, role = "output", type = tensor<64x262144xf32>}]
// CHECK-SAME: any_rows, batch = 64 : i64
// CHECK: func.func @large.rows.1
exec.kernel @abs(%x: tensor<64x262144xf32>) attributes {flops = 16777216 : i64} {
  %0 = grad.abs %x : tensor<64x262144xf32>
  exec.yield %0 : tensor<64x262144xf32>
}
exec.kernel @exp(%x: tensor<64x262144xf32>) attributes {flops = 16777216 : i64} {
  %0 = grad.exp %x : tensor<64x262144xf32>
  exec.yield %0 : tensor<64x262144xf32>
}
exec.kernel @abs_of_row(%x: tensor<1x262144xf32>) attributes {flops = 262144 : i64} {
  %0 = grad.abs %x : tensor<1x262144xf32>
  exec.yield %0 : tensor<1x262144xf32>
}
func.func @large(%x: tensor<64x262144xf32> {grad.batched, grad.name = "x", grad.role = "data"})
    -> (tensor<64x262144xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.rows} {
  %0 = exec.launch @exp(%x) : (tensor<64x262144xf32>) -> tensor<64x262144xf32>
  %1 = exec.launch @abs(%0) : (tensor<64x262144xf32>) -> tensor<64x262144xf32>
  return %1 : tensor<64x262144xf32>
}
func.func @large.rows.1(%x: tensor<1x262144xf32> {grad.name = "x", grad.role = "data"})
    -> (tensor<1x262144xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %0 = exec.launch @abs_of_row(%x) : (tensor<1x262144xf32>) -> tensor<1x262144xf32>
  %1 = exec.launch @abs_of_row(%0) : (tensor<1x262144xf32>) -> tensor<1x262144xf32>
  return %1 : tensor<1x262144xf32>
}

// A single launch reads its input and writes its output in both cases.

// CHECK: func.func @single(
func.func @single(%x: tensor<64x262144xf32> {grad.batched, grad.role = "data"})
    -> (tensor<64x262144xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.rows} {
  %0 = exec.launch @abs(%x) : (tensor<64x262144xf32>) -> tensor<64x262144xf32>
  return %0 : tensor<64x262144xf32>
}
func.func @single.rows.1(%x: tensor<1x262144xf32> {grad.role = "data"})
    -> (tensor<1x262144xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %0 = exec.launch @abs_of_row(%x) : (tensor<1x262144xf32>) -> tensor<1x262144xf32>
  return %0 : tensor<1x262144xf32>
}

// A node couples the rows, or they are numbered.

// CHECK: func.func @coupled(
func.func @coupled(%x: tensor<64x262144xf32> {grad.batched, grad.role = "data"})
    -> (tensor<64x262144xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.coupling_node = "mean", grad.rows} {
  %0 = exec.launch @abs(%x) : (tensor<64x262144xf32>) -> tensor<64x262144xf32>
  %1 = exec.launch @abs(%0) : (tensor<64x262144xf32>) -> tensor<64x262144xf32>
  return %1 : tensor<64x262144xf32>
}
func.func @coupled.rows.1(%x: tensor<1x262144xf32> {grad.role = "data"})
    -> (tensor<1x262144xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %0 = exec.launch @abs_of_row(%x) : (tensor<1x262144xf32>) -> tensor<1x262144xf32>
  %1 = exec.launch @abs_of_row(%0) : (tensor<1x262144xf32>) -> tensor<1x262144xf32>
  return %1 : tensor<1x262144xf32>
}
// CHECK: func.func @numbered(
func.func @numbered(%x: tensor<64x262144xf32> {grad.batched, grad.role = "data"})
    -> (tensor<64x262144xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.numbers_rows, grad.rows} {
  %0 = exec.launch @abs(%x) : (tensor<64x262144xf32>) -> tensor<64x262144xf32>
  %1 = exec.launch @abs(%0) : (tensor<64x262144xf32>) -> tensor<64x262144xf32>
  return %1 : tensor<64x262144xf32>
}
func.func @numbered.rows.1(%x: tensor<1x262144xf32> {grad.role = "data"})
    -> (tensor<1x262144xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %0 = exec.launch @abs_of_row(%x) : (tensor<1x262144xf32>) -> tensor<1x262144xf32>
  %1 = exec.launch @abs_of_row(%0) : (tensor<1x262144xf32>) -> tensor<1x262144xf32>
  return %1 : tensor<1x262144xf32>
}

// The result depends on the number of rows.

// CHECK: func.func @counts(
exec.kernel @scale(%x: tensor<64x262144xf32>, %rows: tensor<f32>) {
  %0 = grad.broadcast %rows dims [] : tensor<f32> -> tensor<64x262144xf32>
  %1 = grad.mul %x, %0 : tensor<64x262144xf32>
  exec.yield %1 : tensor<64x262144xf32>
}
func.func @counts(%x: tensor<64x262144xf32> {grad.batched, grad.role = "data"}, %rows: tensor<f32> {grad.role = "rows"})
    -> (tensor<64x262144xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.rows} {
  %0 = exec.launch @abs(%x) : (tensor<64x262144xf32>) -> tensor<64x262144xf32>
  %1 = exec.launch @scale(%0, %rows) : (tensor<64x262144xf32>, tensor<f32>) -> tensor<64x262144xf32>
  return %1 : tensor<64x262144xf32>
}
func.func @counts.rows.1(%x: tensor<1x262144xf32> {grad.role = "data"}, %rows: tensor<f32> {grad.role = "rows"})
    -> (tensor<1x262144xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %0 = exec.launch @abs_of_row(%x) : (tensor<1x262144xf32>) -> tensor<1x262144xf32>
  %1 = exec.launch @abs_of_row(%0) : (tensor<1x262144xf32>) -> tensor<1x262144xf32>
  return %1 : tensor<1x262144xf32>
}

// -----

// Each row would read 256 MiB of weights for 2 MiB of values.

grad.state parameter @weights : tensor<8192x8192xf32> = dense<1.0> : tensor<8192x8192xf32>

// CHECK: func.func @heavy(
exec.kernel @product(%x: tensor<2048x8192xf32>, %w: tensor<8192x8192xf32>) attributes {flops = 274877906944 : i64} {
  %0 = grad.matmul %x, %w : tensor<2048x8192xf32>, tensor<8192x8192xf32>
  exec.yield %0 : tensor<2048x8192xf32>
}
exec.kernel @product_of_row(%x: tensor<1x8192xf32>, %w: tensor<8192x8192xf32>) attributes {flops = 134217728 : i64} {
  %0 = grad.matmul %x, %w : tensor<1x8192xf32>, tensor<8192x8192xf32>
  exec.yield %0 : tensor<1x8192xf32>
}
func.func @heavy(%x: tensor<2048x8192xf32> {grad.batched, grad.role = "data"})
    -> (tensor<2048x8192xf32> {grad.role = "output"}) attributes {grad.batch = 2048 : i64, grad.rows} {
  %w = grad.read @weights : tensor<8192x8192xf32>
  %0 = exec.launch @product(%x, %w) : (tensor<2048x8192xf32>, tensor<8192x8192xf32>) -> tensor<2048x8192xf32>
  %1 = exec.launch @product(%0, %w) : (tensor<2048x8192xf32>, tensor<8192x8192xf32>) -> tensor<2048x8192xf32>
  return %1 : tensor<2048x8192xf32>
}
func.func @heavy.rows.1(%x: tensor<1x8192xf32> {grad.role = "data"})
    -> (tensor<1x8192xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %w = grad.read @weights : tensor<8192x8192xf32>
  %0 = exec.launch @product_of_row(%x, %w) : (tensor<1x8192xf32>, tensor<8192x8192xf32>) -> tensor<1x8192xf32>
  %1 = exec.launch @product_of_row(%0, %w) : (tensor<1x8192xf32>, tensor<8192x8192xf32>) -> tensor<1x8192xf32>
  return %1 : tensor<1x8192xf32>
}

// -----

// Of a table, a row reads as much as it computes.

// CHECK: exec.entry @looks_up arena 0 each_row @looks_up.rows.1
grad.state parameter @table : tensor<16384x4096xf32> = dense<1.0> : tensor<16384x4096xf32>
exec.kernel @look_up(%t: tensor<16384x4096xf32>, %x: tensor<64x64xi32>) {
  %0 = grad.gather %t[%x] dims [-1, 2] index_dims [0, 1] : tensor<16384x4096xf32>, tensor<64x64xi32>
  exec.yield %0 : tensor<64x64x4096xf32>
}
exec.kernel @abs(%x: tensor<64x64x4096xf32>) {
  %0 = grad.abs %x : tensor<64x64x4096xf32>
  exec.yield %0 : tensor<64x64x4096xf32>
}
exec.kernel @look_up_of_row(%t: tensor<16384x4096xf32>, %x: tensor<1x64xi32>) {
  %0 = grad.gather %t[%x] dims [-1, 2] index_dims [0, 1] : tensor<16384x4096xf32>, tensor<1x64xi32>
  exec.yield %0 : tensor<1x64x4096xf32>
}
exec.kernel @abs_of_row(%x: tensor<1x64x4096xf32>) {
  %0 = grad.abs %x : tensor<1x64x4096xf32>
  exec.yield %0 : tensor<1x64x4096xf32>
}
func.func @looks_up(%x: tensor<64x64xi32> {grad.batched, grad.role = "data"})
    -> (tensor<64x64x4096xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.rows} {
  %t = grad.read @table : tensor<16384x4096xf32>
  %0 = exec.launch @look_up(%t, %x) : (tensor<16384x4096xf32>, tensor<64x64xi32>) -> tensor<64x64x4096xf32>
  %1 = exec.launch @abs(%0) : (tensor<64x64x4096xf32>) -> tensor<64x64x4096xf32>
  return %1 : tensor<64x64x4096xf32>
}
func.func @looks_up.rows.1(%x: tensor<1x64xi32> {grad.role = "data"})
    -> (tensor<1x64x4096xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %t = grad.read @table : tensor<16384x4096xf32>
  %0 = exec.launch @look_up_of_row(%t, %x) : (tensor<16384x4096xf32>, tensor<1x64xi32>) -> tensor<1x64x4096xf32>
  %1 = exec.launch @abs_of_row(%0) : (tensor<1x64x4096xf32>) -> tensor<1x64x4096xf32>
  return %1 : tensor<1x64x4096xf32>
}

// The launch @exp serves all rows of a batch; one by one, each row would repeat it.

// CHECK: func.func @shares(
exec.kernel @exp(%t: tensor<16384x4096xf32>) attributes {flops = 67108864 : i64} {
  %0 = grad.exp %t : tensor<16384x4096xf32>
  exec.yield %0 : tensor<16384x4096xf32>
}
func.func @shares(%x: tensor<64x64xi32> {grad.batched, grad.role = "data"})
    -> (tensor<64x64x4096xf32> {grad.role = "output"}) attributes {grad.batch = 64 : i64, grad.rows} {
  %t = grad.read @table : tensor<16384x4096xf32>
  %s = exec.launch @exp(%t) : (tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
  %0 = exec.launch @look_up(%s, %x) : (tensor<16384x4096xf32>, tensor<64x64xi32>) -> tensor<64x64x4096xf32>
  %1 = exec.launch @abs(%0) : (tensor<64x64x4096xf32>) -> tensor<64x64x4096xf32>
  return %1 : tensor<64x64x4096xf32>
}
func.func @shares.rows.1(%x: tensor<1x64xi32> {grad.role = "data"})
    -> (tensor<1x64x4096xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %t = grad.read @table : tensor<16384x4096xf32>
  %s = exec.launch @exp(%t) : (tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
  %0 = exec.launch @look_up_of_row(%s, %x) : (tensor<16384x4096xf32>, tensor<1x64xi32>) -> tensor<1x64x4096xf32>
  %1 = exec.launch @abs_of_row(%0) : (tensor<1x64x4096xf32>) -> tensor<1x64x4096xf32>
  return %1 : tensor<1x64x4096xf32>
}

// -----

// Rows are the lanes of a vector, which one row would not fill.

// CHECK: func.func @lanes(
exec.kernel @fourier(%x: tensor<256x8192x2xf32>) attributes {flops = 272629760 : i64} {
  %0 = grad.fourier %x : tensor<256x8192x2xf32> -> tensor<256x8192x2xf32>
  exec.yield %0 : tensor<256x8192x2xf32>
}
exec.kernel @fourier_of_row(%x: tensor<1x8192x2xf32>) attributes {flops = 1064960 : i64} {
  %0 = grad.fourier %x : tensor<1x8192x2xf32> -> tensor<1x8192x2xf32>
  exec.yield %0 : tensor<1x8192x2xf32>
}
func.func @lanes(%x: tensor<256x8192x2xf32> {grad.batched, grad.role = "data"})
    -> (tensor<256x8192x2xf32> {grad.role = "output"}) attributes {grad.batch = 256 : i64, grad.rows} {
  %0 = exec.launch @fourier(%x) : (tensor<256x8192x2xf32>) -> tensor<256x8192x2xf32>
  %1 = exec.launch @fourier(%0) : (tensor<256x8192x2xf32>) -> tensor<256x8192x2xf32>
  return %1 : tensor<256x8192x2xf32>
}
func.func @lanes.rows.1(%x: tensor<1x8192x2xf32> {grad.role = "data"})
    -> (tensor<1x8192x2xf32> {grad.role = "output"}) attributes {grad.batch = 1 : i64} {
  %0 = exec.launch @fourier_of_row(%x) : (tensor<1x8192x2xf32>) -> tensor<1x8192x2xf32>
  %1 = exec.launch @fourier_of_row(%0) : (tensor<1x8192x2xf32>) -> tensor<1x8192x2xf32>
  return %1 : tensor<1x8192x2xf32>
}
