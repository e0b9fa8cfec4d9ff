// RUN: gradc-opt %s | gradc-opt | FileCheck %s --check-prefix=TRIP
// RUN: gradc-opt %s --canonicalize | FileCheck %s
// RUN: gradc-opt %s --gradc-differentiate --gradc-simplify-algebra --canonicalize --cse | FileCheck %s --check-prefix=GRAD

// Result types are inferred if the syntax has none.
// TRIP-LABEL: @trip
// TRIP: grad.iota dim 1 : tensor<2x3xi32>
// TRIP: grad.reshape %{{.*}} : tensor<2x3xf32> -> tensor<6xf32>
// TRIP: grad.transpose %{{.*}} permutation [1, 0] : tensor<2x3xf32>
// TRIP: grad.broadcast %{{.*}} dims [0, 2] : tensor<2x3xf32> -> tensor<2x4x3xf32>
// TRIP: grad.slice %{{.*}} starts [1, 2] sizes [1, 2] strides [1, -2] : tensor<2x3xf32>
// TRIP: grad.pad %{{.*}} low [1, 0] high [0, 2] interior [0, 1] {value = 5.000000e-01 : f64} : tensor<2x3xf32>
// TRIP: grad.concatenate %{{.*}}, %{{.*}} dim 1 : tensor<2x3xf32>, tensor<2x7xf32>
// TRIP: tensor<3x2xf32>, tensor<2x4x3xf32>, tensor<1x2xf32>, tensor<3x7xf32>, tensor<2x10xf32>
func.func @trip(%x: tensor<2x3xf32>, %y: tensor<2x7xf32>) -> (tensor<2x3xi32>, tensor<6xf32>,
    tensor<3x2xf32>, tensor<2x4x3xf32>, tensor<1x2xf32>, tensor<3x7xf32>, tensor<2x10xf32>) {
  %0 = grad.iota dim 1 : tensor<2x3xi32>
  %1 = grad.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %2 = grad.transpose %x permutation [1, 0] : tensor<2x3xf32>
  %3 = grad.broadcast %x dims [0, 2] : tensor<2x3xf32> -> tensor<2x4x3xf32>
  %4 = grad.slice %x starts [1, 2] sizes [1, 2] strides [1, -2] : tensor<2x3xf32>
  %5 = grad.pad %x low [1, 0] high [0, 2] interior [0, 1] {value = 0.5} : tensor<2x3xf32>
  %6 = grad.concatenate %x, %y dim 1 : tensor<2x3xf32>, tensor<2x7xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xi32>, tensor<6xf32>, tensor<3x2xf32>,
    tensor<2x4x3xf32>, tensor<1x2xf32>, tensor<3x7xf32>, tensor<2x10xf32>
}

// CHECK-LABEL: @moves
func.func @moves() -> (tensor<3x2xi8>, tensor<2x2x3xi8>, tensor<1x2xi8>, tensor<3x7xi8>, tensor<2x4xi8>, tensor<3x2xi1>) {
  %x = grad.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  // CHECK-DAG: dense<{{\[\[}}1, 4], [2, 5], [3, 6]]> : tensor<3x2xi8>
  %0 = grad.transpose %x permutation [1, 0] : tensor<2x3xi8>
  // CHECK-DAG: dense<{{\[\[\[}}1, 2, 3], [1, 2, 3]], {{\[\[}}4, 5, 6], [4, 5, 6]]]> : tensor<2x2x3xi8>
  %1 = grad.broadcast %x dims [0, 2] : tensor<2x3xi8> -> tensor<2x2x3xi8>
  // CHECK-DAG: dense<{{\[\[}}6, 4]]> : tensor<1x2xi8>
  %2 = grad.slice %x starts [1, 2] sizes [1, 2] strides [1, -2] : tensor<2x3xi8>
  // CHECK-DAG: dense<{{\[\[}}7, 7, 7, 7, 7, 7, 7], [1, 7, 2, 7, 3, 7, 7], [4, 7, 5, 7, 6, 7, 7]]> : tensor<3x7xi8>
  %3 = grad.pad %x low [1, 0] high [0, 2] interior [0, 1] {value = 7.0} : tensor<2x3xi8>
  %y = grad.constant dense<[[9], [8]]> : tensor<2x1xi8>
  // CHECK-DAG: dense<{{\[\[}}1, 2, 3, 9], [4, 5, 6, 8]]> : tensor<2x4xi8>
  %4 = grad.concatenate %x, %y dim 1 : tensor<2x3xi8>, tensor<2x1xi8>
  %b = grad.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
  // CHECK-DAG: dense<{{\[\[}}true, false], [false, false], [true, true]]> : tensor<3x2xi1>
  %5 = grad.transpose %b permutation [1, 0] : tensor<2x3xi1>
  return %0, %1, %2, %3, %4, %5 : tensor<3x2xi8>, tensor<2x2x3xi8>, tensor<1x2xi8>, tensor<3x7xi8>, tensor<2x4xi8>, tensor<3x2xi1>
}

