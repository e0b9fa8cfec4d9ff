// RUN: gradc-opt %s -split-input-file -gradc-form-attention -canonicalize | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-form-attention=cuda | FileCheck %s --check-prefix=CUDA
// CUDA-NOT: grad.attention

// A factor of either operand or of the product, and a mask that is repeated for all heads and queries.
// CHECK-LABEL: @padding
// CHECK: %[[M:.*]] = grad.reshape %arg3 : tensor<2x32xf32> -> tensor<2x1x1x32xf32>
// CHECK: grad.attention %arg0, %arg1, %arg2 mask %[[M]] : tensor<2x1x1x32xf32> {scale = 1.250000e-01 : f64}
// CHECK-NOT: grad.softmax
func.func @padding(%q: tensor<2x3x16x8xf32>, %k: tensor<2x3x32x8xf32>, %v: tensor<2x3x32x8xf32>, %m: tensor<2x32xf32>) -> tensor<2x3x16x8xf32> {
  %half = grad.constant dense<0.5> : tensor<2x3x16x8xf32>
  %halves = grad.constant dense<0.5> : tensor<2x3x32x8xf32>
  %two = grad.constant dense<2.0> : tensor<2x3x16x32xf32>
  %a = grad.mul %q, %half : tensor<2x3x16x8xf32>
  %b = grad.mul %halves, %k : tensor<2x3x32x8xf32>
  %s = grad.matmul %a, %b transpose_rhs : tensor<2x3x16x8xf32>, tensor<2x3x32x8xf32>
  %t = grad.div %s, %two : tensor<2x3x16x32xf32>
  %mm = grad.broadcast %m dims [0, 3] : tensor<2x32xf32> -> tensor<2x3x16x32xf32>
  %u = grad.add %mm, %t : tensor<2x3x16x32xf32>
  %p = grad.softmax %u dim 3 : tensor<2x3x16x32xf32>
  %y = grad.matmul %p, %v : tensor<2x3x16x32xf32>, tensor<2x3x32x8xf32>
  return %y : tensor<2x3x16x8xf32>
}

// -----

