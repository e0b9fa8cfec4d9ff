// bf16 in kernels: ops that only move it keep its bits and call nothing; contractions read pairs.
#include "dialects/exec/Level.h"
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace gradc::test;
using llvm::formatv;

namespace {

constexpr const char *pointwise =
    "schedule = #exec.schedule<lanes = 8, tile = [1, 8], order = [0, 1], grain = 1>";
constexpr const char *rows =
    "schedule = #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1>";

TEST(Bf16, Moves) {
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<5x11xbf16>) attributes {{{0}} {{
    %s = grad.pad %a low [1, 3] high [2, 0] interior [1, 2] {{value = 1.5} : tensor<5x11xbf16>
    exec.yield %s : tensor<12x34xbf16> })",
                      pointwise),
              0);
  expectRight(
      formatv(R"(exec.kernel @k(%a: tensor<5x11xbf16>, %b: tensor<5x6xbf16>) attributes {{{0}} {{
    %s = grad.concatenate %a, %b dim 1 : tensor<5x11xbf16>, tensor<5x6xbf16>
    exec.yield %s : tensor<5x17xbf16> })",
              pointwise),
      0);
  expectRight(
      formatv(R"(exec.kernel @k(%a: tensor<5x11xbf16>, %b: tensor<5x11xbf16>) attributes {{{0}} {{
    %c = grad.compare lt %a, %b : tensor<5x11xbf16>
    %s = grad.select %c, %a, %b : tensor<5x11xbf16>
    exec.yield %s : tensor<5x11xbf16> })",
              pointwise),
      0);
}

TEST(Bf16, ExtremesOfRows) {
  for (int c : {1, 10, 37})
    expectRight(formatv(R"(exec.kernel @k(%a: tensor<13x{1}xbf16>) attributes {{{0}} {{
      %m = grad.reduce_max %a dims [1] : tensor<13x{1}xbf16>
      %i = grad.argmax %a dim 1 : tensor<13x{1}xbf16>
      exec.yield %m, %i : tensor<13xbf16>, tensor<13xi64> })",
                        rows, c),
                0);
}

/// C = op(A) op(B) with B in pairs along the summed dim; a bias and relu after it.
void contraction(int64_t m, int64_t n, int64_t k, bool ta, bool tb, const char *tile,
                 const mlir::exec::Level *native = nullptr) {
  std::string a =
      ta ? formatv("tensor<{0}x{1}xbf16>", k, m) : formatv("tensor<{0}x{1}xbf16>", m, k);
  std::string b =
      tb ? formatv("tensor<{0}x{1}xbf16>", n, k) : formatv("tensor<{0}x{1}xbf16>", k, n);
  expectRight(formatv(R"(exec.kernel @k(%a: {0}, %b: {1}, %bias: tensor<{2}xbf16>) attributes {{
          layouts = [unit, #exec.panel<dim = {4}, width = 32, pairs = {5}>, unit, unit],
          schedule = #exec.schedule<lanes = 16, tile = [{6}], order = [1, 0], grain = 1>} {{
    %c = grad.matmul %a, %b {7} {8} : {0}, {1}
    %bb = grad.broadcast %bias dims [1] : tensor<{2}xbf16> -> tensor<{3}x{2}xbf16>
    %s = grad.add %c, %bb : tensor<{3}x{2}xbf16>
    %r = grad.relu %s : tensor<{3}x{2}xbf16>
    exec.yield %r : tensor<{3}x{2}xbf16> })",
                      a, b, n, m, tb ? 0 : 1, tb ? 1 : 0, tile, ta ? "transpose_lhs" : "",
                      tb ? "transpose_rhs" : ""),
              2e-2, native);
}

