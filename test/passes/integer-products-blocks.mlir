// Weights with a scale for each block along the sum.
// RUN: gradc-opt %s --gradc-integer-products --canonicalize | FileCheck %s --check-prefixes=CHECK,CPUS
// RUN: gradc-opt %s --gradc-integer-products=for-gpus --canonicalize | FileCheck %s --check-prefixes=CHECK,GPUS

grad.state constant @w : tensor<64x32xi8> = dense<3> : tensor<64x32xi8>
grad.state constant @rows : tensor<32x64xui8> = dense<9> : tensor<32x64xui8>
grad.state parameter @block_scales : tensor<4x32xf32> = dense<0.25> : tensor<4x32xf32>
grad.state constant @block_codes : tensor<2x32xui8> = dense<9> : tensor<2x32xui8>
grad.state constant @block_zero_points : tensor<2x2xui8> = dense<[[7, 8], [9, 10]]> : tensor<2x2xui8>

// Codes less the zero points of their blocks are stored, once for all entries. One more bit may take two bytes.
// CHECK-NOT: @block_codes :
// CHECK: grad.state constant @block_codes.relative : tensor<2x32xi8> = dense<{{\[\[2(, 2){15}(, 1){16}\], \[0(, 0){15}(, -1){16}\]\]}}> : tensor<2x32xi8>
// CHECK-NOT: @block_codes
// CHECK: grad.state constant @rows.relative : tensor<32x64xi16> = dense<-129>
// CHECK-NOT: grad.state constant

// With a scale for each 16 steps of the sum, a batch of products with codes has the sums of blocks.
// CHECK-LABEL: func @blocks
// CHECK: %[[W:.*]] = grad.read @w
// CHECK: %[[S:.*]] = grad.read @block_scales
// CHECK: %[[SPLIT:.*]] = grad.reshape %arg0 : tensor<2x64xf32> -> tensor<2x4x16xf32>
// CHECK: %[[X:.*]] = grad.transpose %[[SPLIT]] permutation [1, 0, 2]
// CHECK: %[[CODES:.*]] = grad.reshape %[[W]] : tensor<64x32xi8> -> tensor<4x16x32xi8>
// CHECK: %[[SUMS:.*]] = grad.matmul %[[X]], %[[CODES]] wide : tensor<4x2x16xf32>, tensor<4x16x32xi8>
// CHECK: %[[SCALE:.*]] = grad.broadcast %[[S]] dims [0, 2] : tensor<4x32xf32> -> tensor<4x2x32xf32>
// CHECK: %[[SCALED:.*]] = grad.mul %[[SUMS]], %[[SCALE]]
// CHECK: %[[Y:.*]] = grad.reduce_sum %[[SCALED]] dims [0]
// CHECK: return %[[Y]]
func.func @blocks(%x: tensor<2x64xf32>) -> tensor<2x32xf32> attributes {grad.entry = "blocks"} {
  %w = grad.read @w : tensor<64x32xi8>
  %scales = grad.read @block_scales : tensor<4x32xf32>
  %a = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xf32>
  %b = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x16x32xf32>
  %c = grad.reshape %b : tensor<4x16x32xf32> -> tensor<64x32xf32>
  %d = grad.mul %a, %c : tensor<64x32xf32>
  %y = grad.matmul %x, %d : tensor<2x64xf32>, tensor<64x32xf32>
  return %y : tensor<2x32xf32>
}

