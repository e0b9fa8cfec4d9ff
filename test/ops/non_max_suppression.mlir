// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED

// The decomposition is a scan over the boxes.

// CHECK-LABEL: @trip
// DECOMPOSED-LABEL: @trip
func.func @trip(%t: tensor<1x9xf32>, %a: tensor<1x9xf32>, %o: tensor<1x2x9xi64>, %c: tensor<1x2x9xi1>, %x: tensor<f32>, %n: tensor<i64>) -> tensor<1x2x9xi1> {
  // CHECK: grad.non_max_suppression %arg0, %arg0, %arg1, %arg1, %arg1 order %arg2 candidates %arg3 threshold %arg4 limit %arg5 : tensor<1x9xf32>, tensor<1x2x9xi64>, tensor<1x2x9xi1>, tensor<f32>, tensor<i64>
  // DECOMPOSED-NOT: grad.non_max_suppression
  // DECOMPOSED: grad.scan
  %0 = grad.non_max_suppression %t, %t, %a, %a, %a order %o candidates %c threshold %x limit %n : tensor<1x9xf32>, tensor<1x2x9xi64>, tensor<1x2x9xi1>, tensor<f32>, tensor<i64>
  return %0 : tensor<1x2x9xi1>
}

// Box 0 is [0, 0, 2, 2], box 1 is box 0 moved by one, of which they share 2 of 6, and box 2 lies apart. The first class visits 1, 0, 2: with a
// threshold of 0.25, box 1 suppresses box 0. In the second class, box 1 is no candidate. At most two boxes are kept.

// FOLD-LABEL: @values
func.func @values() -> (tensor<1x3x3xi1>, tensor<1x3x3xi1>) {
  %t = grad.constant dense<[[0.0, 1.0, 9.0]]> : tensor<1x3xf32>
  %l = grad.constant dense<0.0> : tensor<1x3xf32>
  %b = grad.constant dense<[[2.0, 3.0, 10.0]]> : tensor<1x3xf32>
  %r = grad.constant dense<2.0> : tensor<1x3xf32>
  %a = grad.constant dense<[[4.0, 4.0, 2.0]]> : tensor<1x3xf32>
  %o = grad.constant dense<[[[1, 0, 2], [1, 0, 2], [2, 1, 0]]]> : tensor<1x3x3xi64>
  %c = grad.constant dense<[[[true, true, true], [true, false, true], [true, true, true]]]> : tensor<1x3x3xi1>
  %x = grad.constant dense<0.25> : tensor<f32>
  %n = grad.constant dense<2> : tensor<i64>
  // FOLD-DAG: dense<{{\[}}{{\[}}[true, false, true], [false, true, true], [true, true, false]]]>
  %0 = grad.non_max_suppression %t, %l, %b, %r, %a order %o candidates %c threshold %x limit %n : tensor<1x3xf32>, tensor<1x3x3xi64>, tensor<1x3x3xi1>, tensor<f32>, tensor<i64>
  %y = grad.constant dense<0.5> : tensor<f32>
  // FOLD-DAG: dense<{{\[}}{{\[}}[true, true, false], [false, true, true], [true, true, false]]]>
  %1 = grad.non_max_suppression %t, %l, %b, %r, %a order %o candidates %c threshold %y limit %n : tensor<1x3xf32>, tensor<1x3x3xi64>, tensor<1x3x3xi1>, tensor<f32>, tensor<i64>
  return %0, %1 : tensor<1x3x3xi1>, tensor<1x3x3xi1>
}

// Steps are rounded to the element type: 7 of 10 are no more than 0.7 of f32, which is less than 0.7.

// FOLD-LABEL: @rounded
func.func @rounded() -> tensor<1x1x2xi1> {
  %zero = grad.constant dense<0.0> : tensor<1x2xf32>
  %b = grad.constant dense<1.0> : tensor<1x2xf32>
  %r = grad.constant dense<[[10.0, 7.0]]> : tensor<1x2xf32>
  %o = grad.constant dense<[[[0, 1]]]> : tensor<1x1x2xi64>
  %c = grad.constant dense<true> : tensor<1x1x2xi1>
  %x = grad.constant dense<0.7> : tensor<f32>
  %n = grad.constant dense<2> : tensor<i64>
  // FOLD: dense<true> : tensor<1x1x2xi1>
  %0 = grad.non_max_suppression %zero, %zero, %b, %r, %r order %o candidates %c threshold %x limit %n : tensor<1x2xf32>, tensor<1x1x2xi64>, tensor<1x1x2xi1>, tensor<f32>, tensor<i64>
  return %0 : tensor<1x1x2xi1>
}

// -----

// C2.

func.func @order(%t: tensor<1x9xf32>, %o: tensor<1x2x8xi64>, %c: tensor<1x2x8xi1>, %x: tensor<f32>, %n: tensor<i64>) {
  // expected-error @+1 {{expected sides [images, boxes], an i64 order [images, classes, boxes] and candidates of its shape, found 'tensor<1x9xf32>', 'tensor<1x2x8xi64>' and 'tensor<1x2x8xi1>'}}
  %0 = grad.non_max_suppression %t, %t, %t, %t, %t order %o candidates %c threshold %x limit %n : tensor<1x9xf32>, tensor<1x2x8xi64>, tensor<1x2x8xi1>, tensor<f32>, tensor<i64>
  return
}

// -----

// C3.

func.func @limit(%t: tensor<1x9xf32>, %o: tensor<1x2x9xi64>, %c: tensor<1x2x9xi1>, %x: tensor<f64>, %n: tensor<i32>) {
  // expected-error @+1 {{expected a threshold of the sides' type and an i64 limit, found}}
  %0 = grad.non_max_suppression %t, %t, %t, %t, %t order %o candidates %c threshold %x limit %n : tensor<1x9xf32>, tensor<1x2x9xi64>, tensor<1x2x9xi1>, tensor<f64>, tensor<i32>
  return
}
