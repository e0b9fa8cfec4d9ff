// RUN: gradc-opt %s -gradc-decompose | FileCheck %s
// RUN: gradc-opt %s -gradc-decompose=keep-for-libraries | FileCheck %s --check-prefix=KEPT

// The decomposition of each composite is tested with its op. Here: all composites are decomposed, also
// those inside decompositions, and primitives are unchanged.

// CHECK-LABEL: @composites
// CHECK-NOT: grad.{{softmax|gelu|reduce_mean|dropout|random_uniform|sgd}}
// CHECK: return
func.func @composites(%x: tensor<2x4xf32>, %seed: tensor<i32>, %lr: tensor<f32>, %go: tensor<i1>) -> (tensor<2x4xf32>, tensor<2xf32>) {
  %0 = grad.softmax %x dim 1 : tensor<2x4xf32>
  %1 = grad.gelu %0 : tensor<2x4xf32>
  %2 = grad.dropout %1, %seed, %seed stream 0 ratio 0.5 : tensor<2x4xf32>, tensor<i32>
  %3 = grad.sgd %2, %x, %lr, %go : tensor<2x4xf32>, tensor<f32>
  %4 = grad.reduce_mean %3 dims [1] : tensor<2x4xf32>
  return %3, %4 : tensor<2x4xf32>, tensor<2xf32>
}

// cuBLASLt has the tanh form of GELU, in f32.
// CHECK-LABEL: @kept
// CHECK-NOT: grad.gelu
// KEPT-LABEL: @kept
// KEPT-NOT: grad.{{gelu|erf}}
// KEPT: %[[Y:.*]] = grad.gelu %{{.*}} {approximate} : tensor<4xf32>
// KEPT-NEXT: %[[G:.*]] = grad.gelu_grad %[[Y]], %{{.*}} {approximate} : tensor<4xf32>
// KEPT-NOT: grad.gelu
// KEPT: grad.erf
// KEPT-NOT: grad.gelu
// KEPT: return
func.func @kept(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  %0 = grad.gelu %x {approximate} : tensor<4xf32>
  %1 = grad.gelu_grad %0, %x {approximate} : tensor<4xf32>
  %2 = grad.gelu %1 : tensor<4xf32>
  %3 = grad.gelu %h {approximate} : tensor<4xf16>
  return %2, %3 : tensor<4xf32>, tensor<4xf16>
}

// CHECK-LABEL: @primitives
func.func @primitives(%x: tensor<2x4xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: grad.sigmoid
  // CHECK-NEXT: grad.reduce_sum
  // CHECK-NEXT: return
  %0 = grad.sigmoid %x : tensor<2x4xf32>
  %1 = grad.reduce_sum %0 dims [1] : tensor<2x4xf32>
  return %1 : tensor<2xf32>
}
