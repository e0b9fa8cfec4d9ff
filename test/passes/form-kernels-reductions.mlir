// RUN: gradc-opt %s -split-input-file -gradc-decompose -gradc-form-kernels | FileCheck %s

// A softmax is one kernel over rows, which may also write its statistics. The operand of a reduction
// may not be overwritten.

// CHECK-LABEL: func.func @softmax_rows
// CHECK-NEXT: %[[R:.*]]:2 = exec.launch @[[ROWS:.*]](%arg0) {{.*}} -> (tensor<8xf32>, tensor<8x32xf32>)
// CHECK-NEXT: return %[[R]]#1, %[[R]]#0
// CHECK: exec.kernel @[[ROWS]](%[[X:.*]]: tensor<8x32xf32>)
// CHECK-SAME: inplace = array<i64>
// CHECK: grad.reduce_max %[[X]] dims [1]
// CHECK: %[[SUM:.*]] = grad.reduce_sum %{{.*}} dims [1]
// CHECK: %[[Y:.*]] = grad.div
// CHECK: exec.yield %[[SUM]], %[[Y]]
func.func @softmax_rows(%x: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8xf32>) {
  %0 = grad.reduce_max %x dims [1] : tensor<8x32xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %2 = grad.sub %x, %1 : tensor<8x32xf32>
  %3 = grad.exp %2 : tensor<8x32xf32>
  %4 = grad.reduce_sum %3 dims [1] : tensor<8x32xf32>
  %5 = grad.broadcast %4 dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %6 = grad.div %3, %5 : tensor<8x32xf32>
  return %6, %4 : tensor<8x32xf32>, tensor<8xf32>
}

// -----

// The sum over columns that computes a bias gradient joins the bias's update.

// CHECK-LABEL: func.func @column_sum
// CHECK-NEXT: exec.launch @reduce_sum_mul_sub(%arg0, %arg2, %arg1)
// CHECK-NEXT: return
// CHECK: exec.kernel @reduce_sum_mul_sub({{.*}}inplace = array<i64: 2>
func.func @column_sum(%d: tensor<8x32xf32>, %b: tensor<32xf32>, %rate: tensor<f32>) -> tensor<32xf32> {
  %g = grad.reduce_sum %d dims [0] : tensor<8x32xf32>
  %r = grad.broadcast %rate dims [] : tensor<f32> -> tensor<32xf32>
  %0 = grad.mul %g, %r : tensor<32xf32>
  %1 = grad.sub %b, %0 : tensor<32xf32>
  return %1 : tensor<32xf32>
}

// -----

// A column sum reads each element once, so it includes pointwise ops on its operand. Cheap values that several kernels need are
// recomputed in each; within a kernel they are computed once.

// CHECK-LABEL: func.func @column_variance
// CHECK-NEXT: %[[MEAN:.*]] = exec.launch @reduce_sum_mul(%arg0)
// CHECK-NEXT: %[[VARIANCE:.*]] = exec.launch @[[SQUARES:sub_mul.*]](%[[MEAN]], %arg0)
// CHECK-NEXT: %[[Y:.*]] = exec.launch @[[NORMALIZE:sub_exp.*]](%[[MEAN]], %arg0)
// CHECK-NEXT: return %[[VARIANCE]], %[[Y]]
// CHECK: exec.kernel @[[SQUARES]](
// CHECK: grad.sub
// CHECK: exec.kernel @[[NORMALIZE]](
// CHECK: grad.sub
func.func @column_variance(%x: tensor<8x32xf32>, %n: tensor<32xf32>) -> (tensor<32xf32>, tensor<8x32xf32>) {
  %s = grad.reduce_sum %x dims [0] : tensor<8x32xf32>
  %eighth = grad.constant dense<0.125> : tensor<32xf32>
  %mean = grad.mul %s, %eighth : tensor<32xf32>
  %b = grad.broadcast %mean dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %centered = grad.sub %x, %b : tensor<8x32xf32>
  %square = grad.mul %centered, %centered : tensor<8x32xf32>
  %variance = grad.reduce_sum %square dims [0] : tensor<8x32xf32>
  %y = grad.exp %centered : tensor<8x32xf32>
  return %variance, %y : tensor<32xf32>, tensor<8x32xf32>
}

// -----

// Only cheap ops with one tensor operand are repeated, in kernels that read them once: a contraction reads its operands many times.

