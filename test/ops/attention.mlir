// RUN: gradc-opt %s -split-input-file -verify-diagnostics | gradc-opt -split-input-file | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-differentiate | FileCheck %s --check-prefix=GRADIENT

// CHECK-LABEL: @attention
// CHECK: grad.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} : tensor<1x1x5x7xi1> {causal = 2 : i64, scale = 5.000000e-01 : f64} : tensor<2x4x5x3xf32>, tensor<2x2x7x3xf32>, tensor<2x2x7x6xf32>
// DECOMPOSED-LABEL: @attention
// DECOMPOSED-NOT: grad.attention
// DECOMPOSED: grad.matmul %{{.*}}, %{{.*}} transpose_rhs : tensor<2x2x10x3xf32>, tensor<2x2x7x3xf32>
// DECOMPOSED: grad.reduce_max
// DECOMPOSED: grad.exp
// DECOMPOSED: grad.matmul %{{.*}}, %{{.*}} : tensor<2x2x10x7xf32>, tensor<2x2x7x6xf32>
func.func @attention(%q: tensor<2x4x5x3xf32>, %k: tensor<2x2x7x3xf32>, %v: tensor<2x2x7x6xf32>, %m: tensor<1x1x5x7xi1>)
    -> (tensor<2x4x5x6xf32>, tensor<2x4x5x2xf32>) {
  %y, %s = grad.attention %q, %k, %v mask %m : tensor<1x1x5x7xi1> {causal = 2 : i64, scale = 0.5 : f64}
      : tensor<2x4x5x3xf32>, tensor<2x2x7x3xf32>, tensor<2x2x7x6xf32>
  return %y, %s : tensor<2x4x5x6xf32>, tensor<2x4x5x2xf32>
}

// -----

// All tensors have the given order of dims.
// CHECK-LABEL: @order
// CHECK-SAME: -> tensor<2x5x4x6xf32>
// DECOMPOSED-LABEL: @order
// DECOMPOSED: grad.transpose %{{.*}} permutation [0, 2, 1, 3] : tensor<2x5x4x3xf32>
func.func @order(%q: tensor<2x5x4x3xf32>, %k: tensor<2x7x2x3xf32>, %v: tensor<2x7x2x6xf32>) -> tensor<2x5x4x6xf32> {
  %y, %s = grad.attention %q, %k, %v order [0, 2, 1, 3] {scale = 1.0 : f64}
      : tensor<2x5x4x3xf32>, tensor<2x7x2x3xf32>, tensor<2x7x2x6xf32>
  return %y : tensor<2x5x4x6xf32>
}

// -----

// The gradient reads the statistic; it does not compute the gradient of a mask that needs none.
// GRADIENT-LABEL: @gradient
// GRADIENT: %[[Y:.*]], %[[S:.*]] = grad.attention %[[Q:.*]], %[[K:.*]], %[[V:.*]] {causal = 0 : i64
// GRADIENT: grad.attention_grad %[[Q]], %[[K]], %[[V]], %[[Y]], %[[S]], %{{.*}} {causal = 0 : i64, scale = 1.000000e+00 : f64}
func.func @gradient(%q: tensor<1x2x4x3xf32>, %k: tensor<1x2x4x3xf32>, %v: tensor<1x2x4x3xf32>)
    -> (tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>) {
  %y, %s = grad.attention %q, %k, %v {causal = 0 : i64, scale = 1.0 : f64}
      : tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>
  %loss = grad.reduce_sum %y dims [0, 1, 2, 3] : tensor<1x2x4x3xf32>
  %g:3 = grad.gradient %loss wrt %q, %k, %v : tensor<f32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>
  return %g#0, %g#1, %g#2 : tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>
}

// -----

