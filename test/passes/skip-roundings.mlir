// RUN: gradc-opt %s --gradc-skip-roundings | FileCheck %s

// Other kernels read the stored values; the kernel itself uses its unrounded ones.
// CHECK-LABEL: exec.kernel @stored
// CHECK: %[[T:.*]] = grad.cast %arg0 storage : tensor<4x2xf32> -> tensor<4x2xbf16>
// CHECK-NEXT: %[[E:.*]] = grad.exp %arg0
// CHECK-NEXT: exec.yield %[[T]], %[[E]]
exec.kernel @stored(%s: tensor<4x2xf32>) attributes {bytes = 0 : i64} {
  %t = grad.cast %s storage : tensor<4x2xf32> -> tensor<4x2xbf16>
  %y = grad.cast %t storage : tensor<4x2xbf16> -> tensor<4x2xf32>
  %e = grad.exp %y : tensor<4x2xf32>
  exec.yield %t, %e : tensor<4x2xbf16>, tensor<4x2xf32>
}

// The operand of the reduction has no other reader.
// CHECK-LABEL: exec.kernel @own
// CHECK-NOT: grad.cast
// CHECK: grad.reduce_max %arg0
// CHECK-NOT: grad.cast
exec.kernel @own(%s: tensor<4x2xf32>) attributes {bytes = 0 : i64} {
  %t = grad.cast %s storage : tensor<4x2xf32> -> tensor<4x2xbf16>
  %y = grad.cast %t storage : tensor<4x2xbf16> -> tensor<4x2xf32>
  %m = grad.reduce_max %y dims [1] : tensor<4x2xf32>
  exec.yield %m : tensor<4xf32>
}

// Another kernel subtracts this kernel's maximum from stored values.
// CHECK-LABEL: exec.kernel @reduced
// CHECK: %[[T:.*]] = grad.cast %arg0 storage : tensor<4x2xf32> -> tensor<4x2xbf16>
// CHECK-NEXT: %[[Y:.*]] = grad.cast %[[T]] storage : tensor<4x2xbf16> -> tensor<4x2xf32>
// CHECK-NEXT: grad.reduce_max %[[Y]]
exec.kernel @reduced(%s: tensor<4x2xf32>) attributes {bytes = 0 : i64} {
  %t = grad.cast %s storage : tensor<4x2xf32> -> tensor<4x2xbf16>
  %y = grad.cast %t storage : tensor<4x2xbf16> -> tensor<4x2xf32>
  %m = grad.reduce_max %y dims [1] : tensor<4x2xf32>
  exec.yield %t, %m : tensor<4x2xbf16>, tensor<4xf32>
}
