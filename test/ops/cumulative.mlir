// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRAD

// The decomposition adds the element 1 before, then 2 before, then 4 before.

// CHECK-LABEL: @trip
// DECOMPOSED-LABEL: @trip
func.func @trip(%x: tensor<2x5x3xf32>, %y: tensor<2x3xui8>) -> (tensor<2x5x3xf32>, tensor<2x3xui8>) {
  // CHECK: grad.cumulative sum %arg0 dim 1 : tensor<2x5x3xf32>
  // DECOMPOSED: %[[BY1:.*]] = grad.pad %{{.*}} low [0, 1, 0] high [0, 0, 0]
  // DECOMPOSED: %[[OF2:.*]] = grad.add %arg0, %[[BY1]] : tensor<2x5x3xf32>
  // DECOMPOSED: %[[BY2:.*]] = grad.pad %{{.*}} low [0, 2, 0] high [0, 0, 0]
  // DECOMPOSED: %[[OF4:.*]] = grad.add %[[OF2]], %[[BY2]] : tensor<2x5x3xf32>
  // DECOMPOSED: %[[BY4:.*]] = grad.pad %{{.*}} low [0, 4, 0] high [0, 0, 0]
  // DECOMPOSED: grad.add %[[OF4]], %[[BY4]] : tensor<2x5x3xf32>
  %0 = grad.cumulative sum %x dim 1 : tensor<2x5x3xf32>
  // CHECK: grad.cumulative prod %arg1 dim 1 exclusive reverse : tensor<2x3xui8>
  // DECOMPOSED: %[[MOVED:.*]] = grad.pad %{{.*}} low [0, 0] high [0, 1] {{.*}}1.0
  // DECOMPOSED: %[[BY1:.*]] = grad.pad %{{.*}} low [0, 0] high [0, 1] {{.*}}1.0
  // DECOMPOSED: grad.mul %[[MOVED]], %[[BY1]] : tensor<2x3xui8>
  %1 = grad.cumulative prod %y dim 1 exclusive reverse : tensor<2x3xui8>
  return %0, %1 : tensor<2x5x3xf32>, tensor<2x3xui8>
}

// DECOMPOSED-LABEL: @in_f32
func.func @in_f32(%x: tensor<5xbf16>) -> tensor<5xbf16> {
  // DECOMPOSED: grad.cast %arg0 : tensor<5xbf16> -> tensor<5xf32>
  // DECOMPOSED: grad.pad %{{.*}} low [4] high [0]
  // DECOMPOSED-NEXT: %[[SUM:.*]] = grad.add %{{.*}} : tensor<5xf32>
  // DECOMPOSED-NEXT: grad.cast %[[SUM]] : tensor<5xf32> -> tensor<5xbf16>
  %0 = grad.cumulative sum %x dim 0 : tensor<5xbf16>
  return %0 : tensor<5xbf16>
}

// Integers wrap; a sum of bf16 is rounded once: 259 is between 258 and 260.

// FOLD-LABEL: @values
func.func @values() -> (tensor<5xf32>, tensor<2x3xi8>, tensor<3xui8>, tensor<4xbf16>) {
  %x = grad.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  // FOLD-DAG: dense<[1.400000e+01, 1.200000e+01, 9.000000e+00, 5.000000e+00, 0.000000e+00]>
  %0 = grad.cumulative sum %x dim 0 exclusive reverse : tensor<5xf32>
  %y = grad.constant dense<[[3, 1, 2], [-4, 7, -5]]> : tensor<2x3xi8>
  // FOLD-DAG: dense<{{\[}}[1, 3, 3], [1, -4, -28]]>
  %1 = grad.cumulative prod %y dim 1 exclusive : tensor<2x3xi8>
  %z = grad.constant dense<[200, 100, 1]> : tensor<3xui8>
  // FOLD-DAG: dense<[200, 44, 45]>
  %2 = grad.cumulative sum %z dim 0 : tensor<3xui8>
  %h = grad.constant dense<[256.0, 1.0, 1.0, 1.0]> : tensor<4xbf16>
  // FOLD-DAG: dense<[2.560000e+02, 2.560000e+02, 2.580000e+02, 2.600000e+02]>
  %3 = grad.cumulative sum %h dim 0 : tensor<4xbf16>
  return %0, %1, %2, %3 : tensor<5xf32>, tensor<2x3xi8>, tensor<3xui8>, tensor<4xbf16>
}

// GRAD-LABEL: @gradient_of_sum
func.func @gradient_of_sum(%x: tensor<5xf32>) -> tensor<5xf32> {
  // GRAD: grad.cumulative sum %arg0 dim 0 exclusive : tensor<5xf32>
  %0 = grad.cumulative sum %x dim 0 exclusive : tensor<5xf32>
  %1 = grad.mul %0, %0 : tensor<5xf32>
  %2 = grad.reduce_sum %1 dims [0] : tensor<5xf32>
  // GRAD: %[[G:.*]] = grad.cumulative sum %{{.*}} dim 0 exclusive reverse : tensor<5xf32>
  // GRAD: return %[[G]]
  %3 = grad.gradient %2 wrt %x : tensor<f32>, tensor<5xf32>
  return %3 : tensor<5xf32>
}

// The gradient of products needs no division, so zeros are not special.

// GRAD-LABEL: @gradient_of_product
func.func @gradient_of_product(%x: tensor<5xf32>) -> tensor<5xf32> {
  // GRAD: grad.cumulative prod
  // GRAD: grad.pad
  // GRAD-NOT: grad.div
  // GRAD: return
  %0 = grad.cumulative prod %x dim 0 : tensor<5xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<5xf32>
  %2 = grad.gradient %1 wrt %x : tensor<f32>, tensor<5xf32>
  return %2 : tensor<5xf32>
}

// -----

func.func @c1(%x: tensor<5x3xf32>) {
  // expected-error @+1 {{expected a dim from 0 to 1, found 2}}
  %0 = grad.cumulative sum %x dim 2 : tensor<5x3xf32>
  return
}
