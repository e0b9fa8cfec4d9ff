// Products and convolutions compiled for a largest batch and run on fewer rows.
#include "dialects/exec/Level.h"
#include "test/unit/compiler/codegen/FewerRows.h"
#include "test/unit/compiler/codegen/KernelRunner.h"
#include "test/unit/compiler/codegen/RowsTesting.h"

#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace gradc::test;
using namespace mlir;

namespace {

// The sum runs over the rows: with an odd number, the last pair's second half is past the end.
TEST(Rows, PairsOfAContraction) {
  expectRows(R"(exec.kernel @k(%a: tensor<@1@x13xbf16>, %b: tensor<@1@x50xbf16>) attributes {
          layouts = [#exec.panel<dim = 1, width = 32, pairs = 0>, #exec.panel<dim = 1, width = 32, pairs = 0>, unit],
          schedule = #exec.schedule<lanes = 16, tile = [8, 32], order = [1, 0], grain = 1> @rows@} {
      %c = grad.matmul %a, %b transpose_lhs wide : tensor<@1@x13xbf16>, tensor<@1@x50xbf16>
      exec.yield %c : tensor<13x50xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 1, 0>], rows = array<i64: 0, 0>", 12,
             {1, 2, 7, 12});
}

// With an odd number of rows, the last row is stored without a partner.
TEST(Rows, PackedInPairs) {
  expectRows(R"(exec.kernel @k(%a: tensor<@1@x50xbf16>) attributes {
          layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>],
          schedule = #exec.schedule<lanes = 16, tile = [2, 32], order = [1, 0], grain = 1> @rows@} {
      exec.yield %a : tensor<@1@x50xbf16> })",
             ", extents = [array<i64: 1, 0>], rows = array<i64: 1, 0>", 12, {1, 2, 7, 12},
             /*tolerance=*/0, /*behind=*/0);
}

TEST(Rows, Contraction) {
  for (const char *order : {"0, 1", "1, 0"})
    expectRows(
        std::string("exec.kernel @k(%a: tensor<@1@x19xf32>, %b: tensor<19x40xf32>) attributes {") +
            schedule + "tile = [6, 16], order = [" + order + R"(], grain = 1> @rows@} {
      %y = grad.matmul %a, %b : tensor<@1@x19xf32>, tensor<19x40xf32>
      %z = grad.relu %y : tensor<@1@x40xf32>
      exec.yield %z : tensor<@1@x40xf32> })",
        ", extents = [array<i64: 1, 0>, array<i64: 0, 0>], rows = array<i64: 1, 0>", 16,
        {1, 5, 6, 7, 12, 15, 16});
}

/// Products of a batch whose matrices, or their rows, are those of the run: each is turned for its
/// rows, or summed along the lanes.
TEST(Rows, OfABatch) {
  for (const char *walk : {"tile = [1, 6, 16], order = [0, 2, 1], grain = 1, turned = <operand = "
                           "1, dim = 1, tiles = 1>",
                           "tile = [1, 6, 16], order = [2, 0, 1], grain = 1, turned = <operand = "
                           "1, dim = 1, tiles = 1>",
                           "tile = [1, 4, 6], order = [2, 0, 1], grain = 1, lane_sums"}) {
    expectRows(std::string("exec.kernel @k(%a: tensor<@1@x4x37xf32>, %b: tensor<@1@x21x37xf32>) "
                           "attributes {") +
                   schedule + walk + R"(> @rows@} {
      %y = grad.matmul %a, %b transpose_rhs : tensor<@1@x4x37xf32>, tensor<@1@x21x37xf32>
      exec.yield %y : tensor<@1@x4x21xf32> })",
               ", extents = [array<i64: 1, 0, 0>, array<i64: 1, 0, 0>], rows = array<i64: 1, 0, 0>",
               11, {1, 2, 10, 11});
    expectRows(std::string("exec.kernel @k(%a: tensor<3x@2@x37xf32>, %b: tensor<3x21x37xf32>) "
                           "attributes {") +
                   schedule + walk + R"(> @rows@} {
      %y = grad.matmul %a, %b transpose_rhs : tensor<3x@2@x37xf32>, tensor<3x21x37xf32>
      exec.yield %y : tensor<3x@2@x21xf32> })",
               ", extents = [array<i64: 0, 2, 0>, array<i64: 0, 0, 0>], rows = array<i64: 0, 2, 0>",
               8, {1, 2, 3, 7, 8});
  }
}

