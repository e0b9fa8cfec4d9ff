// RUN: gradc-opt %s -gradc-raise-composites | FileCheck %s

// GELU, SiLU and Mish: x times a gate that is a function of x. Factors and constants come in any order.

// PyTorch: x / sqrt(2), then times x, then times 0.5.
// CHECK-LABEL: @gelu_torch
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.gelu %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @gelu_torch(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = grad.constant dense<1.41421354> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %a = grad.div %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %s = grad.add %e, %one : tensor<4x8xf32>
  %p = grad.mul %x, %s : tensor<4x8xf32>
  %y = grad.mul %p, %half : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// transformers: (0.5 x) (1 + erf(x 0.7071)).
// CHECK-LABEL: @gelu_half_first
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.gelu %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @gelu_half_first(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = grad.constant dense<0.707106769> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %hx = grad.mul %x, %half : tensor<4x8xf32>
  %a = grad.mul %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %s = grad.add %one, %e : tensor<4x8xf32>
  %y = grad.mul %hx, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// x (0.5 erf + 0.5).
// CHECK-LABEL: @gelu_of_distribution
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.gelu %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @gelu_of_distribution(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = grad.constant dense<1.41421354> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %a = grad.div %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %m = grad.mul %e, %half : tensor<4x8xf32>
  %s = grad.add %m, %half : tensor<4x8xf32>
  %y = grad.mul %s, %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// JAX: x erfc(-x / sqrt(2)) / 2.
// CHECK-LABEL: @gelu_jax
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.gelu %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @gelu_jax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = grad.constant dense<-0.707106769> : tensor<4x8xf32>
  %two = grad.constant dense<2.0> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %a = grad.mul %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %s = grad.sub %one, %e : tensor<4x8xf32>
  %m = grad.div %s, %two : tensor<4x8xf32>
  %y = grad.mul %x, %m : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// transformers: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
// CHECK-LABEL: @gelu_tanh
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.gelu %[[X]] {approximate} : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k = grad.constant dense<0.797884583> : tensor<4x8xf32>
  %cube = grad.constant dense<0.0447149985> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %three = grad.constant dense<3.0> : tensor<4x8xf32>
  %x3 = grad.pow %x, %three : tensor<4x8xf32>
  %c = grad.mul %x3, %cube : tensor<4x8xf32>
  %i = grad.add %x, %c : tensor<4x8xf32>
  %a = grad.mul %i, %k : tensor<4x8xf32>
  %t = grad.tanh %a : tensor<4x8xf32>
  %s = grad.add %t, %one : tensor<4x8xf32>
  %hx = grad.mul %x, %half : tensor<4x8xf32>
  %y = grad.mul %hx, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// x 0.797 (1 + 0.044715 x x).
// CHECK-LABEL: @gelu_tanh_factored
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = grad.gelu %[[X]] {approximate} : tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh_factored(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k = grad.constant dense<0.797884583> : tensor<4x8xf32>
  %cube = grad.constant dense<0.0447149985> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %kx = grad.mul %x, %k : tensor<4x8xf32>
  %cx = grad.mul %cube, %x : tensor<4x8xf32>
  %xx = grad.mul %cx, %x : tensor<4x8xf32>
  %i = grad.add %one, %xx : tensor<4x8xf32>
  %a = grad.mul %kx, %i : tensor<4x8xf32>
  %t = grad.tanh %a : tensor<4x8xf32>
  %s = grad.add %t, %one : tensor<4x8xf32>
  %p = grad.mul %s, %x : tensor<4x8xf32>
  %y = grad.mul %half, %p : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

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

// CHECK-LABEL: @gelu_bf16
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xbf16>
// CHECK-NEXT: %[[Y:.*]] = grad.gelu %[[X]] : tensor<4x8xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @gelu_bf16(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %root = grad.constant dense<1.414060e+00> : tensor<4x8xbf16>
  %half = grad.constant dense<0.5> : tensor<4x8xbf16>
  %one = grad.constant dense<1.0> : tensor<4x8xbf16>
  %a = grad.div %x, %root : tensor<4x8xbf16>
  %e = grad.erf %a : tensor<4x8xbf16>
  %s = grad.add %e, %one : tensor<4x8xbf16>
  %p = grad.mul %x, %s : tensor<4x8xbf16>
  %y = grad.mul %p, %half : tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// Near misses: another constant, another factor, another reader, a constant after the product's sum.

// CHECK-LABEL: @other_root
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.erf
func.func @other_root(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = grad.constant dense<1.41> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %a = grad.div %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %s = grad.add %e, %one : tensor<4x8xf32>
  %p = grad.mul %x, %s : tensor<4x8xf32>
  %y = grad.mul %p, %half : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @other_half
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.erf
func.func @other_half(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = grad.constant dense<1.41421354> : tensor<4x8xf32>
  %half = grad.constant dense<0.25> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %a = grad.div %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %s = grad.add %e, %one : tensor<4x8xf32>
  %p = grad.mul %x, %s : tensor<4x8xf32>
  %y = grad.mul %p, %half : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @other_offset
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.erf
func.func @other_offset(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = grad.constant dense<1.41421354> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<-1.0> : tensor<4x8xf32>
  %a = grad.div %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %s = grad.add %e, %one : tensor<4x8xf32>
  %p = grad.mul %x, %s : tensor<4x8xf32>
  %y = grad.mul %p, %half : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @other_factor
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.erf
func.func @other_factor(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = grad.constant dense<1.41421354> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %a = grad.div %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %s = grad.add %e, %one : tensor<4x8xf32>
  %p = grad.mul %z, %s : tensor<4x8xf32>
  %y = grad.mul %p, %half : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @distribution_read
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.erf
func.func @distribution_read(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %root = grad.constant dense<1.41421354> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %a = grad.div %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %s = grad.add %e, %one : tensor<4x8xf32>
  %p = grad.mul %x, %s : tensor<4x8xf32>
  %y = grad.mul %p, %half : tensor<4x8xf32>
  return %y, %s : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @argument_read
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.erf
func.func @argument_read(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %root = grad.constant dense<1.41421354> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %a = grad.div %x, %root : tensor<4x8xf32>
  %e = grad.erf %a : tensor<4x8xf32>
  %s = grad.add %e, %one : tensor<4x8xf32>
  %p = grad.mul %x, %s : tensor<4x8xf32>
  %y = grad.mul %p, %half : tensor<4x8xf32>
  return %y, %a : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @other_cube
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.tanh
func.func @other_cube(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k = grad.constant dense<0.797884583> : tensor<4x8xf32>
  %cube = grad.constant dense<0.05> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %three = grad.constant dense<3.0> : tensor<4x8xf32>
  %x3 = grad.pow %x, %three : tensor<4x8xf32>
  %c = grad.mul %x3, %cube : tensor<4x8xf32>
  %i = grad.add %x, %c : tensor<4x8xf32>
  %a = grad.mul %i, %k : tensor<4x8xf32>
  %t = grad.tanh %a : tensor<4x8xf32>
  %s = grad.add %t, %one : tensor<4x8xf32>
  %hx = grad.mul %x, %half : tensor<4x8xf32>
  %y = grad.mul %hx, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @fourth_power
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.tanh
func.func @fourth_power(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k = grad.constant dense<0.797884583> : tensor<4x8xf32>
  %cube = grad.constant dense<0.0447149985> : tensor<4x8xf32>
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %one = grad.constant dense<1.0> : tensor<4x8xf32>
  %x2 = grad.mul %x, %x : tensor<4x8xf32>
  %x4 = grad.mul %x2, %x2 : tensor<4x8xf32>
  %c = grad.mul %x4, %cube : tensor<4x8xf32>
  %i = grad.add %x, %c : tensor<4x8xf32>
  %a = grad.mul %i, %k : tensor<4x8xf32>
  %t = grad.tanh %a : tensor<4x8xf32>
  %s = grad.add %t, %one : tensor<4x8xf32>
  %hx = grad.mul %x, %half : tensor<4x8xf32>
  %y = grad.mul %hx, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
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

// CHECK-LABEL: @sum_behind
// CHECK-NOT: grad.gelu
// CHECK-NOT: grad.{{silu|swish}}
// CHECK: grad.erf
func.func @sum_behind(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %half = grad.constant dense<0.5> : tensor<4x8xf32>
  %e = grad.erf %x : tensor<4x8xf32>
  %p = grad.mul %x, %e : tensor<4x8xf32>
  %y = grad.add %p, %half : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
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