void contractions(const mlir::exec::Level *native) {
  for (auto [m, n, k] : {std::tuple(8, 32, 16), {13, 50, 37}, {3, 1, 50}, {1, 10, 1}, {33, 48, 65}})
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        contraction(m, n, k, ta, tb, "8, 32", native);
  contraction(33, 50, 20, false, false, "4, 16", native);
  contraction(5, 100, 21, false, false, "2, 64", native); // wider than a panel
}

TEST(Bf16, PairsOfAContraction) { contractions(nullptr); }

TEST(Bf16, PairsOnLevel_x86_64_v4_bf16) {
  const mlir::exec::Level *level = mlir::exec::findLevel("x86-64-v4+bf16");
  if (!mlir::exec::runsHere(*level))
    GTEST_SKIP() << "this machine lacks level x86-64-v4+bf16";
  contractions(level);
}

constexpr const char *inPairs = "#exec.panel<dim = 1, width = 32, pairs = 0>",
                     *inRowsOfSteps = "#exec.panel<dim = 0, width = 32>";

/// C = A^T B with B in pairs along the sum, as in a weight's gradient; in blocks of the sum if
/// `block`.
void gradient(int64_t m, int64_t n, int64_t k, const char *lhs, const char *tile, const char *block,
              const mlir::exec::Level *native) {
  expectRight(
      formatv(R"(exec.kernel @k(%a: tensor<{2}x{0}xbf16>, %b: tensor<{2}x{1}xbf16>) attributes {{
          layouts = [{5}, #exec.panel<dim = 1, width = 32, pairs = 0>, unit],
          schedule = #exec.schedule<lanes = 16, tile = [{3}], order = [1, 0], grain = 1{4}>} {{
    %c = grad.matmul %a, %b transpose_lhs wide : tensor<{2}x{0}xbf16>, tensor<{2}x{1}xbf16>
    exec.yield %c : tensor<{0}x{1}xf32> })",
              m, n, k, tile, block, lhs),
      2e-5, native);
}

/// C = A B^T for each matrix of a batch, with B in pairs along its rows.
void batch(const char *tile, const mlir::exec::Level *native) {
  for (auto [m, n, k] : {std::tuple(8, 32, 16), {13, 50, 37}, {40, 33, 70}})
    expectRight(
        formatv(
            R"(exec.kernel @k(%a: tensor<3x{0}x{2}xbf16>, %b: tensor<3x{1}x{2}xbf16>) attributes {{
          layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 2>, unit],
          schedule = #exec.schedule<lanes = 16, tile = [1, {3}], order = [0, 1, 2], grain = 1>} {{
    %c = grad.matmul %a, %b transpose_rhs wide : tensor<3x{0}x{2}xbf16>, tensor<3x{1}x{2}xbf16>
    exec.yield %c : tensor<3x{0}x{1}xf32> })",
            m, n, k, tile),
        2e-5, native);
}

void gradients(const mlir::exec::Level *native) {
  for (auto [m, n, k] : {std::tuple(8, 32, 16), {13, 50, 37}, {40, 33, 1}, {3, 1, 51}})
    for (const char *block :
         {"", ", block = [8]", ", block = [7]"}) // odd blocks use no dot products
      gradient(m, n, k, inPairs, "8, 32", block, native);
  batch("8, 32", native);
}

TEST(Bf16, PairsOfAGradient) { gradients(nullptr); }

TEST(Bf16, PairsOfAGradientOnLevel_x86_64_v4_bf16) {
  const mlir::exec::Level *level = mlir::exec::findLevel("x86-64-v4+bf16");
  if (!mlir::exec::runsHere(*level))
    GTEST_SKIP() << "this machine lacks level x86-64-v4+bf16";
  gradients(level);
}

