// Attentions and their gradients as single kernels, with register tiles of both kinds of CPUs:
// sizes that are and are not multiples of tiles, masks, shared key heads, orders of dims.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "dialects/grad/Evaluate.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/compiler/codegen/KernelTesting.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace gradc::test;
using namespace mlir;
using llvm::formatv;

namespace {

struct Case {
  int64_t batch = 1, heads = 1, keyHeads = 1, queries = 16, keys = 16, size = 8, width = 8;
  std::string mask = {}, attributes = {}, element = "f32";
  bool merged = false; ///< [batch, positions, heads, size] in memory
  double dropout = 0;

  std::string tensor(int64_t h, int64_t n, int64_t d, const std::string &type) const {
    return merged ? formatv("tensor<{0}x{1}x{2}x{3}x{4}>", batch, n, h, d, type).str()
                  : formatv("tensor<{0}x{1}x{2}x{3}x{4}>", batch, h, n, d, type).str();
  }
  /// A kernel of the attention or of its gradient, whose tiles have these lanes and rows.
  std::string text(bool isGradient, int64_t lanes, int64_t rows) const;
};

std::string Case::text(bool isGradient, int64_t lanes, int64_t rows) const {
  std::string q = tensor(heads, queries, size, element), k = tensor(keyHeads, keys, size, element),
              v = tensor(keyHeads, keys, width, element),
              y = tensor(heads, queries, width, element), s = tensor(heads, queries, 2, element);
  std::string order = merged ? "order [0, 2, 1, 3] " : "";
  std::string last = mask.empty() ? "" : formatv(", %m: {0}", mask).str();
  std::string masked = mask.empty() ? "" : formatv("mask %m : {0} ", mask).str();
  std::string attributes = this->attributes;
  if (dropout > 0) {
    last += ", %seed: tensor<i32>, %step: tensor<i32>";
    masked += "dropout %seed, %step : tensor<i32>, tensor<i32> ";
    attributes += formatv("stream = 9 : i32, ratio = {0} : f64, ", dropout).str();
  }
  // At least two blocks along each side in most cases.
  int64_t panel = 2 * lanes, along = lanes == 16 ? panel : 3 * panel, across = 2 * rows;
  std::string dims = merged ? "0, 2, 1, 3" : "0, 1, 2, 3";
  auto schedule = [&](int64_t h, int64_t n, int64_t d, std::string block) {
    std::string tile = merged ? formatv("1, {0}, {1}, {2}", n, h, d).str()
                              : formatv("1, {0}, {1}, {2}", h, n, d).str();
    return formatv("schedule = #exec.schedule<lanes = {0}, tile = [{1}], order = [{2}], grain = 1, "
                   "block = [{3}], attention>",
                   lanes, tile, dims, block)
        .str();
  };
  if (!isGradient)
    return formatv(R"(exec.kernel @k(%q: {0}, %k: {1}, %v: {2}{5}) attributes {{{8}} {{
      %y, %s = grad.attention %q, %k, %v {6}{9}{{{7}scale = 0.3 : f64} : {0}, {1}, {2}
      exec.yield %y, %s : {3}, {4} })",
                   q, k, v, y, s, last, masked, attributes,
                   schedule(1, along, width, std::to_string(across)), order);
  bool keysAreRoot = keyHeads * keys * std::max(size, width) > heads * queries * size;
  return formatv(
      R"(exec.kernel @k(%q: {0}, %k: {1}, %v: {2}, %y: {3}, %s: {4}, %g: {3}{5}) attributes {{{8}} {{
      %dq, %dk, %dv = grad.attention_grad %q, %k, %v, %y, %s, %g {6}{9}{{{7}scale = 0.3 : f64} : {0}, {1}, {2}, {3}, {4}, {3}
      exec.yield %dq, %dk, %dv : {0}, {1}, {2} })",
      q, k, v, y, s, last, masked, attributes,
      schedule(keysAreRoot ? 1 : heads / keyHeads, keysAreRoot ? keys : queries,
               std::max(size, width), formatv("{0}, {1}", across, along).str()),
      order);
}

/// Computes the result and statistic among the gradient's operands by an attention on the others.
void completeOperands(const Case &c, std::vector<HostTensor> &operands) {
  MLIRContext context(kernelDialects());
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(c.text(/*isGradient=*/false, 8, 6), &context);
  std::vector<HostTensor> given = {operands[0], operands[1], operands[2]};
  given.insert(given.end(), operands.begin() + 6, operands.end());
  auto kernel = *module->getOps<exec::KernelOp>().begin();
  auto results = grad::evaluateBlock(kernel.getBlock(), given);
  for (auto [to, from] : llvm::zip(llvm::MutableArrayRef(operands).slice(3, 2), results))
    llvm::copy(from.bytes(), to.mutableBytes().begin());
}

/// Lanes and rows of the register tiles of x86-64-v3 and of v4.
using Tiles = std::vector<std::pair<int64_t, int64_t>>;
const Tiles narrow = {{8, 6}}, wide = {{16, 8}}, both = {{8, 6}, {16, 8}};

void expectAttention(const Case &c, const Tiles &tiles = both) {
  double tolerance = c.element == "f64" ? 1e-12 : 2e-5;
  for (auto [lanes, rows] : tiles) {
    if (c.element == "f64")
      lanes /= 2;
    expectRight(c.text(/*isGradient=*/false, lanes, rows), tolerance);
    expectRight(c.text(/*isGradient=*/true, lanes, rows), tolerance, nullptr,
                [&](std::vector<HostTensor> &operands) { completeOperands(c, operands); });
  }
}

