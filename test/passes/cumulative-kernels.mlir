// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-decompose=keep-for-kernels -gradc-form-kernels -gradc-schedule | FileCheck %s
// RUN: sed s/LEVEL/cuda:sm_90/ %s | gradc-opt -gradc-decompose=keep-for-kernels | FileCheck %s --check-prefix=STEPS
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-decompose | FileCheck %s --check-prefix=STEPS
// STEPS-NOT: grad.cumulative
module attributes {exec.level = "LEVEL"} {

// Few elements along the dim take log2(n) steps.
// CHECK-LABEL: func.func @few
// CHECK-NOT: @cumulative
// CHECK: return
func.func @few(%x: tensor<1000x15xf32>) -> tensor<1000x15xf32> {
  %0 = grad.cumulative sum %x dim 1 : tensor<1000x15xf32>
  return %0 : tensor<1000x15xf32>
}

// More are a kernel of their own, whose units are rows along that dim. Rows that are neighbours along
// the last dim are a tile of vectors, of fewer vectors if there would be few tiles.
// CHECK-LABEL: exec.kernel @cumulative(
// CHECK: schedule = #exec.schedule<lanes = 16, tile = [1, 1, 1000], order = [0, 1, 2], grain = {{[0-9]+}}, cumulative>
// CHECK-NEXT: grad.cumulative sum %{{.*}} dim 2
// CHECK-NEXT: exec.yield
// CHECK-LABEL: exec.kernel @cumulative_{{[0-9]+}}(
// CHECK: tile = [1, 300, 16], order = [0, 2, 1], grain = {{[0-9]+}}, cumulative>
// CHECK-LABEL: exec.kernel @cumulative_{{[0-9]+}}(
// CHECK: tile = [40, 64], order = [1, 0], grain = {{[0-9]+}}, cumulative>
// CHECK-LABEL: exec.kernel @cumulative_{{[0-9]+}}(
// CHECK: tile = [40, 1], order = [1, 0], grain = {{[0-9]+}}, cumulative>
func.func @many(%x: tensor<4x3x1000xf32>, %y: tensor<4x300x20xbf16>, %z: tensor<40x2000xi64>, %w: tensor<40x1xui8>)
    -> (tensor<4x3x1000xf32>, tensor<4x300x20xbf16>, tensor<40x2000xi64>, tensor<40x1xui8>) {
  %e = grad.exp %x : tensor<4x3x1000xf32>
  %0 = grad.cumulative sum %e dim 2 : tensor<4x3x1000xf32>
  %1 = grad.cumulative sum %y dim 1 reverse : tensor<4x300x20xbf16>
  %2 = grad.cumulative prod %z dim 0 : tensor<40x2000xi64>
  %3 = grad.cumulative sum %w dim 0 exclusive : tensor<40x1xui8>
  return %0, %1, %2, %3 : tensor<4x3x1000xf32>, tensor<4x300x20xbf16>, tensor<40x2000xi64>, tensor<40x1xui8>
}
}