/// Vectors run along the rows.
TEST(Rows, OfFewColumns) {
  for (const char *columns : {"1", "3"})
    expectRows(std::string("exec.kernel @k(%a: tensor<@1@x19xf32>, %b: tensor<19x") + columns +
                   "xf32>) attributes {" + schedule + "tile = [8, " + columns +
                   R"(], order = [0, 1], grain = 1> @rows@} {
      %y = grad.matmul %a, %b : tensor<@1@x19xf32>, tensor<19x)" +
                   columns + "xf32>\n %z = grad.relu %y : tensor<@1@x" + columns +
                   "xf32>\n exec.yield %z : tensor<@1@x" + columns + "xf32> }",
               ", extents = [array<i64: 1, 0>, array<i64: 0, 0>], rows = array<i64: 1, 0>", 21,
               {1, 5, 8, 9, 16, 20, 21});
}

/// The bits of a row do not depend on the number of rows, whether its sums are along lanes or not.
TEST(Rows, OfProductsHaveTheSameBits) {
  constexpr int64_t most = 40, width = 11;
  for (const char *schedule : {"tile = [7, 3], order = [0, 1], grain = 1, lane_sums",
                               "tile = [16, 3], order = [0, 1], grain = 1",
                               "tile = [16, 1], order = [0, 1], grain = 1, lane_sums",
                               "tile = [6, 16], order = [0, 1], grain = 1"}) {
    SCOPED_TRACE(schedule);
    KernelRunner kernel(
        sized(std::string("exec.kernel @k(%a: tensor<@1@x700xf32>, %b: tensor<11x700xf32>) "
                          "attributes {schedule = #exec.schedule<lanes = 16, ") +
                  schedule +
                  R"(> @rows@} {
      %y = grad.matmul %a, %b transpose_rhs : tensor<@1@x700xf32>, tensor<11x700xf32>
      exec.yield %y : tensor<@1@x11xf32> })",
              most, ", extents = [array<i64: 1, 0>, array<i64: 0, 0>], rows = array<i64: 1, 0>"));
    ASSERT_TRUE(kernel.isReady());
    std::vector<HostTensor> operands = kernel.randomOperands(1);
    auto runs = [&](int64_t rows) {
      return kernel.run(operands, {{0, kernel.units(rows)}}, rows)[0];
    };
    HostTensor all = runs(most);
    for (int64_t rows : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 39})
      ASSERT_EQ(std::memcmp(runs(rows).bytes().data(), all.bytes().data(),
                            size_t(rows * width) * sizeof(float)),
                0)
          << rows << " rows";
  }
}

/// Nor which of two zeros is the largest element of a row.
TEST(Rows, OfExtremesHaveTheSameBits) {
  constexpr int64_t most = 17;
  for (const char *op : {"reduce_max", "reduce_min"})
    for (const char *lanes : {"8", "16"})
      for (int64_t width : {3, 16, 21, 300}) {
        std::string shape = "tensor<@1@x" + std::to_string(width) + "xf32>";
        SCOPED_TRACE(op + (" of " + shape) + " by " + lanes);
        KernelRunner kernel(
            sized(std::string("exec.kernel @k(%a: ") + shape +
                      ") attributes {schedule = #exec.schedule<lanes = " + lanes + ", tile = [" +
                      lanes + "], order = [0], grain = 1> @rows@} {\n%y = grad." + op +
                      " %a dims [1] : " + shape + "\nexec.yield %y : tensor<@1@xf32> }",
                  most, ", extents = [array<i64: 1, 0>], rows = array<i64: 1>"));
        ASSERT_TRUE(kernel.isReady());
        std::vector<HostTensor> operands = kernel.randomOperands(1);
        std::mt19937 random(2);
        for (int64_t i = 0; i < operands[0].size(); ++i)
          operands[0].setFloat(i, i < 2 * width ? NAN : random() % 2 ? 0.0 : -0.0);
        auto runs = [&](int64_t rows) {
          return kernel.run(operands, {{0, kernel.units(rows)}}, rows)[0];
        };
        HostTensor all = runs(most);
        for (int64_t rows = 1; rows < most; ++rows)
          ASSERT_EQ(std::memcmp(runs(rows).bytes().data(), all.bytes().data(),
                                size_t(rows) * sizeof(float)),
                    0)
              << rows << " rows";
      }
}

