// GPU kernels compiled for a largest batch and run on fewer rows on the simulated device: memory
// past the rows changes no result and is not written.
#include "test/unit/compiler/codegen/RowsTesting.h"
#include "test/unit/compiler/codegen/cuda/GpuKernel.h"

#include "gtest/gtest.h"

using namespace gradc::test;
using namespace mlir;

namespace {

/// The elements that `expected`, the results of a kernel of that size, contains must be equal; all
/// others must still be zero.
void expectShared(const std::vector<HostTensor> &found, const std::vector<HostTensor> &expected,
                  double tolerance) {
  for (size_t r = 0; r < found.size(); ++r) {
    std::vector<bool> isRow(found[r].size());
    forEachShared(expected[r], found[r], [&](int64_t from, int64_t to) {
      isRow[to] = true;
      double e = expected[r].getFloat(from);
      ASSERT_NEAR(found[r].getFloat(to), e, tolerance * std::max(1.0, std::abs(e)))
          << "element " << from << " of result " << r;
    });
    for (int64_t i = 0; i < found[r].size(); ++i)
      ASSERT_TRUE(isRow[i] || found[r].getFloat(i) == 0)
          << "element " << i << " behind the rows was written";
  }
}

void expectSameBits(const std::vector<HostTensor> &found, const std::vector<HostTensor> &again) {
  for (size_t r = 0; r < found.size(); ++r)
    EXPECT_EQ(found[r].bytes(), again[r].bytes())
        << "what is behind the rows, or the order of threads, changes result " << r;
}

/// Runs a kernel compiled for `largest` rows on fewer, with NaN and with other bytes past the rows.
/// `staged`: its operands pass through shared memory.
void expectRows(const std::string &text, const std::string &attributes, int64_t largest,
                std::vector<int64_t> counts, bool staged = false) {
  constexpr double tolerance = 2e-4;
  GpuKernel many(sized(text, largest, attributes));
  ASSERT_TRUE(many.isReady()) << text;
  ASSERT_TRUE(many.kernel().getExtents());
  EXPECT_EQ(!many.kernel().getScheduleAttr().getBlock().empty(), staged);
  EXPECT_EQ(many.blocks(largest), many.blocks(-1)) << "a largest run is all of the grid";
  std::vector<HostTensor> wide = many.randomOperands(1);
  for (int64_t rows : counts) {
    SCOPED_TRACE(std::to_string(rows) + " rows");
    GpuKernel few(sized(text, rows, ""));
    ASSERT_TRUE(few.isReady());
    std::vector<HostTensor> operands = few.randomOperands(unsigned(rows)), withNans, withOthers;
    for (auto [operand, type] : llvm::zip_equal(operands, wide)) {
      withNans.push_back(spread(operand, type.getType(), char(0xff)));
      withOthers.push_back(spread(operand, type.getType(), 0x11));
    }
    auto found = many.run(withNans, "forward", rows), again = many.run(withOthers, "reverse", rows);
    ASSERT_TRUE(found) << found.status().message() << '\n' << text;
    ASSERT_TRUE(again) << again.status().message() << '\n' << text;
    expectShared(*found, few.evaluate(operands), tolerance);
    expectSameBits(*found, *again);
  }
}

const char *const attributes = "attributes {flops = 1 : i64, bytes = 1 : i64 @rows@} {\n";

TEST(GpuRows, Pointwise) {
  expectRows(std::string("exec.kernel @k(%a: tensor<@1@x37xf32>, %b: tensor<37xf32>) ") +
                 attributes + R"(
      %s = grad.broadcast %b dims [1] : tensor<37xf32> -> tensor<@1@x37xf32>
      %m = grad.mul %a, %s : tensor<@1@x37xf32>
      %e = grad.tanh %m : tensor<@1@x37xf32>
      exec.yield %e : tensor<@1@x37xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 0>], rows = array<i64: 1, 0>", 50,
             {1, 2, 7, 49, 50});
}

