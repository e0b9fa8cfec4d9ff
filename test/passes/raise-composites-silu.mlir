// RUN: gradc-opt %s -gradc-raise-composites | FileCheck %s

// SiLU, Swish and QuickGELU: x times a sigmoid, whole or in parts.

// CHECK-LABEL: @silu
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.silu %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = grad.sigmoid %x : tensor<4x8xf32>
  %y = grad.mul %x, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The sigmoid in parts, whose gradient is NaN where e^-x overflows.
// CHECK-LABEL: @silu_of_parts
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.silu %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @silu_of_parts(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %n = grad.neg %x : tensor<4x8xf32>
  %e = grad.exp %n : tensor<4x8xf32>
  %s = grad.add %e, %one : tensor<4x8xf32>
  %g = grad.div %one, %s : tensor<4x8xf32>
  %y = grad.mul %g, %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @sigmoid_reciprocal
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.sigmoid %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @sigmoid_reciprocal(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %n = grad.neg %x : tensor<4x8xf32>
  %e = grad.exp %n : tensor<4x8xf32>
  %s = grad.add %one, %e : tensor<4x8xf32>
  %y = grad.reciprocal %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// QuickGELU.
// CHECK-LABEL: @quick_gelu
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.swish %[[X]] slope 1.702{{.*}} : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @quick_gelu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k = grad.constant dense<1.702> : tensor<4x8xf32>
  %a = grad.mul %x, %k : tensor<4x8xf32>
  %s = grad.sigmoid %a : tensor<4x8xf32>
  %y = grad.mul %x, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Any slope, also that of the parts of a sigmoid.
// CHECK-LABEL: @swish_of_parts
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xbf16>
// CHECK-NEXT: %[[Y:.*]] = grad.swish %[[X]] slope 2.5{{.*}} : tensor<4x8xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @swish_of_parts(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %one = grad.constant dense<1.0> : tensor<4x8xbf16>
  %k = grad.constant dense<2.5> : tensor<4x8xbf16>
  %a = grad.mul %k, %x : tensor<4x8xbf16>
  %n = grad.neg %a : tensor<4x8xbf16>
  %e = grad.exp %n : tensor<4x8xbf16>
  %s = grad.add %one, %e : tensor<4x8xbf16>
  %g = grad.reciprocal %s : tensor<4x8xbf16>
  %y = grad.mul %g, %x : tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// CHECK-LABEL: @sigmoid_read
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.sigmoid
func.func @sigmoid_read(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = grad.sigmoid %x : tensor<4x8xf32>
  %y = grad.mul %x, %s : tensor<4x8xf32>
  return %y, %s : tensor<4x8xf32>, tensor<4x8xf32>
}

// A line that is not through 0.

// CHECK-LABEL: @shifted_sigmoid
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.sigmoid
func.func @shifted_sigmoid(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %a = grad.add %x, %one : tensor<4x8xf32>
  %s = grad.sigmoid %a : tensor<4x8xf32>
  %y = grad.mul %x, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @square_sigmoid
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.sigmoid
func.func @square_sigmoid(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = grad.mul %x, %x : tensor<4x8xf32>
  %s = grad.sigmoid %a : tensor<4x8xf32>
  %y = grad.mul %x, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @doubled_silu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.sigmoid
func.func @doubled_silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %two = grad.constant dense<2.0> : tensor<4x8xf32>
  %s = grad.sigmoid %x : tensor<4x8xf32>
  %m = grad.mul %s, %two : tensor<4x8xf32>
  %y = grad.mul %x, %m : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Another base, another factor, other readers, another limit.
