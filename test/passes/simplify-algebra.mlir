// RUN: gradc-opt %s -gradc-simplify-algebra | FileCheck %s

// Each identity applies to its first op and not to the second one, for which it does not hold.

// CHECK-LABEL: @add_zero
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[N:.*]]: tensor<4xi32>)
func.func @add_zero(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  %minus = grad.constant dense<-0.0> : tensor<4xf32>
  %zero = grad.constant dense<0> : tensor<4xi32>
  %plus = grad.constant dense<0.0> : tensor<4xf32>
  %0 = grad.add %x, %minus : tensor<4xf32>
  %1 = grad.add %n, %zero : tensor<4xi32>
  // -0.0 + 0.0 is 0.0.
  // CHECK: %[[KEPT:.*]] = grad.add
  %2 = grad.add %x, %plus : tensor<4xf32>
  // CHECK: return %[[X]], %[[N]], %[[KEPT]]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
}

// CHECK-LABEL: @sub_zero
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @sub_zero(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %plus = grad.constant dense<0.0> : tensor<4xf32>
  %minus = grad.constant dense<-0.0> : tensor<4xf32>
  %0 = grad.sub %x, %plus : tensor<4xf32>
  // CHECK: %[[KEPT:.*]] = grad.sub
  %1 = grad.sub %x, %minus : tensor<4xf32>
  // CHECK: return %[[X]], %[[KEPT]]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @negated_operands
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @negated_operands(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %n = grad.neg %y : tensor<4xf32>
  // CHECK: grad.sub %[[X]], %[[Y]]
  %0 = grad.add %x, %n : tensor<4xf32>
  // CHECK: grad.add %[[X]], %[[Y]]
  %1 = grad.sub %x, %n : tensor<4xf32>
  // -(y - y) is -0.0 and y - y is 0.0, so the operands of a difference are not swapped.
  // CHECK: %[[D:.*]] = grad.sub
  // CHECK: grad.neg %[[D]]
  %2 = grad.sub %x, %y : tensor<4xf32>
  %3 = grad.neg %2 : tensor<4xf32>
  return %0, %1, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @mul
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[N:.*]]: tensor<4xi32>)
func.func @mul(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  %one = grad.constant dense<1.0> : tensor<4xf32>
  %nothing = grad.constant dense<0> : tensor<4xi32>
  %zero = grad.constant dense<0.0> : tensor<4xf32>
  // CHECK-DAG: %[[ZERO:.*]] = grad.constant dense<0> : tensor<4xi32>
  %0 = grad.mul %x, %one : tensor<4xf32>
  %1 = grad.mul %n, %nothing : tensor<4xi32>
  // Infinity times 0.0 is NaN.
  // CHECK: %[[KEPT:.*]] = grad.mul
  %2 = grad.mul %x, %zero : tensor<4xf32>
  // CHECK: return %[[X]], %[[ZERO]], %[[KEPT]]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
}