/// A contraction over windows with its rhs, and its lhs if `lhsLayout` says so, in pairs.
void convolution(const char *lhs, const char *rhs, const char *dims, const char *window,
                 const char *result, const char *walk, const char *lhsLayout, const char *rhsLayout,
                 const mlir::exec::Level *native) {
  expectRight(formatv(R"(exec.kernel @k(%x: tensor<{0}xbf16>, %w: tensor<{1}xbf16>) attributes {{
      layouts = [{6}, #exec.panel<{7}>, unit],
      schedule = #exec.schedule<lanes = 16, {5}> } {{
        %y = grad.convolution %x, %w dims "{2}" window <{3}> wide : tensor<{0}xbf16>, tensor<{1}xbf16>
        exec.yield %y : tensor<{4}xf32> })",
                      lhs, rhs, dims, window, result, walk, lhsLayout, rhsLayout)
                  .str(),
              2e-5, native);
}

void convolutions(const mlir::exec::Level *native) {
  const char *filter = "dim = 3, width = 32, pairs = 2", *turned = "dim = 2, width = 32, pairs = 3";
  const char *pixels = "tile = [1, 1, 6, 32], order = [0, 1, 3, 2], grain = 1";
  // Padding, an odd number of channels, strides and dilation, windows of one element.
  convolution("5x7x7x13", "3x3x13x40", "nc,co->no", "[3, 3] low [1, 1] high [1, 1]", "5x7x7x40",
              pixels, "unit", filter, native);
  convolution("9x8x3x10", "3x3x10x8", "nc,co->no", "[3, 3] stride [2, 2] low [1, 1] high [1, 1]",
              "5x4x3x8", pixels, "unit", filter, native);
  convolution("9x8x7x4", "3x2x4x8", "nc,co->no", "[3, 2] low [2, 1] high [2, 1] dilation [2, 3]",
              "9x7x7x8", pixels, "unit", filter, native);
  convolution("4x5x7x12", "1x1x12x33", "nc,co->no", "[1, 1]", "4x5x7x33", pixels, "unit", filter,
              native);
  // Tiles of positions: some points of a tile have taps that others lack.
  for (const char *tile : {"[1, 3, 1, 32]", "[2, 3, 2, 16]"})
    convolution("6x7x3x6", "3x3x6x20", "nc,co->no", "[3, 3] low [1, 1] high [1, 1]", "6x7x3x20",
                formatv("tile = {0}, order = [0, 1, 3, 2], grain = 1", tile).str().c_str(), "unit",
                filter, native);
  // Gradients of pictures reverse the window; where it had strides, pictures are spread out.
  convolution("5x4x6x8", "3x3x40x8", "no,co->nc", "[3, 3] low [1, 1] high [1, 1] reversed",
              "5x4x6x40", pixels, "unit", turned, native);
  convolution("5x4x6x8", "3x3x10x8", "no,co->nc",
              "[3, 3] low [1, 1] high [1, 2] base [2, 2] reversed", "9x8x6x10", pixels, "unit",
              turned, native);
  // Groups of channels.
  const char *grouped = "dim = 4, width = 32, pairs = 3";
  convolution("5x4x6x3x7", "3x3x3x7x20", "ngc,gco->ngo", "[3, 3] low [1, 1] high [1, 1]",
              "5x4x6x3x20", "tile = [1, 1, 6, 1, 32], order = [0, 1, 3, 4, 2], grain = 1", "unit",
              grouped, native);
  // Gradients of filters sum pairs of pictures, also of an odd number.
  for (const char *block : {"", ", block = [1, 4]", ", block = [3, 2]"})
    for (const char *layout : {"unit", "#exec.panel<dim = 3, width = 32, pairs = 2>"})
      convolution(
          "8x7x5x13", "8x7x5x20", "nc,no->co", "[8, 7] low [1, 1] high [1, 1]", "3x3x13x20",
          formatv("tile = [1, 1, 6, 32], order = [3, 0, 1, 2], grain = 1{0}", block).str().c_str(),
          layout, filter, native);
  convolution("9x8x6x6", "5x4x6x8", "nc,no->co", "[5, 4] low [1, 1] high [1, 0] dilation [2, 2]",
              "3x3x6x8", "tile = [1, 1, 6, 16], order = [0, 1, 2, 3], grain = 1, block = [1, 2]",
              "#exec.panel<dim = 3, width = 32, pairs = 2>", filter, native);
}

