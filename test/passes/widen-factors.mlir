// RUN: gradc-opt -gradc-widen-factors %s | FileCheck %s

// Factors of f16 become f32 before a product reads them, for products that follow soon once; a rhs that is a state keeps its 16 bits.
// CHECK: exec.kernel @[[GRADIENT:gradient_[0-9]]](%{{.*}}: tensor<32x64xf32>, %{{.*}}: tensor<32x128xf32>) attributes {bytes = 32768
// CHECK-NEXT: grad.matmul {{.*}} transpose_lhs wide : tensor<32x64xf32>, tensor<32x128xf32>
// CHECK-NEXT: exec.yield
// CHECK: exec.kernel @[[WIDEN:widen_[0-9]]](%{{.*}}: tensor<32x128xf16>)
// CHECK: exec.kernel @product_0(%{{.*}}: tensor<32x64xf32>, %{{.*}}: tensor<64x128xf16>)
// CHECK-NEXT: %[[S:.*]] = grad.matmul {{.*}} wide : tensor<32x64xf32>, tensor<64x128xf16>
// CHECK-NEXT: %[[Y:.*]] = grad.cast %[[S]] : tensor<32x128xf32> -> tensor<32x128xf16>
// CHECK-NEXT: grad.relu %[[Y]]
// CHECK: exec.kernel @widen(
// CHECK-NEXT: grad.cast {{.*}} storage : tensor<32x64xf16> -> tensor<32x64xf32>
// CHECK-NOT: exec.kernel @product(
grad.state parameter @w : tensor<64x128xf16> = dense<1.0> : tensor<64x128xf16>
exec.kernel @product(%x: tensor<32x64xf16>, %w: tensor<64x128xf16>) attributes {bytes = 28672 : i64, flops = 524288 : i64} {
  %y = grad.matmul %x, %w : tensor<32x64xf16>, tensor<64x128xf16>
  %r = grad.relu %y : tensor<32x128xf16>
  exec.yield %r : tensor<32x128xf16>
}
exec.kernel @gradient(%x: tensor<32x64xf16>, %g: tensor<32x128xf16>) attributes {bytes = 20480 : i64, flops = 524288 : i64} {
  %y = grad.matmul %x, %g transpose_lhs wide : tensor<32x64xf16>, tensor<32x128xf16>
  exec.yield %y : tensor<64x128xf32>
}

// CHECK-LABEL: func.func @step
// CHECK: %[[W:.*]] = grad.read @w
// CHECK: %[[X:.*]] = exec.launch @widen(%arg0)
// CHECK: exec.launch @product_0(%[[X]], %[[W]])
// CHECK: %[[G:.*]] = exec.launch @[[WIDEN]](%{{.*}})
// CHECK: exec.launch @[[GRADIENT]](%[[X]], %[[G]])
func.func @step(%x: tensor<32x64xf16>) -> tensor<64x128xf32> {
  %w = grad.read @w : tensor<64x128xf16>
  %y = exec.launch @product(%x, %w) : (tensor<32x64xf16>, tensor<64x128xf16>) -> tensor<32x128xf16>
  %g = exec.launch @gradient(%x, %y) : (tensor<32x64xf16>, tensor<32x128xf16>) -> tensor<64x128xf32>
  return %g : tensor<64x128xf32>
}

// Not those of bf16, which is the upper half of f32, nor those whose lhs is a state, nor those that their kernel also reads elsewhere, nor operands of sums.
// CHECK-LABEL: func.func @others
// CHECK-NOT: @widen
// CHECK: return
exec.kernel @of_bf16(%x: tensor<32x64xbf16>, %v: tensor<64x128xbf16>) {
  %y = grad.matmul %x, %v : tensor<32x64xbf16>, tensor<64x128xbf16>
  exec.yield %y : tensor<32x128xbf16>
}
exec.kernel @of_a_state(%x: tensor<64x128xf16>, %v: tensor<128x5xf16>) {
  %y = grad.matmul %x, %v : tensor<64x128xf16>, tensor<128x5xf16>
  exec.yield %y : tensor<64x5xf16>
}
exec.kernel @added(%x: tensor<8x8xf16>, %v: tensor<8x8xf16>) {
  %y = grad.matmul %x, %v : tensor<8x8xf16>, tensor<8x8xf16>
  %z = grad.add %x, %y : tensor<8x8xf16>
  exec.yield %z : tensor<8x8xf16>
}
exec.kernel @summed(%x: tensor<8x8xf16>, %start: tensor<8xf16>) {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x8xf16>) outs(%start : tensor<8xf16>) {
  ^bb0(%a: f16, %b: f16):
    %c = arith.addf %b, %a : f16
    linalg.yield %c : f16
  } -> tensor<8xf16>
  exec.yield %y : tensor<8xf16>
}
func.func @others(%x: tensor<32x64xbf16>, %v: tensor<64x128xbf16>, %u: tensor<128x5xf16>, %s: tensor<8x8xf16>, %t: tensor<8xf16>)
    -> (tensor<32x128xbf16>, tensor<64x5xf16>, tensor<8x8xf16>, tensor<8xf16>) {
  %w = grad.read @w : tensor<64x128xf16>
  %0 = exec.launch @of_bf16(%x, %v) : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
  %1 = exec.launch @of_a_state(%w, %u) : (tensor<64x128xf16>, tensor<128x5xf16>) -> tensor<64x5xf16>
  %2 = exec.launch @added(%s, %s) : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
  %3 = exec.launch @summed(%s, %t) : (tensor<8x8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %0, %1, %2, %3 : tensor<32x128xbf16>, tensor<64x5xf16>, tensor<8x8xf16>, tensor<8xf16>
}