TEST(Rows, WeightGradientSumsOverRows) {
  expectRows(
      std::string("exec.kernel @k(%a: tensor<@1@x19xf32>, %b: tensor<@1@x40xf32>) attributes {") +
          schedule + R"(tile = [6, 16], order = [0, 1], grain = 1> @rows@} {
      %y = grad.matmul %a, %b transpose_lhs : tensor<@1@x19xf32>, tensor<@1@x40xf32>
      exec.yield %y : tensor<19x40xf32> })",
      ", extents = [array<i64: 1, 0>, array<i64: 1, 0>], rows = array<i64: 0, 0>", 16,
      {1, 2, 9, 15, 16});
}

/// In blocks and as a whole, with factors copied in panels.
TEST(Rows, WeightGradientOfFactorsInPanels) {
  for (const char *walk : {"block = [8], ", ""})
    expectRows(std::string(
                   "exec.kernel @k(%a: tensor<@1@x19xf32>, %b: tensor<@1@x520xf32>) attributes {") +
                   schedule + "tile = [6, 16], order = [1, 0], grain = 1, " + walk +
                   R"(panels = [1, 8]> @rows@} {
      %y = grad.matmul %a, %b transpose_lhs : tensor<@1@x19xf32>, tensor<@1@x520xf32>
      exec.yield %y : tensor<19x520xf32> })",
               ", extents = [array<i64: 1, 0>, array<i64: 1, 0>], rows = array<i64: 0, 0>", 19,
               {1, 7, 8, 9, 16, 19});
}

/// An odd number of rows ends inside a pair, whose second half does not exist.
TEST(Rows, PairsOfRows) {
  expectRows(R"(exec.kernel @k(%a: tensor<@1@x19xbf16>, %b: tensor<@1@x40xbf16>) attributes {
      layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>, unit],
      schedule = #exec.schedule<lanes = 16, tile = [8, 32], order = [1, 0], grain = 1> @rows@} {
      %y = grad.matmul %a, %b transpose_lhs : tensor<@1@x19xbf16>, tensor<@1@x40xbf16>
      exec.yield %y : tensor<19x40xbf16> })",
             ", extents = [array<i64: 1, 0>, array<i64: 1, 0>], rows = array<i64: 0, 0>", 16,
             {1, 2, 9, 15, 16}, 2e-2);
}

/// In AMX's tile registers: rows of the result, and steps of the sum.
TEST(Rows, BlocksOnLevel_x86_64_v4_amx) {
  const mlir::exec::Level *level = mlir::exec::findLevel("x86-64-v4+amx");
  if (!mlir::exec::runsHere(*level))
    GTEST_SKIP() << "this machine lacks level x86-64-v4+amx";
  expectRows(R"(exec.kernel @k(%a: tensor<@1@x70xbf16>, %b: tensor<70x40xbf16>) attributes {
      layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>, unit],
      schedule = #exec.schedule<lanes = 16, tile = [32, 32], order = [1, 0], grain = 1> @rows@} {
      %y = grad.matmul %a, %b wide : tensor<@1@x70xbf16>, tensor<70x40xbf16>
      exec.yield %y : tensor<@1@x40xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 0, 0>], rows = array<i64: 1, 0>", 75,
             {1, 16, 31, 32, 64, 74, 75}, 2e-5, char(0xcd), level);
  expectRows(R"(exec.kernel @k(%a: tensor<@1@x19xbf16>, %b: tensor<@1@x40xbf16>) attributes {
      layouts = [#exec.panel<dim = 0, width = 32>, #exec.panel<dim = 1, width = 32, pairs = 0>, unit],
      schedule = #exec.schedule<lanes = 16, tile = [32, 32], order = [1, 0], grain = 1> @rows@} {
      %y = grad.matmul %a, %b transpose_lhs wide : tensor<@1@x19xbf16>, tensor<@1@x40xbf16>
      exec.yield %y : tensor<19x40xf32> })",
             ", extents = [array<i64: 1, 0>, array<i64: 1, 0>], rows = array<i64: 0, 0>", 75,
             {1, 2, 31, 32, 33, 64, 75}, 2e-5, char(0xcd), level);
}