TEST(Bf16, PairsOfAConvolution) { convolutions(nullptr); }

TEST(Bf16, PairsOfAConvolutionOnLevel_x86_64_v4_bf16) {
  const mlir::exec::Level *level = mlir::exec::findLevel("x86-64-v4+bf16");
  if (!mlir::exec::runsHere(*level))
    GTEST_SKIP() << "this machine lacks level x86-64-v4+bf16";
  convolutions(level);
}

// Blocks of 16 rows and 16 columns, fewer rows at the end, and sums that end within 32 steps.
TEST(Bf16, BlocksOnLevel_x86_64_v4_amx) {
  const mlir::exec::Level *level = mlir::exec::findLevel("x86-64-v4+amx");
  if (!mlir::exec::runsHere(*level))
    GTEST_SKIP() << "this machine lacks level x86-64-v4+amx";
  for (auto [m, n, k] :
       {std::tuple(32, 32, 32), {40, 50, 64}, {13, 50, 37}, {97, 33, 130}, {1, 10, 1}})
    for (bool tb : {false, true})
      for (const char *tile : {"32, 32", "20, 16", "1, 32"})
        contraction(m, n, k, /*ta=*/false, tb, tile, level);
  contraction(40, 50, 64, /*ta=*/true, false, "32, 32", level); // steps are not adjacent
  contraction(80, 70, 64, false, false, "48, 64", level);       // more than the registers hold
  for (auto [m, n, k] : {std::tuple(32, 32, 64), {40, 50, 200}, {13, 50, 37}, {33, 33, 1}})
    for (const char *block : {"", ", block = [32]", ", block = [96]", ", block = [40]"})
      gradient(m, n, k, inRowsOfSteps, "32, 32", block, level);
  batch("32, 32", level);
  // Two results of one sum.
  expectRight(R"(exec.kernel @k(%a: tensor<40x70xbf16>, %b: tensor<70x50xbf16>) attributes {
      layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>, unit, unit],
      schedule = #exec.schedule<lanes = 16, tile = [32, 32], order = [1, 0], grain = 1>} {
    %c = grad.matmul %a, %b wide : tensor<40x70xbf16>, tensor<70x50xbf16>
    %r = grad.relu %c : tensor<40x50xf32>
    exec.yield %c, %r : tensor<40x50xf32>, tensor<40x50xf32> })",
              2e-5, level);
}

/// A 16-bit mirror of an f32 state, along its rows or, if `turned`, along its columns.
void mirror(const char *tile, bool turned, const mlir::exec::Level *native) {
  for (auto [rows, columns] : {std::pair(32, 64), {7, 50}, {50, 7}, {1, 1}}) {
    auto type = formatv("tensor<{0}x{1}xf32>", rows, columns).str();
    auto moved = formatv("tensor<{0}x{1}x", turned ? columns : rows, turned ? rows : columns).str();
    expectRight(formatv(R"(exec.kernel @k(%a: {0}) attributes {{
        layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 0>],
        schedule = #exec.schedule<lanes = 16, tile = [{2}], order = [1, 0], grain = 1>} {{
      {3}
      %n = grad.cast {4} storage : {1}f32> -> {1}bf16>
      exec.yield %n : {1}bf16> })",
                        type, moved, tile,
                        turned ? "%t = grad.transpose %a permutation [1, 0] : " + type : "",
                        turned ? "%t" : "%a"),
                0, native);
  }
}