TEST(GpuRows, PointwiseInLanes) {
  // With two elements per row, a vector of four holds part of a second row.
  for (const char *each : {"1", "2", "4"})
    expectRows(std::string("exec.kernel @k(%a: tensor<5x@") + each + "@xf32>, %b: tensor<@" + each +
                   "@xf32>) " + attributes + "%s = grad.broadcast %b dims [1] : tensor<@" + each +
                   "@xf32> -> tensor<5x@" + each + "@xf32>\n%m = grad.add %a, %s : tensor<5x@" +
                   each + "@xf32>\nexec.yield %m : tensor<5x@" + each + "@xf32> }",
               std::string(", extents = [array<i64: 0, ") + each + ">, array<i64: " + each +
                   ">], rows = array<i64: 0, " + each + ">",
               13, {1, 3, 12, 13});
}

TEST(GpuRows, Contractions) {
  expectRows(std::string("exec.kernel @k(%a: tensor<@1@x19xf32>, %b: tensor<19x40xf32>) ") +
                 attributes +
                 R"(
      %y = grad.matmul %a, %b : tensor<@1@x19xf32>, tensor<19x40xf32>
      %z = grad.relu %y : tensor<@1@x40xf32>
      exec.yield %z : tensor<@1@x40xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 0, 0>], rows = array<i64: 1, 0>", 16,
             {1, 5, 8, 15, 16});
  // A long sum, shared by a team, over the rows and along them.
  expectRows(std::string("exec.kernel @k(%a: tensor<@1@x19xf32>, %b: tensor<@1@x40xf32>) ") +
                 attributes +
                 R"(
      %y = grad.matmul %a, %b transpose_lhs : tensor<@1@x19xf32>, tensor<@1@x40xf32>
      exec.yield %y : tensor<19x40xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 1, 0>], rows = array<i64: 0, 0>", 300,
             {1, 2, 63, 299, 300});
  expectRows(std::string("exec.kernel @k(%a: tensor<@1@x300xf32>, %b: tensor<300x10xf32>) ") +
                 attributes +
                 R"(
      %y = grad.matmul %a, %b : tensor<@1@x300xf32>, tensor<300x10xf32>
      exec.yield %y : tensor<@1@x10xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 0, 0>], rows = array<i64: 1, 0>", 16,
             {1, 7, 15, 16});
}

/// Operands that pass through shared memory: rows, columns, and steps of the sum end inside a slab
/// or a tile.
TEST(GpuRows, ContractionsInStages) {
  expectRows(std::string("exec.kernel @k(%a: tensor<@1@x20xf32>, %b: tensor<20x260xf32>) ") +
                 attributes +
                 R"(
      %y = grad.matmul %a, %b : tensor<@1@x20xf32>, tensor<20x260xf32>
      exec.yield %y : tensor<@1@x260xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 0, 0>], rows = array<i64: 1, 0>", 1001,
             {1, 130}, /*staged=*/true);
  expectRows(std::string("exec.kernel @k(%a: tensor<@1@x1000xf32>, %b: tensor<@1@x516xf32>) ") +
                 attributes + R"(
      %y = grad.matmul %a, %b transpose_lhs : tensor<@1@x1000xf32>, tensor<@1@x516xf32>
      exec.yield %y : tensor<1000x516xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 1, 0>], rows = array<i64: 0, 0>", 40,
             {1, 17}, /*staged=*/true);
  expectRows(std::string("exec.kernel @k(%a: tensor<1000x20xf32>, %b: tensor<20x@2@xf32>) ") +
                 attributes +
                 R"(
      %y = grad.matmul %a, %b : tensor<1000x20xf32>, tensor<20x@2@xf32>
      exec.yield %y : tensor<1000x@2@xf32> })",
             ", extents = [array<i64: 0, 0>, array<i64: 0, 2>], rows = array<i64: 0, 2>", 258,
             {1, 101}, /*staged=*/true);
}

