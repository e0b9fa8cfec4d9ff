// RUN: gradc-opt %s -split-input-file -gradc-bucket-sums=bytes=1024 | FileCheck %s

exec.kernel @gradient(%x: tensor<64xf32>) {
  %0 = grad.exp %x : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}

// Consecutive sums are merged where the last of them begins: four sums of 256 bytes fill a collective.

// CHECK-LABEL: func.func @gradients
// CHECK: %[[A:.*]] = exec.launch @gradient(%arg0)
// CHECK-NEXT: %[[B:.*]] = exec.launch @gradient(%[[A]])
// CHECK-NEXT: %[[C:.*]] = exec.launch @gradient(%[[B]])
// CHECK-NEXT: %[[D:.*]] = exec.launch @gradient(%[[C]])
// CHECK-NEXT: %[[S:.*]]:4 = grad.all_reduce %[[A]], %[[B]], %[[C]], %[[D]] : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
// CHECK-NEXT: %[[E:.*]] = exec.launch @gradient(%[[D]])
// CHECK-NEXT: %[[T:.*]] = grad.all_reduce %[[E]] : tensor<64xf32>
// CHECK-NEXT: return %[[S]]#0, %[[S]]#1, %[[S]]#2, %[[S]]#3, %[[T]]
func.func @gradients(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %a = exec.launch @gradient(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %s1 = grad.all_reduce %a : tensor<64xf32>
  %b = exec.launch @gradient(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %s2 = grad.all_reduce %b : tensor<64xf32>
  %c = exec.launch @gradient(%b) : (tensor<64xf32>) -> tensor<64xf32>
  %s3 = grad.all_reduce %c : tensor<64xf32>
  %d = exec.launch @gradient(%c) : (tensor<64xf32>) -> tensor<64xf32>
  %s4 = grad.all_reduce %d : tensor<64xf32>
  %e = exec.launch @gradient(%d) : (tensor<64xf32>) -> tensor<64xf32>
  %s5 = grad.all_reduce %e : tensor<64xf32>
  return %s1, %s2, %s3, %s4, %s5 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

exec.kernel @gradient(%x: tensor<64xf32>) {
  %0 = grad.exp %x : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}

// A sum that is read before the next one begins is not merged, even if it is read through a view.

// CHECK-LABEL: func.func @read_between
// CHECK: %[[S:.*]] = grad.all_reduce %arg0 : tensor<64xf32>
// CHECK: exec.launch @gradient(%[[S]])
// CHECK: %[[T:.*]] = grad.all_reduce %{{.*}} : tensor<64xf32>
// CHECK: grad.reshape %[[T]]
// CHECK: grad.all_reduce %arg0 : tensor<64xf32>
func.func @read_between(%x: tensor<64xf32>) -> (tensor<8x8xf32>, tensor<64xf32>) {
  %s = grad.all_reduce %x : tensor<64xf32>
  %a = exec.launch @gradient(%s) : (tensor<64xf32>) -> tensor<64xf32>
  %t = grad.all_reduce %a : tensor<64xf32>
  %v = grad.reshape %t : tensor<64xf32> -> tensor<8x8xf32>
  %u = grad.all_reduce %x : tensor<64xf32>
  return %v, %u : tensor<8x8xf32>, tensor<64xf32>
}

// -----

// Sums with the same element type and wire type are merged, even with other sums in between.

// CHECK-LABEL: func.func @kinds
// CHECK-DAG: grad.all_reduce %arg0, %arg0 : tensor<64xf32>, tensor<64xf32>
// CHECK-DAG: grad.all_reduce %arg0 bf16 : tensor<64xf32>
// CHECK-DAG: grad.all_reduce %arg1 : tensor<f64>
// CHECK-NOT: all_reduce
func.func @kinds(%x: tensor<64xf32>, %n: tensor<f64>) -> (tensor<64xf32>, tensor<64xf32>, tensor<f64>, tensor<64xf32>) {
  %a = grad.all_reduce %x : tensor<64xf32>
  %b = grad.all_reduce %x bf16 : tensor<64xf32>
  %c = grad.all_reduce %n : tensor<f64>
  %d = grad.all_reduce %x : tensor<64xf32>
  return %a, %b, %c, %d : tensor<64xf32>, tensor<64xf32>, tensor<f64>, tensor<64xf32>
}

// -----

exec.kernel @gradient(%x: tensor<64xf32>) {
  %0 = grad.exp %x : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}

// A sum that the operand of another sum depends on is not merged.

// CHECK-LABEL: func.func @urgent
// CHECK: %[[S:.*]] = grad.all_reduce %arg0 : tensor<64xf32>
// CHECK: exec.launch @gradient(%[[S]])
// CHECK: grad.all_reduce %arg1, %{{.*}} : tensor<64xf32>, tensor<64xf32>
func.func @urgent(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %a = grad.all_reduce %y : tensor<64xf32>
  %s = grad.all_reduce %x : tensor<64xf32>
  %g = exec.launch @gradient(%s) : (tensor<64xf32>) -> tensor<64xf32>
  %b = grad.all_reduce %g : tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}
