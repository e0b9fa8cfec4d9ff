// RUN: gradc-opt %s -gradc-flatten-indices -gradc-form-kernels -gradc-choose-layouts -gradc-schedule -gradc-plan-memory | FileCheck %s

// A step of a cache is written to the output, behind a copy of all of the input. Nothing reads the input after the copy, so a caller may
// have one buffer for both, and then only the step is written. Attention reads the output.

// CHECK-LABEL: exec.entry @step
// CHECK: exec.copy <input 0 at 0 : tensor<4096x64xf32>> -> <output 0 at 0 : tensor<4096x64xf32>>
// CHECK-NOT: input 0
// CHECK: exec.dispatch @set_rows [#exec.slice<output 0 at 0 : tensor<4096x64xf32>>, {{.*}}#exec.slice<input 1 at 0 : tensor<4x64xf32>>] -> [#exec.slice<output 0 at 0 : tensor<4096x64xf32>>]
// CHECK-NOT: input 0
// CHECK: exec.dispatch @matmul {{.*}}#exec.slice<output 0 at 0 : tensor<1x4x1024x64xf32>>] -> [#exec.slice<output 1 at 0 :
// CHECK-NOT: input 0
// CHECK: exec.kernel
func.func @step(%past: tensor<1x4x1024x64xf32>, %key: tensor<1x4x1x64xf32>, %at: tensor<1x1xi64>, %query: tensor<1x4x1x64xf32>)
    -> (tensor<1x4x1024x64xf32>, tensor<1x4x1x1024xf32>) {
  %0 = grad.scatter %past[%at] replace %key dims [0, 1, -1, 3] index_dims [0, 2] : tensor<1x4x1024x64xf32>, tensor<1x4x1x64xf32>, tensor<1x1xi64>
  %1 = grad.matmul %query, %0 transpose_rhs : tensor<1x4x1x64xf32>, tensor<1x4x1024x64xf32>
  return %0, %1 : tensor<1x4x1024x64xf32>, tensor<1x4x1x1024xf32>
}
