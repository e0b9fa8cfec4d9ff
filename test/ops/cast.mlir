// RUN: gradc-opt %s | gradc-opt | FileCheck %s --check-prefix=TRIP
// RUN: gradc-opt %s --canonicalize | FileCheck %s
// RUN: gradc-opt %s --gradc-differentiate --gradc-simplify-algebra --canonicalize --cse | FileCheck %s --check-prefix=GRAD

// TRIP-LABEL: @trip
// TRIP: grad.cast %{{.*}} : tensor<3xf32> -> tensor<3xui8>
func.func @trip(%x: tensor<3xf32>) -> tensor<3xui8> {
  %0 = grad.cast %x : tensor<3xf32> -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// Casts to integers saturate and truncate; NaN becomes 0.
// CHECK-LABEL: @float_to_int
func.func @float_to_int() -> (tensor<5xi8>, tensor<5xui8>, tensor<3xi64>, tensor<3xui64>, tensor<4xi1>) {
  %x = grad.constant dense<[0x7FC00000, 300.0, -300.0, -1.9, 127.9]> : tensor<5xf32>
  // CHECK-DAG: dense<[0, 127, -128, -1, 127]> : tensor<5xi8>
  %0 = grad.cast %x : tensor<5xf32> -> tensor<5xi8>
  // CHECK-DAG: dense<[0, 255, 0, 0, 127]> : tensor<5xui8>
  %1 = grad.cast %x : tensor<5xf32> -> tensor<5xui8>
  %y = grad.constant dense<[0x7F800000, 0xFF800000, 1.0e19]> : tensor<3xf32>
  // CHECK-DAG: dense<[9223372036854775807, -9223372036854775808, 9223372036854775807]> : tensor<3xi64>
  %2 = grad.cast %y : tensor<3xf32> -> tensor<3xi64>
  // CHECK-DAG: dense<[18446744073709551615, 0, 9999999980506447872]> : tensor<3xui64>
  %3 = grad.cast %y : tensor<3xf32> -> tensor<3xui64>
  %z = grad.constant dense<[0x7FC00000, -0.0, 0.25, -3.0]> : tensor<4xf32>
  // CHECK-DAG: dense<[true, false, true, true]> : tensor<4xi1>
  %4 = grad.cast %z : tensor<4xf32> -> tensor<4xi1>
  return %0, %1, %2, %3, %4 : tensor<5xi8>, tensor<5xui8>, tensor<3xi64>, tensor<3xui64>, tensor<4xi1>
}

// A single rounding, even from 64 bits: 2^54 + 2^30 + 1 is above the middle of two floats, but not in f64.
// CHECK-LABEL: @int_to_float
func.func @int_to_float() -> (tensor<1xi64>, tensor<1xf64>, tensor<2xbf16>, tensor<2xf32>) {
  %x = grad.constant dense<18014399583223809> : tensor<1xi64>
  %f = grad.cast %x : tensor<1xi64> -> tensor<1xf32>
  // CHECK-DAG: dense<18014400656965632> : tensor<1xi64>
  %0 = grad.cast %f : tensor<1xf32> -> tensor<1xi64>
  %u = grad.constant dense<18446744073709551615> : tensor<1xui64>
  // CHECK-DAG: dense<1.8446744073709552E+19> : tensor<1xf64>
  %1 = grad.cast %u : tensor<1xui64> -> tensor<1xf64>
  %i = grad.constant dense<[257, -3]> : tensor<2xi16>
  // CHECK-DAG: dense<[2.560000e+02, -3.000000e+00]> : tensor<2xbf16>
  %2 = grad.cast %i : tensor<2xi16> -> tensor<2xbf16>
  %b = grad.constant dense<[true, false]> : tensor<2xi1>
  // CHECK-DAG: dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf32>
  %3 = grad.cast %b : tensor<2xi1> -> tensor<2xf32>
  return %0, %1, %2, %3 : tensor<1xi64>, tensor<1xf64>, tensor<2xbf16>, tensor<2xf32>
}

// CHECK-LABEL: @int_to_int
func.func @int_to_int() -> (tensor<2xi8>, tensor<2xi32>, tensor<2xui8>) {
  %x = grad.constant dense<[300, -1]> : tensor<2xi32>
  // CHECK-DAG: dense<[44, -1]> : tensor<2xi8>
  %0 = grad.cast %x : tensor<2xi32> -> tensor<2xi8>
  %u = grad.constant dense<[200, 1]> : tensor<2xui8>
  // CHECK-DAG: dense<[200, 1]> : tensor<2xi32>
  %1 = grad.cast %u : tensor<2xui8> -> tensor<2xi32>
  // CHECK-DAG: dense<[44, 255]> : tensor<2xui8>
  %2 = grad.cast %x : tensor<2xi32> -> tensor<2xui8>
  return %0, %1, %2 : tensor<2xi8>, tensor<2xi32>, tensor<2xui8>
}

// CHECK-LABEL: @float_to_float
func.func @float_to_float() -> (tensor<4xf16>, tensor<3xbf16>) {
  %x = grad.constant dense<[1.0e6, 0x7FC00000, 1.0e-7, -0.0]> : tensor<4xf32>
  // CHECK-DAG: dense<[0x7C00, 0x7E00, 1.192090e-07, -0.000000e+00]> : tensor<4xf16>
  %0 = grad.cast %x : tensor<4xf32> -> tensor<4xf16>
  %y = grad.constant dense<[1.00390625, 1.01171875, 3.0e38]> : tensor<3xf64>
  // CHECK-DAG: dense<[1.000000e+00, 1.015630e+00, {{.*}}e+38]> : tensor<3xbf16>
  %1 = grad.cast %y : tensor<3xf64> -> tensor<3xbf16>
  return %0, %1 : tensor<4xf16>, tensor<3xbf16>
}

// CHECK-LABEL: @same_type
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK: return %[[X]]
func.func @same_type(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = grad.cast %x : tensor<3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// GRAD-LABEL: @grad_cast
// GRAD: %[[ONE:.*]] = grad.constant dense<1.000000e+00> : tensor<f32>
// GRAD: return %[[ONE]]
func.func @grad_cast(%x: tensor<f32>) -> tensor<f32> {
  %y = grad.cast %x : tensor<f32> -> tensor<f64>
  %g = grad.gradient %y wrt %x : tensor<f64>, tensor<f32>
  return %g : tensor<f32>
}