/// Indices past the rows are -1 or far out of range.
TEST(GpuRows, LookupsAndTheirGradients) {
  for (const char *width : {"64", "7"}) {
    std::string row = std::string("x") + width + "xf32>", table = "tensor<5" + row;
    expectRows("exec.kernel @k(%t: " + table + ", %i: tensor<@1@x3xi64>) " + attributes +
                   "%y = grad.gather %t[%i] dims [-1, 2] index_dims [0, 1] : " + table +
                   ", tensor<@1@x3xi64>\nexec.yield %y : tensor<@1@x3" + row + " }",
               ", extents = [array<i64: 0, 0>, array<i64: 1, 0>], rows = array<i64: 1, 0, 0>", 50,
               {1, 7, 49, 50});
    expectRows("exec.kernel @k(%t: " + table + ", %i: tensor<@3@xi64>, %u: tensor<@3@" + row +
                   ") " + attributes +
                   "%y = grad.scatter %t[%i] add %u dims [-1, 1] index_dims [0] : " + table +
                   ", tensor<@3@" + row + ", tensor<@3@xi64>\nexec.yield %y : " + table + " }",
               ", extents = [array<i64: 0, 0>, array<i64: 3>, array<i64: 3, 0>], "
               "rows = array<i64: 0, 0>",
               50, {1, 7, 49, 50});
  }
}

/// Each row has its own table, and lanes run along the indices.
TEST(GpuRows, LookupsInRows) {
  expectRows(std::string("exec.kernel @k(%t: tensor<@1@x5xf32>, %i: tensor<@1@x8xi64>) ") +
                 attributes + R"(
      %y = grad.gather %t[%i] dims [0, -1] index_dims [0, 1] : tensor<@1@x5xf32>, tensor<@1@x8xi64>
      exec.yield %y : tensor<@1@x8xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 1, 0>], rows = array<i64: 1, 0>", 50,
             {1, 7, 49, 50});
  expectRows(std::string("exec.kernel @k(%t: tensor<@1@x5xf32>, %i: tensor<@1@x8xi64>, "
                         "%u: tensor<@1@x8xf32>) ") +
                 attributes + R"(
      %y = grad.scatter %t[%i] add %u dims [0, -1] index_dims [0, 1] : tensor<@1@x5xf32>, tensor<@1@x8xf32>, tensor<@1@x8xi64>
      exec.yield %y : tensor<@1@x5xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 1, 0>, array<i64: 1, 0>], "
             "rows = array<i64: 1, 0>",
             50, {1, 7, 49, 50});
}

/// The check of indices ignores memory past the rows.
TEST(GpuRows, LargestIndex) {
  expectRows(std::string("exec.kernel @k(%i: tensor<@3@xui64>) ") + attributes + R"(
      %y = grad.reduce_max %i dims [0] : tensor<@3@xui64>
      exec.yield %y : tensor<ui64> })",
             ", extents = [array<i64: 3>], rows = array<i64>", 50, {1, 7, 49, 50});
}

