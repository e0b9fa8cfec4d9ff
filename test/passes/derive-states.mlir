// RUN: gradc-opt %s -split-input-file -gradc-derive-states | FileCheck %s

// A product of two states that no entry writes is a state. Two entries that need it share it, and what moves its elements is part of it.
// CHECK-LABEL: grad.state parameter @w
// CHECK: grad.state derived @derived : tensor<256x256xf32> = dense<0.000000e+00>
// CHECK: func.func @forward(%[[X:.*]]: tensor<4x256xf32>)
// CHECK-NEXT: %[[K:.*]] = grad.read @derived
// CHECK-NEXT: %[[Y:.*]] = grad.matmul %[[X]], %[[K]]
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func @forward.rows.1
// CHECK-NEXT: grad.read @derived
// CHECK: func.func @"derive:"() attributes {grad.entry = "derive:"} {
// CHECK: grad.matmul
// CHECK-NOT: grad.matmul
// CHECK: %[[T:.*]] = grad.transpose
// CHECK-NEXT: grad.write @derived, %[[T]]
// CHECK-NEXT: return
grad.state parameter @w : tensor<256x64xf32> = dense<0.5> : tensor<256x64xf32>
grad.state parameter @positions : tensor<64x256xf32> = dense<0.5> : tensor<64x256xf32>
func.func @forward(%x: tensor<4x256xf32>) -> tensor<4x256xf32> attributes {grad.entry = "forward"} {
  %w = grad.read @w : tensor<256x64xf32>
  %p = grad.read @positions : tensor<64x256xf32>
  %k = grad.matmul %w, %p : tensor<256x64xf32>, tensor<64x256xf32>
  %t = grad.transpose %k permutation [1, 0] : tensor<256x256xf32>
  %y = grad.matmul %x, %t : tensor<4x256xf32>, tensor<256x256xf32>
  return %y : tensor<4x256xf32>
}
func.func @"forward.rows.1"(%x: tensor<1x256xf32>) -> tensor<1x256xf32> attributes {grad.entry = "forward.rows.1"} {
  %w = grad.read @w : tensor<256x64xf32>
  %p = grad.read @positions : tensor<64x256xf32>
  %k = grad.matmul %w, %p : tensor<256x64xf32>, tensor<64x256xf32>
  %t = grad.transpose %k permutation [1, 0] : tensor<256x256xf32>
  %y = grad.matmul %x, %t : tensor<1x256xf32>, tensor<256x256xf32>
  return %y : tensor<1x256xf32>
}

// -----

// What only repeats elements, or takes few instructions for each, stays in the entry: the state is the softmax before it is repeated
// for each row of the batch, and the scale is applied by the readers.
// CHECK-LABEL: grad.state parameter @scores
// CHECK: grad.state derived @derived : tensor<200x200xf32>
// CHECK: func.func @forward
// CHECK: %[[S:.*]] = grad.read @derived : tensor<200x200xf32>
// CHECK: grad.broadcast %[[S]]
// CHECK: func.func @"derive:"
// CHECK: %[[R:.*]] = grad.softmax
// CHECK-NEXT: grad.write @derived, %[[R]]
grad.state parameter @scores : tensor<200x200xf32> = dense<0.5> : tensor<200x200xf32>
func.func @forward(%x: tensor<8x200x200xf32>) -> tensor<8x200x200xf32> attributes {grad.entry = "forward"} {
  %w = grad.read @scores : tensor<200x200xf32>
  %s = grad.softmax %w dim 1 : tensor<200x200xf32>
  %b = grad.broadcast %s dims [1, 2] : tensor<200x200xf32> -> tensor<8x200x200xf32>
  %y = grad.add %x, %b : tensor<8x200x200xf32>
  return %y : tensor<8x200x200xf32>
}

// -----

// Nothing changes where an entry writes the state, where too little work is saved, where the result has many more bytes than what it
// is computed from, or for shards, map models and entries that run once.
// CHECK-NOT: derived
grad.state parameter @trained : tensor<256x256xf32> = dense<0.5> : tensor<256x256xf32>
grad.state parameter @small : tensor<8x8xf32> = dense<0.5> : tensor<8x8xf32>
grad.state parameter @codes : tensor<256x256xi8> = dense<1> : tensor<256x256xi8>
grad.state parameter @column : tensor<256x1xf32> = dense<0.5> : tensor<256x1xf32>
grad.state parameter @fixed : tensor<256x256xf32> = dense<0.5> : tensor<256x256xf32>
grad.state parameter @shard : tensor<256x128xf32> shard [1, 1, 2] = dense<0.5> : tensor<256x256xf32>
func.func @train(%x: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {grad.entry = "train"} {
  %w = grad.read @trained : tensor<256x256xf32>
  %k = grad.matmul %w, %w : tensor<256x256xf32>, tensor<256x256xf32>
  %y = grad.matmul %x, %k : tensor<256x256xf32>, tensor<256x256xf32>
  grad.write @trained, %y : tensor<256x256xf32>
  %s = grad.read @shard : tensor<256x128xf32>
  %t = grad.matmul %s, %s transpose_lhs : tensor<256x128xf32>, tensor<256x128xf32>
  return %y : tensor<256x256xf32>
}
func.func @forward(%x: tensor<8x8xf32>, %z: tensor<256x256xf32>) -> (tensor<8x8xf32>, tensor<256x256xf32>) attributes {grad.entry = "forward"} {
  %w = grad.read @small : tensor<8x8xf32>
  %k = grad.matmul %w, %w : tensor<8x8xf32>, tensor<8x8xf32>
  %y = grad.matmul %x, %k : tensor<8x8xf32>, tensor<8x8xf32>
  %codes = grad.read @codes : tensor<256x256xi8>
  %floats = grad.cast %codes : tensor<256x256xi8> -> tensor<256x256xf32>
  %e = grad.exp %floats : tensor<256x256xf32>
  %c = grad.read @column : tensor<256x1xf32>
  %d = grad.matmul %c, %c transpose_rhs : tensor<256x1xf32>, tensor<256x1xf32>
  %0 = grad.add %z, %e : tensor<256x256xf32>
  %1 = grad.add %0, %d : tensor<256x256xf32>
  return %y, %1 : tensor<8x8xf32>, tensor<256x256xf32>
}
func.func @merged() -> tensor<256x256xf32> attributes {grad.entry = "merged"} {
  %w = grad.read @fixed : tensor<256x256xf32>
  %k = grad.matmul %w, %w : tensor<256x256xf32>, tensor<256x256xf32>
  return %k : tensor<256x256xf32>
}
func.func @"map.0"(%x: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {grad.entry = "map.0"} {
  %w = grad.read @fixed : tensor<256x256xf32>
  %k = grad.matmul %w, %w : tensor<256x256xf32>, tensor<256x256xf32>
  %y = grad.add %x, %k : tensor<256x256xf32>
  return %y : tensor<256x256xf32>
}
