// RUN: gradc-opt %s | gradc-opt | FileCheck %s --check-prefix=TRIP
// RUN: gradc-opt %s --canonicalize | FileCheck %s
// RUN: gradc-opt %s --gradc-differentiate --gradc-simplify-algebra --canonicalize --cse | FileCheck %s --check-prefix=GRAD

// TRIP-LABEL: @trip
// TRIP: grad.neg %{{.*}} : tensor<3xi8>
// TRIP: grad.abs %{{.*}} : tensor<3xui16>
// TRIP: grad.exp %{{.*}} : tensor<2x3xbf16>
func.func @trip(%i: tensor<3xi8>, %u: tensor<3xui16>, %x: tensor<2x3xbf16>)
    -> (tensor<3xi8>, tensor<3xui16>, tensor<2x3xbf16>) {
  %0 = grad.neg %i : tensor<3xi8>
  %1 = grad.abs %u : tensor<3xui16>
  %2 = grad.exp %x : tensor<2x3xbf16>
  return %0, %1, %2 : tensor<3xi8>, tensor<3xui16>, tensor<2x3xbf16>
}

// Signs: -0, infinities, NaN, and the minimum integer, which has no opposite.
// CHECK-LABEL: @signs
func.func @signs() -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<2xi8>, tensor<2xi8>, tensor<2xui8>, tensor<3xi64>) {
  %x = grad.constant dense<[-0.0, 0xFF800000, 0x7FC00000, 2.5, -1.0e-40]> : tensor<5xf32>
  %i = grad.constant dense<[-128, 5]> : tensor<2xi8>
  %u = grad.constant dense<[200, 0]> : tensor<2xui8>
  %l = grad.constant dense<[-9223372036854775808, 0, 7]> : tensor<3xi64>
  // CHECK-DAG: dense<[0.000000e+00, 0x7F800000, 0xFFC00000, -2.500000e+00, 9.999940e-41]>
  %0 = grad.neg %x : tensor<5xf32>
  // CHECK-DAG: dense<[0.000000e+00, 0x7F800000, 0x7FC00000, 2.500000e+00, 9.999940e-41]>
  %1 = grad.abs %x : tensor<5xf32>
  // CHECK-DAG: dense<[-0.000000e+00, -1.000000e+00, 0x7FC00000, 1.000000e+00, -1.000000e+00]>
  %2 = grad.sign %x : tensor<5xf32>
  // CHECK-DAG: dense<[-128, -5]> : tensor<2xi8>
  %3 = grad.neg %i : tensor<2xi8>
  // CHECK-DAG: dense<[-128, 5]> : tensor<2xi8>
  %4 = grad.abs %i : tensor<2xi8>
  // CHECK-DAG: dense<[1, 0]> : tensor<2xui8>
  %5 = grad.sign %u : tensor<2xui8>
  // CHECK-DAG: dense<[-1, 0, 1]> : tensor<3xi64>
  %6 = grad.sign %l : tensor<3xi64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<2xi8>, tensor<2xi8>, tensor<2xui8>, tensor<3xi64>
}

// CHECK-LABEL: @rounding
func.func @rounding() -> (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) {
  %x = grad.constant dense<[0.5, 1.5, -0.5, 0x7E00]> : tensor<4xf16>
  // CHECK-DAG: dense<[0.000000e+00, 1.000000e+00, -1.000000e+00, 0x7E00]> : tensor<4xf16>
  %0 = grad.floor %x : tensor<4xf16>
  // CHECK-DAG: dense<[1.000000e+00, 2.000000e+00, -0.000000e+00, 0x7E00]> : tensor<4xf16>
  %1 = grad.ceil %x : tensor<4xf16>
  // CHECK-DAG: dense<[0.000000e+00, 2.000000e+00, -0.000000e+00, 0x7E00]> : tensor<4xf16>
  %2 = grad.round %x : tensor<4xf16>
  return %0, %1, %2 : tensor<4xf16>, tensor<4xf16>, tensor<4xf16>
}

