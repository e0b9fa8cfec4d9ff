// Forecasts for a machine whose rates are round numbers.
#include "compiler/Forecast.h"

#include "dialects/grad/Grad.h"
#include "mlir/Parser/Parser.h"
#include "passes/schedule/KernelTime.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace gradc;

namespace {

constexpr int64_t MB = 1 << 20;

/// 100 GFLOP/s; 100 GB/s within 1 MB, and 10 GB/s beyond. Two threads compute twice as much and
/// read as fast as one.
Machine makeMachine(int threads, double inFlight) {
  Machine machine{*exec::findLevel("x86-64-v3"), threads, 100e9 * threads, {}, inFlight};
  machine.core.f32Flops = 100e9;
  machine.core.launch = 0;
  machine.tiers = {{MB, 100e9, 100e9}, {INT64_MAX, 10e9, 10e9}};
  return machine;
}

class Forecast : public testing::Test {
protected:
  Forecast() {
    DialectRegistry registry;
    registry.insert<exec::ExecDialect, grad::GradDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  std::vector<NodeForecast> of(const std::string &text, int threads = 1, double inFlight = 8) {
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {};
    return forecast(*module->getOps<exec::EntryOp>().begin(), makeMachine(threads, inFlight));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// A product of matrices that adds `nodes`, with slices of tensor<512x512xf32> (1 MB) in the arena.
std::string products(const std::string &nodes) {
  return R"(
    exec.kernel @product(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) attributes {flops = 268435456 : i64, bytes = 3145728 : i64,
        layouts = [unit, #exec.panel<dim = 1, width = 16>, unit], schedule = #exec.schedule<lanes = 8, tile = [6, 16], order = [1, 0], grain = 1>} {
      %0 = grad.matmul %a, %b : tensor<512x512xf32>, tensor<512x512xf32>
      exec.yield %0 : tensor<512x512xf32>
    }
    exec.entry @train arena 8388608 inputs [] outputs [] {)" +
         nodes + "}";
}

std::string product(int a, int b, int c) {
  auto slice = [](int place) {
    return "#exec.slice<arena 0 at " + std::to_string(place * MB) + " : tensor<512x512xf32>>";
  };
  return "exec.dispatch @product [" + slice(a) + ", " + slice(b) + "] -> [" + slice(c) + "]\n";
}

TEST_F(Forecast, AProductTakesItsMultiplyAdds) {
  auto found = of(products(product(0, 1, 2)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].waits);
  EXPECT_GT(found[0].seconds, 268435456 / 100e9);
  EXPECT_LT(found[0].seconds, 1.25 * 268435456 / 100e9);
}

// At the same peak, a core with one unit has twice the cycles for loads and addresses.
TEST_F(Forecast, FewerUnitsWaitLessForOtherInstructions) {
  auto one = of(products(product(0, 1, 2)), 1, 4), two = of(products(product(0, 1, 2)), 1, 8);
  ASSERT_EQ(one.size(), 1u);
  double least = 268435456 / 100e9;
  EXPECT_GT(one[0].seconds, least);
  EXPECT_LT(one[0].seconds, two[0].seconds - 0.02 * least);
}

/// A kernel waits for its weights if it has few rows. Blocks of codes are none.
TEST_F(Forecast, FewRowsStreamWeights) {
  constexpr const char *plain =
      R"(exec.kernel @k(%x: tensor<{0}x32xf32>, %w: tensor<32x512xf32>) attributes {{inplace = array<i64>} {{
      %y = grad.matmul %x, %w : tensor<{0}x32xf32>, tensor<32x512xf32>
      exec.yield %y : tensor<{0}x512xf32> })";
  constexpr const char *blocks =
      R"(exec.kernel @k(%x: tensor<128x{0}x32xf32>, %w: tensor<128x32x512xi8>) attributes {{inplace = array<i64>} {{
      %p = grad.matmul %x, %w wide : tensor<128x{0}x32xf32>, tensor<128x32x512xi8>
      %y = grad.reduce_sum %p dims [0] : tensor<128x{0}x512xf32>
      exec.yield %y : tensor<{0}x512xf32> })";
  for (const char *text : {plain, blocks})
    for (int rows : {1, 64, 65}) {
      module = parseSourceString<ModuleOp>(llvm::formatv(text, rows).str(), &context);
      ASSERT_TRUE(module);
      EXPECT_EQ(streamsWeights(*module->getOps<exec::KernelOp>().begin()), rows <= 64) << rows;
    }
}

TEST_F(Forecast, ThreadsShareUnits) {
  auto one = of(products(product(0, 1, 2)), 1), two = of(products(product(0, 1, 2)), 2);
  ASSERT_EQ(two.size(), 1u);
  EXPECT_EQ(one[0].threads, 1);
  EXPECT_EQ(two[0].threads, 2);
  EXPECT_NEAR(two[0].seconds, one[0].seconds / 2, 0.15 * one[0].seconds);
}

TEST_F(Forecast, LoopsCountAllIterations) {
  auto once = of(products(product(0, 1, 2)));
  auto often = of(products("exec.loop 10 {" + product(0, 1, 2) + "}"));
  ASSERT_EQ(often.size(), 2u);
  EXPECT_EQ(often[0].seconds, 0);
  EXPECT_NEAR(often[1].seconds, 10 * once[0].seconds, 0.1 * often[1].seconds);
}

/// Two additions of 32 KB tensors, whose results begin `apart` bytes behind their operands; between
/// them, a copy of `bytes` bytes.
std::string additions(int64_t bytes, int64_t apart = 32768) {
  std::string numbers = std::to_string(bytes / 4);
  std::string text = R"(
    exec.kernel @add(%a: tensor<8192xf32>) attributes {flops = 8192 : i64, bytes = 65536 : i64,
        schedule = #exec.schedule<lanes = 8, tile = [32], order = [0], grain = 1000>} {
      %0 = grad.add %a, %a : tensor<8192xf32>
      exec.yield %0 : tensor<8192xf32>
    }
    exec.entry @train arena 134217728 inputs [] outputs [] {
      exec.dispatch @add [#exec.slice<arena 0 at 0 : tensor<8192xf32>>] -> [#exec.slice<arena 0 at APART : tensor<8192xf32>>]
      exec.copy #exec.slice<arena 0 at 33554432 : tensor<NxfNN>> -> #exec.slice<arena 0 at 67108864 : tensor<NxfNN>>
      exec.dispatch @add [#exec.slice<arena 0 at 0 : tensor<8192xf32>>] -> [#exec.slice<arena 0 at APART : tensor<8192xf32>>]
    })";
  auto fill = [&](const std::string &name, const std::string &with) {
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), with);
  };
  fill("NxfNN", numbers + "xf32");
  fill("at APART", "at " + std::to_string(apart));
  return text;
}

