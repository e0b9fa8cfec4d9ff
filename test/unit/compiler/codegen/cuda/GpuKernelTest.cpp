// Kernels for a GPU against the evaluator, on the simulated device, in several orders of threads.
#include "test/unit/compiler/codegen/cuda/GpuKernel.h"

#include "gtest/gtest.h"

using namespace gradc::test;

namespace {

std::string kernelOf(const std::string &signature, const std::string &body) {
  return "exec.kernel @k(" + signature + ") attributes {flops = 1 : i64, bytes = 1 : i64} {\n" +
         body + "}\n";
}

TEST(GpuKernel, Pointwise) {
  for (const char *shape : {"8x64", "7x10", "3", "1x4x5x6", "1000"}) {
    std::string t = std::string("tensor<") + shape + "xf32>";
    expectRightOnGpu(kernelOf("%a: " + t + ", %b: " + t,
                              "%0 = grad.add %a, %b : " + t + "\n%1 = grad.relu %0 : " + t +
                                  "\n%2 = grad.tanh %1 : " + t + "\nexec.yield %2 : " + t));
  }
}

// Quotients up to 2^100 take several steps.
TEST(GpuKernel, Remainders) {
  for (const char *t : {"tensor<1000xf32>", "tensor<1000xf64>"})
    expectRightOnGpu(kernelOf(std::string("%a: ") + t + ", %b: " + t,
                              std::string("%c = grad.constant dense<1.2676506e30> : ") + t +
                                  "\n%0 = grad.mul %a, %c : " + t +
                                  "\n%1 = grad.rem %0, %b : " + t + "\nexec.yield %1 : " + t));
}

TEST(GpuKernel, Transposes) {
  expectRightOnGpu(kernelOf("%a: tensor<12x20xf32>", R"(
    %0 = grad.transpose %a permutation [1, 0] : tensor<12x20xf32>
    exec.yield %0 : tensor<20x12xf32>)"));
  expectRightOnGpu(kernelOf("%a: tensor<3x5x7xf32>", R"(
    %0 = grad.transpose %a permutation [2, 0, 1] : tensor<3x5x7xf32>
    exec.yield %0 : tensor<7x3x5xf32>)"));
}

TEST(GpuKernel, LookupsAndTheirGradients) {
  for (const char *width : {"64", "7"}) {
    std::string row = std::string("x") + width + "xf32>", t = "tensor<5" + row,
                y = "tensor<40" + row;
    expectRightOnGpu(kernelOf("%t: " + t + ", %i: tensor<40xi64>",
                              "%0 = grad.gather %t[%i] dims [-1, 1] index_dims [0] : " + t +
                                  ", tensor<40xi64>\nexec.yield %0 : " + y));
    expectRightOnGpu(kernelOf("%t: " + t + ", %i: tensor<40xi64>, %u: " + y,
                              "%0 = grad.scatter %t[%i] add %u dims [-1, 1] index_dims [0] : " + t +
                                  ", " + y + ", tensor<40xi64>\nexec.yield %0 : " + t),
                     2e-4);
  }
  expectRightOnGpu(kernelOf("%t: tensor<5xf32>, %i: tensor<40xi32>", R"(
    %0 = grad.gather %t[%i] dims [-1] index_dims [0] : tensor<5xf32>, tensor<40xi32>
    exec.yield %0 : tensor<40xf32>)"));
  expectRightOnGpu(kernelOf("%x: tensor<19xf32>, %i: tensor<50xi64>, %u: tensor<50xf32>", R"(
    %0 = grad.scatter %x[%i] max %u dims [-1] index_dims [0] : tensor<19xf32>, tensor<50xf32>, tensor<50xi64>
    exec.yield %0 : tensor<19xf32>)"));
}

TEST(GpuKernel, SumsOfRows) {
  for (const char *n : {"8", "10", "100", "1024", "3000"}) {
    std::string t = std::string("tensor<6x") + n + "xf32>";
    expectRightOnGpu(kernelOf("%a: " + t, "%0 = grad.reduce_sum %a dims [1] : " + t +
                                              "\nexec.yield %0 : tensor<6xf32>"),
                     2e-4);
    expectRightOnGpu(kernelOf("%a: " + t, "%0 = grad.reduce_max %a dims [1] : " + t +
                                              "\nexec.yield %0 : tensor<6xf32>"));
    expectRightOnGpu(kernelOf("%a: " + t, "%0 = grad.reduce_sum %a dims [0, 1] : " + t +
                                              "\nexec.yield %0 : tensor<f32>"),
                     2e-3);
  }
}

TEST(GpuKernel, SumsOfColumns) {
  for (const char *t :
       {"tensor<64x128xf32>", "tensor<300x10xf32>", "tensor<1000x3xf32>", "tensor<65x40xf32>"}) {
    std::string columns = std::string(t).substr(std::string(t).find('x') + 1);
    expectRightOnGpu(
        kernelOf(std::string("%a: ") + t, std::string("%0 = grad.reduce_sum %a dims [0] : ") + t +
                                              "\nexec.yield %0 : tensor<" + columns),
        2e-4);
  }
  expectRightOnGpu(kernelOf("%a: tensor<4x6x10x20xf32>", R"(
    %0 = grad.reduce_sum %a dims [0, 1, 2] : tensor<4x6x10x20xf32>
    exec.yield %0 : tensor<20xf32>)"),
                   2e-4);
}

// Each thread has more terms than one accumulator takes.
TEST(GpuKernel, LongSums) {
  for (auto [dims, result] : {std::pair("0, 1", "tensor<f32>"), {"0", "tensor<3xf32>"}})
    expectRightOnGpu(kernelOf("%a: tensor<70001x3xf32>",
                              std::string("%0 = grad.mul %a, %a : tensor<70001x3xf32>\n"
                                          "%1 = grad.reduce_sum %0 dims [") +
                                  dims + "] : tensor<70001x3xf32>\nexec.yield %1 : " + result),
                     2e-6);
}

TEST(GpuKernel, RowsWithTheirStatistics) {
  for (const char *n : {"10", "64", "1030", "4096"}) {
    std::string row = std::string("tensor<5x") + n + "xf32>";
    expectRightOnGpu(
        kernelOf("%a: " + row, "%0 = grad.reduce_max %a dims [1] : " + row +
                                   "\n%1 = grad.broadcast %0 dims [0] : tensor<5xf32> -> " + row +
                                   "\n%2 = grad.sub %a, %1 : " + row + "\n%3 = grad.exp %2 : " +
                                   row + "\n%4 = grad.reduce_sum %3 dims [1] : " + row +
                                   "\n%5 = grad.broadcast %4 dims [0] : tensor<5xf32> -> " + row +
                                   "\n%6 = grad.div %3, %5 : " + row +
                                   "\nexec.yield %6, %4 : " + row + ", tensor<5xf32>"),
        2e-4);
  }
}

TEST(GpuKernel, Contractions) {
  struct {
    const char *a, *b, *c, *attributes;
  } cases[] = {{"32x64", "64x128", "32x128", ""},
               {"32x64", "64x10", "32x10", ""},
               {"30x17", "17x5", "30x5", ""},
               {"64x32", "64x10", "32x10", "transpose_lhs"},
               {"32x64", "10x64", "32x10", "transpose_rhs"},
               {"3x9x200", "3x200x8", "3x9x8", ""}};
  for (auto &[a, b, c, attributes] : cases) {
    auto type = [](const char *shape) { return std::string("tensor<") + shape + "xf32>"; };
    expectRightOnGpu(kernelOf("%a: " + type(a) + ", %b: " + type(b),
                              "%0 = grad.matmul %a, %b " + std::string(attributes) + " : " +
                                  type(a) + ", " + type(b) + "\n%1 = grad.relu %0 : " + type(c) +
                                  "\nexec.yield %1 : " + type(c)),
                     2e-4);
  }
}

/// Parts with different lanes, teams, and units: columns, rows, a contraction, single numbers; and
/// an operand that all parts read.
TEST(GpuKernel, PartsSideBySide) {
  const char *attributes = " attributes {flops = 1 : i64, bytes = 1 : i64} {\n";
  std::string text = std::string() + "exec.kernel @exp(%a: tensor<1000xf32>, %f: tensor<f32>)" +
                     attributes + R"(
    %0 = grad.broadcast %f dims [] : tensor<f32> -> tensor<1000xf32>
    %1 = grad.mul %a, %0 : tensor<1000xf32>
    exec.yield %1 : tensor<1000xf32>
  }
  exec.kernel @columns(%a: tensor<1000x3xf32>, %f: tensor<f32>))" +
                     attributes + R"(
    %0 = grad.reduce_sum %a dims [0] : tensor<1000x3xf32>
    %1 = grad.broadcast %f dims [] : tensor<f32> -> tensor<3xf32>
    %2 = grad.mul %0, %1 : tensor<3xf32>
    exec.yield %2, %0 : tensor<3xf32>, tensor<3xf32>
  }
  exec.kernel @rows(%a: tensor<5x1030xf32>))" +
                     attributes + R"(
    %0 = grad.reduce_sum %a dims [1] : tensor<5x1030xf32>
    exec.yield %0 : tensor<5xf32>
  }
  exec.kernel @matmul(%f: tensor<f32>, %a: tensor<6x40xf32>, %b: tensor<40x8xf32>))" +
                     attributes + R"(
    %0 = grad.matmul %a, %b : tensor<6x40xf32>, tensor<40x8xf32>
    %1 = grad.broadcast %f dims [] : tensor<f32> -> tensor<6x8xf32>
    %2 = grad.add %0, %1 : tensor<6x8xf32>
    exec.yield %2 : tensor<6x8xf32>
  }
  exec.kernel @one(%f: tensor<f32>))" +
                     attributes + R"(
    %0 = grad.tanh %f : tensor<f32>
    exec.yield %0 : tensor<f32>
  }
  func.func @all(%f: tensor<f32>, %a: tensor<1000xf32>, %c: tensor<1000x3xf32>, %r: tensor<5x1030xf32>, %x: tensor<6x40xf32>, %y: tensor<40x8xf32>)
      -> (tensor<1000xf32>, tensor<3xf32>, tensor<3xf32>, tensor<5xf32>, tensor<6x8xf32>, tensor<f32>) {
    %0 = exec.launch @exp(%a, %f) {exec.nodes = []} : (tensor<1000xf32>, tensor<f32>) -> tensor<1000xf32>
    %1:2 = exec.launch @columns(%c, %f) {exec.nodes = []} : (tensor<1000x3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
    %2 = exec.launch @rows(%r) {exec.nodes = []} : (tensor<5x1030xf32>) -> tensor<5xf32>
    %3 = exec.launch @matmul(%f, %x, %y) {exec.nodes = []} : (tensor<f32>, tensor<6x40xf32>, tensor<40x8xf32>) -> tensor<6x8xf32>
    %4 = exec.launch @one(%f) {exec.nodes = []} : (tensor<f32>) -> tensor<f32>
    return %0, %1#0, %1#1, %2, %3, %4 : tensor<1000xf32>, tensor<3xf32>, tensor<3xf32>, tensor<5xf32>, tensor<6x8xf32>, tensor<f32>
  })";
  GpuKernel kernel(text);
  ASSERT_TRUE(kernel.isReady());
  ASSERT_TRUE(kernel.kernel().getParts());
  EXPECT_EQ(kernel.kernel().getParts()->size(), 5u);
  expectRightOnGpu(text, 2e-4);
}