// CHECK-LABEL: func.func @not_repeated
// CHECK-NEXT: %[[E:.*]] = exec.launch @exp(%arg0)
// CHECK-NEXT: %[[S:.*]] = exec.launch @sub(%arg0, %arg1)
// CHECK-NEXT: exec.launch @reduce_sum(%[[E]])
// CHECK: exec.launch @reduce_sum{{.*}}(%[[S]])
// CHECK: exec.launch @matmul{{.*}}(%[[S]], %arg2)
func.func @not_repeated(%x: tensor<8x32xf32>, %y: tensor<8x32xf32>, %w: tensor<32x4xf32>) -> (tensor<32xf32>, tensor<8xf32>, tensor<32xf32>, tensor<8x4xf32>) {
  %e = grad.exp %x : tensor<8x32xf32>
  %d = grad.sub %x, %y : tensor<8x32xf32>
  %0 = grad.reduce_sum %e dims [0] : tensor<8x32xf32>
  %1 = grad.reduce_sum %e dims [1] : tensor<8x32xf32>
  %2 = grad.reduce_sum %d dims [0] : tensor<8x32xf32>
  %3 = grad.matmul %d, %w : tensor<8x32xf32>, tensor<32x4xf32>
  return %0, %1, %2, %3 : tensor<32xf32>, tensor<8xf32>, tensor<32xf32>, tensor<8x4xf32>
}

// -----

// A small reduction may be repeated inside another one, a large reduction may not.