// A float mask has a gradient: the scores' gradient, summed over repetitions.
// GRADIENT-LABEL: @mask_gradient
// GRADIENT: grad.reduce_sum %{{.*}} dims [0, 1] : tensor<2x2x4x4xf32>
func.func @mask_gradient(%q: tensor<2x2x4x3xf32>, %m: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %y, %s = grad.attention %q, %q, %q mask %m : tensor<1x1x4x4xf32> {scale = 1.0 : f64}
      : tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>
  %loss = grad.reduce_sum %y dims [0, 1, 2, 3] : tensor<2x2x4x3xf32>
  %g = grad.gradient %loss wrt %m : tensor<f32>, tensor<1x1x4x4xf32>
  return %g : tensor<1x1x4x4xf32>
}

// -----

func.func @c1_rank(%q: tensor<4x5x3xf32>, %k: tensor<2x2x7x3xf32>) {
  // expected-error@+1 {{expected a query of rank 4 and of 'f32', found 'tensor<4x5x3xf32>'}}
  grad.attention %q, %k, %k {scale = 1.0 : f64} : tensor<4x5x3xf32>, tensor<2x2x7x3xf32>, tensor<2x2x7x3xf32>
  return
}

// -----

func.func @c1_type(%q: tensor<2x2x5x3xf32>, %k: tensor<2x2x7x3xf64>) {
  // expected-error@+1 {{expected a key of rank 4 and of 'f32', found 'tensor<2x2x7x3xf64>'}}
  grad.attention %q, %k, %k {scale = 1.0 : f64} : tensor<2x2x5x3xf32>, tensor<2x2x7x3xf64>, tensor<2x2x7x3xf64>
  return
}

// -----

func.func @c2(%q: tensor<2x2x5x3xf32>) {
  // expected-error@+1 {{expected `order` to be a permutation of 4 dims, found [0, 1, 1, 3]}}
  grad.attention %q, %q, %q order [0, 1, 1, 3] {scale = 1.0 : f64} : tensor<2x2x5x3xf32>, tensor<2x2x5x3xf32>, tensor<2x2x5x3xf32>
  return
}

// -----

func.func @c3_batch(%q: tensor<2x2x5x3xf32>, %k: tensor<1x2x5x3xf32>) {
  // expected-error@+1 {{expected query, key and value of one batch, found 2, 1 and 1}}
  grad.attention %q, %k, %k {scale = 1.0 : f64} : tensor<2x2x5x3xf32>, tensor<1x2x5x3xf32>, tensor<1x2x5x3xf32>
  return
}

// -----

func.func @c3_heads(%q: tensor<2x4x5x3xf32>, %k: tensor<2x3x5x3xf32>) {
  // expected-error@+1 {{expected as many heads of keys as of values, and a multiple of them of queries, found 3, 3 and 4}}
  grad.attention %q, %k, %k {scale = 1.0 : f64} : tensor<2x4x5x3xf32>, tensor<2x3x5x3xf32>, tensor<2x3x5x3xf32>
  return
}

// -----

func.func @c4(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x5x2xf32>, %v: tensor<2x4x6x2xf32>) {
  // expected-error@+1 {{expected queries and keys of one size and as many keys as values, found sizes 3 and 2, 5 keys and 6 values}}
  grad.attention %q, %k, %v {scale = 1.0 : f64} : tensor<2x4x5x3xf32>, tensor<2x4x5x2xf32>, tensor<2x4x6x2xf32>
  return
}

// -----

func.func @c4_empty(%q: tensor<2x4x0x3xf32>, %k: tensor<2x4x5x3xf32>) {
  // expected-error@+1 {{expected no dim of size 0, found query 'tensor<2x4x0x3xf32>'}}
  grad.attention %q, %k, %k {scale = 1.0 : f64} : tensor<2x4x0x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
  return
}

// -----

func.func @c5_type(%q: tensor<2x4x5x3xf32>, %m: tensor<1x1x5x5xi64>) {
  // expected-error@+1 {{expected a mask of bools or of 'f32', found 'tensor<1x1x5x5xi64>'}}
  grad.attention %q, %q, %q mask %m : tensor<1x1x5x5xi64> {scale = 1.0 : f64} : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
  return
}

// -----