/// Matrices of a batch in pairs along their rows, transposed in registers in squares.
void turn(const mlir::exec::Level *native) {
  for (auto [rows, columns] : {std::pair(32, 64), {7, 50}, {50, 7}, {33, 17}})
    for (const char *tile : {"1, 16, 32", "1, 16, 16", "1, 1, 16"})
      expectRight(formatv(R"(exec.kernel @k(%a: tensor<3x{0}x{1}xbf16>) attributes {{
          layouts = [unit, #exec.panel<dim = 1, width = 32, pairs = 2>],
          schedule = #exec.schedule<lanes = 16, tile = [{2}], order = [1, 0, 2], grain = 1>} {{
        exec.yield %a : tensor<3x{0}x{1}xbf16> })",
                          rows, columns, tile),
                  0, native);
}

void mirrors(const mlir::exec::Level *native) {
  for (const char *tile : {"2, 64", "1, 16", "3, 32"})
    mirror(tile, /*turned=*/false, native);
  mirror("16, 16", /*turned=*/true, native);
  turn(native);
}

TEST(Bf16, MirrorsInPairs) { mirrors(nullptr); }

TEST(Bf16, MirrorsInPairsOnLevel_x86_64_v4_bf16) {
  const mlir::exec::Level *level = mlir::exec::findLevel("x86-64-v4+bf16");
  if (!mlir::exec::runsHere(*level))
    GTEST_SKIP() << "this machine lacks level x86-64-v4+bf16";
  mirrors(level);
}

/// Ties round to even; infinities, zeros, and NaNs stay, on every level.
TEST(Bf16, RoundsAsTheEvaluatorOnEveryLevel) {
  for (const char *name : {"x86-64-v3", "x86-64-v4", "x86-64-v4+bf16"}) {
    const mlir::exec::Level *level = mlir::exec::findLevel(name);
    if (!mlir::exec::runsHere(*level))
      continue;
    KernelRunner runner(R"(exec.kernel @k(%a: tensor<32xf32>) attributes {
        schedule = #exec.schedule<lanes = 16, tile = [16], order = [0], grain = 1>} {
      %s = grad.cast %a storage : tensor<32xf32> -> tensor<32xbf16>
      exec.yield %s : tensor<32xbf16> })",
                        level);
    ASSERT_TRUE(runner.isReady());
    std::vector<float> numbers = {0.0f,           -0.0f, INFINITY, -INFINITY, NAN, 1.0f,
                                  1.00390625f, // between 1 and the next: to even, down
                                  1.01171875f, // up
                                  -1.00390625f,
                                  1.003906309f,  // just above the tie
                                  3.4028235e38f, // beyond the largest
                                  3.3895314e38f, // the largest
                                  1.17549435e-38f};
    numbers.resize(32, 0.3f);
    std::vector<HostTensor> operands = {runner.operand(numbers.data(), 32 * sizeof(float))};
    HostTensor found = runner.run(operands, {{0, runner.units()}})[0],
               expected = runner.evaluate(operands)[0];
    for (int64_t i = 0; i < 32; ++i) {
      SCOPED_TRACE(std::string(name) + ", element " + std::to_string(i));
      if (std::isnan(numbers[i]))
        EXPECT_TRUE(std::isnan(found.getFloat(i)));
      else
        EXPECT_EQ(std::memcmp(found.bytes().data() + 2 * i, expected.bytes().data() + 2 * i, 2), 0)
            << found.getFloat(i) << " is not " << expected.getFloat(i);
    }
  }
}

TEST(Bf16, PanelsWithPairsArePackedAndUnpacked) {
  constexpr const char *paired = "#exec.panel<dim = 1, width = 32, pairs = 0>";
  for (auto [from, to] : {std::pair("unit", paired), {paired, "unit"}})
    expectRight(formatv(R"(exec.kernel @k(%a: tensor<7x50xbf16>) attributes {{layouts = [{0}, {1}],
        schedule = #exec.schedule<lanes = 16, tile = [1, 16], order = [0, 1], grain = 1>} {{
      exec.yield %a : tensor<7x50xbf16> })",
                        from, to),
                0);
}

} // namespace
