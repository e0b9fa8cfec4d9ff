// RUN: gradc-opt %s -split-input-file -gradc-decompose -cse -gradc-form-kernels | FileCheck %s
// RUN: gradc-opt %s -split-input-file -gradc-decompose -cse -gradc-form-kernels=cuda | FileCheck %s --check-prefix=CUDA

// The gradient of a GELU reads its argument anyway, and computes the tanh again. GPUs keep it.

// CHECK-LABEL: func.func @gelu
// CHECK-NEXT: %[[F:.*]]:2 = exec.launch @{{.*}}(%arg0, %arg1) {{.*}} -> (tensor<8x32xf32>, tensor<8x32xf32>)
// CHECK: exec.launch @{{.*}}(%[[F]]#{{[01]}}, %{{.*}}, %arg3) {{.*}} -> tensor<8x32xf32>
// CHECK-COUNT-2: grad.tanh
// CUDA-LABEL: func.func @gelu
// CUDA-NEXT: exec.launch {{.*}} -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>)
// CUDA: grad.tanh
// CUDA-NOT: grad.tanh
func.func @gelu(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %t: tensor<8x4xf32>, %v: tensor<32x4xf32>) -> tensor<8x32xf32> {
  %h = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32>
  %y = grad.gelu %h {approximate} : tensor<8x32xf32>
  %z = grad.matmul %y, %v : tensor<8x32xf32>, tensor<32x4xf32>
  %dz = grad.sub %z, %t : tensor<8x4xf32>
  %dy = grad.matmul %dz, %v transpose_rhs : tensor<8x4xf32>, tensor<32x4xf32>
  %dh = grad.gelu_grad %h, %dy {approximate} : tensor<8x32xf32>
  return %dh : tensor<8x32xf32>
}

// -----

// The second kernel does not read what the tanh is computed from.

// CHECK-LABEL: func.func @other_operand
// CUDA-LABEL: func.func @other_operand
// CHECK: grad.tanh
// CHECK-NOT: grad.tanh
func.func @other_operand(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %t: tensor<8x4xf32>, %v: tensor<32x4xf32>) -> tensor<8x32xf32> {
  %h = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32>
  %a = grad.tanh %h : tensor<8x32xf32>
  %y = grad.mul %a, %h : tensor<8x32xf32>
  %z = grad.matmul %y, %v : tensor<8x32xf32>, tensor<32x4xf32>
  %dz = grad.sub %z, %t : tensor<8x4xf32>
  %dy = grad.matmul %dz, %v transpose_rhs : tensor<8x4xf32>, tensor<32x4xf32>
  %dh = grad.mul %dy, %a : tensor<8x32xf32>
  return %dh : tensor<8x32xf32>
}

// -----

// Three functions cost more than writing and reading the value.

// CHECK-LABEL: func.func @expensive
// CHECK: grad.erf
// CHECK-NOT: grad.erf
func.func @expensive(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %t: tensor<8x4xf32>, %v: tensor<32x4xf32>) -> tensor<8x32xf32> {
  %h = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32>
  %0 = grad.tanh %h : tensor<8x32xf32>
  %1 = grad.exp %0 : tensor<8x32xf32>
  %a = grad.erf %1 : tensor<8x32xf32>
  %y = grad.mul %a, %h : tensor<8x32xf32>
  %z = grad.matmul %y, %v : tensor<8x32xf32>, tensor<32x4xf32>
  %dz = grad.sub %z, %t : tensor<8x4xf32>
  %dy = grad.matmul %dz, %v transpose_rhs : tensor<8x4xf32>, tensor<32x4xf32>
  %d = grad.mul %dy, %a : tensor<8x32xf32>
  %dh = grad.mul %d, %h : tensor<8x32xf32>
  return %dh : tensor<8x32xf32>
}

// -----

// A product reads the tanh from memory, so the other reader does, too.

// CHECK-LABEL: func.func @needed
// CHECK: grad.tanh
// CHECK-NOT: grad.tanh
func.func @needed(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %t: tensor<8x4xf32>, %v: tensor<32x4xf32>) -> tensor<8x32xf32> {
  %h = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32>
  %y = grad.tanh %h : tensor<8x32xf32>
  %z = grad.matmul %y, %v : tensor<8x32xf32>, tensor<32x4xf32>
  %dz = grad.sub %z, %t : tensor<8x4xf32>
  %dy = grad.matmul %dz, %v transpose_rhs : tensor<8x4xf32>, tensor<32x4xf32>
  %d = grad.mul %dy, %y : tensor<8x32xf32>
  %dh = grad.mul %d, %h : tensor<8x32xf32>
  return %dh : tensor<8x32xf32>
}

// -----

// A kernel whose only result is computed by both readers disappears.

// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[FIRST:.*]] = exec.launch
// CHECK-NEXT: exec.launch @{{.*}}(%[[FIRST]],
// CHECK-NEXT: return
// CHECK-COUNT-2: grad.sigmoid
func.func @twice(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %v: tensor<32x32xf32>, %s: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %a = grad.sigmoid %s : tensor<8x32xf32>
  %0 = grad.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32>
  %1 = grad.mul %0, %a : tensor<8x32xf32>
  %2 = grad.mul %1, %s : tensor<8x32xf32>
  %3 = grad.matmul %2, %v : tensor<8x32xf32>, tensor<32x32xf32>
  %4 = grad.mul %3, %a : tensor<8x32xf32>
  %5 = grad.mul %4, %s : tensor<8x32xf32>
  return %5 : tensor<8x32xf32>
}
