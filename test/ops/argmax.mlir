// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @inference
func.func @inference(%x: tensor<2x3xf32>) -> tensor<2xi64> {
  // CHECK: grad.argmax %{{.*}} dim 1 : tensor<2x3xf32>
  %0 = grad.argmax %x dim 1 : tensor<2x3xf32>
  return %0 : tensor<2xi64>
}

// The first of equal elements, and of NaNs.

// FOLD-LABEL: @values
func.func @values() -> (tensor<3xi64>, tensor<i64>) {
  %x = grad.constant dense<[[1.0, 2.0, 2.0], [5.0, 0x7FC00000, 0x7FC00000], [0xFF800000, 0xFF800000, 0xFF800000]]> : tensor<3x3xf32>
  %n = grad.constant dense<[100, 200]> : tensor<2xui8>
  // FOLD-DAG: dense<[1, 1, 0]> : tensor<3xi64>
  %0 = grad.argmax %x dim 1 : tensor<3x3xf32>
  // FOLD-DAG: dense<1> : tensor<i64>
  %1 = grad.argmax %n dim 0 : tensor<2xui8>
  return %0, %1 : tensor<3xi64>, tensor<i64>
}

// -----

func.func @c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dims in [0, 2), found 2}}
  %0 = grad.argmax %x dim 2 : tensor<2x3xf32>
}

// -----

func.func @c2(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{expected at least one element to reduce, found dim 1 of size 0}}
  %0 = grad.argmax %x dim 1 : tensor<2x0xf32>
}
