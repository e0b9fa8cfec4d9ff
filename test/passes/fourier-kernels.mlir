// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-decompose=keep-for-kernels -gradc-form-kernels -gradc-schedule | FileCheck %s
// RUN: sed s/LEVEL/cuda:sm_90/ %s | gradc-opt -gradc-decompose=keep-for-kernels | FileCheck %s --check-prefix=PRODUCTS
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-decompose | FileCheck %s --check-prefix=PRODUCTS
// PRODUCTS-NOT: grad.fourier
module attributes {exec.level = "LEVEL"} {

// Large factors, too many numbers for the cache, and 16 bits: products.
// CHECK-LABEL: func.func @products
// CHECK-NOT: @fourier
// CHECK: return
func.func @products(%x: tensor<40x34x2xf32>, %y: tensor<1x16384x2xf32>, %z: tensor<40x64x2xbf16>)
    -> (tensor<40x34x2xf32>, tensor<1x16384x2xf32>, tensor<40x64x2xbf16>) {
  %0 = grad.fourier %x : tensor<40x34x2xf32> -> tensor<40x34x2xf32>
  %1 = grad.fourier %y : tensor<1x16384x2xf32> -> tensor<1x16384x2xf32>
  %2 = grad.fourier %z : tensor<40x64x2xbf16> -> tensor<40x64x2xbf16>
  return %0, %1, %2 : tensor<40x34x2xf32>, tensor<1x16384x2xf32>, tensor<40x64x2xbf16>
}

// Others are a kernel of their own, whose units are vectors of rows.
// CHECK-LABEL: exec.kernel @fourier(
// CHECK: schedule = #exec.schedule<lanes = 16, tile = [16, 400, 2], order = [0, 1, 2], grain = {{[0-9]+}}, fourier>
// CHECK-NEXT: grad.fourier %{{.*}} : tensor<40x400x2xf32> -> tensor<40x400x2xf32>
// CHECK-NEXT: exec.yield
// CHECK-LABEL: exec.kernel @fourier_{{[0-9]+}}(
// CHECK: lanes = 16, tile = [16, 201, 2], order = [0, 1, 2], grain = {{[0-9]+}}, fourier>
// CHECK-LABEL: exec.kernel @fourier_{{[0-9]+}}(
// CHECK: lanes = 8, tile = [8, 26, 1], order = [0, 1, 2], grain = {{[0-9]+}}, fourier>
func.func @kernels(%x: tensor<40x400x2xf32>, %y: tensor<40x400x1xf32>, %z: tensor<40x14x2xf64>)
    -> (tensor<40x400x2xf32>, tensor<40x201x2xf32>, tensor<40x26x1xf64>) {
  %e = grad.exp %x : tensor<40x400x2xf32>
  %0 = grad.fourier %e : tensor<40x400x2xf32> -> tensor<40x400x2xf32>
  %1 = grad.fourier %y : tensor<40x400x1xf32> -> tensor<40x201x2xf32>
  %2 = grad.fourier %z inverse : tensor<40x14x2xf64> -> tensor<40x26x1xf64>
  return %0, %1, %2 : tensor<40x400x2xf32>, tensor<40x201x2xf32>, tensor<40x26x1xf64>
}
}
