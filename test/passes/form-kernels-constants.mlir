// RUN: gradc-opt %s -split-input-file -canonicalize -gradc-form-kernels | FileCheck %s

// A folded constant that repeats a vector for each row is stored as that vector, which the kernel repeats.

// CHECK: grad.state constant @constant.0 : tensor<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// CHECK-LABEL: func.func @repeated
// CHECK-NEXT: %[[TABLE:.*]] = grad.read @constant.0 : tensor<2xf32>
// CHECK-NEXT: exec.launch @{{.*}}%[[TABLE]]
// CHECK-NEXT: return
// CHECK: exec.kernel
// CHECK: grad.broadcast %{{.*}} dims [1] : tensor<2xf32> -> tensor<600x2xf32>
func.func @repeated(%x: tensor<600x2xf32>) -> tensor<600x2xf32> {
  %0 = grad.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = grad.broadcast %0 dims [1] : tensor<2xf32> -> tensor<600x2xf32>
  %2 = grad.add %x, %1 : tensor<600x2xf32>
  return %2 : tensor<600x2xf32>
}

// -----

// What a product reads is stored whole, and so is what fits the first cache.

// CHECK-DAG: grad.state constant @constant.{{.*}} : tensor<600x2xf32>
// CHECK-DAG: grad.state constant @constant.{{.*}} : tensor<3x2xf32>
// CHECK-LABEL: func.func @whole
func.func @whole(%x: tensor<2x600xf32>, %y: tensor<3x2xf32>) -> (tensor<2x2xf32>, tensor<3x2xf32>) {
  %0 = grad.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = grad.broadcast %0 dims [1] : tensor<2xf32> -> tensor<600x2xf32>
  %2 = grad.matmul %x, %1 : tensor<2x600xf32>, tensor<600x2xf32>
  %3 = grad.broadcast %0 dims [1] : tensor<2xf32> -> tensor<3x2xf32>
  %4 = grad.add %y, %3 : tensor<3x2xf32>
  return %2, %4 : tensor<2x2xf32>, tensor<3x2xf32>
}

// -----

// In an entry that takes any number of rows, also a small one, and one that a gather reads: a state has no rows.

// CHECK-DAG: grad.state constant @constant.{{.*}} : tensor<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// CHECK-DAG: grad.state constant @constant.{{.*}} : tensor<2xi64> = dense<[3, 4]>
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<6x2xf32> {grad.batched}, %w: tensor<5x2xf32>) -> (tensor<6x2xf32>, tensor<6x2xf32>)
    attributes {grad.batch = 6 : i64, grad.rows} {
  %0 = grad.constant dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]> : tensor<6x2xf32>
  %1 = grad.mul %x, %0 : tensor<6x2xf32>
  %2 = grad.constant dense<[[3, 4], [3, 4], [3, 4], [3, 4], [3, 4], [3, 4]]> : tensor<6x2xi64>
  %3 = grad.gather %w[%2] dims [-1, 1] index_dims [0, 1] : tensor<5x2xf32>, tensor<6x2xi64>
  return %1, %3 : tensor<6x2xf32>, tensor<6x2xf32>
}
