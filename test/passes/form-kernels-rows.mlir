// RUN: gradc-opt %s -gradc-decompose=keep-for-kernels=true -gradc-form-kernels | FileCheck %s
// RUN: gradc-opt %s -gradc-decompose=keep-for-kernels=true -gradc-form-kernels -gradc-choose-layouts -gradc-schedule -gradc-plan-memory | FileCheck %s --check-prefix=PLAN
// RUN: gradc-opt %s -gradc-decompose -gradc-form-kernels=cuda=true | FileCheck %s --check-prefix=CUDA

// On a CPU, the new rows overwrite the table in a separate kernel that walks them. The arithmetic before it is another kernel.
// On other targets the op is a scatter.

// CUDA-NOT: exec.patch
// CUDA: grad.scatter
grad.state parameter @table : tensor<64x8xf32> = dense<0.5> : tensor<64x8xf32>

// CHECK-LABEL: func.func @update(
// CHECK: %[[TABLE:.*]] = grad.read @table
// CHECK: %[[NEW:.*]] = exec.launch @add(%[[TABLE]], %arg0, %arg1)
// CHECK: exec.launch @set_rows(%[[TABLE]], %arg0, %[[NEW]])

// The plan reads and writes one buffer, copies nothing, and the arena holds only the rows.

// PLAN: exec.entry @update arena 128
// PLAN-NEXT: exec.dispatch @add
// PLAN-NEXT: exec.dispatch @set_rows [#exec.slice<buffer 0 at 0 of @table.primary : {{.*}}] -> [#exec.slice<buffer 0 at 0 of @table.primary :
// PLAN-NEXT: {{^ *}$}}
func.func @update(%i: tensor<4xi32>, %g: tensor<4x8xf32>) {
  %t = grad.read @table : tensor<64x8xf32>
  %0 = grad.gather %t[%i] dims [-1, 1] index_dims [0] : tensor<64x8xf32>, tensor<4xi32>
  %1 = grad.add %g, %0 : tensor<4x8xf32>
  %2 = grad.set_rows %t[%i], %1 : tensor<64x8xf32>, tensor<4x8xf32>, tensor<4xi32>
  grad.write @table, %2 : tensor<64x8xf32>
  return
}

// A table that a product also reads stays row-major and has a mirror in panels.

// PLAN: exec.buffer primary @read.primary of @read : 6144
// PLAN: exec.buffer mirror @read.mirror1 of @read layout <dim = 1, width = 
grad.state parameter @read : tensor<64x24xf32> = dense<0.5> : tensor<64x24xf32>
func.func @forward(%x: tensor<16x64xf32>) -> tensor<16x24xf32> {
  %t = grad.read @read : tensor<64x24xf32>
  %0 = grad.matmul %x, %t : tensor<16x64xf32>, tensor<64x24xf32>
  return %0 : tensor<16x24xf32>
}
func.func @write(%i: tensor<4xi32>, %g: tensor<4x24xf32>) {
  %t = grad.read @read : tensor<64x24xf32>
  %2 = grad.set_rows %t[%i], %g : tensor<64x24xf32>, tensor<4x24xf32>, tensor<4xi32>
  grad.write @read, %2 : tensor<64x24xf32>
  return
}

// CHECK: exec.kernel @set_rows(%{{.*}}: tensor<64x8xf32>, %{{.*}}: tensor<4xi32>, %{{.*}}: tensor<4x8xf32>)
// CHECK-SAME: bytes = 256
// CHECK-SAME: patch = #exec.patch<table = 0, rows = 1, values = 2>
// CHECK-NEXT: grad.set_rows
// CHECK-NEXT: exec.yield
