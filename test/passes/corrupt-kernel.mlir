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
