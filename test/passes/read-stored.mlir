// RUN: gradc-opt %s --gradc-read-stored | FileCheck %s
// RUN: gradc-opt %s --gradc-read-stored --gradc-form-kernels --gradc-skip-roundings | FileCheck %s --check-prefix=KERNEL

// Values read after rounding are read from storage. Values read before it, and values that are only rounded, are unchanged.
// CHECK-LABEL: @stored
// CHECK: %[[Y:.*]] = grad.exp %arg0
// CHECK: %[[EARLY:.*]] = grad.neg %[[Y]]
// CHECK: %[[DOWN:.*]] = grad.cast %[[Y]] storage
// CHECK: %[[UP:.*]] = grad.cast %[[DOWN]] storage
// CHECK: %[[LATE:.*]] = grad.mul %[[UP]], %arg0
// CHECK: %[[ONLY:.*]] = grad.cast %[[LATE]] storage
// CHECK: grad.add %[[LATE]], %[[EARLY]]

// A rounding is in the kernel of its operand, although only its reader needs it.
// KERNEL-LABEL: @apart
// KERNEL: %[[SUM:.*]] = exec.launch @{{.*}} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xbf16>
// KERNEL: exec.launch @{{.*}}(%[[SUM]], %{{.*}} : (tensor<4x6xbf16>, tensor<6x2xbf16>) -> tensor<4x2xf32>
func.func @stored(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xbf16>) {
  %y = grad.exp %x : tensor<4xf32>
  %early = grad.neg %y : tensor<4xf32>
  %down = grad.cast %y storage : tensor<4xf32> -> tensor<4xbf16>
  %up = grad.cast %down storage : tensor<4xbf16> -> tensor<4xf32>
  %late = grad.mul %y, %x : tensor<4xf32>
  %only = grad.cast %late storage : tensor<4xf32> -> tensor<4xbf16>
  %sum = grad.add %late, %early : tensor<4xf32>
  return %sum, %only : tensor<4xf32>, tensor<4xbf16>
}
func.func @apart(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %v: tensor<6x2xbf16>) -> tensor<4x2xf32> {
  %sum = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32>
  %down = grad.cast %sum storage : tensor<4x6xf32> -> tensor<4x6xbf16>
  %y = grad.matmul %down, %v wide : tensor<4x6xbf16>, tensor<6x2xbf16>
  return %y : tensor<4x2xf32>
}
