// RUN: gradc-opt %s --gradc-choose-libraries=mode=always | FileCheck %s
// RUN: gradc-opt %s --gradc-choose-libraries | FileCheck %s --check-prefix=AUTO
// RUN: gradc-opt %s --gradc-choose-libraries=mode=never | FileCheck %s --check-prefix=NEVER
// RUN: sed s/cuda:sm_90/x86-64-v3/ %s | gradc-opt --gradc-choose-libraries=mode=always | FileCheck %s --check-prefix=NEVER
// RUN: not gradc-opt %s --gradc-choose-libraries=mode=often 2>&1 | FileCheck %s --check-prefix=MODE

// A call includes bias and ReLU, but not an update. A call costs more than a launch, so small products do not use one.
// NEVER-NOT: library
// MODE: error: expected mode auto, always or never, found often
// AUTO: exec.kernel @update({{.*}} attributes {bytes = 0 : i64} {
// AUTO: exec.kernel @product({{.*}} attributes {bytes = 0 : i64} {
// In f32, cuDNN's convolutions are no faster than generated ones.
// AUTO: exec.kernel @forward({{.*}} attributes {bytes = 0 : i64} {
// AUTO: exec.kernel @wide({{.*}} attributes {bytes = 0 : i64} {
// AUTO: exec.kernel @long_sum({{.*}} attributes {bytes = 0 : i64} {
// AUTO: exec.launch @update