TEST(GpuRows, SumsOfColumnsAndOfAll) {
  expectRows(std::string("exec.kernel @k(%a: tensor<@3@x21xf32>) ") + attributes + R"(
      %y = grad.reduce_sum %a dims [0] : tensor<@3@x21xf32>
      exec.yield %y : tensor<21xf32> })",
             ", extents = [array<i64: 3, 0>], rows = array<i64: 0>", 100, {1, 2, 99, 100});
  // The batch is the last summed dim; the channels stay.
  expectRows(std::string("exec.kernel @k(%a: tensor<4x6x@1@x20xf32>) ") + attributes + R"(
      %y = grad.reduce_sum %a dims [0, 1, 2] : tensor<4x6x@1@x20xf32>
      exec.yield %y : tensor<20xf32> })",
             ", extents = [array<i64: 0, 0, 1, 0>], rows = array<i64: 0>", 10, {1, 3, 10});
  for (const char *each : {"1", "4"})
    expectRows(std::string("exec.kernel @k(%a: tensor<@") + each + "@xf32>, %n: tensor<f32>) " +
                   attributes + "%y = grad.reduce_sum %a dims [0] : tensor<@" + each +
                   "@xf32>\n%m = grad.mul %y, %n : tensor<f32>\nexec.yield %m : tensor<f32> }",
               std::string(", extents = [array<i64: ") + each + ">, array<i64>], rows = array<i64>",
               1000, {1, 3, 256, 999, 1000});
  expectRows(std::string("exec.kernel @k(%a: tensor<7x@1@xf32>) ") + attributes + R"(
      %y = grad.reduce_max %a dims [1] : tensor<7x@1@xf32>
      exec.yield %y : tensor<7xf32> })",
             ", extents = [array<i64: 0, 1>], rows = array<i64: 0>", 1030, {1, 33, 1030});
}

TEST(GpuRows, RowsWithTheirStatistics) {
  for (const char *n : {"10", "64", "4096"}) {
    std::string row = std::string("tensor<@1@x") + n + "xf32>";
    expectRows("exec.kernel @k(%a: " + row + ") " + attributes +
                   "%0 = grad.reduce_max %a dims [1] : " + row +
                   "\n%1 = grad.broadcast %0 dims [0] : tensor<@1@xf32> -> " + row +
                   "\n%2 = grad.sub %a, %1 : " + row + "\n%3 = grad.exp %2 : " + row +
                   "\n%4 = grad.reduce_sum %3 dims [1] : " + row +
                   "\n%6 = grad.reduce_sum %3 dims [0, 1] : " + row +
                   "\nexec.yield %3, %4, %6 : " + row + ", tensor<@1@xf32>, tensor<f32> }",
               ", extents = [array<i64: 1, 0>], rows = array<i64: 1, 0>", 11, {1, 3, 11});
  }
  // A row contains the whole batch: its statistic and its elements end with the rows of the run.
  std::string row = "tensor<3x@2@xf32>";
  expectRows("exec.kernel @k(%a: " + row + ") " + attributes +
                 "%0 = grad.reduce_sum %a dims [1] : " + row +
                 "\n%1 = grad.broadcast %0 dims [0] : tensor<3xf32> -> " + row +
                 "\n%2 = grad.sub %a, %1 : " + row + "\nexec.yield %2, %0 : " + row +
                 ", tensor<3xf32> }",
             ", extents = [array<i64: 0, 2>], rows = array<i64: 0, 2>", 40, {1, 3, 39, 40});
}

std::string convolution(const char *lhs, const char *rhs, const char *dims, const char *window,
                        const char *result) {
  return std::string("exec.kernel @k(%x: tensor<") + lhs + ">, %w: tensor<" + rhs + ">) " +
         attributes + "%y = grad.convolution %x, %w dims \"" + dims + "\" window <" + window +
         "> : tensor<" + lhs + ">, tensor<" + rhs + ">\n exec.yield %y : tensor<" + result + "> }";
}

/// The batch is neither the outermost nor the innermost dim.
TEST(GpuRows, Convolutions) {
  const char *window = "[3, 3] low [1, 1] high [1, 1]", *pictures = "array<i64: 0, 0, 1, 0>";
  std::string data = std::string(", extents = [") + pictures + ", ";
  std::string forward = data + "array<i64: 0, 0, 0, 0>], rows = " + pictures;
  expectRows(convolution("5x7x@1@x6xf32", "3x3x6x20xf32", "nc,co->no", window, "5x7x@1@x20xf32"),
             forward, 8, {1, 3, 8});
  expectRows(
      convolution("14x14x@1@x8xf32", "3x3x8x32xf32", "nc,co->no", window, "14x14x@1@x32xf32"),
      forward, 48, {1, 47}, /*staged=*/true);
  expectRows(convolution("6x5x@1@x8xf32", "6x5x@1@x12xf32", "nc,no->co",
                         "[6, 5] low [1, 1] high [1, 1]", "3x3x8x12xf32"),
             data + pictures + "], rows = array<i64: 0, 0, 0, 0>", 9, {1, 4, 9});
}