TEST(GpuKernel, ContractionsInStages) {
  // Multiples of a block's tile; remaining rows, columns, and steps; each operand transposed; few
  // columns.
  struct {
    const char *a, *b, *c, *attributes;
  } cases[] = {{"512x64", "64x512", "512x512", ""},
               {"1001x37", "37x260", "1001x260", ""},
               {"48x1000", "48x516", "1000x516", "transpose_lhs"},
               {"1000x40", "516x40", "1000x516", "transpose_rhs"},
               {"16400x20", "20x16", "16400x16", ""}};
  for (auto &[a, b, c, attributes] : cases) {
    auto type = [](const char *shape) { return std::string("tensor<") + shape + "xf32>"; };
    std::string text =
        kernelOf("%a: " + type(a) + ", %b: " + type(b),
                 "%0 = grad.matmul %a, %b " + std::string(attributes) + " : " + type(a) + ", " +
                     type(b) + "\n%1 = grad.relu %0 : " + type(c) + "\nexec.yield %1 : " + type(c));
    EXPECT_FALSE(GpuKernel(text).kernel().getScheduleAttr().getBlock().empty()) << text;
    expectRightOnGpu(text, 2e-4);
  }
}

TEST(GpuKernel, ConvolutionsInStages) {
  for (auto [x, w, y, dims, window] :
       {std::array{"14x14x48x20", "3x3x20x32", "14x14x48x32", "nc,co->no",
                   "[3, 3] low [1, 1] high [1, 1]"},
        std::array{"31x31x64x12", "3x3x12x16", "16x16x64x16", "nc,co->no",
                   "[3, 3] stride [2, 2] low [1, 1] high [1, 1]"},
        std::array{"14x14x48x20", "3x3x32x20", "14x14x48x32", "no,co->nc",
                   "[3, 3] low [1, 1] high [1, 1]"}}) {
    auto type = [](const char *shape) { return std::string("tensor<") + shape + "xf32>"; };
    std::string text =
        kernelOf("%x: " + type(x) + ", %w: " + type(w),
                 "%0 = grad.convolution %x, %w dims \"" + std::string(dims) + "\" window <" +
                     window + "> : " + type(x) + ", " + type(w) + "\nexec.yield %0 : " + type(y));
    GpuKernel kernel(text);
    ASSERT_TRUE(kernel.isReady());
    EXPECT_FALSE(kernel.kernel().getScheduleAttr().getBlock().empty()) << text;
    auto operands = kernel.randomOperands(1);
    auto found = kernel.run(operands);
    ASSERT_TRUE(found) << found.status().message();
    EXPECT_LE(worstError(*found, kernel.evaluate(operands)), 2e-4) << text;
  }
}

} // namespace