// Empty tensors and tensors of rank 0.
// CHECK-LABEL: @edges
func.func @edges(%x: tensor<0x3xf32>, %y: tensor<f32>) -> (tensor<0xf32>, tensor<2x3xf32>, tensor<1x1xf32>, tensor<0x3xf32>) {
  // CHECK: grad.reshape %{{.*}} : tensor<0x3xf32> -> tensor<0xf32>
  %0 = grad.reshape %x : tensor<0x3xf32> -> tensor<0xf32>
  // CHECK: grad.pad
  %1 = grad.pad %x low [2, 0] high [0, 0] interior [4, 0] : tensor<0x3xf32>
  // CHECK: grad.reshape %{{.*}} : tensor<f32> -> tensor<1x1xf32>
  %2 = grad.reshape %y : tensor<f32> -> tensor<1x1xf32>
  %3 = grad.concatenate %x, %x dim 0 : tensor<0x3xf32>, tensor<0x3xf32>
  return %0, %1, %2, %3 : tensor<0xf32>, tensor<2x3xf32>, tensor<1x1xf32>, tensor<0x3xf32>
}

// Ops without effect are removed, and consecutive ops of one kind are merged.
// CHECK-LABEL: @compose
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @compose(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<24xf32>, tensor<4x3x2xf32>, tensor<5x2x6x3x4xf32>) {
  // CHECK-DAG: %[[FLAT:.*]] = grad.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<24xf32>
  // CHECK-DAG: %[[TURNED:.*]] = grad.transpose %[[X]] permutation [2, 1, 0]
  // CHECK-DAG: %[[WIDE:.*]] = grad.broadcast %[[X]] dims [1, 3, 4] : tensor<2x3x4xf32> -> tensor<5x2x6x3x4xf32>
  // CHECK-NOT: grad.
  // CHECK: return %[[X]], %[[FLAT]], %[[TURNED]], %[[WIDE]]
  %0 = grad.reshape %x : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %1 = grad.transpose %0 permutation [0, 1, 2] : tensor<2x3x4xf32>
  %2 = grad.broadcast %1 dims [0, 1, 2] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %3 = grad.concatenate %2 dim 0 : tensor<2x3x4xf32>
  %4 = grad.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %5 = grad.reshape %4 : tensor<6x4xf32> -> tensor<24xf32>
  %6 = grad.transpose %x permutation [1, 2, 0] : tensor<2x3x4xf32>
  %7 = grad.transpose %6 permutation [1, 0, 2] : tensor<3x4x2xf32>
  %8 = grad.broadcast %x dims [0, 2, 3] : tensor<2x3x4xf32> -> tensor<2x6x3x4xf32>
  %9 = grad.broadcast %8 dims [1, 2, 3, 4] : tensor<2x6x3x4xf32> -> tensor<5x2x6x3x4xf32>
  return %3, %5, %7, %9 : tensor<2x3x4xf32>, tensor<24xf32>, tensor<4x3x2xf32>, tensor<5x2x6x3x4xf32>
}

// A moved splat is a splat of any size; an iota and large results stay ops.
// CHECK-LABEL: @large
func.func @large() -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<1024x1024xf32>) {
  %x = grad.constant dense<2.0> : tensor<f32>
  // CHECK-DAG: dense<2.000000e+00> : tensor<4096x4096xf32>
  %0 = grad.broadcast %x dims [] : tensor<f32> -> tensor<4096x4096xf32>
  // CHECK-DAG: grad.iota
  %1 = grad.iota dim 0 : tensor<4096x4096xf32>
  %y = grad.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK-DAG: grad.pad
  %2 = grad.pad %y low [0] high [1048574] interior [0] : tensor<2xf32>
  // CHECK: grad.reshape
  %3 = grad.reshape %2 : tensor<1048576xf32> -> tensor<1024x1024xf32>
  return %0, %1, %3 : tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<1024x1024xf32>
}

