// Kernels compiled for a largest batch and run on fewer rows: memory past these rows is neither
// read nor written.
#include "dialects/exec/Level.h"
#include "test/unit/compiler/codegen/KernelRunner.h"
#include "test/unit/compiler/codegen/RowsTesting.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace gradc::test;
using namespace mlir;

namespace {

/// Runs a kernel compiled for `largest` rows on fewer, compares with the evaluated kernel of that
/// size, and checks that memory past the rows still has the value `behind`, or 0 in panels, or what
/// the operand had there that the result overwrites.
void expectRows(const std::string &text, const std::string &attributes, int64_t largest,
                std::vector<int64_t> counts, double tolerance = 2e-5, char behind = char(0xcd),
                const mlir::exec::Level *native = nullptr) {
  constexpr char nan = char(0xff); // in every byte of a float
  KernelRunner many(sized(text, largest, attributes), native);
  ASSERT_TRUE(many.isReady()) << text;
  std::vector<HostTensor> wide = many.randomOperands(1);
  for (int64_t rows : counts) {
    SCOPED_TRACE(std::to_string(rows) + " rows");
    KernelRunner few(sized(text, rows, ""));
    ASSERT_TRUE(few.isReady());
    std::vector<HostTensor> operands = few.randomOperands(unsigned(rows)), withNans, withOthers;
    for (auto [operand, type] : llvm::zip_equal(operands, wide)) {
      withNans.push_back(spread(operand, type.getType(), nan));
      withOthers.push_back(spread(operand, type.getType(), 0x11));
    }
    int64_t units = many.units(rows);
    std::vector<std::pair<int64_t, int64_t>> backwards;
    for (int64_t u = units - 1; u >= 0; --u)
      backwards.push_back({u, u + 1});
    auto results = many.run(withNans, {{0, units}}, rows);
    auto again = many.run(withOthers, backwards, rows);
    auto expected = few.evaluate(operands);
    for (size_t r = 0; r < results.size(); ++r) {
      std::vector<bool> isRow(results[r].size());
      int64_t width = grad::elementBytes(results[r].getElementType());
      forEachShared(expected[r], results[r], [&](int64_t from, int64_t to) {
        isRow[to] = true;
        double e = expected[r].getFloat(from), found = results[r].getFloat(to);
        ASSERT_NEAR(found, e, tolerance * std::max(1.0, std::abs(e))) << "element " << from;
        ASSERT_EQ(std::memcmp(results[r].bytes().data() + to * width,
                              again[r].bytes().data() + to * width, width),
                  0)
            << "what is behind the rows, or who computes a unit, changes element " << from;
      });
      char past = many.overwritten()[r] < operands.size() ? nan : behind;
      for (int64_t i = 0; i < results[r].size(); ++i)
        ASSERT_TRUE(isRow[i] || results[r].bytes()[i * width] == past)
            << "element " << i << " behind the rows was written";
    }
  }
}

const char *const schedule = "schedule = #exec.schedule<lanes = 8, ";

TEST(Rows, PointwiseOutermost) {
  expectRows(
      std::string("exec.kernel @k(%a: tensor<@1@x37xf32>, %b: tensor<37xf32>) attributes {") +
          schedule + R"(tile = [4, 16], order = [0, 1], grain = 1> @rows@} {
      %s = grad.broadcast %b dims [1] : tensor<37xf32> -> tensor<@1@x37xf32>
      %m = grad.mul %a, %s : tensor<@1@x37xf32>
      %e = grad.tanh %m : tensor<@1@x37xf32>
      exec.yield %e : tensor<@1@x37xf32> })",
      ", extents = [array<i64: 1, 0>, array<i64: 0>], rows = array<i64: 1, 0>", 11,
      {1, 2, 4, 7, 8, 10, 11});
}

TEST(Rows, PointwiseInLanes) {
  expectRows(
      std::string("exec.kernel @k(%a: tensor<5x@2@xf32>, %b: tensor<@2@xf32>) attributes {") +
          schedule + R"(tile = [1, 16], order = [0, 1], grain = 1> @rows@} {
      %s = grad.broadcast %b dims [1] : tensor<@2@xf32> -> tensor<5x@2@xf32>
      %m = grad.add %a, %s : tensor<5x@2@xf32>
      exec.yield %m : tensor<5x@2@xf32> })",
      ", extents = [array<i64: 0, 2>, array<i64: 2>], rows = array<i64: 0, 2>", 13,
      {1, 3, 8, 9, 13});
}

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

