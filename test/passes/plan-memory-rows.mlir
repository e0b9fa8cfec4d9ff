// RUN: gradc-opt %s -gradc-plan-memory | FileCheck %s

exec.kernel @set_rows(%t: tensor<16x16xf32>, %i: tensor<2xi32>, %v: tensor<2x16xf32>) attributes {patch = #exec.patch<table = 0, rows = 1, values = 2>} {
  %0 = grad.set_rows %t[%i], %v : tensor<16x16xf32>, tensor<2x16xf32>, tensor<2xi32>
  exec.yield %0 : tensor<16x16xf32>
}
exec.kernel @exp(%x: tensor<16x16xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.exp %x : tensor<16x16xf32>
  exec.yield %0 : tensor<16x16xf32>
}

// A table without later readers is overwritten.

// CHECK-LABEL: exec.entry @dies
// CHECK-NEXT: exec.dispatch @exp {{.*}} -> [#exec.slice<arena 0 at [[AT:[0-9]+]] :
// CHECK-NEXT: exec.dispatch @set_rows [#exec.slice<arena 0 at [[AT]] : {{.*}}] -> [#exec.slice<arena 0 at [[AT]] :
func.func @dies(%x: tensor<16x16xf32>, %i: tensor<2xi32>, %v: tensor<2x16xf32>) -> tensor<16x16xf32> {
  %0 = exec.launch @exp(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @set_rows(%0, %i, %v) {exec.nodes = []} : (tensor<16x16xf32>, tensor<2xi32>, tensor<2x16xf32>) -> tensor<16x16xf32>
  %2 = exec.launch @exp(%1) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// A table that is read again, or that belongs to the caller, is copied first.

// CHECK-LABEL: exec.entry @lives
// CHECK-NEXT: exec.dispatch @exp {{.*}} -> [#exec.slice<arena 0 at [[TABLE:[0-9]+]] :
// CHECK-NEXT: exec.copy <arena 0 at [[TABLE]] : {{.*}}> -> <output 0 at 0 :
// CHECK-NEXT: exec.dispatch @set_rows [#exec.slice<output 0 at 0 : {{.*}}] -> [#exec.slice<output 0 at 0 :
// CHECK-NEXT: exec.dispatch @exp [#exec.slice<arena 0 at [[TABLE]] :
func.func @lives(%x: tensor<16x16xf32>, %i: tensor<2xi32>, %v: tensor<2x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = exec.launch @exp(%x) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = exec.launch @set_rows(%0, %i, %v) {exec.nodes = []} : (tensor<16x16xf32>, tensor<2xi32>, tensor<2x16xf32>) -> tensor<16x16xf32>
  %2 = exec.launch @exp(%0) {exec.nodes = []} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
}

// CHECK-LABEL: exec.entry @input
// CHECK-NEXT: exec.copy <input 0 at 0 : {{.*}}> -> <output 0 at 0 :
// CHECK-NEXT: exec.dispatch @set_rows [#exec.slice<output 0 at 0 : {{.*}}] -> [#exec.slice<output 0 at 0 :
func.func @input(%x: tensor<16x16xf32>, %i: tensor<2xi32>, %v: tensor<2x16xf32>) -> tensor<16x16xf32> {
  %0 = exec.launch @set_rows(%x, %i, %v) {exec.nodes = []} : (tensor<16x16xf32>, tensor<2xi32>, tensor<2x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
