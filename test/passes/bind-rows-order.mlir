// RUN: gradc-opt %s --gradc-bind-rows="judge" --verify-diagnostics | FileCheck %s

// Dims that hold rows among others, as [steps, rows], are reordered to [rows, steps], of which a run uses the first elements. Reshapes that
// merge or split such a dim transpose; the ops between them stay. The batch is 6.

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: grad.rows
// CHECK: %[[STEPS:.*]] = grad.transpose %{{.*}} permutation [1, 0, 2] : tensor<6x5x4xf32>
// CHECK-NEXT: %[[ROWS:.*]] = grad.transpose %[[STEPS]] permutation [1, 0, 2] : tensor<5x6x4xf32>
// CHECK-NEXT: %[[MERGED:.*]] = grad.reshape %[[ROWS]] : tensor<6x5x4xf32> -> tensor<30x4xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = grad.matmul %[[MERGED]]
// CHECK-NEXT: grad.broadcast
// CHECK-NEXT: %[[SUM:.*]] = grad.add %[[PRODUCT]]
// CHECK-NEXT: %[[SPLIT:.*]] = grad.reshape %[[SUM]] : tensor<30x7xf32> -> tensor<6x5x7xf32>
// CHECK-NEXT: %[[BACK:.*]] = grad.transpose %[[SPLIT]] permutation [1, 0, 2] : tensor<6x5x7xf32>
// CHECK-NEXT: grad.transpose %[[BACK]] permutation [1, 0, 2] : tensor<5x6x7xf32>
func.func @layer(%x: tensor<6x5x4xf32> {grad.batched}, %w: tensor<4x7xf32>, %b: tensor<7xf32>) -> tensor<6x5x7xf32>
    attributes {grad.batch = 6 : i64} {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<6x5x4xf32>
  %1 = grad.reshape %0 : tensor<5x6x4xf32> -> tensor<30x4xf32>
  %2 = grad.matmul %1, %w : tensor<30x4xf32>, tensor<4x7xf32>
  %3 = grad.broadcast %b dims [1] : tensor<7xf32> -> tensor<30x7xf32>
  %4 = grad.add %2, %3 : tensor<30x7xf32>
  %5 = grad.reshape %4 : tensor<30x7xf32> -> tensor<5x6x7xf32>
  %6 = grad.transpose %5 permutation [1, 0, 2] : tensor<5x6x7xf32>
  return %6 : tensor<6x5x7xf32>
}
// A bucket is compared with its entry before the entry's rows are reordered.
// CHECK: func.func @layer.rows.1
// CHECK-SAME: grad.compared
func.func @layer.rows.1(%x: tensor<1x5x4xf32>, %w: tensor<4x7xf32>, %b: tensor<7xf32>) -> tensor<1x5x7xf32>
    attributes {grad.batch = 1 : i64} {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<1x5x4xf32>
  %1 = grad.reshape %0 : tensor<5x1x4xf32> -> tensor<5x4xf32>
  %2 = grad.matmul %1, %w : tensor<5x4xf32>, tensor<4x7xf32>
  %3 = grad.broadcast %b dims [1] : tensor<7xf32> -> tensor<5x7xf32>
  %4 = grad.add %2, %3 : tensor<5x7xf32>
  %5 = grad.reshape %4 : tensor<5x7xf32> -> tensor<5x1x7xf32>
  %6 = grad.transpose %5 permutation [1, 0, 2] : tensor<5x1x7xf32>
  return %6 : tensor<1x5x7xf32>
}

// Rows merged with heads behind them, as PyTorch's attention does, stay as they are; merged with steps as well, they move.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: grad.rows
// CHECK: grad.reshape %{{.*}} : tensor<5x6x12xf32> -> tensor<5x24x3xf32>
// CHECK: %[[STEPS:.*]] = grad.transpose %{{.*}} permutation [1, 0, 2] : tensor<24x5x3xf32>
// CHECK-NEXT: %[[SPLIT:.*]] = grad.reshape %[[STEPS]] : tensor<5x24x3xf32> -> tensor<5x6x4x3xf32>
// CHECK-NEXT: %[[ROWS:.*]] = grad.transpose %[[SPLIT]] permutation [1, 0, 2, 3] : tensor<5x6x4x3xf32>
// CHECK-NEXT: %[[MERGED:.*]] = grad.reshape %[[ROWS]] : tensor<6x5x4x3xf32> -> tensor<30x12xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = grad.matmul %[[MERGED]]
// CHECK-NEXT: %[[APART:.*]] = grad.reshape %[[PRODUCT]] : tensor<30x8xf32> -> tensor<6x5x4x2xf32>
// CHECK-NEXT: %[[BACK:.*]] = grad.transpose %[[APART]] permutation [1, 0, 2, 3] : tensor<6x5x4x2xf32>
// CHECK-NEXT: grad.reshape %[[BACK]] : tensor<5x6x4x2xf32> -> tensor<5x24x2xf32>
func.func @heads(%x: tensor<6x5x12xf32> {grad.batched}, %w: tensor<12x8xf32>) -> tensor<24x5x2xf32> attributes {grad.batch = 6 : i64} {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<6x5x12xf32>
  %1 = grad.reshape %0 : tensor<5x6x12xf32> -> tensor<5x24x3xf32>
  %2 = grad.transpose %1 permutation [1, 0, 2] : tensor<5x24x3xf32>
  %3 = grad.softmax %2 dim 1 : tensor<24x5x3xf32>
  %4 = grad.transpose %3 permutation [1, 0, 2] : tensor<24x5x3xf32>
  %5 = grad.reshape %4 : tensor<5x24x3xf32> -> tensor<30x12xf32>
  %6 = grad.matmul %5, %w : tensor<30x12xf32>, tensor<12x8xf32>
  %7 = grad.reshape %6 : tensor<30x8xf32> -> tensor<5x24x2xf32>
  %8 = grad.transpose %7 permutation [1, 0, 2] : tensor<5x24x2xf32>
  return %8 : tensor<24x5x2xf32>
}