// Rows of codes are stored as columns. Zero points of blocks that are known are subtracted from the codes: sums of a lhs that is infinite
// have no difference.
// CHECK-LABEL: func @block_zeros
// CHECK: %[[ROWS:.*]] = grad.read @block_codes.relative
// CHECK: %[[TURNED:.*]] = grad.transpose %[[ROWS]] permutation [1, 0] : tensor<2x32xi8>
// CHECK: %[[CODES:.*]] = grad.reshape %[[TURNED]] : tensor<32x2xi8> -> tensor<2x16x2xi8>
// CHECK: %[[SUMS:.*]] = grad.matmul %{{.*}}, %[[CODES]] wide : tensor<2x1x16xf32>, tensor<2x16x2xi8>
// CHECK: %[[SCALED:.*]] = grad.mul %[[SUMS]], %{{.*}}
// CHECK: grad.reduce_sum %[[SCALED]] dims [0]
func.func @block_zeros(%x: tensor<1x32xf32>, %scales: tensor<2x2xf32>) -> tensor<1x2xf32> attributes {grad.entry = "block_zeros"} {
  %w = grad.read @block_codes : tensor<2x32xui8>
  %zeros = grad.read @block_zero_points : tensor<2x2xui8>
  %a = grad.cast %w : tensor<2x32xui8> -> tensor<2x32xi32>
  %n = grad.cast %zeros : tensor<2x2xui8> -> tensor<2x2xi32>
  %z = grad.broadcast %n dims [0, 1] : tensor<2x2xi32> -> tensor<2x2x16xi32>
  %zero = grad.reshape %z : tensor<2x2x16xi32> -> tensor<2x32xi32>
  %b = grad.sub %a, %zero : tensor<2x32xi32>
  %c = grad.cast %b : tensor<2x32xi32> -> tensor<2x32xf32>
  %s = grad.broadcast %scales dims [0, 1] : tensor<2x2xf32> -> tensor<2x2x16xf32>
  %scale = grad.reshape %s : tensor<2x2x16xf32> -> tensor<2x32xf32>
  %d = grad.mul %scale, %c : tensor<2x32xf32>
  %y = grad.matmul %x, %d transpose_rhs : tensor<1x32xf32>, tensor<2x32xf32>
  return %y : tensor<1x2xf32>
}

// Many rows read the same codes, here of a transposed matrix, whose zero points are floats.
// CHECK-LABEL: func @many_rows_of_zeros
// CHECK: %[[ROWS:.*]] = grad.read @block_codes.relative
// CHECK: %[[TURNED:.*]] = grad.transpose %[[ROWS]] permutation [1, 0] : tensor<2x32xi8>
// CHECK: %[[CODES:.*]] = grad.reshape %[[TURNED]] : tensor<32x2xi8> -> tensor<2x16x2xi8>
// CPUS: grad.matmul %{{.*}}, %[[CODES]] wide : tensor<2x12x16xf32>, tensor<2x16x2xi8>
// GPUS: %[[NUMBERS:.*]] = grad.cast %[[CODES]] : tensor<2x16x2xi8> -> tensor<2x16x2xf32>
// GPUS: %[[SCALED:.*]] = grad.mul %[[NUMBERS]], %{{.*}} : tensor<2x16x2xf32>
// GPUS: %[[MATRIX:.*]] = grad.reshape %[[SCALED]] : tensor<2x16x2xf32> -> tensor<32x2xf32>
// GPUS: grad.matmul %arg0, %[[MATRIX]] : tensor<12x32xf32>, tensor<32x2xf32>
func.func @many_rows_of_zeros(%x: tensor<12x32xf32>, %scales: tensor<2x2xf32>) -> tensor<12x2xf32> attributes {grad.entry = "many_rows_of_zeros"} {
  %w = grad.read @block_codes : tensor<2x32xui8>
  %zeros = grad.read @block_zero_points : tensor<2x2xui8>
  %a = grad.cast %w : tensor<2x32xui8> -> tensor<2x32xf32>
  %n = grad.cast %zeros : tensor<2x2xui8> -> tensor<2x2xf32>
  %z = grad.broadcast %n dims [0, 1] : tensor<2x2xf32> -> tensor<2x2x16xf32>
  %zero = grad.reshape %z : tensor<2x2x16xf32> -> tensor<2x32xf32>
  %b = grad.sub %a, %zero : tensor<2x32xf32>
  %s = grad.broadcast %scales dims [0, 1] : tensor<2x2xf32> -> tensor<2x2x16xf32>
  %scale = grad.reshape %s : tensor<2x2x16xf32> -> tensor<2x32xf32>
  %c = grad.mul %b, %scale : tensor<2x32xf32>
  %d = grad.transpose %c permutation [1, 0] : tensor<2x32xf32>
  %y = grad.matmul %x, %d : tensor<12x32xf32>, tensor<32x2xf32>
  return %y : tensor<12x2xf32>
}