// A triangular mask, of bools or numbers, needs no memory, however it is computed.
// CHECK-LABEL: @causal
// CHECK-NOT: mask
// CHECK: grad.attention %arg0, %arg0, %arg0 {causal = 0 : i64, scale = 1.000000e+00 : f64}
// CHECK: grad.attention %{{.*}}, %arg0, %arg0 {causal = 0 : i64, scale = 1.000000e+00 : f64}
func.func @causal(%x: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> {
  %none = grad.constant dense<0xFF800000> : tensor<2x2x16x16xf32>
  %i = grad.iota dim 0 : tensor<16x16xi64>
  %j = grad.iota dim 1 : tensor<16x16xi64>
  %c = grad.compare le %j, %i : tensor<16x16xi64>
  %b = grad.broadcast %c dims [2, 3] : tensor<16x16xi1> -> tensor<2x2x16x16xi1>
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t = grad.select %b, %s, %none : tensor<2x2x16x16xf32>
  %p = grad.softmax %t dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  %zero = grad.constant dense<0.0> : tensor<16x16xf32>
  %low = grad.constant dense<-3.40282347E+38> : tensor<16x16xf32>
  %n = grad.select %c, %zero, %low : tensor<16x16xf32>
  %m = grad.broadcast %n dims [2, 3] : tensor<16x16xf32> -> tensor<2x2x16x16xf32>
  %s2 = grad.matmul %y, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t2 = grad.add %s2, %m : tensor<2x2x16x16xf32>
  %p2 = grad.softmax %t2 dim 3 : tensor<2x2x16x16xf32>
  %y2 = grad.matmul %p2, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y2 : tensor<2x2x16x8xf32>
}

// -----

// Any other known mask remains a mask; constants of the module are evaluated, too.
// CHECK-LABEL: @other_mask
// CHECK: grad.attention %arg0, %arg0, %arg0 mask %{{.*}} : tensor<1x1x16x16xi1> {scale
// CHECK: grad.attention %{{.*}}, %arg0, %arg0 {causal = 15 : i64
grad.state constant @all : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>
func.func @other_mask(%x: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> {
  %none = grad.constant dense<0xFF800000> : tensor<2x2x16x16xf32>
  %i = grad.iota dim 0 : tensor<16x16xi64>
  %j = grad.iota dim 1 : tensor<16x16xi64>
  %c = grad.compare ge %j, %i : tensor<16x16xi64>
  %b = grad.broadcast %c dims [2, 3] : tensor<16x16xi1> -> tensor<2x2x16x16xi1>
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t = grad.select %b, %s, %none : tensor<2x2x16x16xf32>
  %p = grad.softmax %t dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  %r = grad.read @all : tensor<16x16xf32>
  %m = grad.broadcast %r dims [2, 3] : tensor<16x16xf32> -> tensor<2x2x16x16xf32>
  %s2 = grad.matmul %y, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t2 = grad.add %s2, %m : tensor<2x2x16x16xf32>
  %p2 = grad.softmax %t2 dim 3 : tensor<2x2x16x16xf32>
  %y2 = grad.matmul %p2, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y2 : tensor<2x2x16x8xf32>
}

// -----

// Repeated heads are read once. A transposed key becomes an operand with another order of dims.
// CHECK-LABEL: @grouped
// CHECK: grad.attention %arg0, %arg1, %arg2 {scale = 1.000000e+00 : f64} : tensor<2x4x16x8xf32>, tensor<2x2x32x8xf32>, tensor<2x2x32x8xf32>
func.func @grouped(%q: tensor<2x4x16x8xf32>, %k: tensor<2x2x32x8xf32>, %v: tensor<2x2x32x8xf32>) -> tensor<2x4x16x8xf32> {
  %kb = grad.broadcast %k dims [0, 1, 3, 4] : tensor<2x2x32x8xf32> -> tensor<2x2x2x32x8xf32>
  %vb = grad.broadcast %v dims [0, 1, 3, 4] : tensor<2x2x32x8xf32> -> tensor<2x2x2x32x8xf32>
  %kk = grad.reshape %kb : tensor<2x2x2x32x8xf32> -> tensor<2x4x32x8xf32>
  %vv = grad.reshape %vb : tensor<2x2x2x32x8xf32> -> tensor<2x4x32x8xf32>
  %kt = grad.transpose %kk permutation [0, 1, 3, 2] : tensor<2x4x32x8xf32>
  %s = grad.matmul %q, %kt : tensor<2x4x16x8xf32>, tensor<2x4x8x32xf32>
  %p = grad.softmax %s dim 3 : tensor<2x4x16x32xf32>
  %y = grad.matmul %p, %vv : tensor<2x4x16x32xf32>, tensor<2x4x32x8xf32>
  return %y : tensor<2x4x16x8xf32>
}

// -----

// Rank 3: a single head.
// CHECK-LABEL: @rank3
// CHECK: grad.attention %{{.*}}, %{{.*}}, %{{.*}} {scale = 1.000000e+00 : f64} : tensor<6x1x16x8xf32>, tensor<6x1x16x8xf32>, tensor<6x1x16x8xf32>
func.func @rank3(%x: tensor<6x16x8xf32>) -> tensor<6x16x8xf32> {
  %s = grad.matmul %x, %x transpose_rhs : tensor<6x16x8xf32>, tensor<6x16x8xf32>
  %p = grad.softmax %s dim 2 : tensor<6x16x16xf32>
  %y = grad.matmul %p, %x : tensor<6x16x16xf32>, tensor<6x16x8xf32>
  return %y : tensor<6x16x8xf32>
}

// -----

// As ONNX's Attention is imported: the rows of heads that share keys are concatenated, and queries that see no key are
// guarded.
// CHECK-LABEL: @imported
// CHECK-NOT: grad.softmax
// CHECK: grad.attention %arg0, %arg1, %arg1 mask %arg2 : tensor<2x4x16x32xf32> {scale = 1.000000e+00 : f64} : tensor<2x4x16x8xf32>, tensor<2x2x32x8xf32>, tensor<2x2x32x8xf32>
func.func @imported(%q: tensor<2x4x16x8xf32>, %k: tensor<2x2x32x8xf32>, %m: tensor<2x4x16x32xf32>) -> tensor<2x2x32x8xf32> {
  %zeros = grad.constant dense<0.0> : tensor<2x4x16x32xf32>
  %none = grad.constant dense<0xFF800000> : tensor<2x4x16xf32>
  %rows = grad.reshape %q : tensor<2x4x16x8xf32> -> tensor<2x2x32x8xf32>
  %s = grad.matmul %rows, %k transpose_rhs : tensor<2x2x32x8xf32>, tensor<2x2x32x8xf32>
  %heads = grad.reshape %s : tensor<2x2x32x32xf32> -> tensor<2x4x16x32xf32>
  %t = grad.add %heads, %m : tensor<2x4x16x32xf32>
  %top = grad.reduce_max %t dims [3] : tensor<2x4x16x32xf32>
  %e = grad.compare eq %top, %none : tensor<2x4x16xf32>
  %b = grad.broadcast %e dims [0, 1, 2] : tensor<2x4x16xi1> -> tensor<2x4x16x32xi1>
  %u = grad.select %b, %zeros, %t : tensor<2x4x16x32xf32>
  %p = grad.softmax %u dim 3 : tensor<2x4x16x32xf32>
  %w = grad.select %b, %zeros, %p : tensor<2x4x16x32xf32>
  %r = grad.reshape %w : tensor<2x4x16x32xf32> -> tensor<2x2x32x32xf32>
  %y = grad.matmul %r, %k : tensor<2x2x32x32xf32>, tensor<2x2x32x8xf32>
  return %y : tensor<2x2x32x8xf32>
}

// -----

// As torch.export writes it: keys are transposed with their heads merged into the batch, a mask of zeros is added, and
// weights that are NaN (of a query that sees no key) become 0.
// CHECK-LABEL: @exported
// CHECK-NOT: grad.transpose
// CHECK: grad.attention %arg0, %arg1, %arg2 {scale = 1.250000e-01 : f64}
// CHECK-NOT: grad.softmax
func.func @exported(%q: tensor<2x3x16x8xf32>, %k: tensor<2x3x32x8xf32>, %v: tensor<2x3x32x8xf32>) -> tensor<2x3x16x8xf32> {
  %zero = grad.constant dense<0.0> : tensor<2x3x16x32xf32>
  %eighth = grad.constant dense<0.125> : tensor<2x3x8x32xf32>
  %merged = grad.reshape %k : tensor<2x3x32x8xf32> -> tensor<6x32x8xf32>
  %turned = grad.transpose %merged permutation [0, 2, 1] : tensor<6x32x8xf32>
  %keys = grad.reshape %turned : tensor<6x8x32xf32> -> tensor<2x3x8x32xf32>
  %scaled = grad.mul %keys, %eighth : tensor<2x3x8x32xf32>
  %s = grad.matmul %q, %scaled : tensor<2x3x16x8xf32>, tensor<2x3x8x32xf32>
  %t = grad.add %s, %zero : tensor<2x3x16x32xf32>
  %p = grad.softmax %t dim 3 : tensor<2x3x16x32xf32>
  %n = grad.compare ne %p, %p : tensor<2x3x16x32xf32>
  %w = grad.select %n, %zero, %p : tensor<2x3x16x32xf32>
  %y = grad.matmul %w, %v : tensor<2x3x16x32xf32>, tensor<2x3x32x8xf32>
  return %y : tensor<2x3x16x8xf32>
}

// -----

// Each kernel draws the dropout of the weights again; random bits follow the order of the scores, not that of the operands.
// CHECK-LABEL: @dropout
// CHECK: grad.attention %arg0, %arg0, %arg0 dropout %arg1, %arg2 : tensor<i32>, tensor<i32> {ratio = 1.000000e-01 : f64, scale = 1.000000e+00 : f64, stream = 7 : i32}
// CHECK-NOT: grad.dropout
func.func @dropout(%x: tensor<2x2x16x8xf32>, %seed: tensor<i32>, %step: tensor<i32>) -> tensor<2x2x16x8xf32> {
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %p = grad.softmax %s dim 3 : tensor<2x2x16x16xf32>
  %d = grad.dropout %p, %seed, %step stream 7 ratio 0.1 : tensor<2x2x16x16xf32>, tensor<i32>
  %y = grad.matmul %d, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y : tensor<2x2x16x8xf32>
}

// -----

// Keys may be hidden by a number that leaves them a probability of 0, also as the first side of a select.
// CHECK-LABEL: @hidden_by_numbers
// CHECK-NOT: mask
// CHECK: grad.attention %arg0, %arg0, %arg0 {causal = 0 : i64, scale = 1.000000e+00 : f64}
// CHECK: grad.attention %{{.*}}, %arg0, %arg0 {causal = 1 : i64, scale = 1.000000e+00 : f64}
func.func @hidden_by_numbers(%x: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> {
  %i = grad.iota dim 0 : tensor<16x16xi64>
  %j = grad.iota dim 1 : tensor<16x16xi64>
  %later = grad.compare gt %j, %i : tensor<16x16xi64>
  %zero = grad.constant dense<0.0> : tensor<16x16xf32>
  %low = grad.constant dense<-1.0e9> : tensor<16x16xf32>
  %n = grad.select %later, %low, %zero : tensor<16x16xf32>
  %m = grad.broadcast %n dims [2, 3] : tensor<16x16xf32> -> tensor<2x2x16x16xf32>
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t = grad.add %s, %m : tensor<2x2x16x16xf32>
  %p = grad.softmax %t dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  %one = grad.constant dense<1> : tensor<16x16xi64>
  %i1 = grad.add %i, %one : tensor<16x16xi64>
  %later1 = grad.compare gt %j, %i1 : tensor<16x16xi64>
  %b = grad.broadcast %later1 dims [2, 3] : tensor<16x16xi1> -> tensor<2x2x16x16xi1>
  %lowest = grad.constant dense<-3.40282347E+38> : tensor<2x2x16x16xf32>
  %s2 = grad.matmul %y, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t2 = grad.select %b, %lowest, %s2 : tensor<2x2x16x16xf32>
  %p2 = grad.softmax %t2 dim 3 : tensor<2x2x16x16xf32>
  %y2 = grad.matmul %p2, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y2 : tensor<2x2x16x8xf32>
}

// -----

// A mask of bools that is true for hidden keys is turned around.
// CHECK-LABEL: @hidden_on_true
// CHECK: %[[V:.*]] = grad.not %arg1 : tensor<2x16xi1>
// CHECK: %[[M:.*]] = grad.reshape %[[V]] : tensor<2x16xi1> -> tensor<2x1x1x16xi1>
// CHECK: grad.attention %arg0, %arg0, %arg0 mask %[[M]] : tensor<2x1x1x16xi1> {scale = 1.000000e+00 : f64}
func.func @hidden_on_true(%x: tensor<2x2x16x8xf32>, %hidden: tensor<2x16xi1>) -> tensor<2x2x16x8xf32> {
  %none = grad.constant dense<0xFF800000> : tensor<2x2x16x16xf32>
  %b = grad.broadcast %hidden dims [0, 3] : tensor<2x16xi1> -> tensor<2x2x16x16xi1>
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t = grad.select %b, %none, %s : tensor<2x2x16x16xf32>
  %p = grad.softmax %t dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y : tensor<2x2x16x8xf32>
}

// -----

// -1e4 may leave a key a probability, and numbers that hide all keys of the first query hide none of them: both stay masks.
// CHECK-LABEL: @no_causal_numbers
// CHECK: grad.attention %arg0, %arg0, %arg0 mask %{{.*}} : tensor<1x1x16x16xf32>
// CHECK: grad.attention %{{.*}}, %arg0, %arg0 mask %{{.*}} : tensor<1x1x16x16xf32>
func.func @no_causal_numbers(%x: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> {
  %i = grad.iota dim 0 : tensor<16x16xi64>
  %j = grad.iota dim 1 : tensor<16x16xi64>
  %later = grad.compare gt %j, %i : tensor<16x16xi64>
  %zero = grad.constant dense<0.0> : tensor<16x16xf32>
  %small = grad.constant dense<-1.0e4> : tensor<16x16xf32>
  %n = grad.select %later, %small, %zero : tensor<16x16xf32>
  %m = grad.broadcast %n dims [2, 3] : tensor<16x16xf32> -> tensor<2x2x16x16xf32>
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t = grad.add %s, %m : tensor<2x2x16x16xf32>
  %p = grad.softmax %t dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  %low = grad.constant dense<-1.0e9> : tensor<16x16xf32>
  %from = grad.compare ge %j, %i : tensor<16x16xi64>
  %n2 = grad.select %from, %low, %zero : tensor<16x16xf32>
  %m2 = grad.broadcast %n2 dims [2, 3] : tensor<16x16xf32> -> tensor<2x2x16x16xf32>
  %s2 = grad.matmul %y, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t2 = grad.add %s2, %m2 : tensor<2x2x16x16xf32>
  %p2 = grad.softmax %t2 dim 3 : tensor<2x2x16x16xf32>
  %y2 = grad.matmul %p2, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y2 : tensor<2x2x16x8xf32>
}

// -----

// No attention of no heads, or of rows without elements: the op has no dims of size 0.
// CHECK-LABEL: @no_heads
// CHECK-NOT: grad.attention
// CHECK: return
func.func @no_heads(%x: tensor<2x0x16x8xf32>) -> tensor<2x0x16x8xf32> {
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x0x16x8xf32>, tensor<2x0x16x8xf32>
  %p = grad.softmax %s dim 3 : tensor<2x0x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x0x16x16xf32>, tensor<2x0x16x8xf32>
  return %y : tensor<2x0x16x8xf32>
}
// CHECK-LABEL: @no_queries
// CHECK-NOT: grad.attention
// CHECK: return
func.func @no_queries(%q: tensor<2x2x16x0xf32>, %v: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> {
  %s = grad.matmul %q, %q transpose_rhs : tensor<2x2x16x0xf32>, tensor<2x2x16x0xf32>
  %p = grad.softmax %s dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %v : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y : tensor<2x2x16x8xf32>
}
// CHECK-LABEL: @no_values
// CHECK-NOT: grad.attention
// CHECK: return
func.func @no_values(%q: tensor<2x2x16x8xf32>, %v: tensor<2x2x16x0xf32>) -> tensor<2x2x16x0xf32> {
  %s = grad.matmul %q, %q transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %p = grad.softmax %s dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %v : tensor<2x2x16x16xf32>, tensor<2x2x16x0xf32>
  return %y : tensor<2x2x16x0xf32>
}

// -----

// torch.export repeats key heads, merges them with the batch to transpose them, and scales them before it splits them again.
// CHECK-LABEL: @exported_grouped
// CHECK: grad.attention %arg0, %arg1, %arg2 {scale = 2.500000e-01 : f64} : tensor<2x4x16x8xf32>, tensor<2x2x32x8xf32>, tensor<2x2x32x8xf32>
func.func @exported_grouped(%q: tensor<2x4x16x8xf32>, %k: tensor<2x2x32x8xf32>, %v: tensor<2x2x32x8xf32>) -> tensor<2x4x16x8xf32> {
  %half = grad.constant dense<0.5> : tensor<2x4x16x8xf32>
  %halves = grad.constant dense<0.5> : tensor<8x8x32xf32>
  %kb = grad.broadcast %k dims [0, 1, 3, 4] : tensor<2x2x32x8xf32> -> tensor<2x2x2x32x8xf32>
  %vb = grad.broadcast %v dims [0, 1, 3, 4] : tensor<2x2x32x8xf32> -> tensor<2x2x2x32x8xf32>
  %kk = grad.reshape %kb : tensor<2x2x2x32x8xf32> -> tensor<8x32x8xf32>
  %vv = grad.reshape %vb : tensor<2x2x2x32x8xf32> -> tensor<2x4x32x8xf32>
  %kt = grad.transpose %kk permutation [0, 2, 1] : tensor<8x32x8xf32>
  %ks = grad.mul %kt, %halves : tensor<8x8x32xf32>
  %k4 = grad.reshape %ks : tensor<8x8x32xf32> -> tensor<2x4x8x32xf32>
  %qs = grad.mul %q, %half : tensor<2x4x16x8xf32>
  %s = grad.matmul %qs, %k4 : tensor<2x4x16x8xf32>, tensor<2x4x8x32xf32>
  %p = grad.softmax %s dim 3 : tensor<2x4x16x32xf32>
  %y = grad.matmul %p, %vv : tensor<2x4x16x32xf32>, tensor<2x4x32x8xf32>
  return %y : tensor<2x4x16x8xf32>
}

// -----

// The same with one query is no attention, but each key head is read once, for the rows of all heads that share it.
// CHECK-LABEL: @decoded
// CHECK-NOT: grad.attention
// CHECK-NOT: grad.broadcast
// CHECK-NOT: grad.transpose
// CHECK: %[[A:.*]] = grad.mul %arg0, {{.*}} : tensor<2x4x1x8xf32>
// CHECK: %[[R:.*]] = grad.reshape %[[A]] : tensor<2x4x1x8xf32> -> tensor<2x2x2x8xf32>
// CHECK: %[[S:.*]] = grad.matmul %[[R]], %arg1 transpose_rhs : tensor<2x2x2x8xf32>, tensor<2x2x32x8xf32>
// CHECK: %[[H:.*]] = grad.reshape %[[S]] : tensor<2x2x2x32xf32> -> tensor<2x4x1x32xf32>
// CHECK: %[[P:.*]] = grad.softmax %[[H]] dim 3
// CHECK: %[[W:.*]] = grad.reshape %[[P]] : tensor<2x4x1x32xf32> -> tensor<2x2x2x32xf32>
// CHECK: %[[Y:.*]] = grad.matmul %[[W]], %arg2 : tensor<2x2x2x32xf32>, tensor<2x2x32x8xf32>
// CHECK: grad.reshape %[[Y]] : tensor<2x2x2x8xf32> -> tensor<2x4x1x8xf32>
func.func @decoded(%q: tensor<2x4x1x8xf32>, %k: tensor<2x2x32x8xf32>, %v: tensor<2x2x32x8xf32>) -> tensor<2x4x1x8xf32> {
  %halves = grad.constant dense<0.5> : tensor<8x8x32xf32>
  %kb = grad.broadcast %k dims [0, 1, 3, 4] : tensor<2x2x32x8xf32> -> tensor<2x2x2x32x8xf32>
  %vb = grad.broadcast %v dims [0, 1, 3, 4] : tensor<2x2x32x8xf32> -> tensor<2x2x2x32x8xf32>
  %kk = grad.reshape %kb : tensor<2x2x2x32x8xf32> -> tensor<8x32x8xf32>
  %vv = grad.reshape %vb : tensor<2x2x2x32x8xf32> -> tensor<2x4x32x8xf32>
  %kt = grad.transpose %kk permutation [0, 2, 1] : tensor<8x32x8xf32>
  %ks = grad.mul %kt, %halves : tensor<8x8x32xf32>
  %k4 = grad.reshape %ks : tensor<8x8x32xf32> -> tensor<2x4x8x32xf32>
  %s = grad.matmul %q, %k4 : tensor<2x4x1x8xf32>, tensor<2x4x8x32xf32>
  %p = grad.softmax %s dim 3 : tensor<2x4x1x32xf32>
  %y = grad.matmul %p, %vv : tensor<2x4x1x32xf32>, tensor<2x4x32x8xf32>
  return %y : tensor<2x4x1x8xf32>
}

// -----

// Keys and values that are stored the other way around stay so: transposing them would copy them.
// CHECK-LABEL: @decoded_columns
// CHECK-NOT: grad.attention
// CHECK-NOT: grad.broadcast
// CHECK-NOT: grad.transpose
// CHECK: %[[A:.*]] = grad.mul %arg0, {{.*}} : tensor<2x4x1x8xf32>
// CHECK: %[[R:.*]] = grad.reshape %[[A]] : tensor<2x4x1x8xf32> -> tensor<2x2x2x8xf32>
// CHECK: %[[S:.*]] = grad.matmul %[[R]], %arg1 : tensor<2x2x2x8xf32>, tensor<2x2x8x32xf32>
// CHECK: %[[H:.*]] = grad.reshape %[[S]] : tensor<2x2x2x32xf32> -> tensor<2x4x1x32xf32>
// CHECK: %[[P:.*]] = grad.softmax %[[H]] dim 3
// CHECK: %[[W:.*]] = grad.reshape %[[P]] : tensor<2x4x1x32xf32> -> tensor<2x2x2x32xf32>
// CHECK: %[[Y:.*]] = grad.matmul %[[W]], %arg2 transpose_rhs : tensor<2x2x2x32xf32>, tensor<2x2x8x32xf32>
// CHECK: grad.reshape %[[Y]] : tensor<2x2x2x8xf32> -> tensor<2x4x1x8xf32>
func.func @decoded_columns(%q: tensor<2x4x1x8xf32>, %k: tensor<2x2x8x32xf32>, %v: tensor<2x2x8x32xf32>) -> tensor<2x4x1x8xf32> {
  %halves = grad.constant dense<0.5> : tensor<2x4x8x32xf32>
  %kb = grad.broadcast %k dims [0, 1, 3, 4] : tensor<2x2x8x32xf32> -> tensor<2x2x2x8x32xf32>
  %vb = grad.broadcast %v dims [0, 1, 3, 4] : tensor<2x2x8x32xf32> -> tensor<2x2x2x8x32xf32>
  %kk = grad.reshape %kb : tensor<2x2x2x8x32xf32> -> tensor<2x4x8x32xf32>
  %vv = grad.reshape %vb : tensor<2x2x2x8x32xf32> -> tensor<2x4x8x32xf32>
  %ks = grad.mul %kk, %halves : tensor<2x4x8x32xf32>
  %s = grad.matmul %q, %ks : tensor<2x4x1x8xf32>, tensor<2x4x8x32xf32>
  %p = grad.softmax %s dim 3 : tensor<2x4x1x32xf32>
  %y = grad.matmul %p, %vv transpose_rhs : tensor<2x4x1x32xf32>, tensor<2x4x8x32xf32>
  return %y : tensor<2x4x1x8xf32>
}

// -----

// Keys of 2 heads, which queries share, but values of 4: an attention has as many of both.
// CHECK-LABEL: @shared_keys
// CHECK-NOT: grad.attention
// CHECK: return
func.func @shared_keys(%q: tensor<2x4x16x8xf32>, %k: tensor<2x2x32x8xf32>, %v: tensor<2x4x32x8xf32>) -> tensor<2x4x16x8xf32> {
  %rows = grad.reshape %q : tensor<2x4x16x8xf32> -> tensor<2x2x32x8xf32>
  %s = grad.matmul %rows, %k transpose_rhs : tensor<2x2x32x8xf32>, tensor<2x2x32x8xf32>
  %s4 = grad.reshape %s : tensor<2x2x32x32xf32> -> tensor<2x4x16x32xf32>
  %p = grad.softmax %s4 dim 3 : tensor<2x4x16x32xf32>
  %y = grad.matmul %p, %v : tensor<2x4x16x32xf32>, tensor<2x4x32x8xf32>
  return %y : tensor<2x4x16x8xf32>
}

// CHECK-LABEL: @shared_values
// CHECK-NOT: grad.attention
// CHECK: return
func.func @shared_values(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x32x8xf32>, %v: tensor<2x2x32x8xf32>) -> tensor<2x2x32x8xf32> {
  %s = grad.matmul %q, %k transpose_rhs : tensor<2x4x16x8xf32>, tensor<2x4x32x8xf32>
  %p = grad.softmax %s dim 3 : tensor<2x4x16x32xf32>
  %rows = grad.reshape %p : tensor<2x4x16x32xf32> -> tensor<2x2x32x32xf32>
  %y = grad.matmul %rows, %v : tensor<2x2x32x32xf32>, tensor<2x2x32x8xf32>
  return %y : tensor<2x2x32x8xf32>
}

// -----

// No attention: too few queries, probabilities or scores with other readers, a trained mask, a factor after the mask, 16-bit
// products, NaN weights that become 1, a select of numbers that may hide all keys of a query, and rows of the batch as queries.
// CHECK-LABEL: @small
// CHECK-NOT: grad.attention
grad.state parameter @bias : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>
func.func @small(%q: tensor<2x2x1x8xf32>, %k: tensor<2x2x32x8xf32>) -> tensor<2x2x1x8xf32> {
  %s = grad.matmul %q, %k transpose_rhs : tensor<2x2x1x8xf32>, tensor<2x2x32x8xf32>
  %p = grad.softmax %s dim 3 : tensor<2x2x1x32xf32>
  %y = grad.matmul %p, %k : tensor<2x2x1x32xf32>, tensor<2x2x32x8xf32>
  return %y : tensor<2x2x1x8xf32>
}
func.func @probabilities_read(%x: tensor<2x2x16x8xf32>) -> (tensor<2x2x16x8xf32>, tensor<2x2x16x16xf32>) {
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %p = grad.softmax %s dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y, %p : tensor<2x2x16x8xf32>, tensor<2x2x16x16xf32>
}
func.func @scores_read(%x: tensor<2x2x16x8xf32>) -> (tensor<2x2x16x8xf32>, tensor<2x2x16x16xf32>) {
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %p = grad.softmax %s dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y, %s : tensor<2x2x16x8xf32>, tensor<2x2x16x16xf32>
}
func.func @trained_mask(%x: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> {
  %r = grad.read @bias : tensor<16x16xf32>
  %m = grad.broadcast %r dims [2, 3] : tensor<16x16xf32> -> tensor<2x2x16x16xf32>
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t = grad.add %s, %m : tensor<2x2x16x16xf32>
  %p = grad.softmax %t dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y : tensor<2x2x16x8xf32>
}
func.func @factor_behind(%x: tensor<2x2x16x8xf32>, %m: tensor<2x2x16x16xf32>) -> tensor<2x2x16x8xf32> {
  %two = grad.constant dense<2.0> : tensor<2x2x16x16xf32>
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t = grad.add %s, %m : tensor<2x2x16x16xf32>
  %u = grad.mul %t, %two : tensor<2x2x16x16xf32>
  %p = grad.softmax %u dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y : tensor<2x2x16x8xf32>
}
func.func @other_guard(%x: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> {
  %one = grad.constant dense<1.0> : tensor<2x2x16x16xf32>
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %p = grad.softmax %s dim 3 : tensor<2x2x16x16xf32>
  %n = grad.compare ne %p, %p : tensor<2x2x16x16xf32>
  %w = grad.select %n, %one, %p : tensor<2x2x16x16xf32>
  %y = grad.matmul %w, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y : tensor<2x2x16x8xf32>
}
func.func @mixed(%x: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> attributes {grad.precision = {type = bf16}} {
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %p = grad.softmax %s dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y : tensor<2x2x16x8xf32>
}
func.func @rows_as_queries(%q: tensor<16x8xf32> {grad.batched}, %k: tensor<32x8xf32>) -> tensor<16x8xf32> attributes {grad.batch = 16 : i64} {
  %a = grad.reshape %q : tensor<16x8xf32> -> tensor<1x1x16x8xf32>
  %b = grad.reshape %k : tensor<32x8xf32> -> tensor<1x1x32x8xf32>
  %s = grad.matmul %a, %b transpose_rhs : tensor<1x1x16x8xf32>, tensor<1x1x32x8xf32>
  %p = grad.softmax %s dim 3 : tensor<1x1x16x32xf32>
  %y = grad.matmul %p, %b : tensor<1x1x16x32xf32>, tensor<1x1x32x8xf32>
  %r = grad.reshape %y : tensor<1x1x16x8xf32> -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
func.func @numbers_for_all_keys(%x: tensor<2x2x16x8xf32>, %visible: tensor<2x16xi1>) -> tensor<2x2x16x8xf32> {
  %low = grad.constant dense<-1.0e9> : tensor<2x2x16x16xf32>
  %b = grad.broadcast %visible dims [0, 3] : tensor<2x16xi1> -> tensor<2x2x16x16xi1>
  %s = grad.matmul %x, %x transpose_rhs : tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
  %t = grad.select %b, %s, %low : tensor<2x2x16x16xf32>
  %p = grad.softmax %t dim 3 : tensor<2x2x16x16xf32>
  %y = grad.matmul %p, %x : tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>
  return %y : tensor<2x2x16x8xf32>
}