// Rows behind two dims: some of what is before them merges first, then the rest.
// CHECK-LABEL: func.func @twice(
// CHECK-SAME: grad.rows
// CHECK: %[[A:.*]] = grad.transpose %{{.*}} permutation [1, 2, 0, 3] : tensor<6x2x5x4xf32>
// CHECK-NEXT: %[[B:.*]] = grad.transpose %[[A]] permutation [0, 2, 1, 3] : tensor<2x5x6x4xf32>
// CHECK-NEXT: %[[C:.*]] = grad.reshape %[[B]] : tensor<2x6x5x4xf32> -> tensor<2x30x4xf32>
// CHECK-NEXT: %[[D:.*]] = grad.tanh %[[C]]
// CHECK-NEXT: %[[E:.*]] = grad.reshape %[[D]] : tensor<2x30x4xf32> -> tensor<2x6x5x4xf32>
// CHECK-NEXT: %[[F:.*]] = grad.transpose %[[E]] permutation [1, 0, 2, 3] : tensor<2x6x5x4xf32>
// CHECK-NEXT: %[[G:.*]] = grad.reshape %[[F]] : tensor<6x2x5x4xf32> -> tensor<60x4xf32>
// CHECK-NEXT: %[[H:.*]] = grad.exp %[[G]]
// CHECK-NEXT: %[[I:.*]] = grad.reshape %[[H]] : tensor<60x4xf32> -> tensor<6x2x5x4xf32>
// CHECK-NEXT: %[[J:.*]] = grad.transpose %[[I]] permutation [1, 2, 0, 3] : tensor<6x2x5x4xf32>
// CHECK-NEXT: grad.transpose %[[J]] permutation [2, 0, 1, 3] : tensor<2x5x6x4xf32>
func.func @twice(%x: tensor<6x2x5x4xf32> {grad.batched}) -> tensor<6x2x5x4xf32> attributes {grad.batch = 6 : i64} {
  %0 = grad.transpose %x permutation [1, 2, 0, 3] : tensor<6x2x5x4xf32>
  %1 = grad.reshape %0 : tensor<2x5x6x4xf32> -> tensor<2x30x4xf32>
  %2 = grad.tanh %1 : tensor<2x30x4xf32>
  %3 = grad.reshape %2 : tensor<2x30x4xf32> -> tensor<60x4xf32>
  %4 = grad.exp %3 : tensor<60x4xf32>
  %5 = grad.reshape %4 : tensor<60x4xf32> -> tensor<2x5x6x4xf32>
  %6 = grad.transpose %5 permutation [2, 0, 1, 3] : tensor<2x5x6x4xf32>
  return %6 : tensor<6x2x5x4xf32>
}

// The rows move into a dim.
// CHECK-LABEL: func.func @divided(
// CHECK-SAME: grad.rows
// CHECK: %[[A:.*]] = grad.transpose %{{.*}} permutation [1, 0, 2] : tensor<6x10x4xf32>
// CHECK-NEXT: %[[B:.*]] = grad.reshape %[[A]] : tensor<10x6x4xf32> -> tensor<2x5x6x4xf32>
// CHECK-NEXT: %[[C:.*]] = grad.transpose %[[B]] permutation [0, 2, 1, 3] : tensor<2x5x6x4xf32>
// CHECK-NEXT: %[[D:.*]] = grad.reshape %[[C]] : tensor<2x6x5x4xf32> -> tensor<2x30x4xf32>
// CHECK-NEXT: %[[E:.*]] = grad.reduce_sum %[[D]] dims [0] : tensor<2x30x4xf32>
// CHECK-NEXT: %[[F:.*]] = grad.reshape %[[E]] : tensor<30x4xf32> -> tensor<6x5x4xf32>
// CHECK-NEXT: %[[G:.*]] = grad.transpose %[[F]] permutation [1, 0, 2] : tensor<6x5x4xf32>
// CHECK-NEXT: grad.transpose %[[G]] permutation [1, 0, 2] : tensor<5x6x4xf32>
func.func @divided(%x: tensor<6x10x4xf32> {grad.batched}) -> tensor<6x5x4xf32> attributes {grad.batch = 6 : i64} {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<6x10x4xf32>
  %1 = grad.reshape %0 : tensor<10x6x4xf32> -> tensor<2x30x4xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<2x30x4xf32>
  %3 = grad.reshape %2 : tensor<30x4xf32> -> tensor<5x6x4xf32>
  %4 = grad.transpose %3 permutation [1, 0, 2] : tensor<5x6x4xf32>
  return %4 : tensor<6x5x4xf32>
}