std::string convolution(const char *lhs, const char *rhs, const char *dims, const char *window,
                        const char *result, const char *tiles, const char *more = "") {
  return std::string("exec.kernel @k(%x: tensor<") + lhs + ">, %w: tensor<" + rhs +
         ">) attributes {" + schedule + tiles + ", grain = 1" + more + R"( @rows@} {
      %y = grad.convolution %x, %w dims ")" +
         dims + "\" window <" + window + "> : tensor<" + lhs + ">, tensor<" + rhs +
         ">\n exec.yield %y : tensor<" + result + "> }";
}

TEST(Rows, Convolution) {
  const char *pixels = "tile = [1, 1, 6, 16], order = [0, 1, 3, 2]";
  expectRows(
      convolution("5x7x@1@x13xf32", "3x3x13x20xf32", "nc,co->no", "[3, 3] low [1, 1] high [1, 1]",
                  "5x7x@1@x20xf32", pixels, ">"),
      ", extents = [array<i64: 0, 0, 1, 0>, array<i64: 0, 0, 0, 0>], rows = array<i64: 0, 0, 1, 0>",
      8, {1, 3, 6, 7, 8});
  expectRows(
      convolution("8x7x@1@x13xf32", "8x7x@1@x20xf32", "nc,no->co", "[8, 7] low [1, 1] high [1, 1]",
                  "3x3x13x20xf32", "tile = [1, 1, 6, 16], order = [3, 0, 1, 2]",
                  ", block = [1, 4]>"),
      ", extents = [array<i64: 0, 0, 1, 0>, array<i64: 0, 0, 1, 0>], rows = array<i64: 0, 0, 0, 0>",
      5, {1, 4, 5});
}

TEST(Rows, WinogradOfBlocksOfPictures) {
  const char *pictures = "array<i64: 0, 0, 1, 0>";
  std::string both = std::string(", extents = [") + pictures + ", ";
  expectRows(convolution("8x8x@1@x32xf32", "3x3x32x32xf32", "nc,co->no",
                         "[3, 3] low [1, 1] high [1, 1]", "8x8x@1@x32xf32",
                         "tile = [2, 4, 3, 16], order = [0, 1, 2, 3]",
                         ", winograd2x2>, layouts = [unit, #exec.panel<dim = 3, width = 16"
                         ", winograd2x2>, unit]"),
             both + "array<i64: 0, 0, 0, 0>], rows = " + pictures, 6, {1, 2, 3, 5, 6}, 2e-4);
  // Blocks of several register tiles of windows, of which the last overlaps the previous one.
  expectRows(convolution("8x8x@1@x32xf32", "3x3x32x32xf32", "nc,co->no",
                         "[3, 3] low [1, 1] high [1, 1]", "8x8x@1@x32xf32",
                         "tile = [2, 8, 5, 16], order = [0, 1, 2, 3]",
                         ", winograd2x2>, layouts = [unit, #exec.panel<dim = 3, width = 16"
                         ", winograd2x2>, unit]"),
             both + "array<i64: 0, 0, 0, 0>], rows = " + pictures, 10, {1, 3, 4, 5, 8, 10}, 2e-4);
  // The last block has fewer lines, too.
  for (const char *tile : {"[4, 4, 3, 16]", "[8, 4, 5, 16]"})
    expectRows(convolution("12x12x@1@x32xf32", "3x3x32x32xf32", "nc,co->no",
                           "[3, 3] low [1, 1] high [1, 1]", "12x12x@1@x32xf32",
                           (std::string("tile = ") + tile + ", order = [0, 1, 2, 3]").c_str(),
                           ", winograd4x4>, layouts = [unit, #exec.panel<dim = 3, width = 16"
                           ", winograd4x4>, unit]"),
               both + "array<i64: 0, 0, 0, 0>], rows = " + pictures, 15, {1, 2, 3, 7, 10, 15},
               2e-4);
  for (const char *block : {"[2, 4, 3], winograd2x2", "[4, 4, 3], winograd4x4"})
    expectRows(convolution("8x8x@1@x32xf32", "8x8x@1@x32xf32", "nc,no->co",
                           "[8, 8] low [1, 1] high [1, 1]", "3x3x32x32xf32",
                           "tile = [3, 3, 16, 32], order = [2, 3, 0, 1]",
                           (std::string(", block = ") + block + ">").c_str()),
               both + pictures + "], rows = array<i64: 0, 0, 0, 0>", 6, {1, 2, 3, 5, 6}, 1e-3);
}

} // namespace