// GRAD-LABEL: @gradients
// GRAD-DAG: %[[G:.*]] = grad.constant dense<{{\[\[}}1.000000e+00, 0.000000e+00, 3.000000e+00], [2.000000e+00, 0.000000e+00, 4.000000e+00]]>
// GRAD: return %[[G]]
func.func @gradients() -> tensor<2x3xf32> {
  %x = grad.constant dense<0.0> : tensor<2x3xf32>
  %weights = grad.constant dense<[[3.0, 1.0], [4.0, 2.0]]> : tensor<2x2xf32>
  %s = grad.slice %x starts [0, 2] sizes [2, 2] strides [1, -2] : tensor<2x3xf32>
  %m = grad.mul %s, %weights : tensor<2x2xf32>
  %y = grad.reduce_sum %m dims [0, 1] : tensor<2x2xf32>
  %g = grad.gradient %y wrt %x : tensor<f32>, tensor<2x3xf32>
  return %g : tensor<2x3xf32>
}

// Pad and slice, transpose and its inverse, broadcast and sum, concatenate and slices are adjoint.
// GRAD-LABEL: @adjoints
// GRAD-SAME: %{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<1x3xf32>, %[[W:.*]]: tensor<4x5x7xf32>
// GRAD: %[[SUM:.*]] = grad.reduce_sum %[[W]] dims [0]
// GRAD: %[[INNER:.*]] = grad.slice %[[SUM]] starts [1, 2] sizes [3, 3] strides [1, 2]
// GRAD-DAG: grad.slice %{{.*}} starts [0, 0] sizes [2, 3] strides [1, 1]
// GRAD-DAG: grad.slice %{{.*}} starts [2, 0] sizes [1, 3] strides [1, 1]
func.func @adjoints(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>, %w: tensor<4x5x7xf32>) -> (tensor<2x3xf32>, tensor<1x3xf32>) {
  %c = grad.concatenate %a, %b dim 0 : tensor<2x3xf32>, tensor<1x3xf32>
  %t = grad.transpose %c permutation [1, 0] : tensor<3x3xf32>
  %p = grad.pad %t low [1, 2] high [1, 0] interior [0, 1] : tensor<3x3xf32>
  %w3 = grad.broadcast %p dims [1, 2] : tensor<5x7xf32> -> tensor<4x5x7xf32>
  %m = grad.mul %w3, %w : tensor<4x5x7xf32>
  %y = grad.reduce_sum %m dims [0, 1, 2] : tensor<4x5x7xf32>
  %g:2 = grad.gradient %y wrt %a, %b : tensor<f32>, tensor<2x3xf32>, tensor<1x3xf32>
  return %g#0, %g#1 : tensor<2x3xf32>, tensor<1x3xf32>
}

// A part of integers that is one of the joined operands, such as a size of a shape, is that operand.

// CHECK-LABEL: @joined_sizes
// CHECK-SAME: (%[[N:.*]]: tensor<1xi64>, %[[SIZES:.*]]: tensor<2xi64>
// CHECK: %[[ACROSS:.*]] = grad.slice
// CHECK: %[[FLOATS:.*]] = grad.slice
// CHECK: return %[[SIZES]], %[[N]], %[[ACROSS]], %[[FLOATS]]
func.func @joined_sizes(%n: tensor<1xi64>, %sizes: tensor<2xi64>, %x: tensor<1xf32>) -> (tensor<2xi64>, tensor<1xi64>, tensor<2xi64>, tensor<1xf32>) {
  %shape = grad.concatenate %n, %sizes, %n dim 0 : tensor<1xi64>, tensor<2xi64>, tensor<1xi64>
  %0 = grad.slice %shape starts [1] sizes [2] strides [1] : tensor<4xi64>
  %1 = grad.slice %shape starts [3] sizes [1] strides [1] : tensor<4xi64>
  %2 = grad.slice %shape starts [0] sizes [2] strides [1] : tensor<4xi64>
  %floats = grad.concatenate %x, %x dim 0 : tensor<1xf32>, tensor<1xf32>
  %3 = grad.slice %floats starts [1] sizes [1] strides [1] : tensor<2xf32>
  return %0, %1, %2, %3 : tensor<2xi64>, tensor<1xi64>, tensor<2xi64>, tensor<1xf32>
}