func.func @c5_dims(%q: tensor<2x4x5x3xf32>, %m: tensor<1x1x5x1xi1>) {
  // expected-error@+1 {{expected the dims of a mask to be 1 or those of the scores [2, 4, 5, 5], found 'tensor<1x1x5x1xi1>'}}
  grad.attention %q, %q, %q mask %m : tensor<1x1x5x1xi1> {scale = 1.0 : f64} : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
  return
}

// -----

func.func @c7(%q: tensor<2x4x5x3xf32>, %s: tensor<2x4x5x2xf32>) {
  // expected-error@+1 {{expected a result, a statistic and a gradient of 'tensor<2x4x5x3xf32>', 'tensor<2x4x5x2xf32>' and 'tensor<2x4x5x3xf32>', found 'tensor<2x4x5x3xf32>', 'tensor<2x4x5x3xf32>' and 'tensor<2x4x5x3xf32>'}}
  grad.attention_grad %q, %q, %q, %q, %q, %q {scale = 1.0 : f64} : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
  return
}

// -----

// CHECK-LABEL: @dropout
// CHECK: grad.attention %{{.*}}, %{{.*}}, %{{.*}} dropout %{{.*}}, %{{.*}} : tensor<i32>, tensor<i32> {ratio = 5.000000e-01 : f64, scale = 1.000000e+00 : f64, stream = 4 : i32}
// DECOMPOSED-LABEL: @dropout
// DECOMPOSED: grad.random_bits %{{.*}}, %{{.*}} stream 4 : tensor<i32> -> tensor<2x4x5x5xui32>
func.func @dropout(%q: tensor<2x4x5x3xf32>, %seed: tensor<i32>, %step: tensor<i32>) -> tensor<2x4x5x3xf32> {
  %y, %s = grad.attention %q, %q, %q dropout %seed, %step : tensor<i32>, tensor<i32> {ratio = 0.5 : f64, scale = 1.0 : f64, stream = 4 : i32}
      : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
  return %y : tensor<2x4x5x3xf32>
}

// -----

func.func @c6_parts(%q: tensor<2x4x5x3xf32>, %n: tensor<i32>) {
  // expected-error@+2 {{expected seed, step, `stream` and `ratio` of a dropout together or none of them}}
  // expected-error@+1 {{failed to infer returned types}}
  grad.attention %q, %q, %q dropout %n, %n : tensor<i32>, tensor<i32> {scale = 1.0 : f64, stream = 4 : i32} : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
  return
}

// -----

func.func @c6_seed(%q: tensor<2x4x5x3xf32>, %n: tensor<2xi32>) {
  // expected-error@+2 {{expected seed and step to be 32-bit integers of rank 0, found 'tensor<2xi32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  grad.attention %q, %q, %q dropout %n, %n : tensor<2xi32>, tensor<2xi32> {ratio = 0.5 : f64, scale = 1.0 : f64, stream = 4 : i32} : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
  return
}

// -----

func.func @c6_ratio(%q: tensor<2x4x5x3xf32>, %n: tensor<i32>) {
  // expected-error@+2 {{expected ratio in [0, 1), found 1.000000e+00}}
  // expected-error@+1 {{failed to infer returned types}}
  grad.attention %q, %q, %q dropout %n, %n : tensor<i32>, tensor<i32> {ratio = 1.0 : f64, scale = 1.0 : f64, stream = 4 : i32} : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
  return
}

// -----

func.func @c6_scores(%q: tensor<2x4x65536x3xf32>, %n: tensor<i32>) {
  // expected-error@+2 {{expected at most 2^32 scores to drop of, found 3.435974e+10}}
  // expected-error@+1 {{failed to infer returned types}}
  grad.attention %q, %q, %q dropout %n, %n : tensor<i32>, tensor<i32> {ratio = 0.5 : f64, scale = 1.0 : f64, stream = 4 : i32} : tensor<2x4x65536x3xf32>, tensor<2x4x65536x3xf32>, tensor<2x4x65536x3xf32>
  return
}
