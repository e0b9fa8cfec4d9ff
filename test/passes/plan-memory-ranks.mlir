// RUN: gradc-opt %s -gradc-plan-memory | FileCheck %s

exec.kernel @double(%x: tensor<64xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.add %x, %x : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}

// Sums stand where their operands did. While they are under way nothing lies over them: what is computed beside them has
// other memory.

// CHECK-LABEL: exec.entry @beside
// CHECK: exec.dispatch @double [#exec.slice<input 0 at 0 : tensor<64xf32>>] -> [#exec.slice<arena 0 at [[A:.*]] : tensor<64xf32>>]
// CHECK-NEXT: exec.collective sum [#exec.slice<arena 0 at [[A]] : tensor<64xf32>>] bf16
// CHECK-NEXT: exec.dispatch @double {{.*}} -> [#exec.slice<arena 0 at [[B:.*]] : tensor<64xf32>>]
// CHECK-NEXT: exec.dispatch @double [#exec.slice<arena 0 at [[B]] : {{.*}}>] -> [#exec.slice<output 1
// CHECK-NEXT: exec.dispatch @double [#exec.slice<arena 0 at [[A]] : {{.*}}>] -> [#exec.slice<output 0
func.func @beside(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %a = exec.launch @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %s = grad.all_reduce %a bf16 : tensor<64xf32>
  %b = exec.launch @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %c = exec.launch @double(%b) : (tensor<64xf32>) -> tensor<64xf32>
  %d = exec.launch @double(%s) : (tensor<64xf32>) -> tensor<64xf32>
  return %d, %c : tensor<64xf32>, tensor<64xf32>
}

// What is read later, is an input, or becomes an output is copied first.

// CHECK-LABEL: exec.entry @copied
// CHECK: exec.dispatch @double [#exec.slice<input 0 at 0 : tensor<64xf32>>] -> [#exec.slice<arena 0 at [[A:.*]] : tensor<64xf32>>]
// CHECK-NEXT: exec.copy <arena 0 at [[A]] : tensor<64xf32>> -> <arena 0 at [[S:.*]] : tensor<64xf32>>
// CHECK-NEXT: exec.copy <input 0 at 0 : tensor<64xf32>> -> <output 0 at 0 : tensor<64xf32>>
// CHECK-NEXT: exec.collective sum [#exec.slice<arena 0 at [[S]] : tensor<64xf32>>, #exec.slice<output 0 at 0 : tensor<64xf32>>]
// CHECK-NEXT: exec.dispatch @double [#exec.slice<arena 0 at [[A]] :
// CHECK-NEXT: exec.dispatch @double [#exec.slice<arena 0 at [[S]] :
func.func @copied(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %a = exec.launch @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %s:2 = grad.all_reduce %a, %x : tensor<64xf32>, tensor<64xf32>
  %b = exec.launch @double(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %c = exec.launch @double(%s#0) : (tensor<64xf32>) -> tensor<64xf32>
  return %s#1, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
