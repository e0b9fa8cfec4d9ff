// Reductions compiled for a largest batch and run on fewer rows.
#include "test/unit/compiler/codegen/FewerRows.h"
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "gtest/gtest.h"

using namespace gradc::test;
using namespace mlir;

namespace {

// A softmax over its operand: over rows of constant length in place, over those of the run not.
TEST(Rows, SoftmaxInPlace) {
  for (auto [shape, kept, rows] :
       {std::tuple("@1@x301", "@1@", "1, 0"), std::tuple("@1@x@1@", "@1@", "1, 1"),
        std::tuple("5x@2@", "5", "0, 2")})
    for (const char *tile : {"[1, 16]", "[4, 8]", "[8, 1]"})
      expectRows(llvm::formatv(R"(exec.kernel @k(%x: tensor<{0}xf32>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = {2}, order = [0, 1], grain = 1> @rows@} {{
      %m = grad.reduce_max %x dims [1] : tensor<{0}xf32>
      %n = grad.broadcast %m dims [0] : tensor<{1}xf32> -> tensor<{0}xf32>
      %s = grad.sub %x, %n : tensor<{0}xf32>
      %e = grad.exp %s : tensor<{0}xf32>
      %t = grad.reduce_sum %e dims [1] : tensor<{0}xf32>
      %b = grad.broadcast %t dims [0] : tensor<{1}xf32> -> tensor<{0}xf32>
      %p = grad.div %e, %b : tensor<{0}xf32>
      exec.yield %p : tensor<{0}xf32> })",
                               shape, kept, tile)
                     .str(),
                 llvm::formatv(", extents = [array<i64: {0}>], rows = array<i64: {0}>", rows).str(),
                 77, {1, 7, 40, 76, 77});
}

// The rows of a batch of products lie between its matrices.
TEST(Rows, ReducedBatch) {
  expectRows(R"(exec.kernel @k(%x: tensor<6x@1@x9xf32>, %w: tensor<6x9x37xi8>) attributes {
          layouts = [unit, #exec.panel<dim = 2, width = 16>, unit],
          schedule = #exec.schedule<lanes = 8, tile = [4, 16], order = [1, 0], grain = 1> @rows@} {
      %p = grad.matmul %x, %w wide : tensor<6x@1@x9xf32>, tensor<6x9x37xi8>
      %y = grad.reduce_sum %p dims [0] : tensor<6x@1@x37xf32>
      exec.yield %y : tensor<@1@x37xf32> })",
             ", extents = [array<i64: 0, 1, 0>, array<i64: 0, 0, 0>], rows = array<i64: 1, 0>", 11,
             {1, 4, 7, 11}, /*tolerance=*/1e-4);
}

TEST(Rows, SumsOfColumnsAndOfAll) {
  expectRows(std::string("exec.kernel @k(%a: tensor<@3@x21xf32>) attributes {") + schedule +
                 R"(tile = [8], order = [0], grain = 1> @rows@} {
      %y = grad.reduce_sum %a dims [0] : tensor<@3@x21xf32>
      exec.yield %y : tensor<21xf32> })",
             ", extents = [array<i64: 3, 0>], rows = array<i64: 0>", 9, {1, 2, 5, 9});
  expectRows(std::string("exec.kernel @k(%a: tensor<@1@xf32>, %n: tensor<f32>) attributes {") +
                 schedule +
                 R"(tile = [], order = [], grain = 1> @rows@} {
      %y = grad.reduce_sum %a dims [0] : tensor<@1@xf32>
      %m = grad.mul %y, %n : tensor<f32>
      exec.yield %m : tensor<f32> })",
             ", extents = [array<i64: 1>, array<i64>], rows = array<i64>", 100,
             {1, 7, 8, 31, 32, 64, 99, 100});
}

TEST(Rows, StatisticsBesideRows) {
  // The row's maximum and sum stay in registers; the sum over rows is a separate result.
  expectRows(std::string("exec.kernel @k(%a: tensor<@1@x10xf32>) attributes {") + schedule +
                 R"(tile = [4, 16], order = [0, 1], grain = 1> @rows@} {
      %m = grad.reduce_max %a dims [1] : tensor<@1@x10xf32>
      %b = grad.broadcast %m dims [0] : tensor<@1@xf32> -> tensor<@1@x10xf32>
      %d = grad.sub %a, %b : tensor<@1@x10xf32>
      %e = grad.exp %d : tensor<@1@x10xf32>
      %s = grad.reduce_sum %e dims [0, 1] : tensor<@1@x10xf32>
      exec.yield %e, %s : tensor<@1@x10xf32>, tensor<f32> })",
             ", extents = [array<i64: 1, 0>], rows = array<i64: 1, 0>", 10, {1, 3, 4, 6, 10});
}

TEST(Rows, NoRowsSumToZero) {
  KernelRunner runner(std::string("exec.kernel @k(%a: tensor<8x21xf32>) attributes {") + schedule +
                      R"(tile = [8], order = [0], grain = 1>,
        extents = [array<i64: 1, 0>], rows = array<i64: 0>} {
      %y = grad.reduce_sum %a dims [0] : tensor<8x21xf32>
      exec.yield %y : tensor<21xf32> })");
  ASSERT_TRUE(runner.isReady());
  std::vector<HostTensor> results =
      runner.run(runner.randomOperands(1), {{0, runner.units(0)}}, /*rows=*/0);
  for (int64_t i = 0; i < results[0].size(); ++i)
    EXPECT_EQ(results[0].getFloat(i), 0);
}

} // namespace
