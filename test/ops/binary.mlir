// RUN: gradc-opt %s | gradc-opt | FileCheck %s --check-prefix=TRIP
// RUN: gradc-opt %s --canonicalize | FileCheck %s
// RUN: gradc-opt %s --gradc-differentiate --gradc-simplify-algebra --canonicalize --cse | FileCheck %s --check-prefix=GRAD

// TRIP-LABEL: @trip
// TRIP: grad.sub %{{.*}}, %{{.*}} : tensor<3xf32>
// TRIP: grad.xor %{{.*}}, %{{.*}} : tensor<2xi1>
func.func @trip(%x: tensor<3xf32>, %b: tensor<2xi1>) -> (tensor<3xf32>, tensor<2xi1>) {
  %0 = grad.sub %x, %x : tensor<3xf32>
  %1 = grad.xor %b, %b : tensor<2xi1>
  return %0, %1 : tensor<3xf32>, tensor<2xi1>
}

// Integers wrap.
// CHECK-LABEL: @wrap
func.func @wrap() -> (tensor<2xi8>, tensor<2xui8>, tensor<1xi64>) {
  %a = grad.constant dense<[127, -128]> : tensor<2xi8>
  %b = grad.constant dense<[1, 2]> : tensor<2xi8>
  // CHECK-DAG: dense<[-128, -126]> : tensor<2xi8>
  %0 = grad.add %a, %b : tensor<2xi8>
  %u = grad.constant dense<[0, 255]> : tensor<2xui8>
  %v = grad.constant dense<[1, 2]> : tensor<2xui8>
  // CHECK-DAG: dense<[255, 253]> : tensor<2xui8>
  %1 = grad.sub %u, %v : tensor<2xui8>
  %l = grad.constant dense<4611686018427387904> : tensor<1xi64>
  %m = grad.constant dense<6> : tensor<1xi64>
  // CHECK-DAG: dense<-9223372036854775808> : tensor<1xi64>
  %2 = grad.mul %l, %m : tensor<1xi64>
  return %0, %1, %2 : tensor<2xi8>, tensor<2xui8>, tensor<1xi64>
}

// Division and remainder are defined everywhere: by 0, and of the minimum integer by -1.
// CHECK-LABEL: @divide
func.func @divide() -> (tensor<4xi32>, tensor<4xi32>, tensor<2xi64>, tensor<3xui8>, tensor<3xui8>) {
  %a = grad.constant dense<[7, -7, 5, -2147483648]> : tensor<4xi32>
  %b = grad.constant dense<[2, 2, 0, -1]> : tensor<4xi32>
  // CHECK-DAG: dense<[3, -3, 0, -2147483648]> : tensor<4xi32>
  %0 = grad.div %a, %b : tensor<4xi32>
  // CHECK-DAG: dense<[1, -1, 0, 0]> : tensor<4xi32>
  %1 = grad.rem %a, %b : tensor<4xi32>
  %c = grad.constant dense<-9223372036854775808> : tensor<2xi64>
  %d = grad.constant dense<[-1, 2]> : tensor<2xi64>
  // CHECK-DAG: dense<[-9223372036854775808, -4611686018427387904]> : tensor<2xi64>
  %2 = grad.div %c, %d : tensor<2xi64>
  %u = grad.constant dense<[200, 200, 200]> : tensor<3xui8>
  %v = grad.constant dense<[255, 0, 7]> : tensor<3xui8>
  // CHECK-DAG: dense<[0, 0, 28]> : tensor<3xui8>
  %3 = grad.div %u, %v : tensor<3xui8>
  // CHECK-DAG: dense<[200, 0, 4]> : tensor<3xui8>
  %4 = grad.rem %u, %v : tensor<3xui8>
  return %0, %1, %2, %3, %4 : tensor<4xi32>, tensor<4xi32>, tensor<2xi64>, tensor<3xui8>, tensor<3xui8>
}

// CHECK-LABEL: @rem_float
func.func @rem_float() -> tensor<5xf32> {
  %a = grad.constant dense<[5.5, -5.5, 1.0, 3.0, -4.0]> : tensor<5xf32>
  %b = grad.constant dense<[2.0, 2.0, 0x7F800000, 0.0, 2.0]> : tensor<5xf32>
  // CHECK: dense<[1.500000e+00, -1.500000e+00, 1.000000e+00, {{0x[7F]FC00000}}, -0.000000e+00]>
  %0 = grad.rem %a, %b : tensor<5xf32>
  return %0 : tensor<5xf32>
}

