// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-decompose=keep-for-kernels -gradc-form-kernels -gradc-schedule | FileCheck %s
// RUN: sed s/LEVEL/cuda:sm_90/ %s | gradc-opt -gradc-decompose=keep-for-kernels | FileCheck %s --check-prefix=PAIRS
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-decompose | FileCheck %s --check-prefix=PAIRS
// PAIRS-NOT: grad.argsort
// PAIRS-NOT: grad.non_max_suppression
// PAIRS-NOT: grad.positions
module attributes {exec.level = "LEVEL"} {

// Of few elements, or of the widest unsigned ones, all pairs are compared.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT: sort>
// CHECK: return
func.func @pairs(%x: tensor<32x64xf32>, %y: tensor<256xui64>, %z: tensor<32x8xf32>) -> (tensor<32x20xi64>, tensor<256xi64>, tensor<32x2xi64>) {
  %0 = grad.argsort %x dim 1 descending : tensor<32x64xf32> -> tensor<32x20xi64>
  %1 = grad.argsort %y dim 0 : tensor<256xui64> -> tensor<256xi64>
  %2 = grad.argsort %z dim 1 descending : tensor<32x8xf32> -> tensor<32x2xi64>
  return %0, %1, %2 : tensor<32x20xi64>, tensor<256xi64>, tensor<32x2xi64>
}

// The positions of the true ones of few elements are loops.
// CHECK-LABEL: func.func @few_flags
// CHECK-NOT: @positions
// CHECK: return
func.func @few_flags(%x: tensor<3x5xi1>) -> tensor<2x15xi64> {
  %0 = grad.positions %x : tensor<3x5xi1> -> tensor<2x15xi64>
  return %0 : tensor<2x15xi64>
}

// An argsort of more is a kernel of its own, whose units are the rows along the sorted dim.
// CHECK-LABEL: exec.kernel @argsort(
// CHECK: schedule = #exec.schedule<lanes = 16, tile = [1, 1, 8], order = [0, 1, 2], grain = {{[0-9]+}}, sort>
// CHECK-NEXT: grad.argsort %{{.*}} dim 2 descending
// CHECK-NEXT: exec.yield
// CHECK-LABEL: exec.kernel @argsort_{{[0-9]+}}(
// CHECK: tile = [1, 4, 1], order = [0, 2, 1], grain = {{[0-9]+}}, sort>
// CHECK-LABEL: exec.kernel @argsort_{{[0-9]+}}(
// CHECK: tile = [1, 2], order = [0, 1], grain = {{[0-9]+}}, sort>
func.func @rows(%x: tensor<4x3x1000xf32>, %y: tensor<4x300x2xbf16>, %z: tensor<32x64xf32>) -> (tensor<4x3x8xi64>, tensor<4x4x2xi64>, tensor<32x2xi64>) {
  %e = grad.exp %x : tensor<4x3x1000xf32>
  %0 = grad.argsort %e dim 2 descending : tensor<4x3x1000xf32> -> tensor<4x3x8xi64>
  %1 = grad.argsort %y dim 1 : tensor<4x300x2xbf16> -> tensor<4x4x2xi64>
  %2 = grad.argsort %z dim 1 descending : tensor<32x64xf32> -> tensor<32x2xi64>
  return %0, %1, %2 : tensor<4x3x8xi64>, tensor<4x4x2xi64>, tensor<32x2xi64>
}

// A suppression of boxes in f32 or f64 is a kernel, whose units are the classes of an image.
// CHECK-LABEL: exec.kernel @non_max_suppression(
// CHECK: tile = [1, 1, 100], order = [0, 1, 2], grain = {{[0-9]+}}, suppression>
// CHECK-NEXT: grad.non_max_suppression
// CHECK-NEXT: exec.yield
func.func @boxes(%t: tensor<2x100xf32>, %o: tensor<2x5x100xi64>, %c: tensor<2x5x100xi1>, %x: tensor<f32>, %n: tensor<i64>) -> tensor<2x5x100xi1> {
  %e = grad.exp %t : tensor<2x100xf32>
  %0 = grad.non_max_suppression %t, %t, %e, %e, %e order %o candidates %c threshold %x limit %n : tensor<2x100xf32>, tensor<2x5x100xi64>, tensor<2x5x100xi1>, tensor<f32>, tensor<i64>
  return %0 : tensor<2x5x100xi1>
}

// The positions of the true ones of enough elements are a kernel of one tile.
// CHECK-LABEL: exec.kernel @positions(
// CHECK: tile = [2, 16], order = [1, 0], grain = {{[0-9]+}}, positions>
// CHECK-NEXT: grad.positions
// CHECK-NEXT: exec.yield
func.func @flags(%x: tensor<4x4xf32>, %z: tensor<4x4xf32>) -> tensor<2x16xi64> {
  %0 = grad.compare ne %x, %z : tensor<4x4xf32>
  %1 = grad.positions %0 : tensor<4x4xi1> -> tensor<2x16xi64>
  return %1 : tensor<2x16xi64>
}
}
