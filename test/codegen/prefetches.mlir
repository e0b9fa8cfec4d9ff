// Products prefetch what comes next: the rows of a factor that no cache holds, a line per step; the next panel of a weight, of which each tile of rows
// takes its share; of a weight that goes through registers, the square in the next panel; and operands that are added to short sums, some tiles ahead.

// RUN: gradc compile %s --target=cpu:x86-64-v4 --emit=asm -o %t.s
// RUN: FileCheck %s --input-file=%t.s
// CHECK-LABEL: gradc_matmul_5f0_5f3:
// CHECK-COUNT-16: prefetcht0
// CHECK-LABEL: gradc_matmul_5f2:
// CHECK-COUNT-2: prefetcht0
// CHECK: prefetcht1
// CHECK-NOT: prefetch
// CHECK-LABEL: gradc_matmul_5f1:
// CHECK: prefetcht1
// CHECK-NOT: prefetch
// CHECK-LABEL: gradc_matmul_5fadd:
// CHECK-COUNT-16: prefetcht0
// CHECK-NOT: prefetch
grad.state parameter @w : tensor<2048x2048xf32> = dense<1.0> : tensor<2048x2048xf32>

func.func @step(%x: tensor<64x2048xf32>, %dy: tensor<64x2048xf32>, %rows: tensor<8192x512xf32>, %thin: tensor<512x64xf32>, %a: tensor<8x4096xf32>, %b: tensor<8x1024xf32>,
                %c: tensor<4096x1024xf32>) -> (tensor<64x2048xf32>, tensor<64x2048xf32>, tensor<8192x64xf32>, tensor<4096x1024xf32>) attributes {grad.entry = "step"} {
  %w = grad.read @w : tensor<2048x2048xf32>
  %0 = grad.matmul %x, %w : tensor<64x2048xf32>, tensor<2048x2048xf32>
  %1 = grad.matmul %dy, %w transpose_rhs : tensor<64x2048xf32>, tensor<2048x2048xf32>
  %dw = grad.matmul %x, %dy transpose_lhs : tensor<64x2048xf32>, tensor<64x2048xf32>
  %next = grad.sub %w, %dw : tensor<2048x2048xf32>
  grad.write @w, %next : tensor<2048x2048xf32>
  %2 = grad.matmul %rows, %thin : tensor<8192x512xf32>, tensor<512x64xf32>
  %3 = grad.matmul %a, %b transpose_lhs : tensor<8x4096xf32>, tensor<8x1024xf32>
  %4 = grad.add %3, %c : tensor<4096x1024xf32>
  return %0, %1, %2, %4 : tensor<64x2048xf32>, tensor<64x2048xf32>, tensor<8192x64xf32>, tensor<4096x1024xf32>
}