// The same for few rows, with zero points that are one float, and codes that are a constant of the entry.
// CHECK-LABEL: func @turned_blocks
// CHECK-DAG: %[[CODES:.*]] = grad.constant dense<2> : tensor<4x16x32xi8>
// CHECK: grad.matmul %{{.*}}, %[[CODES]] wide : tensor<4x1x16xf32>, tensor<4x16x32xi8>
func.func @turned_blocks(%x: tensor<64x1xf32>, %scales: tensor<32x4xf32>) -> tensor<1x32xf32> attributes {grad.entry = "turned_blocks"} {
  %w = grad.constant dense<9> : tensor<32x64xui8>
  %zero = grad.constant dense<7.0> : tensor<32x64xf32>
  %a = grad.cast %w : tensor<32x64xui8> -> tensor<32x64xf32>
  %b = grad.sub %a, %zero : tensor<32x64xf32>
  %s = grad.broadcast %scales dims [0, 1] : tensor<32x4xf32> -> tensor<32x4x16xf32>
  %scale = grad.reshape %s : tensor<32x4x16xf32> -> tensor<32x64xf32>
  %c = grad.mul %b, %scale : tensor<32x64xf32>
  %d = grad.transpose %c permutation [1, 0] : tensor<32x64xf32>
  %y = grad.matmul %x, %d transpose_lhs : tensor<64x1xf32>, tensor<64x32xf32>
  return %y : tensor<1x32xf32>
}

// Differences that do not fit in i8 are in i16.
// CHECK-LABEL: func @far_zeros
// CHECK: grad.read @rows.relative : tensor<32x64xi16>
// CHECK: grad.matmul %{{.*}} wide : tensor<4x1x16xf32>, tensor<4x16x32xi16>
func.func @far_zeros(%x: tensor<1x64xf32>, %scales: tensor<32x4xf32>) -> tensor<1x32xf32> attributes {grad.entry = "far_zeros"} {
  %w = grad.read @rows : tensor<32x64xui8>
  %zero = grad.constant dense<138> : tensor<32x64xi32>
  %a = grad.cast %w : tensor<32x64xui8> -> tensor<32x64xi32>
  %b = grad.sub %a, %zero : tensor<32x64xi32>
  %c = grad.cast %b : tensor<32x64xi32> -> tensor<32x64xf32>
  %s = grad.broadcast %scales dims [0, 1] : tensor<32x4xf32> -> tensor<32x4x16xf32>
  %scale = grad.reshape %s : tensor<32x4x16xf32> -> tensor<32x64xf32>
  %d = grad.mul %scale, %c : tensor<32x64xf32>
  %y = grad.matmul %x, %d transpose_rhs : tensor<1x64xf32>, tensor<32x64xf32>
  return %y : tensor<1x32xf32>
}