// CHECK-LABEL: @div
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @div(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = grad.constant dense<1.0> : tensor<4xf32>
  %0 = grad.div %x, %one : tensor<4xf32>
  // NaN / NaN is not 1.
  // CHECK: %[[KEPT:.*]] = grad.div %[[X]], %[[X]]
  %1 = grad.div %x, %x : tensor<4xf32>
  // CHECK: return %[[X]], %[[KEPT]]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @involutions
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xi1>)
func.func @involutions(%x: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  %0 = grad.neg %x : tensor<4xf32>
  %1 = grad.neg %0 : tensor<4xf32>
  %2 = grad.not %b : tensor<4xi1>
  %3 = grad.not %2 : tensor<4xi1>
  // 1 / (1 / x) is only nearly x.
  // CHECK: grad.reciprocal
  // CHECK: %[[KEPT:.*]] = grad.reciprocal
  %4 = grad.reciprocal %x : tensor<4xf32>
  %5 = grad.reciprocal %4 : tensor<4xf32>
  // CHECK: return %[[X]], %[[B]], %[[KEPT]]
  return %1, %3, %5 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// CHECK-LABEL: @select
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<2xi1>)
func.func @select(%x: tensor<2xf32>, %y: tensor<2xf32>, %b: tensor<2xi1>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %yes = grad.constant dense<true> : tensor<2xi1>
  %no = grad.constant dense<false> : tensor<2xi1>
  %mixed = grad.constant dense<[true, false]> : tensor<2xi1>
  %0 = grad.select %yes, %x, %y : tensor<2xf32>
  %1 = grad.select %no, %x, %y : tensor<2xf32>
  %2 = grad.select %b, %x, %x : tensor<2xf32>
  // CHECK: %[[KEPT:.*]] = grad.select
  %3 = grad.select %mixed, %x, %y : tensor<2xf32>
  // CHECK: return %[[X]], %[[Y]], %[[X]], %[[KEPT]]
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @empty_reductions
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @empty_reductions(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
  %0 = grad.reduce_sum %x dims [] : tensor<4xf32>
  %1 = grad.reduce_prod %x dims [] : tensor<4xf32>
  %2 = grad.reduce_max %x dims [] : tensor<4xf32>
  %3 = grad.reduce_min %x dims [] : tensor<4xf32>
  // CHECK: %[[KEPT:.*]] = grad.reduce_max
  %4 = grad.reduce_max %x dims [0] : tensor<4xf32>
  // CHECK: return %[[X]], %[[X]], %[[X]], %[[X]], %[[KEPT]]
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// CHECK-LABEL: @sum_of_broadcast
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
func.func @sum_of_broadcast(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<3x5xf32>) {
  %0 = grad.broadcast %x dims [1] : tensor<4xf32> -> tensor<3x4x5xf32>
  // CHECK-DAG: %[[FIFTEEN:.*]] = grad.constant dense<1.500000e+01> : tensor<4xf32>
  // CHECK-DAG: grad.mul %[[X]], %[[FIFTEEN]]
  %1 = grad.reduce_sum %0 dims [0, 2] : tensor<3x4x5xf32>
  // CHECK-DAG: %[[SUM:.*]] = grad.reduce_sum %[[X]] dims [0] : tensor<4xf32>
  // CHECK-DAG: grad.mul %[[SUM]],
  %2 = grad.reduce_sum %0 dims [0, 1, 2] : tensor<3x4x5xf32>
  // The summed dim has no repetition.
  // CHECK-DAG: grad.reduce_sum %{{.*}} dims [1] : tensor<3x4x5xf32>
  %3 = grad.reduce_sum %0 dims [1] : tensor<3x4x5xf32>
  return %1, %2, %3 : tensor<4xf32>, tensor<f32>, tensor<3x5xf32>
}

// The sum of no elements is 0, although x may be infinite; 200 does not fit in i8.

// CHECK-LABEL: @sum_of_broadcast_kept
func.func @sum_of_broadcast_kept(%x: tensor<4xf32>, %n: tensor<i8>) -> (tensor<4xf32>, tensor<i8>) {
  // CHECK: grad.broadcast
  // CHECK: grad.reduce_sum
  // CHECK: grad.broadcast
  // CHECK: grad.reduce_sum
  %0 = grad.broadcast %x dims [1] : tensor<4xf32> -> tensor<0x4xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<0x4xf32>
  %2 = grad.broadcast %n dims [] : tensor<i8> -> tensor<200xi8>
  %3 = grad.reduce_sum %2 dims [0] : tensor<200xi8>
  return %1, %3 : tensor<4xf32>, tensor<i8>
}

// A constant repeats its number, too: the sum of many equal terms is rounded once.

// CHECK-LABEL: @sum_of_constant
func.func @sum_of_constant() -> (tensor<3xf32>, tensor<f32>) {
  // CHECK-DAG: %[[SUM:.*]] = grad.constant dense<5.242880e+05> : tensor<3xf32>
  // CHECK-DAG: %[[ALL:.*]] = grad.constant dense<0x49C00000> : tensor<f32>
  // CHECK: return %[[SUM]], %[[ALL]]
  %c = grad.constant dense<5.0e-01> : tensor<16x3x65536xf32>
  %0 = grad.reduce_sum %c dims [0, 2] : tensor<16x3x65536xf32>
  %1 = grad.reduce_sum %c dims [0, 1, 2] : tensor<16x3x65536xf32>
  return %0, %1 : tensor<3xf32>, tensor<f32>
}

// Any dim of a constant may hold the rows of the batch if it is as long, unless every run has as many.

// CHECK-LABEL: @sum_of_constant_rows
func.func @sum_of_constant_rows() -> tensor<3xf32> attributes {grad.batch = 16 : i64} {
  // CHECK: grad.reduce_sum
  %c = grad.constant dense<5.0e-01> : tensor<16x3xf32>
  %0 = grad.reduce_sum %c dims [0] : tensor<16x3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @sum_of_exact_rows
func.func @sum_of_exact_rows() -> tensor<3xf32> attributes {grad.batch = 16 : i64, grad.exact = "of 16 rows"} {
  // CHECK: %[[SUM:.*]] = grad.constant dense<8.000000e+00> : tensor<3xf32>
  // CHECK: return %[[SUM]]
  %c = grad.constant dense<5.0e-01> : tensor<16x3xf32>
  %0 = grad.reduce_sum %c dims [0] : tensor<16x3xf32>
  return %0 : tensor<3xf32>
}

// Sums of 16-bit floats accumulate in f32, and so does the product: f16 has no 70000.

// CHECK-LABEL: @sum_of_short_broadcast
// CHECK-SAME: (%[[X:.*]]: tensor<2xf16>
func.func @sum_of_short_broadcast(%x: tensor<2xf16>) -> tensor<2xf16> {
  %0 = grad.broadcast %x dims [1] : tensor<2xf16> -> tensor<70000x2xf16>
  // CHECK-DAG: %[[COUNT:.*]] = grad.constant dense<7.000000e+04> : tensor<2xf32>
  // CHECK-DAG: %[[WIDE:.*]] = grad.cast %[[X]] : tensor<2xf16> -> tensor<2xf32>
  // CHECK: %[[PRODUCT:.*]] = grad.mul %[[WIDE]], %[[COUNT]] : tensor<2xf32>
  // CHECK: %[[SUM:.*]] = grad.cast %[[PRODUCT]] : tensor<2xf32> -> tensor<2xf16>
  // CHECK: return %[[SUM]]
  %1 = grad.reduce_sum %0 dims [0] : tensor<70000x2xf16>
  return %1 : tensor<2xf16>
}

// So does the count of a run's rows.

// CHECK-LABEL: @sum_of_short_rows
// CHECK-SAME: (%[[X:.*]]: tensor<3xbf16>
func.func @sum_of_short_rows(%x: tensor<3xbf16>) -> tensor<3xbf16> attributes {grad.batch = 300 : i64} {
  %0 = grad.broadcast %x dims [1] : tensor<3xbf16> -> tensor<300x3xbf16>
  // CHECK-DAG: %[[WIDE:.*]] = grad.cast %[[X]] : tensor<3xbf16> -> tensor<3xf32>
  // CHECK-DAG: %[[COUNT:.*]] = grad.count %{{.*}} dims [0]
  // CHECK-DAG: %[[COUNTS:.*]] = grad.broadcast %[[COUNT]] dims [] : tensor<f32> -> tensor<3xf32>
  // CHECK: grad.mul %[[WIDE]], %[[COUNTS]] : tensor<3xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<300x3xbf16>
  return %1 : tensor<3xbf16>
}

// CHECK-LABEL: @hoist
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
func.func @hoist(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi1>) {
  %two = grad.constant dense<2.0> : tensor<3x4xf32>
  %bx = grad.broadcast %x dims [1] : tensor<4xf32> -> tensor<3x4xf32>
  %by = grad.broadcast %y dims [1] : tensor<4xf32> -> tensor<3x4xf32>
  // CHECK: %[[TWO:.*]] = grad.constant dense<2.000000e+00> : tensor<4xf32>
  // CHECK-DAG: %[[TWICE:.*]] = grad.mul %[[X]], %[[TWO]] : tensor<4xf32>
  // CHECK-DAG: %[[SUM:.*]] = grad.add %[[TWICE]], %[[Y]] : tensor<4xf32>
  // CHECK-DAG: grad.broadcast %[[SUM]] dims [1] : tensor<4xf32> -> tensor<3x4xf32>
  %0 = grad.mul %bx, %two : tensor<3x4xf32>
  %1 = grad.add %0, %by : tensor<3x4xf32>
  // CHECK-DAG: %[[LESS:.*]] = grad.compare {{ ?}}lt %[[X]], %[[Y]] : tensor<4xf32>
  // CHECK-DAG: grad.broadcast %[[LESS]] dims [1] : tensor<4xi1> -> tensor<3x4xi1>
  %2 = grad.compare lt %bx, %by : tensor<3x4xf32>
  return %1, %2 : tensor<3x4xf32>, tensor<3x4xi1>
}

// CHECK-LABEL: @hoist_kept
func.func @hoist_kept(%x: tensor<4xf32>, %y: tensor<3xf32>, %z: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %bx = grad.broadcast %x dims [1] : tensor<4xf32> -> tensor<3x4xf32>
  %by = grad.broadcast %y dims [0] : tensor<3xf32> -> tensor<3x4xf32>
  // CHECK: grad.add %{{.*}} : tensor<3x4xf32>
  %0 = grad.add %bx, %by : tensor<3x4xf32>
  // CHECK: grad.mul %{{.*}} : tensor<3x4xf32>
  %1 = grad.mul %bx, %z : tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: @transpose_into_matmul
// CHECK-SAME: (%[[A:.*]]: tensor<5x3x2xf32>, %[[B:.*]]: tensor<5x4x3xf32>
func.func @transpose_into_matmul(%a: tensor<5x3x2xf32>, %b: tensor<5x4x3xf32>, %c: tensor<4x3x5xf32>)
    -> (tensor<5x2x4xf32>, tensor<5x2x4xf32>) {
  %ta = grad.transpose %a permutation [0, 2, 1] : tensor<5x3x2xf32>
  %tb = grad.transpose %b permutation [0, 2, 1] : tensor<5x4x3xf32>
  // CHECK: grad.matmul %[[A]], %[[B]] transpose_lhs transpose_rhs :
  %0 = grad.matmul %ta, %tb : tensor<5x2x3xf32>, tensor<5x3x4xf32>
  // A permutation that moves the batch is not free.
  // CHECK: %[[C:.*]] = grad.transpose
  // CHECK: grad.matmul %[[A]], %[[C]] transpose_lhs :
  %tc = grad.transpose %c permutation [2, 1, 0] : tensor<4x3x5xf32>
  %1 = grad.matmul %ta, %tc : tensor<5x2x3xf32>, tensor<5x3x4xf32>
  return %0, %1 : tensor<5x2x4xf32>, tensor<5x2x4xf32>
}

// The result of a mean that keeps its dims: ops are computed without the dims of size 1.

// CHECK-LABEL: @unit_dims
// CHECK-SAME: (%[[X:.*]]: tensor<4x5xf32>)
func.func @unit_dims(%x: tensor<4x5xf32>) -> tensor<4x1x5x1xf32> {
  %one = grad.constant dense<1.0> : tensor<4x1x5x1xf32>
  %0 = grad.reshape %x : tensor<4x5xf32> -> tensor<4x1x5x1xf32>
  // CHECK: %[[ONE:.*]] = grad.constant dense<1.000000e+00> : tensor<4x5xf32>
  // CHECK: %[[S:.*]] = grad.add %[[X]], %[[ONE]] : tensor<4x5xf32>
  // CHECK: %[[R:.*]] = grad.rsqrt %[[S]] : tensor<4x5xf32>
  %1 = grad.add %0, %one : tensor<4x1x5x1xf32>
  %2 = grad.rsqrt %1 : tensor<4x1x5x1xf32>
  // CHECK: grad.reshape %[[R]] : tensor<4x5xf32> -> tensor<4x1x5x1xf32>
  return %2 : tensor<4x1x5x1xf32>
}

// Unchanged: operands reshaped differently, reshapes that remove or regroup dims, and results whose gradient
// is requested.

// CHECK-LABEL: @other_reshapes
func.func @other_reshapes(%x: tensor<4x1xf32>, %y: tensor<4xf32>, %z: tensor<1x4xf32>, %w: tensor<2x2xf32>)
    -> (tensor<1x4x1xf32>, tensor<4xf32>, tensor<1x4xf32>, tensor<1x4x1xf32>) {
  %0 = grad.reshape %x : tensor<4x1xf32> -> tensor<1x4x1xf32>
  %1 = grad.reshape %z : tensor<1x4xf32> -> tensor<1x4x1xf32>
  // CHECK: grad.add %{{.*}}, %{{.*}} : tensor<1x4x1xf32>
  %2 = grad.add %0, %1 : tensor<1x4x1xf32>
  %3 = grad.reshape %z : tensor<1x4xf32> -> tensor<4xf32>
  // CHECK: grad.exp %{{.*}} : tensor<4xf32>
  %4 = grad.exp %3 : tensor<4xf32>
  %5 = grad.reshape %w : tensor<2x2xf32> -> tensor<1x4xf32>
  // CHECK: grad.exp %{{.*}} : tensor<1x4xf32>
  %6 = grad.exp %5 : tensor<1x4xf32>
  %7 = grad.reshape %y : tensor<4xf32> -> tensor<1x4x1xf32>
  // CHECK: %[[T:.*]] = grad.optimization_barrier "t" %{{.*}} : tensor<1x4x1xf32>
  %8 = grad.optimization_barrier "t" %7 : tensor<1x4x1xf32>
  // CHECK: grad.exp %[[T]] : tensor<1x4x1xf32>
  %exp = grad.exp %8 : tensor<1x4x1xf32>
  %9 = grad.reduce_sum %exp dims [0, 1, 2] : tensor<1x4x1xf32>
  %10 = grad.gradient %9 wrt %8 : tensor<f32>, tensor<1x4x1xf32>
  return %2, %4, %6, %10 : tensor<1x4x1xf32>, tensor<4xf32>, tensor<1x4xf32>, tensor<1x4x1xf32>
}

// CHECK-LABEL: @pad_by_nothing
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @pad_by_nothing(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<5xf32>) {
  %0 = grad.pad %x low [0] high [0] interior [0] : tensor<4xf32>
  // CHECK: %[[P:.*]] = grad.pad %[[X]] low [1]
  %1 = grad.pad %x low [1] high [0] interior [0] : tensor<4xf32>
  // CHECK: return %[[X]], %[[P]]
  return %0, %1 : tensor<4xf32>, tensor<5xf32>
}

// The gradient of a max pool after a ReLU: the mask of the ReLU's result, of which the pool took the maxima, is that of
// the maxima where a gradient arrives.

// CHECK-LABEL: @mask_of_maxima
// CHECK-SAME: (%[[X:.*]]: tensor<5x5x2xf32>, %[[G:.*]]: tensor<2x2x2xf32>)
func.func @mask_of_maxima(%x: tensor<5x5x2xf32>, %g: tensor<2x2x2xf32>) -> (tensor<2x2x2xf32>, tensor<5x5x2xf32>) {
  %zero = grad.constant dense<0.0> : tensor<5x5x2xf32>
  // CHECK-DAG: %[[ZERO:.*]] = grad.constant dense<0.000000e+00> : tensor<2x2x2xf32>
  // CHECK-DAG: %[[MAX:.*]], %[[TAP:.*]] = grad.window_max
  %r = grad.relu %x : tensor<5x5x2xf32>
  %max, %tap = grad.window_max %r window <[3, 3] stride [2, 2]> : tensor<5x5x2xf32>
  // CHECK: %[[MASK:.*]] = grad.compare gt %[[MAX]], %[[ZERO]]
  // CHECK: %[[MASKED:.*]] = grad.select %[[MASK]], %[[G]], %[[ZERO]]
  // CHECK: %[[D:.*]] = grad.window_scatter %[[MASKED]], %[[TAP]] size [5, 5]
  // CHECK: return %[[MAX]], %[[D]]
  %back = grad.window_scatter %g, %tap size [5, 5] window <[3, 3] stride [2, 2]> : tensor<2x2x2xf32>, tensor<2x2x2xi8>
  %mask = grad.compare gt %r, %zero : tensor<5x5x2xf32>
  %d = grad.select %mask, %back, %zero : tensor<5x5x2xf32>
  return %max, %d : tensor<2x2x2xf32>, tensor<5x5x2xf32>
}

// Unchanged: a mask of something else, a value other than 0 elsewhere (-0 too), a threshold per element, and a scattered
// value that something else reads. Maxima of 8 bits are no taps.

// CHECK-LABEL: @other_masks
// CHECK-COUNT-5: grad.compare gt %{{.*}}, %{{.*}} : tensor<4x4xf32>
func.func @other_masks(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %g: tensor<2x2xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = grad.constant dense<0.0> : tensor<4x4xf32>
  %negative = grad.constant dense<-0.0> : tensor<4x4xf32>
  %one = grad.constant dense<1.0> : tensor<4x4xf32>
  %max, %tap = grad.window_max %x window <[2, 2] stride [2, 2]> : tensor<4x4xf32>
  %b0 = grad.window_scatter %g, %tap size [4, 4] window <[2, 2] stride [2, 2]> : tensor<2x2xf32>, tensor<2x2xi8>
  %c0 = grad.compare gt %y, %zero : tensor<4x4xf32>
  %0 = grad.select %c0, %b0, %zero : tensor<4x4xf32>
  %h = grad.neg %g : tensor<2x2xf32>
  %b1 = grad.window_scatter %h, %tap size [4, 4] window <[2, 2] stride [2, 2]> : tensor<2x2xf32>, tensor<2x2xi8>
  %c1 = grad.compare gt %x, %zero : tensor<4x4xf32>
  %1 = grad.select %c1, %b1, %one : tensor<4x4xf32>
  %b2 = grad.window_scatter %max, %tap size [4, 4] window <[2, 2] stride [2, 2]> : tensor<2x2xf32>, tensor<2x2xi8>
  %c2 = grad.compare gt %x, %one : tensor<4x4xf32>
  %2 = grad.select %c2, %b2, %negative : tensor<4x4xf32>
  %k = grad.exp %g : tensor<2x2xf32>
  %b3 = grad.window_scatter %k, %tap size [4, 4] window <[2, 2] stride [2, 2]> : tensor<2x2xf32>, tensor<2x2xi8>
  %c3 = grad.compare gt %x, %y : tensor<4x4xf32>
  %3 = grad.select %c3, %b3, %zero : tensor<4x4xf32>
  %l = grad.sqrt %g : tensor<2x2xf32>
  %b4 = grad.window_scatter %l, %tap size [4, 4] window <[2, 2] stride [2, 2]> : tensor<2x2xf32>, tensor<2x2xi8>
  %c4 = grad.compare gt %x, %negative : tensor<4x4xf32>
  %4 = grad.select %c4, %b4, %zero : tensor<4x4xf32>
  return %0, %1, %2, %3, %4, %b4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: @maxima_as_taps
// CHECK: grad.compare gt %{{.*}}, %{{.*}} : tensor<4x4xi8>
func.func @maxima_as_taps(%x: tensor<4x4xi8>, %g: tensor<2x2xi8>) -> tensor<4x4xi8> {
  %zero = grad.constant dense<0> : tensor<4x4xi8>
  %max, %tap = grad.window_max %x window <[2, 2] stride [2, 2]> : tensor<4x4xi8>
  %back = grad.window_scatter %g, %max size [4, 4] window <[2, 2] stride [2, 2]> : tensor<2x2xi8>, tensor<2x2xi8>
  %mask = grad.compare gt %x, %zero : tensor<4x4xi8>
  %0 = grad.select %mask, %back, %zero : tensor<4x4xi8>
  return %0 : tensor<4x4xi8>
}

// A pad that puts elements on a diagonal is a select, unless it is read in another shape; other strides put them elsewhere.
// CHECK-LABEL: @diagonal
// CHECK-SAME: (%[[X:.*]]: tensor<5x3xf32>)
func.func @diagonal(%x: tensor<5x3xf32>) -> (tensor<5x3x3xf32>, tensor<5x9xf32>, tensor<5x7x1xf32>) {
  // CHECK-DAG: %[[I:.*]] = grad.iota dim 0 : tensor<3x3xi32>
  // CHECK-DAG: %[[J:.*]] = grad.iota dim 1 : tensor<3x3xi32>
  // CHECK-DAG: %[[TWO:.*]] = grad.constant dense<2.000000e+00> : tensor<5x3x3xf32>
  // CHECK-DAG: %[[E:.*]] = grad.compare {{ ?}}eq %[[I]], %[[J]]
  // CHECK-DAG: %[[ON:.*]] = grad.broadcast %[[E]] dims [1, 2]
  // CHECK-DAG: %[[R:.*]] = grad.broadcast %[[X]] dims [0, 1]
  // CHECK-DAG: %[[D:.*]] = grad.select %[[ON]], %[[R]], %[[TWO]]
  // CHECK-DAG: %[[KEPT:.*]] = grad.pad %[[X]] low [0, 0] high [0, 0] interior [0, 3]
  %p = grad.pad %x low [0, 0] high [0, 0] interior [0, 3] {value = 2.0 : f64} : tensor<5x3xf32>
  %0 = grad.reshape %p : tensor<5x9xf32> -> tensor<5x3x3xf32>
  // CHECK-DAG: %[[OTHER:.*]] = grad.pad %[[X]] low [0, 0] high [0, 0] interior [0, 2]
  // CHECK-DAG: %[[LAST:.*]] = grad.reshape %[[OTHER]]
  %q = grad.pad %x low [0, 0] high [0, 0] interior [0, 2] {value = 2.0 : f64} : tensor<5x3xf32>
  %1 = grad.reshape %q : tensor<5x7xf32> -> tensor<5x7x1xf32>
  // CHECK: return %[[D]], %[[KEPT]], %[[LAST]]
  return %0, %p, %1 : tensor<5x3x3xf32>, tensor<5x9xf32>, tensor<5x7x1xf32>
}