// NaN wins on either side.
// CHECK-LABEL: @extremes
func.func @extremes() -> (tensor<4xf32>, tensor<4xf32>, tensor<2xui64>, tensor<2xi64>) {
  %a = grad.constant dense<[1.0, 0x7FC00000, 2.0, 0xFF800000]> : tensor<4xf32>
  %b = grad.constant dense<[3.0, 1.0, 0x7FC00000, 0.0]> : tensor<4xf32>
  // CHECK-DAG: dense<[3.000000e+00, 0x7FC00000, 0x7FC00000, 0.000000e+00]>
  %0 = grad.maximum %a, %b : tensor<4xf32>
  // CHECK-DAG: dense<[1.000000e+00, 0x7FC00000, 0x7FC00000, 0xFF800000]>
  %1 = grad.minimum %a, %b : tensor<4xf32>
  %u = grad.constant dense<[18446744073709551615, 1]> : tensor<2xui64>
  %v = grad.constant dense<[2, 3]> : tensor<2xui64>
  // CHECK-DAG: dense<[18446744073709551615, 3]> : tensor<2xui64>
  %2 = grad.maximum %u, %v : tensor<2xui64>
  %s = grad.constant dense<[-1, 1]> : tensor<2xi64>
  %t = grad.constant dense<[2, 3]> : tensor<2xi64>
  // CHECK-DAG: dense<[-1, 1]> : tensor<2xi64>
  %3 = grad.minimum %s, %t : tensor<2xi64>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<2xui64>, tensor<2xi64>
}

// CHECK-LABEL: @bools
func.func @bools() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %a = grad.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = grad.constant dense<[false, true, false, true]> : tensor<4xi1>
  // CHECK-DAG: dense<[false, false, false, true]>
  %0 = grad.and %a, %b : tensor<4xi1>
  // CHECK-DAG: dense<[false, true, true, true]>
  %1 = grad.or %a, %b : tensor<4xi1>
  // CHECK-DAG: dense<[false, true, true, false]>
  %2 = grad.xor %a, %b : tensor<4xi1>
  return %0, %1, %2 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: @bits
func.func @bits() -> (tensor<2xi8>, tensor<2xui8>, tensor<2xi8>, tensor<2xui8>, tensor<2xi8>) {
  %a = grad.constant dense<[-1, 6]> : tensor<2xi8>
  %b = grad.constant dense<[5, 3]> : tensor<2xi8>
  %u = grad.constant dense<[255, 6]> : tensor<2xui8>
  %v = grad.constant dense<[16, 3]> : tensor<2xui8>
  // CHECK-DAG: dense<[5, 2]> : tensor<2xi8>
  %0 = grad.and %a, %b : tensor<2xi8>
  // CHECK-DAG: dense<[255, 7]> : tensor<2xui8>
  %1 = grad.or %u, %v : tensor<2xui8>
  // CHECK-DAG: dense<[-6, 5]> : tensor<2xi8>
  %2 = grad.xor %a, %b : tensor<2xi8>
  // CHECK-DAG: dense<[0, 249]> : tensor<2xui8>
  %3 = grad.not %u : tensor<2xui8>
  // CHECK-DAG: dense<[0, -7]> : tensor<2xi8>
  %4 = grad.not %a : tensor<2xi8>
  return %0, %1, %2, %3, %4 : tensor<2xi8>, tensor<2xui8>, tensor<2xi8>, tensor<2xui8>, tensor<2xi8>
}

