// Offsets from 2^28 on are more than a constant index of llvm.getelementptr holds: those of the last rows of a tensor above 1 GiB, which a tile
// reads at constants, and those in the scratch memory of a long sort. None of them wraps to a negative one.

// RUN: gradc compile %s --target=cpu:x86-64-v4 --emit=llvm -o %t.ll
// RUN: FileCheck %s --input-file=%t.ll
// RUN: FileCheck %s --input-file=%t.ll --check-prefix=WRAPPED
// WRAPPED-NOT: getelementptr {{.*}} i64 -{{[0-9][0-9][0-9][0-9][0-9][0-9]}}
// The last tile of rows begins at 4 * 16384 * 16388 bytes.
// CHECK-DAG: getelementptr {{.*}}, i64 1074003968
// The counts of digits lie behind two lists of 2^24 keys of 8 bytes, and two of positions of 4.
// CHECK-DAG: getelementptr {{.*}}, i64 402653184
func.func @rows(%x: tensor<16388x16388xf32>) -> tensor<16388xf32> attributes {grad.entry = "rows"} {
  %0 = grad.reduce_sum %x dims [1] : tensor<16388x16388xf32>
  return %0 : tensor<16388xf32>
}

func.func @order(%x: tensor<16777216xf64>) -> tensor<16777216xi64> attributes {grad.entry = "order"} {
  %0 = grad.argsort %x dim 0 : tensor<16777216xf64> -> tensor<16777216xi64>
  return %0 : tensor<16777216xi64>
}