// CHECK-LABEL: func.func @small_nested_reduction
// CHECK-NEXT: exec.launch @reduce_sum_exp(%arg0)
// CHECK-NEXT: return
func.func @small_nested_reduction(%x: tensor<8x32xf32>) -> tensor<f32> {
  %0 = grad.reduce_sum %x dims [1] : tensor<8x32xf32>
  %1 = grad.exp %0 : tensor<8xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<8xf32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func.func @large_nested_reduction
// CHECK-NEXT: %[[ROWS:.*]] = exec.launch @reduce_sum(%arg0)
// CHECK-NEXT: exec.launch @exp_reduce_sum(%[[ROWS]])
// CHECK-NEXT: return
func.func @large_nested_reduction(%x: tensor<512x64xf32>) -> tensor<f32> {
  %0 = grad.reduce_sum %x dims [1] : tensor<512x64xf32>
  %1 = grad.exp %0 : tensor<512xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<512xf32>
  return %2 : tensor<f32>
}

// -----

// A value broadcast along rows is computed once per row. Broadcast along columns, it would be computed
// once per element, so it stays outside.

// CHECK-LABEL: func.func @row_broadcast
// CHECK-NEXT: exec.launch @exp_mul(%arg1, %arg0)
// CHECK-NEXT: return
func.func @row_broadcast(%x: tensor<8x32xf32>, %b: tensor<8xf32>) -> tensor<8x32xf32> {
  %0 = grad.exp %b : tensor<8xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %2 = grad.mul %x, %1 : tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @column_broadcast
// CHECK-NEXT: %[[B:.*]] = exec.launch @exp(%arg1)
// CHECK-NEXT: exec.launch @mul(%[[B]], %arg0)
// CHECK-NEXT: return
func.func @column_broadcast(%x: tensor<8x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %0 = grad.exp %b : tensor<32xf32>
  %1 = grad.broadcast %0 dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %2 = grad.mul %x, %1 : tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}

// -----

// Overlapping windows would compute their operand 2.25 times per element, so it stays outside.

// CHECK-LABEL: func.func @overlapping_windows
// CHECK-NEXT: %[[X:.*]] = exec.launch @tanh(%arg0)
// CHECK-NEXT: exec.launch @window_max(%[[X]])
func.func @overlapping_windows(%x: tensor<16x16x8x32xf32>) -> tensor<7x7x8x32xf32> {
  %0 = grad.tanh %x : tensor<16x16x8x32xf32>
  %1, %2 = grad.window_max %0 window <[3, 3] stride [2, 2]> : tensor<16x16x8x32xf32>
  return %1 : tensor<7x7x8x32xf32>
}

// -----

// Windows that do not overlap visit each element once.

// CHECK-LABEL: func.func @windows_apart
// CHECK-NEXT: exec.launch @tanh_window_max(%arg0)
// CHECK-NEXT: return
func.func @windows_apart(%x: tensor<16x16x8x32xf32>) -> tensor<8x8x8x32xf32> {
  %0 = grad.tanh %x : tensor<16x16x8x32xf32>
  %1, %2 = grad.window_max %0 window <[2, 2] stride [2, 2]> : tensor<16x16x8x32xf32>
  return %1 : tensor<8x8x8x32xf32>
}

// -----

// In the gradient, each element of the result reads the window above it, so each window is read four times.

// CHECK-LABEL: func.func @windows_back
// CHECK-NEXT: %[[G:.*]] = exec.launch @tanh(%arg0)
// CHECK-NEXT: exec.launch @window_scatter(%[[G]], %arg1)
func.func @windows_back(%g: tensor<8x8x8x32xf32>, %index: tensor<8x8x8x32xi8>) -> tensor<16x16x8x32xf32> {
  %0 = grad.tanh %g : tensor<8x8x8x32xf32>
  %1 = grad.window_scatter %0, %index size [16, 16] window <[2, 2] stride [2, 2]> : tensor<8x8x8x32xf32>, tensor<8x8x8x32xi8>
  return %1 : tensor<16x16x8x32xf32>
}

// -----

// A window reads vectors of neighbors, so a transpose that makes them neighbors has its own kernel, also before windows
// that do not overlap and behind an elementwise op that they hold.

// CHECK-LABEL: func.func @turned_windows
// CHECK-NEXT: %[[X:.*]] = exec.launch @move(%arg0)
// CHECK-NEXT: exec.launch @window_max(%[[X]])
func.func @turned_windows(%x: tensor<8x32x16x16xf32>) -> tensor<7x7x8x32xf32> {
  %0 = grad.transpose %x permutation [2, 3, 0, 1] : tensor<8x32x16x16xf32>
  %1, %2 = grad.window_max %0 window <[3, 3] stride [2, 2]> : tensor<16x16x8x32xf32>
  return %1 : tensor<7x7x8x32xf32>
}

// -----

// CHECK-LABEL: func.func @turned_windows_apart
// CHECK-NEXT: %[[X:.*]] = exec.launch @move(%arg0)
// CHECK-NEXT: exec.launch @tanh_window_sum(%[[X]])
func.func @turned_windows_apart(%x: tensor<8x32x16x16xf32>) -> tensor<8x8x8x32xf32> {
  %0 = grad.transpose %x permutation [2, 3, 0, 1] : tensor<8x32x16x16xf32>
  %1 = grad.tanh %0 : tensor<16x16x8x32xf32>
  %2 = grad.window_sum %1 window <[2, 2] stride [2, 2]> : tensor<16x16x8x32xf32>
  return %2 : tensor<8x8x8x32xf32>
}

// A launch more would take longer than these few gathers; and with the last dim in place, vectors still read neighbors.

// CHECK-LABEL: func.func @few_turned_windows
// CHECK-NEXT: exec.launch @window_max(%arg0)
// CHECK-NEXT: return
func.func @few_turned_windows(%x: tensor<2x8x16x16xf32>) -> tensor<7x7x2x8xf32> {
  %0 = grad.transpose %x permutation [2, 3, 0, 1] : tensor<2x8x16x16xf32>
  %1, %2 = grad.window_max %0 window <[3, 3] stride [2, 2]> : tensor<16x16x2x8xf32>
  return %1 : tensor<7x7x2x8xf32>
}

// -----

// CHECK-LABEL: func.func @windows_of_moved_rows
// CHECK-NEXT: exec.launch @window_max(%arg0)
// CHECK-NEXT: return
func.func @windows_of_moved_rows(%x: tensor<8x16x16x32xf32>) -> tensor<7x7x8x32xf32> {
  %0 = grad.transpose %x permutation [1, 2, 0, 3] : tensor<8x16x16x32xf32>
  %1, %2 = grad.window_max %0 window <[3, 3] stride [2, 2]> : tensor<16x16x8x32xf32>
  return %1 : tensor<7x7x8x32xf32>
}

// -----

// So does a reduction of rows, however few these are. A softmax would gather its rows in each of its passes.

// CHECK-LABEL: func.func @turned_rows
// CHECK-NEXT: %[[X:.*]] = exec.launch @move(%arg0)
// CHECK-NEXT: exec.launch @mul_reduce_max(%[[X]], %arg1)
func.func @turned_rows(%x: tensor<64x128xf32>, %y: tensor<128x64xf32>) -> tensor<128xf32> {
  %0 = grad.transpose %x permutation [1, 0] : tensor<64x128xf32>
  %1 = grad.mul %0, %y : tensor<128x64xf32>
  %2 = grad.reduce_max %1 dims [1] : tensor<128x64xf32>
  return %2 : tensor<128xf32>
}

// -----

// CHECK-LABEL: func.func @turned_softmax
// CHECK-NEXT: %[[X:.*]] = exec.launch @move(%arg0)
// CHECK-NEXT: %[[Y:.*]] = exec.launch @reduce_max_{{.*}}(%[[X]])
// CHECK-NEXT: return %[[Y]]
func.func @turned_softmax(%x: tensor<1x512x512xf32>) -> tensor<1x512x512xf32> {
  %0 = grad.transpose %x permutation [0, 2, 1] : tensor<1x512x512xf32>
  %1 = grad.softmax %0 dim 2 : tensor<1x512x512xf32>
  return %1 : tensor<1x512x512xf32>
}

// -----

// Few elements that are repeated over many rows would be gathered for each of them.

// CHECK-LABEL: func.func @repeated_turned_rows
// CHECK-NEXT: %[[X:.*]] = exec.launch @move(%arg0)
// CHECK-NEXT: exec.launch @mul_reduce_max(%[[X]], %arg1)
func.func @repeated_turned_rows(%x: tensor<16x64xf32>, %y: tensor<1000x64x16xf32>) -> tensor<1000x64xf32> {
  %0 = grad.transpose %x permutation [1, 0] : tensor<16x64xf32>
  %1 = grad.broadcast %0 dims [1, 2] : tensor<64x16xf32> -> tensor<1000x64x16xf32>
  %2 = grad.mul %1, %y : tensor<1000x64x16xf32>
  %3 = grad.reduce_max %2 dims [2] : tensor<1000x64x16xf32>
  return %3 : tensor<1000x64xf32>
}

// -----

// Few elements are gathered, and rows that keep their elements are read as vectors.

// CHECK-LABEL: func.func @few_turned_rows
// CHECK-NEXT: exec.launch @mul_reduce_max(%arg0, %arg1)
// CHECK-NEXT: return
func.func @few_turned_rows(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64xf32> {
  %0 = grad.transpose %x permutation [1, 0] : tensor<64x64xf32>
  %1 = grad.mul %0, %y : tensor<64x64xf32>
  %2 = grad.reduce_max %1 dims [1] : tensor<64x64xf32>
  return %2 : tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func @moved_rows
// CHECK-NEXT: exec.launch @mul_reduce_max(%arg0, %arg1)
// CHECK-NEXT: return
func.func @moved_rows(%x: tensor<32x128x64xf32>, %y: tensor<128x32x64xf32>) -> tensor<128x32xf32> {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<32x128x64xf32>
  %1 = grad.mul %0, %y : tensor<128x32x64xf32>
  %2 = grad.reduce_max %1 dims [2] : tensor<128x32x64xf32>
  return %2 : tensor<128x32xf32>
}

// -----

// A row sum inside an argmax over columns would be computed once per column.

// CHECK-LABEL: func.func @argmax_of_columns
// CHECK-NEXT: %[[SUM:.*]] = exec.launch @reduce_sum(%arg0)
// CHECK-NEXT: exec.launch @{{.*}}argmax
func.func @argmax_of_columns(%x: tensor<64x512xf32>) -> tensor<512xi64> {
  %0 = grad.reduce_sum %x dims [1] : tensor<64x512xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<64xf32> -> tensor<64x512xf32>
  %2 = grad.div %x, %1 : tensor<64x512xf32>
  %3 = grad.argmax %2 dim 0 : tensor<64x512xf32>
  return %3 : tensor<512xi64>
}

// -----

// The loss and its gradient both divide by the number of rows, which makes neither depend on the other.

// CHECK-LABEL: func.func @mean
// CHECK-NEXT: %[[LOSS:.*]] = exec.launch @div_reduce_sum_mul(%arg1, %arg0)
// CHECK-NEXT: %[[GRADIENT:.*]] = exec.launch @div_mul(%arg1, %arg0)
// CHECK-NEXT: return %[[LOSS]], %[[GRADIENT]]
func.func @mean(%x: tensor<64x512xf32>, %rows: tensor<f32> {grad.role = "rows"})
    -> (tensor<f32>, tensor<64x512xf32>) {
  %one = grad.constant dense<1.0> : tensor<f32>
  %0 = grad.div %one, %rows : tensor<f32>
  %1 = grad.reduce_sum %x dims [0, 1] : tensor<64x512xf32>
  %2 = grad.mul %1, %0 : tensor<f32>
  %3 = grad.broadcast %0 dims [] : tensor<f32> -> tensor<64x512xf32>
  %4 = grad.mul %x, %3 : tensor<64x512xf32>
  return %2, %4 : tensor<f32>, tensor<64x512xf32>
}