// Zero points that are computed, that are no integers, or from which codes are too far for i16, are subtracted in every run, before scales
// multiply. Those that are 0 are left out.
// CHECK-LABEL: func @other_zeros
// CHECK-NOT: wide
// CHECK: grad.sub %{{.*}} : tensor<4x16x32xi32>
// CHECK-NOT: wide
// CHECK: grad.sub %{{.*}} : tensor<4x16x32xf32>
// CHECK-NOT: wide
// CHECK: grad.sub %{{.*}} : tensor<4x16x32xi32>
// CHECK: grad.matmul %{{.*}} wide : tensor<4x1x16xf32>, tensor<4x16x32xui8>
func.func @other_zeros(%x: tensor<1x64xf32>, %scales: tensor<32x4xf32>, %zeros: tensor<32x4xi32>)
    -> (tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>) attributes {grad.entry = "other_zeros"} {
  %w = grad.read @rows : tensor<32x64xui8>
  %s = grad.broadcast %scales dims [0, 1] : tensor<32x4xf32> -> tensor<32x4x16xf32>
  %scale = grad.reshape %s : tensor<32x4x16xf32> -> tensor<32x64xf32>
  %a = grad.cast %w : tensor<32x64xui8> -> tensor<32x64xi32>
  %z = grad.broadcast %zeros dims [0, 1] : tensor<32x4xi32> -> tensor<32x4x16xi32>
  %zero = grad.reshape %z : tensor<32x4x16xi32> -> tensor<32x64xi32>
  %b = grad.sub %a, %zero : tensor<32x64xi32>
  %c = grad.cast %b : tensor<32x64xi32> -> tensor<32x64xf32>
  %d = grad.mul %scale, %c : tensor<32x64xf32>
  %computed = grad.matmul %x, %d transpose_rhs : tensor<1x64xf32>, tensor<32x64xf32>

  %half = grad.constant dense<7.5> : tensor<32x64xf32>
  %e = grad.cast %w : tensor<32x64xui8> -> tensor<32x64xf32>
  %f = grad.sub %e, %half : tensor<32x64xf32>
  %g = grad.mul %f, %scale : tensor<32x64xf32>
  %fraction = grad.matmul %x, %g transpose_rhs : tensor<1x64xf32>, tensor<32x64xf32>

  %far = grad.constant dense<40000> : tensor<32x64xi32>
  %h = grad.sub %a, %far : tensor<32x64xi32>
  %i = grad.cast %h : tensor<32x64xi32> -> tensor<32x64xf32>
  %j = grad.mul %i, %scale : tensor<32x64xf32>
  %large = grad.matmul %x, %j transpose_rhs : tensor<1x64xf32>, tensor<32x64xf32>

  %none = grad.constant dense<0> : tensor<32x64xi32>
  %k = grad.sub %a, %none : tensor<32x64xi32>
  %l = grad.cast %k : tensor<32x64xi32> -> tensor<32x64xf32>
  %m = grad.mul %l, %scale : tensor<32x64xf32>
  %plain = grad.matmul %x, %m transpose_rhs : tensor<1x64xf32>, tensor<32x64xf32>
  return %computed, %fraction, %large, %plain : tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>
}

// A sum of nothing has no blocks.
// CHECK-LABEL: func @no_steps
// CHECK-NOT: wide
// CHECK: return
func.func @no_steps(%x: tensor<4x0xf32>, %w: tensor<0x32xui8>, %scales: tensor<4x32xf32>) -> tensor<4x32xf32> attributes {grad.entry = "no_steps"} {
  %a = grad.cast %w : tensor<0x32xui8> -> tensor<0x32xf32>
  %b = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x0x32xf32>
  %c = grad.reshape %b : tensor<4x0x32xf32> -> tensor<0x32xf32>
  %d = grad.mul %a, %c : tensor<0x32xf32>
  %y = grad.matmul %x, %d : tensor<4x0xf32>, tensor<0x32xf32>
  return %y : tensor<4x32xf32>
}

// Any number of rows multiplies by blocks of constant codes, but GPUs, on which the sums of blocks are written for each row, take few.
// CHECK-LABEL: func @rows_by_blocks
// CPUS: %[[SUMS:.*]] = grad.matmul %{{.*}}, %{{.*}} wide : tensor<4x9x16xf32>, tensor<4x16x32xi8>
// CPUS: %[[SCALED:.*]] = grad.mul %[[SUMS]], %{{.*}}
// CPUS: grad.reduce_sum %[[SCALED]] dims [0]
// GPUS-NOT: wide
// GPUS: grad.matmul %arg0, %{{.*}} : tensor<9x64xf32>, tensor<64x32xf32>
// CHECK: return
func.func @rows_by_blocks(%x: tensor<9x64xf32>, %scales: tensor<4x32xf32>) -> tensor<9x32xf32> attributes {grad.entry = "rows_by_blocks"} {
  %w = grad.read @w : tensor<64x32xi8>
  %a = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xf32>
  %b = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x16x32xf32>
  %c = grad.reshape %b : tensor<4x16x32xf32> -> tensor<64x32xf32>
  %d = grad.mul %a, %c : tensor<64x32xf32>
  %y = grad.matmul %x, %d : tensor<9x64xf32>, tensor<64x32xf32>
  return %y : tensor<9x32xf32>
}

