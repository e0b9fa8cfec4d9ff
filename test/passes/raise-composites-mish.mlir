// RUN: gradc-opt %s -gradc-raise-composites | FileCheck %s

// Mish: x times the tanh of its softplus.

// Softplus as the importer writes it: max(x, 0) + ln(1 + e^(x > 0 ? -x : x)).
// CHECK-LABEL: @mish_of_import
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.mish %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @mish_of_import(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = grad.constant dense<0.0> : tensor<4x8xf32>
  %c = grad.compare gt %x, %zero : tensor<4x8xf32>
  %n = grad.neg %x : tensor<4x8xf32>
  %a = grad.select %c, %n, %x : tensor<4x8xf32>
  %e = grad.exp %a : tensor<4x8xf32>
  %l = grad.log1p %e : tensor<4x8xf32>
  %p = grad.clamp %x, 0.0, 0x7FF0000000000000 : tensor<4x8xf32>
  %s = grad.add %p, %l : tensor<4x8xf32>
  %t = grad.tanh %s : tensor<4x8xf32>
  %y = grad.mul %x, %t : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// max(x, 0) + ln(1 + e^-|x|).
// CHECK-LABEL: @mish
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.mish %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @mish(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = grad.constant dense<0.0> : tensor<4x8xf32>
  %p = grad.maximum %x, %zero : tensor<4x8xf32>
  %a = grad.abs %x : tensor<4x8xf32>
  %n = grad.neg %a : tensor<4x8xf32>
  %e = grad.exp %n : tensor<4x8xf32>
  %l = grad.log1p %e : tensor<4x8xf32>
  %s = grad.add %p, %l : tensor<4x8xf32>
  %t = grad.tanh %s : tensor<4x8xf32>
  %y = grad.mul %x, %t : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// ln(1 + e^x), whose power overflows, in both forms.
// CHECK-LABEL: @mish_of_log
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.mish %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @mish_of_log(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %e = grad.exp %x : tensor<4x8xf32>
  %s = grad.add %one, %e : tensor<4x8xf32>
  %l = grad.log %s : tensor<4x8xf32>
  %t = grad.tanh %l : tensor<4x8xf32>
  %y = grad.mul %t, %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @mish_of_log1p
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.mish %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @mish_of_log1p(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = grad.exp %x : tensor<4x8xf32>
  %l = grad.log1p %e : tensor<4x8xf32>
  %t = grad.tanh %l : tensor<4x8xf32>
  %y = grad.mul %x, %t : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Constants rounded to 16 bits: 1.41406 is the square root of 2.

// CHECK-LABEL: @softplus_of_two
// CHECK-NOT: grad.mish
// CHECK: grad.tanh
func.func @softplus_of_two(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %two = grad.constant dense<2.0> : tensor<4x8xf32>
  %e = grad.exp %x : tensor<4x8xf32>
  %s = grad.add %e, %two : tensor<4x8xf32>
  %l = grad.log %s : tensor<4x8xf32>
  %t = grad.tanh %l : tensor<4x8xf32>
  %y = grad.mul %x, %t : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @softplus_of_other
// CHECK-NOT: grad.mish
// CHECK: grad.tanh
func.func @softplus_of_other(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = grad.exp %z : tensor<4x8xf32>
  %l = grad.log1p %e : tensor<4x8xf32>
  %t = grad.tanh %l : tensor<4x8xf32>
  %y = grad.mul %x, %t : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @softplus_read
// CHECK-NOT: grad.mish
// CHECK: grad.tanh
func.func @softplus_read(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = grad.exp %x : tensor<4x8xf32>
  %l = grad.log1p %e : tensor<4x8xf32>
  %t = grad.tanh %l : tensor<4x8xf32>
  %y = grad.mul %x, %t : tensor<4x8xf32>
  return %y, %l : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @softplus_above_one
// CHECK-NOT: grad.mish
// CHECK: grad.tanh
func.func @softplus_above_one(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %p = grad.maximum %x, %one : tensor<4x8xf32>
  %a = grad.abs %x : tensor<4x8xf32>
  %n = grad.neg %a : tensor<4x8xf32>
  %e = grad.exp %n : tensor<4x8xf32>
  %l = grad.log1p %e : tensor<4x8xf32>
  %s = grad.add %p, %l : tensor<4x8xf32>
  %t = grad.tanh %s : tensor<4x8xf32>
  %y = grad.mul %x, %t : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