// Shifts by a negative number, or by at least the number of bits, leave only the sign.
// CHECK-LABEL: @shifts
func.func @shifts() -> (tensor<5xi8>, tensor<5xi8>, tensor<3xui8>, tensor<3xui8>) {
  %a = grad.constant dense<[1, -128, -1, 3, -5]> : tensor<5xi8>
  %b = grad.constant dense<[7, 1, 8, -1, 2]> : tensor<5xi8>
  %u = grad.constant dense<[200, 200, 200]> : tensor<3xui8>
  %v = grad.constant dense<[3, 8, 255]> : tensor<3xui8>
  // CHECK-DAG: dense<[-128, 0, 0, 0, -20]> : tensor<5xi8>
  %0 = grad.shift_left %a, %b : tensor<5xi8>
  // CHECK-DAG: dense<[0, -64, -1, 0, -2]> : tensor<5xi8>
  %1 = grad.shift_right %a, %b : tensor<5xi8>
  // CHECK-DAG: dense<[64, 0, 0]> : tensor<3xui8>
  %2 = grad.shift_left %u, %v : tensor<3xui8>
  // CHECK-DAG: dense<[25, 0, 0]> : tensor<3xui8>
  %3 = grad.shift_right %u, %v : tensor<3xui8>
  return %0, %1, %2, %3 : tensor<5xi8>, tensor<5xi8>, tensor<3xui8>, tensor<3xui8>
}

// Powers that equal one correctly rounded operation become that operation; others are unchanged.
// CHECK-LABEL: @powers
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
func.func @powers(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %one = grad.constant dense<1.0> : tensor<3xf32>
  %two = grad.constant dense<2.0> : tensor<3xf32>
  %inverse = grad.constant dense<-1.0> : tensor<3xf32>
  %half = grad.constant dense<0.5> : tensor<3xf32>
  %0 = grad.pow %x, %one : tensor<3xf32>
  // CHECK-DAG: %[[SQUARE:.*]] = grad.mul %[[X]], %[[X]]
  %1 = grad.pow %x, %two : tensor<3xf32>
  // CHECK-DAG: %[[INVERSE:.*]] = grad.reciprocal %[[X]]
  %2 = grad.pow %x, %inverse : tensor<3xf32>
  // CHECK-DAG: %[[ROOT:.*]] = grad.pow %[[X]]
  %3 = grad.pow %x, %half : tensor<3xf32>
  // CHECK: return %[[X]], %[[SQUARE]], %[[INVERSE]], %[[ROOT]]
  return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// GRAD-LABEL: @grad_mul
// GRAD-SAME: (%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>)
// GRAD: return %[[B]], %[[A]]
func.func @grad_mul(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %y = grad.mul %a, %b : tensor<f32>
  %g:2 = grad.gradient %y wrt %a, %b : tensor<f32>, tensor<f32>, tensor<f32>
  return %g#0, %g#1 : tensor<f32>, tensor<f32>
}

// At 0 the derivatives are their limits, not 0 * inf: d/da a^b is 0 at b = 0, d/db 0^b is 0.
// GRAD-LABEL: @grad_pow_at_zero
// GRAD: dense<[0.000000e+00, 1.000000e+00, 0.000000e+00, 6.000000e+00]>
// GRAD: dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, {{.*}}]>
func.func @grad_pow_at_zero() -> (tensor<4xf64>, tensor<4xf64>) {
  %a = grad.constant dense<[0.0, 0.0, 0.0, 3.0]> : tensor<4xf64>
  %b0 = grad.constant dense<[0.0, 1.0, 3.0, 2.0]> : tensor<4xf64>
  // The exponent is a sum with itself, so that it is not constant during differentiation.
  %zero = grad.constant dense<0.0> : tensor<4xf64>
  %b = grad.add %b0, %zero : tensor<4xf64>
  %p = grad.pow %a, %b : tensor<4xf64>
  %y = grad.reduce_sum %p dims [0] : tensor<4xf64>
  %g:2 = grad.gradient %y wrt %a, %b : tensor<f64>, tensor<4xf64>, tensor<4xf64>
  return %g#0, %g#1 : tensor<4xf64>, tensor<4xf64>
}

// Ties share the gradient.
// GRAD-LABEL: @grad_maximum
// GRAD: dense<[0.000000e+00, 5.000000e-01, 1.000000e+00]>
func.func @grad_maximum() -> tensor<3xf32> {
  %a = grad.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = grad.constant dense<2.0> : tensor<3xf32>
  %m = grad.maximum %a, %b : tensor<3xf32>
  %y = grad.reduce_sum %m dims [0] : tensor<3xf32>
  %g = grad.gradient %y wrt %a : tensor<f32>, tensor<3xf32>
  return %g : tensor<3xf32>
}
