// RUN: gradc-opt %s -gradc-order-launches | FileCheck %s

// An update runs right after its gradient, before the next one. Launches that need all gradients, or that free nothing, keep their place.

// CHECK-LABEL: func.func @step
// CHECK: exec.load @w.primary
// CHECK: %[[G1:.*]] = exec.launch @gradient(%arg0)
// CHECK: exec.launch @update(%[[G1]], %{{.*}})
// CHECK: %[[G2:.*]] = exec.launch @gradient(%arg1)
// CHECK: %[[COPY:.*]] = exec.launch @copy(%arg0)
// CHECK: %[[VIEW:.*]] = grad.reshape %[[G2]]
// CHECK: exec.launch @both(%[[VIEW]], %[[COPY]])
// CHECK: exec.store @w.primary
grad.state parameter @w : tensor<256xf32> = dense<1.0> : tensor<256xf32>
exec.buffer primary @w.primary of @w : 1024
exec.kernel @gradient(%x: tensor<256xf32>) {
  %0 = grad.exp %x : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
exec.kernel @update(%g: tensor<256xf32>, %w: tensor<256xf32>) {
  %0 = grad.sub %w, %g : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
exec.kernel @copy(%x: tensor<256xf32>) {
  exec.yield %x : tensor<256xf32>
}
exec.kernel @both(%x: tensor<16x16xf32>, %y: tensor<256xf32>) {
  exec.yield %x : tensor<16x16xf32>
}
exec.kernel @scalar(%x: tensor<256xf32>) {
  %0 = grad.reduce_sum %x dims [0] : tensor<256xf32>
  exec.yield %0 : tensor<f32>
}
func.func @step(%x: tensor<256xf32>, %y: tensor<256xf32>) -> tensor<16x16xf32> {
  %g1 = exec.launch @gradient(%x) : (tensor<256xf32>) -> tensor<256xf32>
  %g2 = exec.launch @gradient(%y) : (tensor<256xf32>) -> tensor<256xf32>
  %c = exec.launch @copy(%x) : (tensor<256xf32>) -> tensor<256xf32>
  %v = grad.reshape %g2 : tensor<256xf32> -> tensor<16x16xf32>
  %b = exec.launch @both(%v, %c) : (tensor<16x16xf32>, tensor<256xf32>) -> tensor<16x16xf32>
  %w = exec.load @w.primary : tensor<256xf32>
  %u = exec.launch @update(%g1, %w) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  exec.store @w.primary, %u : tensor<256xf32>
  return %b : tensor<16x16xf32>
}

// Scalars that many launches need are computed at once; here, those that the updates need.

// CHECK-LABEL: func.func @scalars
// CHECK: %[[S:.*]] = exec.launch @scalar(%arg0)
// CHECK: %[[G:.*]] = exec.launch @gradient(%arg0)
// CHECK: exec.launch @scaled(%[[G]], %[[S]])
// CHECK: exec.launch @gradient(%arg1)
exec.kernel @scaled(%g: tensor<256xf32>, %s: tensor<f32>) {
  %0 = grad.neg %g : tensor<256xf32>
  exec.yield %0 : tensor<256xf32>
}
func.func @scalars(%x: tensor<256xf32>, %y: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %g1 = exec.launch @gradient(%x) : (tensor<256xf32>) -> tensor<256xf32>
  %g2 = exec.launch @gradient(%y) : (tensor<256xf32>) -> tensor<256xf32>
  %s = exec.launch @scalar(%x) : (tensor<256xf32>) -> tensor<f32>
  %u = exec.launch @scaled(%g1, %s) : (tensor<256xf32>, tensor<f32>) -> tensor<256xf32>
  return %u, %g2 : tensor<256xf32>, tensor<256xf32>
}

// A sum over ranks begins as early as possible. Updates that read sums run when nothing else is left, in the order of the sums. Sums that
// all other launches depend on are waited for.

// CHECK-LABEL: func.func @sums
// CHECK: %[[N:.*]] = grad.all_reduce %arg2 : tensor<256xf32>
// CHECK-NEXT: %[[G1:.*]] = exec.launch @gradient(%arg0)
// CHECK-NEXT: %[[S1:.*]] = grad.all_reduce %[[G1]]
// CHECK-NEXT: %[[G2:.*]] = exec.launch @gradient(%[[G1]])
// CHECK-NEXT: %[[S2:.*]] = grad.all_reduce %[[G2]]
// CHECK-NEXT: %[[M:.*]] = exec.launch @update(%[[G2]], %[[N]])
// CHECK-NEXT: %[[S3:.*]] = grad.all_reduce %[[M]]
// CHECK-NEXT: exec.launch @update(%[[S1]], %{{.*}})
// CHECK-NEXT: exec.launch @copy(%[[S2]])
// CHECK-NEXT: exec.launch @copy(%[[S3]])
func.func @sums(%x: tensor<256xf32>, %y: tensor<256xf32>, %n: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %g1 = exec.launch @gradient(%x) : (tensor<256xf32>) -> tensor<256xf32>
  %g2 = exec.launch @gradient(%g1) : (tensor<256xf32>) -> tensor<256xf32>
  %all = grad.all_reduce %n : tensor<256xf32>
  %m = exec.launch @update(%g2, %all) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %s3 = grad.all_reduce %m : tensor<256xf32>
  %s2 = grad.all_reduce %g2 : tensor<256xf32>
  %s1 = grad.all_reduce %g1 : tensor<256xf32>
  %u3 = exec.launch @copy(%s3) : (tensor<256xf32>) -> tensor<256xf32>
  %u2 = exec.launch @copy(%s2) : (tensor<256xf32>) -> tensor<256xf32>
  %w = exec.load @w.primary : tensor<256xf32>
  %u1 = exec.launch @update(%s1, %w) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  exec.store @w.primary, %u1 : tensor<256xf32>
  return %u2, %u3 : tensor<256xf32>, tensor<256xf32>
}