// With zero points that are not known, rows of codes are dequantized as the columns that products by blocks read, block by block: scales
// are not repeated in memory.
// CHECK-LABEL: func @many_rows
// CHECK: %[[ROWS:.*]] = grad.read @rows
// CHECK: %[[TURNED:.*]] = grad.transpose %[[ROWS]] permutation [1, 0] : tensor<32x64xui8>
// CHECK: %[[CODES:.*]] = grad.reshape %[[TURNED]] : tensor<64x32xui8> -> tensor<4x16x32xui8>
// CHECK: %[[WIDE:.*]] = grad.cast %[[CODES]] : tensor<4x16x32xui8> -> tensor<4x16x32xi32>
// CHECK: %[[SHIFTED:.*]] = grad.sub %[[WIDE]], %{{.*}} : tensor<4x16x32xi32>
// CHECK: %[[SCALED:.*]] = grad.mul %{{.*}}, %{{.*}} : tensor<4x16x32xf32>
// CHECK: %[[MATRIX:.*]] = grad.reshape %[[SCALED]] : tensor<4x16x32xf32> -> tensor<64x32xf32>
// CHECK: grad.matmul %arg0, %[[MATRIX]] : tensor<9x64xf32>, tensor<64x32xf32>
func.func @many_rows(%x: tensor<9x64xf32>, %scales: tensor<32x4xf32>, %zeros: tensor<32x4xi32>) -> tensor<9x32xf32> attributes {grad.entry = "many_rows"} {
  %w = grad.read @rows : tensor<32x64xui8>
  %a = grad.cast %w : tensor<32x64xui8> -> tensor<32x64xi32>
  %z = grad.broadcast %zeros dims [0, 1] : tensor<32x4xi32> -> tensor<32x4x16xi32>
  %zero = grad.reshape %z : tensor<32x4x16xi32> -> tensor<32x64xi32>
  %b = grad.sub %a, %zero : tensor<32x64xi32>
  %c = grad.cast %b : tensor<32x64xi32> -> tensor<32x64xf32>
  %s = grad.broadcast %scales dims [0, 1] : tensor<32x4xf32> -> tensor<32x4x16xf32>
  %scale = grad.reshape %s : tensor<32x4x16xf32> -> tensor<32x64xf32>
  %d = grad.mul %c, %scale : tensor<32x64xf32>
  %y = grad.matmul %x, %d transpose_rhs : tensor<9x64xf32>, tensor<32x64xf32>
  return %y : tensor<9x32xf32>
}

// So they are for short blocks, and for many rows if they are not constant. Blocks across columns stay as they are.
// CHECK-LABEL: func @whole_blocks
// CHECK-NOT: wide
// CHECK: return
func.func @whole_blocks(%x: tensor<9x64xf32>, %one: tensor<1x64xf32>, %scales: tensor<4x32xf32>, %across: tensor<64x2xf32>, %short: tensor<8x32xf32>, %codes: tensor<64x32xi8>) -> (tensor<9x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>) attributes {grad.entry = "whole_blocks"} {
  %w = grad.read @w : tensor<64x32xi8>
  %a = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xf32>
  %k = grad.cast %codes : tensor<64x32xi8> -> tensor<64x32xf32>
  %b = grad.broadcast %scales dims [0, 2] : tensor<4x32xf32> -> tensor<4x16x32xf32>
  %c = grad.reshape %b : tensor<4x16x32xf32> -> tensor<64x32xf32>
  %d = grad.mul %k, %c : tensor<64x32xf32>
  %many = grad.matmul %x, %d : tensor<9x64xf32>, tensor<64x32xf32>
  %e = grad.broadcast %across dims [0, 1] : tensor<64x2xf32> -> tensor<64x2x16xf32>
  %f = grad.reshape %e : tensor<64x2x16xf32> -> tensor<64x32xf32>
  %g = grad.mul %a, %f : tensor<64x32xf32>
  %columns = grad.matmul %one, %g : tensor<1x64xf32>, tensor<64x32xf32>
  %h = grad.broadcast %short dims [0, 2] : tensor<8x32xf32> -> tensor<8x8x32xf32>
  %i = grad.reshape %h : tensor<8x8x32xf32> -> tensor<64x32xf32>
  %j = grad.mul %a, %i : tensor<64x32xf32>
  %shorts = grad.matmul %one, %j : tensor<1x64xf32>, tensor<64x32xf32>
  return %many, %columns, %shorts : tensor<9x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>
}
