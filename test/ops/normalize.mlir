// RUN: gradc-opt %s -split-input-file | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-differentiate | FileCheck %s --check-prefix=GRAD
// RUN: gradc-opt %s -split-input-file -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED

// CHECK-LABEL: @batch
func.func @batch(%x: tensor<4x5x2x3xf32>) -> (tensor<4x5x2x3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK: grad.normalize %{{.*}} dims [0, 1, 2] epsilon 1.000000e-05 : tensor<4x5x2x3xf32>
  %0:3 = grad.normalize %x dims [0, 1, 2] epsilon 1.0e-05 : tensor<4x5x2x3xf32>
  return %0#0, %0#1, %0#2 : tensor<4x5x2x3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// The variance is the mean of the squared deviations, in a second pass.

// DECOMPOSED-LABEL: @decomposed
// DECOMPOSED-SAME: (%[[X:.*]]: tensor<2x4xf32>
func.func @decomposed(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) {
  // DECOMPOSED-NOT: grad.normalize
  // DECOMPOSED: %[[SUM:.*]] = grad.reduce_sum %[[X]] dims [1]
  // DECOMPOSED: %[[MEAN:.*]] = grad.mul %[[SUM]], %{{.*}} : tensor<2xf32>
  // DECOMPOSED: %[[ROWS:.*]] = grad.broadcast %[[MEAN]] dims [0]
  // DECOMPOSED: %[[C:.*]] = grad.sub %[[X]], %[[ROWS]]
  // DECOMPOSED: %[[SQUARES:.*]] = grad.mul %[[C]], %[[C]]
  // DECOMPOSED: %[[VSUM:.*]] = grad.reduce_sum %[[SQUARES]] dims [1]
  // DECOMPOSED: %[[VARIANCE:.*]] = grad.mul %[[VSUM]], %{{.*}} : tensor<2xf32>
  // DECOMPOSED: %[[RSTD:.*]] = grad.rsqrt
  // DECOMPOSED: return %{{.*}}, %[[MEAN]], %[[VARIANCE]]
  %0:3 = grad.normalize %x dims [1] epsilon 1.0e-05 : tensor<2x4xf32>
  return %0#0, %0#1, %0#2 : tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// Of 16-bit floats, all is computed in f32: the squares of 300 would exceed f16.

// DECOMPOSED-LABEL: @short
// DECOMPOSED-SAME: (%[[X:.*]]: tensor<2x4xf16>
func.func @short(%x: tensor<2x4xf16>) -> (tensor<2x4xf16>, tensor<2xf32>, tensor<2xf32>) {
  // DECOMPOSED: %[[WIDE:.*]] = grad.cast %[[X]] : tensor<2x4xf16> -> tensor<2x4xf32>
  // DECOMPOSED: %[[SUM:.*]] = grad.reduce_sum %[[WIDE]] dims [1]
  // DECOMPOSED: %[[MEAN:.*]] = grad.mul %[[SUM]], %{{.*}} : tensor<2xf32>
  // DECOMPOSED: %[[VSUM:.*]] = grad.reduce_sum %{{.*}} dims [1] : tensor<2x4xf32>
  // DECOMPOSED: %[[VARIANCE:.*]] = grad.mul %[[VSUM]], %{{.*}} : tensor<2xf32>
  // DECOMPOSED: %[[Y:.*]] = grad.cast %{{.*}} : tensor<2x4xf32> -> tensor<2x4xf16>
  // DECOMPOSED: return %[[Y]], %[[MEAN]], %[[VARIANCE]]
  %0:3 = grad.normalize %x dims [1] epsilon 1.0e-05 : tensor<2x4xf16>
  return %0#0, %0#1, %0#2 : tensor<2x4xf16>, tensor<2xf32>, tensor<2xf32>
}

// -----

// GRAD-LABEL: @gradient_of_short
// GRAD-SAME: (%[[X:.*]]: tensor<2x4xf16>
func.func @gradient_of_short(%x: tensor<2x4xf16>, %w: tensor<2x4xf16>) -> tensor<2x4xf16> {
  %0:3 = grad.normalize %x dims [1] epsilon 1.0e-05 : tensor<2x4xf16>
  %1 = grad.mul %0#0, %w : tensor<2x4xf16>
  %2 = grad.reduce_sum %1 dims [0, 1] : tensor<2x4xf16>
  // GRAD: grad.rsqrt %{{.*}} : tensor<2xf32>
  // GRAD-COUNT-2: grad.reduce_sum %{{.*}} dims [1] : tensor<2x4xf32>
  // GRAD: %[[D:.*]] = grad.cast %{{.*}} : tensor<2x4xf32> -> tensor<2x4xf16>
  // GRAD: return %[[D]]
  %3 = grad.gradient %2 wrt %x : tensor<f16>, tensor<2x4xf16>
  return %3 : tensor<2x4xf16>
}

// -----

// GRAD-LABEL: @gradient
// GRAD-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[W:.*]]: tensor<2x4xf32>
func.func @gradient(%x: tensor<2x4xf32>, %w: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // GRAD: %[[Y:.*]], %{{.*}}, %[[VARIANCE:.*]] = grad.normalize %[[X]]
  %0:3 = grad.normalize %x dims [1] epsilon 1.0e-05 : tensor<2x4xf32>
  %1 = grad.mul %0#0, %w : tensor<2x4xf32>
  %2 = grad.reduce_sum %1 dims [0, 1] : tensor<2x4xf32>
  // GRAD: %[[MOVED:.*]] = grad.add %[[VARIANCE]], %{{.*}} : tensor<2xf32>
  // GRAD: grad.rsqrt %[[MOVED]]
  // GRAD-COUNT-2: grad.reduce_sum %{{.*}} dims [1]
  // GRAD-NOT: grad.reduce_sum
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// If only the statistics are used, nothing else is built.

// GRAD-LABEL: @gradient_of_the_mean
func.func @gradient_of_the_mean(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0:3 = grad.normalize %x dims [1] epsilon 1.0e-05 : tensor<2x4xf32>
  %1 = grad.reduce_sum %0#1 dims [0] : tensor<2xf32>
  // GRAD-NOT: grad.rsqrt
  // GRAD: return
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// -----

// Means over all ranks: sums are added over ranks and divided by the total count.

// DECOMPOSED-LABEL: @of_all_ranks
// DECOMPOSED-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[N:.*]]: tensor<f32>
func.func @of_all_ranks(%x: tensor<2x4xf32>, %n: tensor<f32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  // CHECK: grad.normalize %{{.*}} of %{{.*}} : tensor<f32> dims [0] epsilon
  // DECOMPOSED: %[[SUM:.*]] = grad.reduce_sum %[[X]] dims [0]
  // DECOMPOSED: %[[ALL:.*]] = grad.all_reduce %[[SUM]] : tensor<4xf32>
  // DECOMPOSED: %[[SHARE:.*]] = grad.div %{{.*}}, %[[N]]
  // DECOMPOSED: %[[SPREAD:.*]] = grad.broadcast %[[SHARE]]
  // DECOMPOSED: %[[MEAN:.*]] = grad.mul %[[ALL]], %[[SPREAD]]
  // DECOMPOSED: grad.all_reduce %{{.*}} : tensor<4xf32>
  // DECOMPOSED: return %{{.*}}, %[[MEAN]]
  %0:3 = grad.normalize %x of %n : tensor<f32> dims [0] epsilon 1.0e-05 : tensor<2x4xf32>
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<4xf32>
}

// The two sums of the gradient share a collective.

// GRAD-LABEL: @gradient_of_all_ranks
func.func @gradient_of_all_ranks(%x: tensor<2x4xf32>, %w: tensor<2x4xf32>, %n: tensor<f32>) -> tensor<2x4xf32> {
  %0:3 = grad.normalize %x of %n : tensor<f32> dims [0] epsilon 1.0e-05 : tensor<2x4xf32>
  %1 = grad.mul %0#0, %w : tensor<2x4xf32>
  %2 = grad.reduce_sum %1 dims [0, 1] : tensor<2x4xf32>
  // GRAD-COUNT-2: grad.reduce_sum %{{.*}} dims [0] : tensor<2x4xf32>
  // GRAD: grad.all_reduce %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
  // GRAD-NOT: grad.all_reduce
  // GRAD: return
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