module attributes {exec.level = "cuda:sm_90"} {
  // CHECK: exec.kernel @linear({{.*}} library = #exec.library<matmul epilogue = bias_relu, operands = [1, 0, 2]>
  exec.kernel @linear(%w: tensor<8x16xf32>, %x: tensor<4x8xf32>, %b: tensor<16xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32>
    %1 = grad.broadcast %b dims [1] : tensor<16xf32> -> tensor<4x16xf32>
    %2 = grad.add %1, %0 : tensor<4x16xf32>
    %3 = grad.relu %2 : tensor<4x16xf32>
    exec.yield %3 : tensor<4x16xf32>
  }
  // The sum has another reader, so it stays a result.
  // CHECK-NOT: exec.kernel @update
  exec.kernel @update(%x: tensor<4x8xf32>, %g: tensor<4x16xf32>, %w: tensor<8x16xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.matmul %x, %g transpose_lhs : tensor<4x8xf32>, tensor<4x16xf32>
    %1 = grad.sub %w, %0 : tensor<8x16xf32>
    exec.yield %1, %0 : tensor<8x16xf32>, tensor<8x16xf32>
  }
  // Products with any letters are calls if they are matrix products.
  // CHECK: exec.kernel @two_sums({{.*}} attributes {bytes = 0 : i64} {
  // CHECK: exec.kernel @two_rows({{.*}} attributes {bytes = 0 : i64} {
  // CHECK: exec.kernel @matrices({{.*}} library = #exec.library<matmul epilogue = none, operands = [0, 1]>
  exec.kernel @two_sums(%x: tensor<3x4x8xf32>, %g: tensor<3x4x16xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %g dims "tnk,tno->ko" window <[]> : tensor<3x4x8xf32>, tensor<3x4x16xf32>
    exec.yield %0 : tensor<8x16xf32>
  }
  exec.kernel @two_rows(%x: tensor<3x4x8xf32>, %w: tensor<8x16xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %w dims "tnk,ko->tno" window <[]> : tensor<3x4x8xf32>, tensor<8x16xf32>
    exec.yield %0 : tensor<3x4x16xf32>
  }
  exec.kernel @matrices(%x: tensor<3x4x8xf32>, %w: tensor<3x16x8xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %w dims "tnk,tok->tno" window <[]> : tensor<3x4x8xf32>, tensor<3x16x8xf32>
    exec.yield %0 : tensor<3x4x16xf32>
  }
  // The library has the tanh form of GELU.
  // CHECK: exec.kernel @gelu({{.*}} library = #exec.library<matmul epilogue = gelu, operands = [0, 1]>
  exec.kernel @gelu(%x: tensor<4x8xf32>, %w: tensor<8x12xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x12xf32>
    %1 = grad.gelu %0 {approximate} : tensor<4x12xf32>
    exec.yield %1 : tensor<4x12xf32>
  }
  // The operand of GELU is stored for the backward.
  // CHECK: exec.kernel @kept({{.*}} library = #exec.library<matmul epilogue = bias_gelu, operands = [0, 1, 2], kept = 1>
  exec.kernel @kept(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32>
    %1 = grad.broadcast %b dims [1] : tensor<16xf32> -> tensor<4x16xf32>
    %2 = grad.add %0, %1 : tensor<4x16xf32>
    %3 = grad.gelu %2 {approximate} : tensor<4x16xf32>
    exec.yield %3, %2 : tensor<4x16xf32>, tensor<4x16xf32>
  }
  // The backward computes the product of the gradient and multiplies it by GELU's derivative, in one call.
  // CHECK: exec.kernel @slope({{.*}} library = #exec.library<matmul epilogue = gelu_grad, operands = [1, 2, 0]>
  exec.kernel @slope(%z: tensor<4x16xf32>, %g: tensor<4x8xf32>, %w: tensor<16x8xf32>) attributes {inplace = array<i64: 0>, bytes = 0 : i64} {
    %0 = grad.matmul %g, %w transpose_rhs : tensor<4x8xf32>, tensor<16x8xf32>
    %1 = grad.gelu_grad %z, %0 {approximate} : tensor<4x16xf32>
    exec.yield %1 : tensor<4x16xf32>
  }
  // Such a matrix is read and written in units of eight columns.
  // CHECK-NOT: exec.kernel @{{odd_kept|odd_slope}}
  exec.kernel @odd_kept(%x: tensor<4x8xf32>, %w: tensor<8x12xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x12xf32>
    %1 = grad.gelu %0 {approximate} : tensor<4x12xf32>
    exec.yield %0, %1 : tensor<4x12xf32>, tensor<4x12xf32>
  }
  exec.kernel @odd_slope(%z: tensor<4x12xf32>, %g: tensor<4x8xf32>, %w: tensor<12x8xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.matmul %g, %w transpose_rhs : tensor<4x8xf32>, tensor<12x8xf32>
    %1 = grad.gelu_grad %z, %0 {approximate} : tensor<4x12xf32>
    exec.yield %1 : tensor<4x12xf32>
  }
  // The exact form of GELU is generated; its product is a call.
  // CHECK-NOT: exec.kernel @exact
  exec.kernel @exact(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32>
    %1 = grad.gelu %0 : tensor<4x16xf32>
    exec.yield %1 : tensor<4x16xf32>
  }
  // Only f32 products are calls.
  // CHECK: exec.kernel @half({{.*}} attributes {bytes = 0 : i64} {
  exec.kernel @half(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) attributes {bytes = 0 : i64} {
    %0 = grad.matmul %x, %w : tensor<4x8xbf16>, tensor<8x16xbf16>
    exec.yield %0 : tensor<4x16xbf16>
  }
  // CHECK: exec.kernel @product({{.*}} library = #exec.library<matmul epilogue = none, operands = [0, 1]>
  exec.kernel @product(%x: tensor<2x4x8xf32>, %y: tensor<2x8x4xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.matmul %x, %y : tensor<2x4x8xf32>, tensor<2x8x4xf32>
    exec.yield %0 : tensor<2x4x4xf32>
  }
  // CHECK: exec.kernel @forward({{.*}} library = #exec.library<convolution epilogue = none, operands = [0, 1]>
  exec.kernel @forward(%x: tensor<8x8x2x3xf32>, %w: tensor<3x3x3x4xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] stride [2, 2] low [1, 1] high [1, 1]> : tensor<8x8x2x3xf32>, tensor<3x3x3x4xf32>
    exec.yield %0 : tensor<4x4x2x4xf32>
  }
  // CHECK: exec.kernel @wide({{.*}} library = #exec.library<convolution epilogue = none, operands = [0, 1]>
  exec.kernel @wide(%x: tensor<32x32x64x64xf32>, %w: tensor<3x3x64x64xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<32x32x64x64xf32>, tensor<3x3x64x64xf32>
    exec.yield %0 : tensor<32x32x64x64xf32>
  }
  // CHECK: exec.kernel @long_sum({{.*}} library = #exec.library<filter_gradient epilogue = none, operands = [0, 1]>
  exec.kernel @long_sum(%x: tensor<32x32x64x3xf32>, %g: tensor<32x32x64x16xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %g dims "nc,no->co" window <[32, 32] low [1, 1] high [1, 1]> : tensor<32x32x64x3xf32>, tensor<32x32x64x16xf32>
    exec.yield %0 : tensor<3x3x3x16xf32>
  }
  // CHECK: exec.kernel @data({{.*}} library = #exec.library<data_gradient epilogue = none, operands = [0, 1]>
  exec.kernel @data(%g: tensor<4x4x2x4xf32>, %w: tensor<3x3x3x4xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %g, %w dims "no,co->nc" window <[3, 3] low [1, 1] high [2, 2] base [2, 2] reversed> : tensor<4x4x2x4xf32>, tensor<3x3x3x4xf32>
    exec.yield %0 : tensor<8x8x2x3xf32>
  }
  // CHECK: exec.kernel @filter({{.*}} library = #exec.library<filter_gradient epilogue = none, operands = [0, 1]>
  exec.kernel @filter(%x: tensor<8x8x2x3xf32>, %g: tensor<4x4x2x4xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %g dims "nc,no->co" window <[4, 4] low [1, 1] dilation [2, 2]> : tensor<8x8x2x3xf32>, tensor<4x4x2x4xf32>
    exec.yield %0 : tensor<3x3x3x4xf32>
  }
  // The data of a transposed convolution's filter gradient is the result's gradient.
  // CHECK: exec.kernel @transposed({{.*}} library = #exec.library<filter_gradient epilogue = none, operands = [0, 1]>
  exec.kernel @transposed(%g: tensor<8x8x2x3xf32>, %x: tensor<4x4x2x4xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %g, %x dims "no,nc->oc" window <[4, 4] low [1, 1] high [1, 1] dilation [2, 2]> : tensor<8x8x2x3xf32>, tensor<4x4x2x4xf32>
    exec.yield %0 : tensor<4x4x3x4xf32>
  }
  // The runtime reorders filters of one order of dims alone.
  // CHECK: exec.kernel @transposed_of_few({{.*}} attributes {bytes = 0 : i64} {
  exec.kernel @transposed_of_few(%g: tensor<8x8x2x3xf32>, %x: tensor<4x4x2x2xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %g, %x dims "no,nc->co" window <[4, 4] low [1, 1] high [1, 1] dilation [2, 2]> : tensor<8x8x2x3xf32>, tensor<4x4x2x2xf32>
    exec.yield %0 : tensor<4x4x2x3xf32>
  }
  // As a convolution with one tap it would have more windows than results.
  // CHECK: exec.kernel @point({{.*}} library = #exec.library<filter_gradient epilogue = none, operands = [0, 1]>
  exec.kernel @point(%x: tensor<2x2x2x3xf32>, %g: tensor<1x1x2x4xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %g dims "nc,no->co" window <[1, 1] high [-1, -1] dilation [2, 2]> : tensor<2x2x2x3xf32>, tensor<1x1x2x4xf32>
    exec.yield %0 : tensor<1x1x3x4xf32>
  }
  // The role of a convolution does not follow from its sizes: these pictures are smaller than the filter.
  // CHECK: exec.kernel @small({{.*}} library = #exec.library<convolution epilogue = none, operands = [0, 1]>
  exec.kernel @small(%x: tensor<2x2x2x3xf32>, %w: tensor<3x3x3x4xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<2x2x2x3xf32>, tensor<3x3x3x4xf32>
    exec.yield %0 : tensor<2x2x2x4xf32>
  }
  // CHECK: exec.kernel @small_filter({{.*}} library = #exec.library<filter_gradient epilogue = none, operands = [0, 1]>
  exec.kernel @small_filter(%x: tensor<2x2x2x3xf32>, %g: tensor<2x2x2x4xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %g dims "nc,no->co" window <[2, 2] low [1, 1] high [1, 1]> : tensor<2x2x2x3xf32>, tensor<2x2x2x4xf32>
    exec.yield %0 : tensor<3x3x3x4xf32>
  }
  // A convolution includes its bias and its ReLU.
  // CHECK: exec.kernel @block({{.*}} library = #exec.library<convolution epilogue = bias_relu, operands = [0, 1, 2]>
  exec.kernel @block(%x: tensor<8x8x2x3xf32>, %w: tensor<3x3x3x4xf32>, %b: tensor<4xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3]> : tensor<8x8x2x3xf32>, tensor<3x3x3x4xf32>
    %1 = grad.broadcast %b dims [3] : tensor<4xf32> -> tensor<6x6x2x4xf32>
    %2 = grad.add %0, %1 : tensor<6x6x2x4xf32>
    %3 = grad.relu %2 : tensor<6x6x2x4xf32>
    exec.yield %3 : tensor<6x6x2x4xf32>
  }
  // A plain call has no groups.
  // CHECK: exec.kernel @depthwise({{.*}} attributes {bytes = 0 : i64} {
  exec.kernel @depthwise(%x: tensor<8x8x2x3xf32>, %w: tensor<3x3x3xf32>) attributes {bytes = 0 : i64} {
    %0 = grad.convolution %x, %w dims "nc,c->nc" window <[3, 3]> : tensor<8x8x2x3xf32>, tensor<3x3x3xf32>
    exec.yield %0 : tensor<6x6x2x3xf32>
  }
  // CHECK: %[[W:.*]] = exec.launch @matmul(%[[X:.*]], %[[G:.*]]) {exec.nodes = ["fc"]}
  // CHECK: %[[NEW:.*]] = exec.launch @sub(%{{.*}}, %[[W]]) {exec.nodes = ["fc"]}
  // CHECK: return %[[NEW]], %[[W]]
  // CHECK: exec.kernel @matmul({{.*}} library = #exec.library<matmul epilogue = none, operands = [0, 1]>
  // CHECK: exec.kernel @sub({{.*}} inplace = array<i64: 0, 1>
  // Kernels split into a call and a kernel for the rest.
  // CHECK: exec.kernel @matmul_{{[0-9]+}}({{.*}} library = #exec.library<matmul epilogue = none, operands = [0, 1]>
  // CHECK: exec.kernel @gelu_{{[0-9]+}}({{.*}}) attributes {bytes = 384 : i64, flops = 48 : i64, inplace = array<i64: 0>} {
  // CHECK: exec.kernel @matmul_{{[0-9]+}}({{.*}} library = #exec.library<matmul epilogue = none, operands = [0, 1]>
  // CHECK: exec.kernel @gelu_grad({{.*}}) attributes {bytes = 576 : i64, flops = 48 : i64, inplace = array<i64: 0, 1>} {
  // CHECK: exec.kernel @matmul_{{[0-9]+}}({{.*}} library = #exec.library<matmul epilogue = none, operands = [0, 1]>
  // CHECK: exec.kernel @gelu_{{[0-9]+}}({{.*}}) attributes {bytes = 512 : i64, flops = 64 : i64, inplace = array<i64: 0>} {
  func.func @train(%x: tensor<4x8xf32>, %g: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %0:2 = exec.launch @update(%x, %g, %w) {exec.nodes = ["fc"]} : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
  }
}