TEST_F(Forecast, WhatWasUsedLatelyIsInCache) {
  auto near = of(additions(1024)), far = of(additions(8 * MB));
  ASSERT_EQ(near.size(), 3u);
  ASSERT_EQ(far.size(), 3u);
  // The rates count a triad's three lines of four: that of its result is read before it is written.
  // One thread reaches 0.8 of them. As bytes of the rates, for each byte that is copied:
  double copied = (0.75 + 2 * 0.75) / 0.8;
  EXPECT_NEAR(far[2].seconds, copied * 32768 / 10e9, 0.1 * far[2].seconds);
  EXPECT_TRUE(far[2].waits);
  EXPECT_STREQ(far[2].bound(), "memory");
  EXPECT_LT(near[2].seconds, 0.3 * far[2].seconds);
  EXPECT_NEAR(far[1].seconds, copied * 8 * MB / 10e9, 0.1 * far[1].seconds);
}

TEST_F(Forecast, WhatIsOverwrittenInPlaceIsReadOnce) {
  auto apart = of(additions(8 * MB)), inPlace = of(additions(8 * MB, 0));
  ASSERT_EQ(inPlace.size(), 3u);
  // The line of a result is there already, and a cache holds it.
  EXPECT_NEAR(inPlace[2].seconds, apart[2].seconds / 3, 0.1 * apart[2].seconds);
}

} // namespace