TEST(Attention, SizesOnAndOffTheTiles) {
  for (auto [queries, keys, size, width] : {std::tuple(32, 32, 8, 8),
                                            {1, 1, 5, 3},
                                            {33, 13, 64, 64},
                                            {96, 48, 16, 40},
                                            {50, 101, 5, 3},
                                            {16, 200, 64, 64}}) {
    SCOPED_TRACE(formatv("{0} queries, {1} keys, {2} and {3}", queries, keys, size, width).str());
    expectAttention({.queries = queries, .keys = keys, .size = size, .width = width});
  }
}

TEST(Attention, HeadsAndBatches) {
  expectAttention({.batch = 2, .heads = 4, .keyHeads = 2, .queries = 40, .keys = 24});
  expectAttention({.batch = 3, .heads = 6, .keyHeads = 1, .queries = 9, .keys = 70, .width = 12});
  expectAttention(
      {.batch = 2, .heads = 4, .keyHeads = 2, .queries = 40, .keys = 24, .merged = true});
}

TEST(Attention, Causal) {
  for (auto [queries, keys, offset] :
       {std::tuple(64, 64, 0), {70, 70, 0}, {16, 80, 64}, {80, 16, -64}, {33, 33, 5}}) {
    SCOPED_TRACE(formatv("{0} queries, {1} keys, {2}", queries, keys, offset).str());
    expectAttention({.queries = queries,
                     .keys = keys,
                     .attributes = formatv("causal = {0} : i64, ", offset).str()});
  }
}

TEST(Attention, Masks) {
  for (auto [element, tiles] : {std::pair("f32", narrow), {"i1", wide}})
    for (auto [b, h, t, keys] :
         {std::tuple(2, 3, 37, 24), {1, 1, 37, 61}, {2, 1, 1, 5}, {1, 1, 1, 61}}) {
      std::string mask = formatv("tensor<{0}x{1}x{2}x{3}x{4}>", b, h, t, keys, element);
      SCOPED_TRACE(mask);
      expectAttention(
          {.batch = 2, .heads = 3, .keyHeads = 3, .queries = 37, .keys = keys, .mask = mask},
          tiles);
    }
  expectAttention({.queries = 40,
                   .keys = 40,
                   .mask = "tensor<1x1x40x40xf32>",
                   .attributes = "causal = 0 : i64, "});
}

TEST(Attention, Dropout) {
  expectAttention({.batch = 2,
                   .heads = 4,
                   .keyHeads = 2,
                   .queries = 37,
                   .keys = 61,
                   .attributes = "causal = 24 : i64, ",
                   .dropout = 0.25});
  expectAttention({.batch = 2,
                   .heads = 3,
                   .keyHeads = 3,
                   .queries = 40,
                   .keys = 24,
                   .mask = "tensor<2x40x1x24xf32>",
                   .merged = true,
                   .dropout = 0.5});
  expectAttention({.queries = 20, .keys = 21, .element = "f64", .dropout = 0.1});
}

TEST(Attention, F64) {
  expectAttention({.heads = 2, .queries = 37, .keys = 29, .width = 5, .element = "f64"});
  expectAttention({.queries = 20,
                   .keys = 21,
                   .mask = "tensor<1x1x20x21xi1>",
                   .attributes = "causal = 1 : i64, ",
                   .element = "f64"});
}

/// The results of an attention whose operands `change` has modified.
std::vector<std::vector<double>> run(const Case &c, bool isGradient,
                                     const std::function<void(std::vector<HostTensor> &)> &change) {
  KernelRunner runner(c.text(isGradient, 8, 6));
  std::vector<std::vector<double>> results;
  if (!runner.isReady())
    return results;
  std::vector<HostTensor> operands = runner.randomOperands(1);
  change(operands);
  for (const HostTensor &result : runner.run(operands, {{0, runner.units()}}))
    for (results.emplace_back(); int64_t(results.back().size()) < result.size();)
      results.back().push_back(result.getFloat(int64_t(results.back().size())));
  return results;
}

TEST(Attention, QueriesWithoutKeysAreZero) {
  Case c{.queries = 20, .keys = 30, .mask = "tensor<1x1x20x30xf32>"};
  auto hide = [&](HostTensor &mask) {
    for (int64_t i = 0; i < mask.size(); ++i)
      mask.setFloat(i, i / 30 == 7 ? -INFINITY : 0);
  };
  auto results = run(c, false, [&](std::vector<HostTensor> &operands) { hide(operands[3]); });
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1][2 * 7], 0);
  EXPECT_EQ(results[1][2 * 7 + 1], 0);
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_EQ(results[0][i] == 0, i / 8 == 7) << i;
  auto gradients = run(c, true, [&](std::vector<HostTensor> &operands) {
    operands[4].setFloat(2 * 7, 0);
    operands[4].setFloat(2 * 7 + 1, 0);
    hide(operands[6]);
  });
  ASSERT_EQ(gradients.size(), 3u);
  for (const auto &gradient : gradients)
    for (size_t i = 0; i < gradient.size(); ++i)
      EXPECT_TRUE(std::isfinite(gradient[i])) << i;
  for (int64_t d = 0; d < 8; ++d)
    EXPECT_EQ(gradients[0][7 * 8 + d], 0);
}

TEST(Attention, NaNsStayInTheirRows) {
  auto results = run({.queries = 20, .keys = 30}, false,
                     [](std::vector<HostTensor> &operands) { operands[0].setFloat(3 * 8, NAN); });
  ASSERT_EQ(results.size(), 2u);
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_EQ(std::isnan(results[0][i]), i / 8 == 3) << i;
}

} // namespace
