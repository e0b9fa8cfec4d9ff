// RUN: gradc-opt %s -gradc-raise-composites | FileCheck %s

// GELU, exact and with tanh: x times a gate that is a function of x. Factors and constants come in any
// order.

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