TEST(Rows, AttentionAndItsGradient) {
  expectRows(
      std::string("exec.kernel @k(%q: tensor<@2@x4x50x8xf32>, %x: tensor<@2@x2x20x8xf32>, "
                  "%m: tensor<@2@x1x1x20xf32>) attributes {") +
          schedule +
          R"(tile = [1, 1, 48, 8], order = [0, 1, 2, 3], grain = 1, block = [12], attention> @rows@} {
      %y, %s = grad.attention %q, %x, %x mask %m : tensor<@2@x1x1x20xf32> {scale = 0.3 : f64}
        : tensor<@2@x4x50x8xf32>, tensor<@2@x2x20x8xf32>, tensor<@2@x2x20x8xf32>
      exec.yield %y, %s : tensor<@2@x4x50x8xf32>, tensor<@2@x4x50x2xf32> })",
      ", extents = [array<i64: 2, 0, 0, 0>, array<i64: 2, 0, 0, 0>, array<i64: 2, 0, 0, 0>], "
      "rows = array<i64: 2, 0, 0, 0>",
      3, {1, 2, 3});
  expectRows(
      std::string("exec.kernel @k(%q: tensor<@1@x20x2x8xf32>, %x: tensor<@1@x20x2x8xf32>, "
                  "%s: tensor<@1@x20x2x2xf32>) attributes {") +
          schedule +
          R"(tile = [1, 20, 1, 8], order = [0, 2, 1, 3], grain = 1, block = [12, 48], attention> @rows@} {
      %g:3 = grad.attention_grad %q, %x, %x, %q, %s, %q order [0, 2, 1, 3] {causal = 0 : i64, scale = 0.1 : f64}
        : tensor<@1@x20x2x8xf32>, tensor<@1@x20x2x8xf32>, tensor<@1@x20x2x8xf32>, tensor<@1@x20x2x8xf32>,
          tensor<@1@x20x2x2xf32>, tensor<@1@x20x2x8xf32>
      exec.yield %g#0, %g#1, %g#2 : tensor<@1@x20x2x8xf32>, tensor<@1@x20x2x8xf32>, tensor<@1@x20x2x8xf32> })",
      ", extents = [array<i64: 1, 0, 0, 0>, array<i64: 1, 0, 0, 0>, array<i64: 1, 0, 0, 0>], "
      "rows = array<i64: 1, 0, 0, 0>",
      4, {1, 3, 4});
}

TEST(Rows, LookupsAndTheirGradient) {
  expectRows(
      std::string("exec.kernel @k(%t: tensor<5x37xf32>, %i: tensor<@1@x3xi64>) attributes {") +
          schedule + R"(tile = [1, 1, 16], order = [0, 1, 2], grain = 1> @rows@} {
      %y = grad.gather %t[%i] dims [-1, 2] index_dims [0, 1] : tensor<5x37xf32>, tensor<@1@x3xi64>
      exec.yield %y : tensor<@1@x3x37xf32> })",
      ", extents = [array<i64: 0, 0>, array<i64: 1, 0>], rows = array<i64: 1, 0, 0>", 9,
      {1, 2, 8, 9});
  expectRows(
      std::string("exec.kernel @k(%x: tensor<5x37xf32>, %i: tensor<@3@xi64>, %u: "
                  "tensor<@3@x37xf32>) attributes {") +
          schedule + R"(tile = [1, 16], order = [0, 1], grain = 1> @rows@} {
      %y = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [0] : tensor<5x37xf32>, tensor<@3@x37xf32>, tensor<@3@xi64>
      exec.yield %y : tensor<5x37xf32> })",
      ", extents = [array<i64: 0, 0>, array<i64: 3>, array<i64: 3, 0>], rows = array<i64: 0, 0>", 9,
      {1, 2, 5, 9});
}

// Each row of the run adds up its own updates: those of its lists, and those at indices for all.
TEST(Rows, UpdatesInScratchMemory) {
  for (const char *tile : {"[1, 16]", "[4, 8]"}) {
    expectRows(llvm::formatv(R"(exec.kernel @k(%x: tensor<@1@x37xf32>, %i: tensor<@1@x40xi64>,
          %u: tensor<@1@x40xf32>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = {0}, order = [0, 1], grain = 1, block = [1], scatter> @rows@} {{
      %y = grad.scatter %x[%i] add %u dims [0, -1] index_dims [0, 1] : tensor<@1@x37xf32>, tensor<@1@x40xf32>, tensor<@1@x40xi64>
      exec.yield %y : tensor<@1@x37xf32> })",
                             tile)
                   .str(),
               ", extents = [array<i64: 1, 0>, array<i64: 1, 0>, array<i64: 1, 0>], rows = "
               "array<i64: 1, 0>",
               9, {1, 2, 5, 8, 9}, 1e-4);
    expectRows(
        llvm::formatv(R"(exec.kernel @k(%i: tensor<40xi64>, %u: tensor<@3@x40xf32>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = {0}, order = [0, 1], grain = 1, block = [2], scatter> @rows@} {{
      %z = grad.constant dense<0.0> : tensor<@3@x37xf32>
      %y = grad.scatter %z[%i] max %u dims [0, -1] index_dims [1] : tensor<@3@x37xf32>, tensor<@3@x40xf32>, tensor<40xi64>
      exec.yield %y : tensor<@3@x37xf32> })",
                      tile)
            .str(),
        ", extents = [array<i64: 0>, array<i64: 3, 0>], rows = array<i64: 3, 0>", 9,
        {1, 2, 5, 8, 9});
  }
  // The units are inside of the rows.
  expectRows(R"(exec.kernel @k(%x: tensor<@1@x6x37xf32>, %i: tensor<@1@x6x40xi64>,
          %u: tensor<@1@x6x40xf32>) attributes {
      schedule = #exec.schedule<lanes = 8, tile = [1, 2, 16], order = [1, 0, 2], grain = 1, block = [2], scatter> @rows@} {
      %y = grad.scatter %x[%i] replace %u dims [0, 1, -1] index_dims [0, 1, 2] : tensor<@1@x6x37xf32>, tensor<@1@x6x40xf32>, tensor<@1@x6x40xi64>
      exec.yield %y : tensor<@1@x6x37xf32> })",
             ", extents = [array<i64: 1, 0, 0>, array<i64: 1, 0, 0>, array<i64: 1, 0, 0>], rows = "
             "array<i64: 1, 0, 0>",
             9, {1, 2, 9});
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