// CHECK-LABEL: @exponentials
func.func @exponentials() -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<2xf64>) {
  %x = grad.constant dense<[0.0, 0xFFF0000000000000, 0x7FF0000000000000, 1.0e-20]> : tensor<4xf64>
  // CHECK-DAG: dense<[1.000000e+00, 0.000000e+00, 0x7FF0000000000000, 1.000000e+00]>
  %0 = grad.exp %x : tensor<4xf64>
  // CHECK-DAG: dense<[0.000000e+00, -1.000000e+00, 0x7FF0000000000000, 9.9999999999999995E-21]>
  %1 = grad.expm1 %x : tensor<4xf64>
  // CHECK-DAG: dense<[0xFFF0000000000000, {{0x[7F]FF8000000000000}}, 0x7FF0000000000000, -46.0517{{.*}}]>
  %2 = grad.log %x : tensor<4xf64>
  %y = grad.constant dense<[-1.0, 1.0e-20]> : tensor<2xf64>
  // CHECK-DAG: dense<[0xFFF0000000000000, 9.9999999999999995E-21]>
  %3 = grad.log1p %y : tensor<2xf64>
  return %0, %1, %2, %3 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<2xf64>
}

// CHECK-LABEL: @roots
func.func @roots() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %x = grad.constant dense<[4.0, -0.0, 0x7F800000]> : tensor<3xf32>
  // CHECK-DAG: dense<[2.000000e+00, -0.000000e+00, 0x7F800000]>
  %0 = grad.sqrt %x : tensor<3xf32>
  // CHECK-DAG: dense<[5.000000e-01, 0xFF800000, 0.000000e+00]>
  %1 = grad.rsqrt %x : tensor<3xf32>
  // CHECK-DAG: dense<[2.500000e-01, 0xFF800000, 0.000000e+00]>
  %2 = grad.reciprocal %x : tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @atan
func.func @atan() -> tensor<4xf64> {
  %x = grad.constant dense<[-0.0, 1.0, 0xFFF0000000000000, 0x7FF8000000000000]> : tensor<4xf64>
  // CHECK: dense<[-0.000000e+00, 0.7853981{{.*}}, -1.5707963{{.*}}, 0x7FF8000000000000]>
  %0 = grad.atan %x : tensor<4xf64>
  return %0 : tensor<4xf64>
}

// A splat of any size is folded on one element.
// CHECK-LABEL: @splat
// CHECK-DAG: dense<1.000000e+00> : tensor<4096x4096xf32>
// CHECK-DAG: dense<0.000000e+00> : tensor<4096x4096xf32>
// CHECK-DAG: dense<false> : tensor<4096x4096xi1>
func.func @splat() -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xi1>) {
  %x = grad.constant dense<0.0> : tensor<4096x4096xf32>
  %b = grad.constant dense<true> : tensor<4096x4096xi1>
  %0 = grad.cos %x : tensor<4096x4096xf32>
  %1 = grad.sin %x : tensor<4096x4096xf32>
  %2 = grad.erf %x : tensor<4096x4096xf32>
  %3 = grad.not %b : tensor<4096x4096xi1>
  return %0, %1, %2, %3 : tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xi1>
}

// GRAD-LABEL: @grad_exp
// GRAD-SAME: (%[[X:.*]]: tensor<f32>)
// GRAD: %[[Y:.*]] = grad.exp %[[X]]
// GRAD: return %[[Y]]
func.func @grad_exp(%x: tensor<f32>) -> tensor<f32> {
  %y = grad.exp %x : tensor<f32>
  %g = grad.gradient %y wrt %x : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// GRAD-LABEL: @grad_log
// GRAD-SAME: (%[[X:.*]]: tensor<f32>)
// GRAD: %[[ONE:.*]] = grad.constant dense<1.0
// GRAD: %[[G:.*]] = grad.div %[[ONE]], %[[X]]
// GRAD: return %[[G]]
func.func @grad_log(%x: tensor<f32>) -> tensor<f32> {
  %y = grad.log %x : tensor<f32>
  %g = grad.gradient %y wrt %x : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// GRAD-LABEL: @grad_atan
// GRAD-SAME: (%[[X:.*]]: tensor<f32>)
// GRAD: %[[SQUARE:.*]] = grad.mul %[[X]], %[[X]]
// GRAD: grad.add %[[SQUARE]]
// GRAD: grad.{{div|reciprocal}}
func.func @grad_atan(%x: tensor<f32>) -> tensor<f32> {
  %y = grad.atan %x : tensor<f32>
  %g = grad.gradient %y wrt %x : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// Rounding has a gradient of 0.
// GRAD-LABEL: @grad_floor
// GRAD: %[[ZERO:.*]] = grad.constant dense<0.0
// GRAD: return %[[ZERO]]
func.func @grad_floor(%x: tensor<f32>) -> tensor<f32> {
  %y = grad.floor %x : tensor<f32>
  %g = grad.gradient %y wrt %x : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}
