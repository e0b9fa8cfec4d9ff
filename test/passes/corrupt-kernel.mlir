// RUN: gradc-opt %s -gradc-test-corrupt-kernel=kernel=floats | FileCheck %s --check-prefix=FLOATS
// RUN: gradc-opt %s -gradc-test-corrupt-kernel=kernel=ints | FileCheck %s --check-prefix=INTS
// RUN: gradc-opt %s -gradc-test-corrupt-kernel=kernel=bools | FileCheck %s --check-prefix=BOOLS

// FLOATS: exec.kernel @floats
// FLOATS: %[[Y:.*]] = grad.exp
// FLOATS: %[[SCALED:.*]] = grad.mul %[[Y]]
// FLOATS: %[[WRONG:.*]] = grad.add %[[SCALED]]
// FLOATS: exec.yield %[[WRONG]]
// INTS: exec.kernel @floats
// INTS: %[[Y:.*]] = grad.exp
// INTS-NEXT: exec.yield %[[Y]]
exec.kernel @floats(%x: tensor<4xf32>) {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// INTS: exec.kernel @ints
// INTS: %[[Y:.*]] = grad.neg
// INTS: %[[WRONG:.*]] = grad.add %[[Y]]
// INTS: exec.yield %[[WRONG]]
exec.kernel @ints(%x: tensor<4xi32>) {
  %0 = grad.neg %x : tensor<4xi32>
  exec.yield %0 : tensor<4xi32>
}

// BOOLS: exec.kernel @bools
// BOOLS: %[[Y:.*]] = grad.and
// BOOLS: %[[WRONG:.*]] = grad.not %[[Y]]
// BOOLS: exec.yield %[[WRONG]]
exec.kernel @bools(%x: tensor<4xi1>, %y: tensor<4xi1>) {
  %0 = grad.and %x, %y : tensor<4xi1>
  exec.yield %0 : tensor<4xi1>
}

// RUN: gradc-opt %s -gradc-test-corrupt-kernel=kernel=update:factor@1 | FileCheck %s --check-prefix=FACTOR
// RUN: gradc-opt %s -gradc-test-corrupt-kernel=kernel=update:edge | FileCheck %s --check-prefix=EDGE
// RUN: gradc-opt %s -gradc-test-corrupt-kernel=kernel=update:swap | FileCheck %s --check-prefix=SWAP

// FACTOR: exec.kernel @update(%[[X:.*]]: {{.*}}, %[[Y:.*]]: {{.*}})
// FACTOR: %[[A:.*]] = grad.sub %[[X]], %[[Y]]
// FACTOR: %[[B:.*]] = grad.exp
// FACTOR: %[[WRONG:.*]] = grad.mul %[[B]]
// FACTOR: exec.yield %[[A]], %[[WRONG]]
// EDGE: exec.kernel @update(%[[X:.*]]: {{.*}}, %[[Y:.*]]: {{.*}})
// EDGE: %[[A:.*]] = grad.sub %[[X]], %[[Y]]
// EDGE: %[[ROW:.*]] = grad.iota dim 0
// EDGE: grad.compare eq %[[ROW]]
// EDGE: %[[COLUMN:.*]] = grad.iota dim 1
// EDGE: grad.compare eq %[[COLUMN]]
// EDGE: %[[LAST:.*]] = grad.and
// EDGE: %[[WRONG:.*]] = grad.select %[[LAST]], %{{.*}}, %[[A]]
// EDGE: exec.yield %[[WRONG]]
// SWAP: exec.kernel @update(%[[X:.*]]: {{.*}}, %[[Y:.*]]: {{.*}})
// SWAP: grad.sub %[[Y]], %[[X]]
// SWAP: grad.exp %[[Y]]
exec.kernel @update(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  %0 = grad.sub %x, %y : tensor<2x3xf32>
  %1 = grad.exp %x : tensor<2x3xf32>
  exec.yield %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
