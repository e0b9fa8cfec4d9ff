// Kernels compiled for a largest batch and run on fewer rows, apart from products and reductions.
#include "test/unit/compiler/codegen/FewerRows.h"

#include "gtest/gtest.h"

using namespace gradc::test;
using namespace mlir;

namespace {

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