TEST(Rows, Sorts) {
  auto sort = [](const char *from, const char *to, int64_t dim, const char *walk) {
    return llvm::formatv(R"(exec.kernel @k(%x: tensor<{0}>) attributes {{
        schedule = #exec.schedule<lanes = 8, {3}, grain = 1, sort> @rows@} {{
        %i = grad.argsort %x dim {2} : tensor<{0}> -> tensor<{1}xi64>
        exec.yield %i : tensor<{1}xi64> })",
                         from, to, dim, walk)
        .str();
  };
  expectRows(sort("@3@x170xf32", "@3@x120", 1, "tile = [1, 120], order = [0, 1]"),
             ", extents = [array<i64: 3, 0>], rows = array<i64: 3, 0>", 5, {1, 2, 5}, 0);
  expectRows(sort("2x@1@x170xf32", "2x@1@x170", 2, "tile = [1, 1, 170], order = [1, 0, 2]"),
             ", extents = [array<i64: 0, 1, 0>], rows = array<i64: 0, 1, 0>", 5, {1, 2, 5}, 0);
  // Fewer positions than the rows have elements are chosen without a sort.
  expectRows(sort("@3@x70xf32", "@3@x5", 1, "tile = [1, 5], order = [0, 1]"),
             ", extents = [array<i64: 3, 0>], rows = array<i64: 3, 0>", 5, {1, 2, 5}, 0);
}

TEST(Rows, CumulativeSums) {
  auto sum = [](const char *type, int64_t dim, const char *walk) {
    return llvm::formatv(R"(exec.kernel @k(%x: tensor<{0}>) attributes {{
        schedule = #exec.schedule<lanes = 8, {2}, grain = 1, cumulative> @rows@} {{
        %y = grad.cumulative sum %x dim {1} exclusive : tensor<{0}>
        exec.yield %y : tensor<{0}> })",
                         type, dim, walk)
        .str();
  };
  expectRows(sum("@3@x40xf32", 1, "tile = [1, 40], order = [0, 1]"),
             ", extents = [array<i64: 3, 0>], rows = array<i64: 3, 0>", 5, {1, 2, 5}, 0);
  expectRows(sum("@3@x40x11xf32", 1, "tile = [1, 40, 8], order = [0, 2, 1]"),
             ", extents = [array<i64: 3, 0, 0>], rows = array<i64: 3, 0, 0>", 5, {1, 2, 5}, 0);
  // Vectors along the rows of a run would be of a length that only the run knows.
  expectRows(sum("40x@3@xf32", 0, "tile = [40, 1], order = [1, 0]"),
             ", extents = [array<i64: 0, 3>], rows = array<i64: 0, 3>", 5, {1, 2, 5}, 0);
}

// The last vector of rows has some that the run lacks.
TEST(Rows, FourierTransforms) {
  for (auto [from, to, how, numbers] :
       {std::tuple("@3@x6x2", "@3@x6x2", "", "6, 2"), std::tuple("@3@x12x1", "@3@x7x2", "", "7, 2"),
        std::tuple("@3@x7x2", "@3@x12x1", "inverse", "12, 1")})
    expectRows(llvm::formatv(R"(exec.kernel @k(%x: tensor<{0}xf32>) attributes {{
        schedule = #exec.schedule<lanes = 8, tile = [8, {3}], order = [0, 1, 2], grain = 1, fourier> @rows@} {{
        %y = grad.fourier %x {2} : tensor<{0}xf32> -> tensor<{1}xf32>
        exec.yield %y : tensor<{1}xf32> })",
                             from, to, how, numbers),
               ", extents = [array<i64: 3, 0, 0>], rows = array<i64: 3, 0, 0>", 5, {1, 2, 5});
}

} // namespace
