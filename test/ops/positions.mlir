// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-decompose | FileCheck %s --check-prefix=DECOMPOSED

// The decomposition counts the true elements before each one, where its index goes.

// CHECK-LABEL: @trip
// DECOMPOSED-LABEL: @trip
func.func @trip(%x: tensor<3x2x4xi1>, %list: tensor<7xi1>) -> (tensor<3x24xi64>, tensor<1x5xi64>) {
  // CHECK: grad.positions %arg0 : tensor<3x2x4xi1> -> tensor<3x24xi64>
  // DECOMPOSED: %[[LIST:.*]] = grad.reshape %arg0 : tensor<3x2x4xi1> -> tensor<24xi1>
  // DECOMPOSED: %[[PLACE:.*]] = grad.select %[[LIST]]
  // DECOMPOSED: %[[INDEX:.*]] = grad.scatter %{{.*}}[%[[PLACE]]] replace %{{.*}} dims [-1] index_dims [0] : tensor<24xi64>
  // DECOMPOSED: grad.div %[[INDEX]]
  // DECOMPOSED-NOT: grad.rem
  // DECOMPOSED: %[[ROW:.*]] = grad.div %[[INDEX]]
  // DECOMPOSED: grad.rem %[[ROW]]
  // DECOMPOSED: grad.rem %[[INDEX]]
  // DECOMPOSED: grad.concatenate {{.*}} dim 0 : tensor<1x24xi64>, tensor<1x24xi64>, tensor<1x24xi64>
  %0 = grad.positions %x : tensor<3x2x4xi1> -> tensor<3x24xi64>
  // CHECK: grad.positions %arg1 : tensor<7xi1> -> tensor<1x5xi64>
  // DECOMPOSED: %[[INDEX:.*]] = grad.scatter {{.*}} : tensor<5xi64>, tensor<7xi64>, tensor<7xi64>
  // DECOMPOSED-NEXT: grad.reshape %[[INDEX]] : tensor<5xi64> -> tensor<1x5xi64>
  %1 = grad.positions %list : tensor<7xi1> -> tensor<1x5xi64>
  return %0, %1 : tensor<3x24xi64>, tensor<1x5xi64>
}

// DECOMPOSED-LABEL: @none
func.func @none(%x: tensor<3x0xi1>, %y: tensor<3xi1>) -> (tensor<2x0xi64>, tensor<1x0xi64>) {
  // DECOMPOSED-NOT: grad.scatter
  // DECOMPOSED: return
  %0 = grad.positions %x : tensor<3x0xi1> -> tensor<2x0xi64>
  %1 = grad.positions %y : tensor<3xi1> -> tensor<1x0xi64>
  return %0, %1 : tensor<2x0xi64>, tensor<1x0xi64>
}

// Zeros behind the last one, and no more than there are columns.

// FOLD-LABEL: @values
func.func @values() -> (tensor<2x6xi64>, tensor<1x2xi64>, tensor<1x3xi64>) {
  %x = grad.constant dense<[[false, true, true], [true, false, false]]> : tensor<2x3xi1>
  // FOLD-DAG: dense<{{\[}}[0, 0, 1, 0, 0, 0], [1, 2, 0, 0, 0, 0]]>
  %0 = grad.positions %x : tensor<2x3xi1> -> tensor<2x6xi64>
  %y = grad.constant dense<[false, true, true, false, true]> : tensor<5xi1>
  // FOLD-DAG: dense<{{\[}}[1, 2]]>
  %1 = grad.positions %y : tensor<5xi1> -> tensor<1x2xi64>
  %z = grad.constant dense<false> : tensor<4xi1>
  // FOLD-DAG: dense<0> : tensor<1x3xi64>
  %2 = grad.positions %z : tensor<4xi1> -> tensor<1x3xi64>
  return %0, %1, %2 : tensor<2x6xi64>, tensor<1x2xi64>, tensor<1x3xi64>
}

// -----

func.func @c1(%x: tensor<i1>) {
  // expected-error @+1 {{expected an operand with a dim, found 'tensor<i1>'}}
  %0 = grad.positions %x : tensor<i1> -> tensor<0x1xi64>
  return
}

// -----

func.func @c2_rows(%x: tensor<5x3xi1>) {
  // expected-error @+1 {{expected i64 of 2 by at most 15 elements, found 'tensor<1x15xi64>'}}
  %0 = grad.positions %x : tensor<5x3xi1> -> tensor<1x15xi64>
  return
}

// -----

func.func @c2_columns(%x: tensor<5x3xi1>) {
  // expected-error @+1 {{expected i64 of 2 by at most 15 elements, found 'tensor<2x16xi64>'}}
  %0 = grad.positions %x : tensor<5x3xi1> -> tensor<2x16xi64>
  return
}

// -----

func.func @c2_rank(%x: tensor<5xi1>) {
  // expected-error @+1 {{expected i64 of 1 by at most 5 elements, found 'tensor<5xi64>'}}
  %0 = grad.positions %x : tensor<5xi1> -> tensor<5xi64>
  return
}

// -----

func.func @c2_element(%x: tensor<5xi1>) {
  // expected-error @+1 {{expected i64 of 1 by at most 5 elements, found 'tensor<1x5xi32>'}}
  %0 = grad.positions %x : tensor<5xi1> -> tensor<1x5xi32>
  return
}