// Reshapes in a loop transpose as well.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: grad.rows
// CHECK: grad.scan
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<30x4xf32>, %[[S:.*]]: tensor<5x6x4xf32>):
// CHECK-NEXT: %[[T:.*]] = grad.transpose %[[S]] permutation [1, 0, 2] : tensor<5x6x4xf32>
// CHECK-NEXT: %[[M:.*]] = grad.reshape %[[T]] : tensor<6x5x4xf32> -> tensor<30x4xf32>
// CHECK-NEXT: grad.add %[[H]], %[[M]] : tensor<30x4xf32>
func.func @loop(%x: tensor<6x5x4xf32> {grad.batched}) -> tensor<6x5x4xf32> attributes {grad.batch = 6 : i64} {
  %zeros = grad.constant dense<0.0> : tensor<30x4xf32>
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<6x5x4xf32>
  %1 = grad.scan 3 from (%zeros) over () with (%0) : (tensor<30x4xf32>, tensor<5x6x4xf32>) -> (tensor<30x4xf32>) {
  ^bb0(%h: tensor<30x4xf32>, %s: tensor<5x6x4xf32>):
    %4 = grad.reshape %s : tensor<5x6x4xf32> -> tensor<30x4xf32>
    %5 = grad.add %h, %4 : tensor<30x4xf32>
    grad.yield %5 : tensor<30x4xf32>
  }
  %2 = grad.reshape %1 : tensor<30x4xf32> -> tensor<5x6x4xf32>
  %3 = grad.transpose %2 permutation [1, 0, 2] : tensor<5x6x4xf32>
  return %3 : tensor<6x5x4xf32>
}

// What numbers the elements of the dim needs their order.
// CHECK-LABEL: func.func @numbered(
// CHECK-SAME: grad.exact
// CHECK-COUNT-2: grad.transpose
// CHECK-NOT: grad.transpose
func.func @numbered(%x: tensor<6x5x4xf32> {grad.batched}) -> tensor<6x5x4xf32> attributes {grad.batch = 6 : i64} {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<6x5x4xf32>
  // expected-remark @+1 {{entry "numbered" takes no other number of rows than 6: it reshapes across rows of the batch}}
  %1 = grad.reshape %0 : tensor<5x6x4xf32> -> tensor<30x4xf32>
  %2 = grad.iota dim 0 : tensor<30x4xf32>
  %3 = grad.add %1, %2 : tensor<30x4xf32>
  %4 = grad.reshape %3 : tensor<30x4xf32> -> tensor<5x6x4xf32>
  %5 = grad.transpose %4 permutation [1, 0, 2] : tensor<5x6x4xf32>
  return %5 : tensor<6x5x4xf32>
}

// A constant result that was computed from the batch has another size in a bucket: the entry takes its own number of rows alone. One that
// has the same size in both is no reason.
// CHECK-LABEL: func.func @numbers(
// CHECK-SAME: grad.exact = "a result has more elements for more rows"
// CHECK-NOT: @numbers.rows.1
func.func @numbers(%x: tensor<6x4xf32> {grad.batched}) -> (tensor<6x4xf32>, tensor<6xi64>) attributes {grad.batch = 6 : i64} {
  // expected-remark @below {{entry "numbers" takes no other number of rows than 6: a result has more elements for more rows}}
  %0 = grad.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi64>
  return %x, %0 : tensor<6x4xf32>, tensor<6xi64>
}
func.func @numbers.rows.1(%x: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1xi64>) attributes {grad.batch = 1 : i64} {
  %0 = grad.constant dense<0> : tensor<1xi64>
  return %x, %0 : tensor<1x4xf32>, tensor<1xi64>
}
// CHECK-LABEL: func.func @names(
// CHECK-SAME: grad.rows
// CHECK: func.func @names.rows.1
func.func @names(%x: tensor<6x4xf32> {grad.batched}) -> (tensor<6x4xf32>, tensor<2xi64>) attributes {grad.batch = 6 : i64} {
  %0 = grad.constant dense<[3, 1]> : tensor<2xi64>
  return %x, %0 : tensor<6x4xf32>, tensor<2xi64>
}
func.func @names.rows.1(%x: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<2xi64>) attributes {grad.batch = 1 : i64} {
  %0 = grad.constant dense<[3, 1]> : tensor<2xi64>
  return %x, %0 : tensor<1x4xf32>, tensor<2xi64>
}
