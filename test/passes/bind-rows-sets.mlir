// RUN: gradc-opt %s --split-input-file --gradc-bind-rows="judge" | FileCheck %s

// An entry that takes any number of rows takes the batches of sets that are no larger. Rows with more elements, other fields and larger
// batches need an entry of their own.
// CHECK: func.func @evaluate(
// CHECK-SAME: grad.rows
// CHECK-NOT: @evaluate.same
// CHECK-NOT: @evaluate.smaller
// CHECK: func.func @evaluate.larger(
// CHECK-NOT: @evaluate.larger.tail
// CHECK: func.func @evaluate.wider(
// CHECK: func.func @evaluate.other(
// CHECK-NOT: func.func
func.func @evaluate(%x: tensor<32x4xf32> {grad.batched, grad.field = "x"}) -> tensor<32x4xf32> attributes {grad.batch = 32 : i64} {
  return %x : tensor<32x4xf32>
}
func.func @evaluate.tail(%x: tensor<3x4xf32> {grad.batched, grad.field = "x"}) -> tensor<3x4xf32> attributes {grad.batch = 3 : i64} {
  return %x : tensor<3x4xf32>
}
func.func @evaluate.same(%x: tensor<32x4xf32> {grad.batched, grad.field = "x"}) -> tensor<32x4xf32> attributes {grad.batch = 32 : i64} {
  return %x : tensor<32x4xf32>
}
func.func @evaluate.smaller(%x: tensor<16x4xf32> {grad.batched, grad.field = "x"}) -> tensor<16x4xf32> attributes {grad.batch = 16 : i64} {
  return %x : tensor<16x4xf32>
}
func.func @evaluate.smaller.tail(%x: tensor<5x4xf32> {grad.batched, grad.field = "x"}) -> tensor<5x4xf32> attributes {grad.batch = 5 : i64} {
  return %x : tensor<5x4xf32>
}
func.func @evaluate.larger(%x: tensor<64x4xf32> {grad.batched, grad.field = "x"}) -> tensor<64x4xf32> attributes {grad.batch = 64 : i64} {
  return %x : tensor<64x4xf32>
}
func.func @evaluate.larger.tail(%x: tensor<7x4xf32> {grad.batched, grad.field = "x"}) -> tensor<7x4xf32> attributes {grad.batch = 7 : i64} {
  return %x : tensor<7x4xf32>
}
func.func @evaluate.wider(%x: tensor<32x8xf32> {grad.batched, grad.field = "x"}) -> tensor<32x8xf32> attributes {grad.batch = 32 : i64} {
  return %x : tensor<32x8xf32>
}
func.func @evaluate.other(%x: tensor<32x4xf32> {grad.batched, grad.field = "y"}) -> tensor<32x4xf32> attributes {grad.batch = 32 : i64} {
  return %x : tensor<32x4xf32>
}

// -----

// An entry for whole batches only takes those of a set, whose last batch may have another number of rows.
// CHECK: func.func @evaluate(
// CHECK: func.func @evaluate.tail(
// CHECK-NOT: @evaluate.same
// CHECK-NOT: @evaluate.rest(
// CHECK: func.func @evaluate.rest.tail(
// CHECK-NOT: @evaluate.whole
// CHECK: func.func @evaluate.smaller(
// CHECK-NOT: func.func
func.func @evaluate(%x: tensor<8x4xf32> {grad.batched}) -> tensor<8x4xf32> attributes {grad.batch = 8 : i64, grad.exact = "of the file"} {
  return %x : tensor<8x4xf32>
}
func.func @evaluate.tail(%x: tensor<3x4xf32> {grad.batched}) -> tensor<3x4xf32> attributes {grad.batch = 3 : i64, grad.exact = "of the file"} {
  return %x : tensor<3x4xf32>
}
func.func @evaluate.same(%x: tensor<8x4xf32> {grad.batched}) -> tensor<8x4xf32> attributes {grad.batch = 8 : i64, grad.exact = "of the file"} {
  return %x : tensor<8x4xf32>
}
func.func @evaluate.same.tail(%x: tensor<3x4xf32> {grad.batched}) -> tensor<3x4xf32> attributes {grad.batch = 3 : i64, grad.exact = "of the file"} {
  return %x : tensor<3x4xf32>
}
func.func @evaluate.rest(%x: tensor<8x4xf32> {grad.batched}) -> tensor<8x4xf32> attributes {grad.batch = 8 : i64, grad.exact = "of the file"} {
  return %x : tensor<8x4xf32>
}
func.func @evaluate.rest.tail(%x: tensor<5x4xf32> {grad.batched}) -> tensor<5x4xf32> attributes {grad.batch = 5 : i64, grad.exact = "of the file"} {
  return %x : tensor<5x4xf32>
}
func.func @evaluate.whole(%x: tensor<8x4xf32> {grad.batched}) -> tensor<8x4xf32> attributes {grad.batch = 8 : i64, grad.exact = "of the file"} {
  return %x : tensor<8x4xf32>
}
func.func @evaluate.smaller(%x: tensor<4x4xf32> {grad.batched}) -> tensor<4x4xf32> attributes {grad.batch = 4 : i64, grad.exact = "of the file"} {
  return %x : tensor<4x4xf32>
}

// -----

// The entries for batches of each length are shared together, or not at all.
// CHECK: func.func @evaluate(
// CHECK: func.func @evaluate.length.16(
// CHECK-NOT: @evaluate.same
// CHECK: func.func @evaluate.other(
// CHECK: func.func @evaluate.other.length.32(
// CHECK-NOT: func.func
func.func @evaluate(%x: tensor<8x64xf32> {grad.batched}) -> tensor<8x64xf32> attributes {grad.batch = 8 : i64} {
  return %x : tensor<8x64xf32>
}
func.func @evaluate.length.16(%x: tensor<8x16xf32> {grad.batched}) -> tensor<8x16xf32> attributes {grad.batch = 8 : i64} {
  return %x : tensor<8x16xf32>
}
func.func @evaluate.same(%x: tensor<8x64xf32> {grad.batched}) -> tensor<8x64xf32> attributes {grad.batch = 8 : i64} {
  return %x : tensor<8x64xf32>
}
func.func @evaluate.same.length.16(%x: tensor<8x16xf32> {grad.batched}) -> tensor<8x16xf32> attributes {grad.batch = 8 : i64} {
  return %x : tensor<8x16xf32>
}
func.func @evaluate.other(%x: tensor<8x64xf32> {grad.batched}) -> tensor<8x64xf32> attributes {grad.batch = 8 : i64} {
  return %x : tensor<8x64xf32>
}
func.func @evaluate.other.length.32(%x: tensor<8x32xf32> {grad.batched}) -> tensor<8x32xf32> attributes {grad.batch = 8 : i64} {
  return %x : tensor<8x32xf32>
}