TEST(GpuRows, NoRows) {
  GpuKernel sum(std::string("exec.kernel @k(%a: tensor<80x21xf32>) ") +
                sized(attributes, 1, ", extents = [array<i64: 1, 0>], rows = array<i64: 0>") + R"(
      %y = grad.reduce_sum %a dims [0] : tensor<80x21xf32>
      exec.yield %y : tensor<21xf32> })");
  ASSERT_TRUE(sum.isReady());
  auto results = sum.run(sum.randomOperands(1), "forward", /*rows=*/0);
  ASSERT_TRUE(results) << results.status().message();
  for (int64_t i = 0; i < 21; ++i)
    EXPECT_EQ((*results)[0].getFloat(i), 0);
}

/// Parts that hold rows next to a part that does not, and two parts of the same ops of which only
/// one holds rows.
TEST(GpuRows, PartsSideBySide) {
  auto part = [](const char *name, const char *t) {
    return std::string("exec.kernel @") + name + "(%a: tensor<" + t +
           ">) attributes {flops = 1 : i64, bytes = 1 : i64 @" + name +
           "@} {\n%0 = grad.tanh %a : tensor<" + t + ">\nexec.yield %0 : tensor<" + t + "> }\n";
  };
  auto textOf = [&](int64_t rows, bool takesRows) {
    std::string text = part("rows", "@1@x6xf32") + part("all", "40x6xf32") +
                       "exec.kernel @sum(%a: tensor<@1@x6xf32>) attributes {flops = 1 : i64, bytes "
                       "= 1 : i64 @sum@} {\n%0 = grad.reduce_sum %a dims [0] : "
                       "tensor<@1@x6xf32>\nexec.yield %0 : tensor<6xf32> }\n" +
                       R"(
  func.func @f(%a: tensor<@1@x6xf32>, %b: tensor<40x6xf32>)
      -> (tensor<@1@x6xf32>, tensor<40x6xf32>, tensor<6xf32>) {
    %0 = exec.launch @rows(%a) {exec.nodes = []} : (tensor<@1@x6xf32>) -> tensor<@1@x6xf32>
    %1 = exec.launch @all(%b) {exec.nodes = []} : (tensor<40x6xf32>) -> tensor<40x6xf32>
    %2 = exec.launch @sum(%a) {exec.nodes = []} : (tensor<@1@x6xf32>) -> tensor<6xf32>
    return %0, %1, %2 : tensor<@1@x6xf32>, tensor<40x6xf32>, tensor<6xf32>
  })";
    for (auto [name, own] :
         {std::pair("@all@", ""),
          std::pair("@sum@", ", extents = [array<i64: 1, 0>], rows = array<i64: 0>")})
      text.replace(text.find(name), 5, takesRows ? own : "");
    return sized(text, rows,
                 takesRows ? ", extents = [array<i64: 1, 0>], rows = array<i64: 1, 0>" : "");
  };
  GpuKernel many(textOf(40, true)), few(textOf(7, false));
  ASSERT_TRUE(many.isReady() && few.isReady());
  ASSERT_EQ(many.kernel().getParts()->size(), 3u);
  std::vector<HostTensor> operands = few.randomOperands(1), wide = many.randomOperands(1), with;
  for (auto [operand, type] : llvm::zip_equal(operands, wide))
    with.push_back(spread(operand, type.getType(), char(0xff)));
  auto found = many.run(with, "shuffled", 7);
  ASSERT_TRUE(found) << found.status().message();
  expectShared(*found, few.evaluate(operands), 1e-4);
}

} // namespace
