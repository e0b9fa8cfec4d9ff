// Generated convolutions against their definition: windows at the edges of pictures, spread out,
// and walked in blocks.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using llvm::formatv;

namespace {

/// One convolution as a kernel: `schedule` is the attribute's text after the lanes.
std::string convolution(const char *lhs, const char *rhs, const char *dims, const char *window,
                        const char *result, const char *schedule, const char *layouts = "",
                        const char *block = "") {
  return formatv(R"(exec.kernel @k(%x: tensor<{0}>, %w: tensor<{1}>) attributes {{
    schedule = #exec.schedule<lanes = 8, {2}, grain = 1{7}>{3} } {{
      %y = grad.convolution %x, %w dims "{4}" window <{5}> : tensor<{0}>, tensor<{1}>
      exec.yield %y : tensor<{6}> })",
                 lhs, rhs, schedule, layouts, dims, window, result, block);
}

constexpr const char *pixels = "tile = [1, 1, 6, 16], order = [0, 1, 3, 2]";

TEST(Convolution, ForwardAtTheEdges) {
  expectRight(convolution("5x7x7x13xf32", "3x3x13x20xf32", "nc,co->no",
                          "[3, 3] low [1, 1] high [1, 1]", "5x7x7x20xf32", pixels));
  expectRight(convolution("6x5x9x3xf32", "5x3x3x16xf32", "nc,co->no",
                          "[5, 3] low [2, 0] high [1, 2]", "5x5x9x16xf32", pixels));
}

TEST(Convolution, StridesAndDilation) {
  expectRight(convolution("9x8x3x10xf32", "3x3x10x8xf32", "nc,co->no",
                          "[3, 3] stride [2, 2] low [1, 1] high [1, 1]", "5x4x3x8xf32", pixels));
  expectRight(convolution("9x8x7x4xf32", "3x2x4x8xf32", "nc,co->no",
                          "[3, 2] low [2, 1] high [2, 1] dilation [2, 3]", "9x7x7x8xf32", pixels));
}

TEST(Convolution, InputGradient) {
  expectRight(convolution("5x4x6x8xf32", "3x3x10x8xf32", "no,co->nc",
                          "[3, 3] low [1, 1] high [1, 2] base [2, 2] reversed", "9x8x6x10xf32",
                          pixels));
  expectRight(convolution("4x4x6x8xf32", "2x2x10x8xf32", "no,co->nc",
                          "[2, 2] low [1, 1] high [3, 1] base [3, 2] reversed", "13x8x6x10xf32",
                          pixels));
}

TEST(Convolution, Panels) {
  expectRight(convolution("4x4x7x5xf32", "3x3x5x20xf32", "nc,co->no",
                          "[3, 3] low [1, 1] high [1, 1]", "4x4x7x20xf32", pixels,
                          ", layouts = [unit, #exec.panel<dim = 3, width = 16>, unit]"));
  expectRight(convolution("4x4x7x20xf32", "3x3x5x20xf32", "no,co->nc",
                          "[3, 3] low [1, 1] high [1, 1] reversed", "4x4x7x5xf32", pixels,
                          ", layouts = [unit, #exec.panel<dim = 2, width = 16>, unit]"));
}

TEST(Convolution, FilterGradientInBlocks) {
  for (const char *block : {"", ", block = [1, 4]", ", block = [1, 7]", ", block = [3, 2]"})
    expectRight(convolution("8x7x5x13xf32", "8x7x5x20xf32", "nc,no->co",
                            "[8, 7] low [1, 1] high [1, 1]", "3x3x13x20xf32",
                            "tile = [1, 1, 6, 16], order = [3, 0, 1, 2]", "", block));
  // A stride of the forward convolution is a dilation here.
  expectRight(convolution("9x8x5x6xf32", "5x4x5x8xf32", "nc,no->co",
                          "[5, 4] low [1, 1] high [1, 0] dilation [2, 2]", "3x3x6x8xf32",
                          "tile = [1, 1, 6, 8], order = [0, 1, 2, 3]", "", ", block = [1, 2]"));
  // Of a transposed convolution, with the columns of the first factor, and of each channel alone.
  expectRight(convolution("9x8x5x8xf32", "5x4x5x6xf32", "no,nc->co",
                          "[5, 4] low [1, 1] high [1, 0] dilation [2, 2]", "3x3x6x8xf32",
                          "tile = [1, 1, 6, 8], order = [0, 1, 2, 3]", "", ", block = [1, 2]"));
  expectRight(convolution("9x8x5x20xf32", "5x4x5x20xf32", "nc,nc->c",
                          "[5, 4] low [1, 1] high [1, 0] dilation [2, 2]", "3x3x20xf32",
                          "tile = [1, 3, 16], order = [1, 2, 0]", "", ", block = [1, 4]"));
}

TEST(Convolution, Winograd) {
  const char *forward = ", layouts = [unit, #exec.panel<dim = 3, width = 16, winograd2x2>, unit]";
  const char *gradient = ", layouts = [unit, #exec.panel<dim = 2, width = 16, winograd2x2>, unit]";
  // Register tiles with and without remainders, several windows of a row at once, and a part of the
  // pictures.
  for (const char *tile :
       {"tile = [2, 2, 7, 16]", "tile = [2, 6, 7, 16]", "tile = [2, 2, 1, 16]"}) {
    std::string schedule = std::string(tile) + ", order = [0, 1, 2, 3]";
    expectRight(convolution("4x6x7x24xf32", "3x3x24x32xf32", "nc,co->no",
                            "[3, 3] low [1, 1] high [1, 1]", "4x6x7x32xf32", schedule.c_str(),
                            forward, ", winograd2x2"),
                1e-4);
  }
  std::string schedule = "tile = [2, 4, 3, 16], order = [0, 1, 2, 3]";
  expectRight(convolution("6x8x3x16xf32", "3x3x32x16xf32", "no,co->nc",
                          "[3, 3] low [1, 1] high [1, 1] reversed", "6x8x3x32xf32",
                          schedule.c_str(), gradient, ", winograd2x2"),
              1e-4);
  // Several rows of windows at once, of which the last block has fewer.
  for (const char *tile : {"tile = [4, 6, 7, 16]", "tile = [6, 2, 1, 16]"})
    expectRight(convolution("10x6x7x24xf32", "3x3x24x32xf32", "nc,co->no",
                            "[3, 3] low [1, 1] high [1, 1]", "10x6x7x32xf32",
                            (std::string(tile) + ", order = [0, 1, 2, 3]").c_str(), forward,
                            ", winograd2x2"),
                1e-4);
  // Pictures of odd sizes, also with all padding on one side.
  for (const char *tile : {"tile = [2, 4, 3, 16]", "tile = [4, 8, 1, 16]"}) {
    std::string odd = std::string(tile) + ", order = [0, 1, 2, 3]";
    expectRight(convolution("5x7x3x24xf32", "3x3x24x32xf32", "nc,co->no",
                            "[3, 3] low [1, 1] high [1, 1]", "5x7x3x32xf32", odd.c_str(), forward,
                            ", winograd2x2"),
                1e-4);
    expectRight(convolution("5x8x3x16xf32", "3x3x32x16xf32", "no,co->nc",
                            "[3, 3] low [2, 0] high [0, 1] reversed", "5x7x3x32xf32", odd.c_str(),
                            gradient, ", winograd2x2"),
                1e-4);
  }
  // Without padding, and with more padding on one side.
  expectRight(convolution("8x6x3x8xf32", "3x3x8x16xf32", "nc,co->no", "[3, 3]", "6x4x3x16xf32",
                          schedule.c_str(), forward, ", winograd2x2"),
              1e-4);
  expectRight(convolution("5x5x3x8xf32", "3x3x8x16xf32", "nc,co->no",
                          "[3, 3] low [2, 1] high [1, 2]", "6x6x3x16xf32",
                          "tile = [2, 2, 3, 16], order = [0, 1, 2, 3]", forward, ", winograd2x2"),
              1e-4);
}

/// The same kernel with vectors of 16 elements, and panels of two of them.
std::string ofWideVectors(std::string text) {
  for (auto [from, to] : {std::pair("lanes = 8", "lanes = 16"),
                          {"width = 16", "width = 32"},
                          {", 16], order", ", 32], order"}})
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += strlen(to))
      text.replace(at, strlen(from), to);
  return text;
}

TEST(Convolution, WinogradOfLargeWindows) {
  const char *forward = ", layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>, unit]";
  const char *gradient = ", layouts = [unit, #exec.panel<dim = 2, width = 16, winograd4x4>, unit]";
  auto expectBoth = [](const std::string &text) {
    expectRight(text, 2e-4);
    expectRight(ofWideVectors(text), 2e-4);
  };
  for (const char *tile : {"[4, 4, 7, 16]", "[4, 12, 1, 16]", "[8, 4, 3, 16]"}) {
    std::string schedule = formatv("tile = {0}, order = [0, 1, 2, 3]", tile);
    expectBoth(convolution("12x12x21x48xf32", "3x3x48x32xf32", "nc,co->no",
                           "[3, 3] low [1, 1] high [1, 1]", "12x12x21x32xf32", schedule.c_str(),
                           forward, ", winograd4x4"));
    // Backwards, with all padding on one side.
    expectBoth(convolution("8x12x21x32xf32", "3x3x32x32xf32", "no,co->nc",
                           "[3, 3] low [2, 0] high [0, 2] reversed", "8x12x21x32xf32",
                           schedule.c_str(), gradient, ", winograd4x4"));
    // Blocks that are cut off at both edges, by one to three results, forwards and backwards, also
    // with padding before the first elements only.
    for (auto [x, y] : {std::pair("7x10x21x16xf32", "7x10x21x32xf32"),
                        std::pair("5x9x21x16xf32", "5x9x21x32xf32")}) {
      expectBoth(convolution(x, "3x3x16x32xf32", "nc,co->no", "[3, 3] low [1, 1] high [1, 1]", y,
                             schedule.c_str(), forward, ", winograd4x4"));
      expectBoth(convolution(x, "3x3x32x16xf32", "no,co->nc",
                             "[3, 3] low [1, 2] high [1, 0] reversed", y, schedule.c_str(),
                             gradient, ", winograd4x4"));
    }
  }
  // Without padding.
  expectBoth(convolution("10x6x3x16xf32", "3x3x16x32xf32", "nc,co->no", "[3, 3]", "8x4x3x32xf32",
                         "tile = [4, 4, 3, 16], order = [0, 1, 2, 3]", forward, ", winograd4x4"));
}

TEST(Convolution, WinogradFilterGradient) {
  // Remainders of register tiles in both operands, and several blocks of filters and pictures.
  for (const char *block : {"[2, 2, 3]", "[2, 4, 6]"})
    expectRight(convolution("6x8x6x32xf32", "6x8x6x48xf32", "nc,no->co",
                            "[6, 8] low [1, 1] high [1, 1]", "3x3x32x48xf32",
                            "tile = [3, 3, 16, 16], order = [2, 3, 0, 1]", "",
                            formatv(", block = {0}, winograd2x2", block).str().c_str()),
                1e-4);
  expectRight(convolution("8x6x2x16xf32", "6x4x2x32xf32", "nc,no->co", "[6, 4]", "3x3x16x32xf32",
                          "tile = [3, 3, 16, 32], order = [2, 3, 0, 1]", "",
                          ", block = [2, 2, 2], winograd2x2"),
              1e-4);
  for (const char *block : {"[4, 4, 3]", "[4, 8, 6]"})
    expectRight(convolution("12x8x6x32xf32", "12x8x6x48xf32", "nc,no->co",
                            "[12, 8] low [1, 1] high [1, 1]", "3x3x32x48xf32",
                            "tile = [3, 3, 16, 16], order = [2, 3, 0, 1]", "",
                            formatv(", block = {0}, winograd4x4", block).str().c_str()),
                1e-3);
  // Six units, of which four may be computed together.
  expectRight(convolution("8x8x2x96xf32", "8x8x2x16xf32", "nc,no->co",
                          "[8, 8] low [1, 1] high [1, 1]", "3x3x96x16xf32",
                          "tile = [3, 3, 16, 16], order = [2, 3, 0, 1]", "",
                          ", block = [4, 4, 2], winograd4x4"),
              1e-3);
  expectRight(ofWideVectors(convolution("8x12x6x32xf32", "8x12x6x64xf32", "nc,no->co",
                                        "[8, 12] low [1, 1] high [1, 1]", "3x3x32x64xf32",
                                        "tile = [3, 3, 16, 16], order = [2, 3, 0, 1]", "",
                                        ", block = [4, 12, 3], winograd4x4")),
              1e-3);
}

TEST(Convolution, WinogradFilterGradientOf16Bits) {
  for (const char *element : {"bf16", "f16"})
    expectRight(
        formatv(R"(exec.kernel @k(%x: tensor<8x8x2x32x{0}>, %g: tensor<8x8x2x16x{0}>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = [3, 3, 16, 16], order = [2, 3, 0, 1], grain = 1, block = [4, 4, 2], winograd4x4> } {{
        %y = grad.convolution %x, %g dims "nc,no->co" window <[8, 8] low [1, 1] high [1, 1]> wide : tensor<8x8x2x32x{0}>, tensor<8x8x2x16x{0}>
        exec.yield %y : tensor<3x3x32x16xf32> })",
                element)
            .str(),
        1e-3);
}

// Pictures are widened as they are transformed; filters have been.
TEST(Convolution, WinogradOf16Bits) {
  for (const char *element : {"bf16", "f16"})
    for (const char *kind : {"winograd2x2", "winograd4x4"})
      expectRight(
          formatv(
              R"(exec.kernel @k(%x: tensor<8x8x3x16x{0}>, %w: tensor<3x3x16x32x{0}>) attributes {{
      layouts = [unit, #exec.panel<dim = 3, width = 16, {1}>, unit],
      schedule = #exec.schedule<lanes = 8, tile = [4, 4, 3, 16], order = [0, 1, 2, 3], grain = 1, {1}> } {{
        %y = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> wide : tensor<8x8x3x16x{0}>, tensor<3x3x16x32x{0}>
        exec.yield %y : tensor<8x8x3x32xf32> })",
              element, kind)
              .str(),
          1e-4);
  for (const char *element : {"bf16", "f16"}) // the gradient of the pictures
    expectRight(
        formatv(R"(exec.kernel @k(%y: tensor<8x8x3x16x{0}>, %w: tensor<3x3x32x16x{0}>) attributes {{
      layouts = [unit, #exec.panel<dim = 2, width = 16, winograd4x4>, unit],
      schedule = #exec.schedule<lanes = 8, tile = [4, 4, 3, 16], order = [0, 1, 2, 3], grain = 1, winograd4x4> } {{
        %x = grad.convolution %y, %w dims "no,co->nc" window <[3, 3] low [1, 1] high [1, 1] reversed> wide : tensor<8x8x3x16x{0}>, tensor<3x3x32x16x{0}>
        exec.yield %x : tensor<8x8x3x32xf32> })",
                element)
            .str(),
        1e-4);
}

TEST(Convolution, WinogradKeepsNaN) {
  // Taps outside the picture have no effect, whatever its edge contains.
  for (auto [tile, kind] :
       {std::pair("[2, 2, 1, 16]", ", winograd2x2"), std::pair("[4, 4, 1, 16]", ", winograd4x4")}) {
    KernelRunner runner(
        convolution("8x8x1x8xf32", "3x3x8x16xf32", "nc,co->no", "[3, 3] low [1, 1] high [1, 1]",
                    "8x8x1x16xf32", formatv("tile = {0}, order = [0, 1, 2, 3]", tile).str().c_str(),
                    formatv(", layouts = [unit, #exec.panel<dim = 3, width = 16{0}>, unit]", kind)
                        .str()
                        .c_str(),
                    kind));
    ASSERT_TRUE(runner.isReady());
    auto operands = runner.randomOperands(1);
    for (int64_t i = 0; i < 8; ++i)
      operands[0].setFloat(i, NAN);
    auto result = runner.run(operands, {{0, runner.units()}})[0];
    EXPECT_TRUE(std::isnan(result.getFloat(0)));
    EXPECT_FALSE(std::isnan(result.getFloat(result.size() - 1)));
  }
}

TEST(Convolution, FilterTransform) {
  for (const char *layout : {"unit", "#exec.panel<dim = 3, width = 16>"})
    for (auto [channels, kind] : {std::pair(1, "winograd2x2"), std::pair(8, "winograd2x2"),
                                  std::pair(1, "winograd4x4"), std::pair(8, "winograd4x4")})
      expectRight(formatv(R"(exec.kernel @k(%w: tensor<3x3x8x32xf32>) attributes {{
        layouts = [{0}, #exec.panel<dim = 3, width = 16, {2}>],
        schedule = #exec.schedule<lanes = 8, tile = [3, 3, {1}, 16], order = [3, 2, 0, 1], grain = 1> } {{
          exec.yield %w : tensor<3x3x8x32xf32> })",
                          layout, channels, kind));
  for (const char *element : {"bf16", "f16"}) // filters are rounded first, their transforms are not
    expectRight(formatv(R"(exec.kernel @k(%w: tensor<3x3x8x32xf32>) attributes {{
        layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>],
        schedule = #exec.schedule<lanes = 8, tile = [3, 3, 8, 16], order = [3, 2, 0, 1], grain = 1> } {{
          %n = grad.cast %w : tensor<3x3x8x32xf32> -> tensor<3x3x8x32x{0}>
          exec.yield %n : tensor<3x3x8x32x{0}> })",
                        element));
  for (const char *kind : {"winograd2x2", "winograd4x4"})
    expectRight(formatv(R"(exec.kernel @k(%w: tensor<3x3x32x16xf32>) attributes {{
      layouts = [unit, #exec.panel<dim = 3, width = 16, {0}>],
      schedule = #exec.schedule<lanes = 8, tile = [3, 3, 8, 16], order = [3, 2, 0, 1], grain = 1> } {{
        %t = grad.transpose %w permutation [0, 1, 3, 2] : tensor<3x3x32x16xf32>
        exec.yield %t : tensor<3x3x16x32xf32> })",
                        kind));
}

TEST(Convolution, RowsArePositions) {
  // With remainders, several pictures, over both dims, and in a picture smaller than the window.
  for (const char *tile : {"[1, 3, 1, 16]", "[2, 3, 2, 8]"}) {
    std::string schedule = formatv("tile = {0}, order = [0, 1, 3, 2]", tile);
    expectRight(convolution("6x7x3x5xf32", "3x3x5x20xf32", "nc,co->no",
                            "[3, 3] low [1, 1] high [1, 1]", "6x7x3x20xf32", schedule.c_str()));
    expectRight(convolution("6x7x3x5xf32", "5x7x5x8xf32", "nc,co->no",
                            "[5, 7] low [2, 3] high [2, 3]", "6x7x3x8xf32", schedule.c_str()));
    expectRight(convolution("6x2x3x5xf32", "3x5x5x8xf32", "nc,co->no",
                            "[3, 5] low [1, 4] high [1, 4]", "6x6x3x8xf32", schedule.c_str()));
    expectRight(convolution("9x13x3x10xf32", "3x3x10x8xf32", "nc,co->no",
                            "[3, 3] stride [2, 2] low [1, 1] high [1, 1]", "5x7x3x8xf32",
                            schedule.c_str()));
    expectRight(convolution("9x8x3x4xf32", "3x2x4x8xf32", "nc,co->no",
                            "[3, 2] low [2, 1] high [2, 1] dilation [2, 3]", "9x7x3x8xf32",
                            schedule.c_str()));
    expectRight(convolution("5x4x3x8xf32", "3x3x10x8xf32", "no,co->nc",
                            "[3, 3] low [1, 1] high [1, 2] base [2, 2] reversed", "9x8x3x10xf32",
                            schedule.c_str()));
    expectRight(convolution("6x7x3x13xf32", "3x3x13xf32", "nc,c->nc",
                            "[3, 3] low [1, 1] high [1, 1]", "6x7x3x13xf32", schedule.c_str()));
  }
}

/// Over dilated pictures, the rows of a tile are positions that see the same taps.
TEST(Convolution, RowsThatAreApart) {
  for (const char *tile : {"[1, 3, 1, 16]", "[1, 2, 2, 8]"}) {
    std::string schedule = formatv("tile = {0}, order = [0, 1, 3, 2]", tile);
    auto expectApart = [&](const char *spacing, const char *lhs, const char *rhs, const char *dims,
                           const char *window, const char *result) {
      expectRight(convolution(lhs, rhs, dims, window, result, schedule.c_str(), "", spacing));
    };
    const char *two = ", spacing = [1, 2, 1, 1]", *three = ", spacing = [1, 3, 1, 1]";
    expectApart(two, "5x4x3x8xf32", "3x3x10x8xf32", "no,co->nc",
                "[3, 3] low [1, 1] high [1, 2] base [2, 2] reversed", "9x8x3x10xf32");
    expectApart(two, "4x4x3x8xf32", "2x2x10x8xf32", "no,co->nc",
                "[2, 2] low [1, 1] high [3, 1] base [3, 2] reversed", "13x8x3x10xf32");
    expectApart(three, "5x3x2x5xf32", "3x4x5x20xf32", "nc,co->no",
                "[3, 4] low [1, 2] high [1, 2] base [1, 3]", "5x8x2x20xf32");
    // Most windows are partly outside the picture.
    expectApart(two, "2x1x3x8xf32", "4x5x8x6xf32", "nc,co->no",
                "[4, 5] low [2, 3] high [2, 3] base [2, 2]", "4x3x3x6xf32");
  }
  expectRight(convolution("4x2x8xf32", "4x8x20xf32", "nc,co->no", "[4] low [1] high [2] base [2]",
                          "7x2x20xf32", "tile = [3, 1, 16], order = [2, 1, 0]", "",
                          ", spacing = [2, 1, 1]"));
  // More positions from some of the first ones on than from others, and fewer positions than gaps.
  expectRight(convolution("4x2x8xf32", "3x8x20xf32", "nc,co->no", "[3] low [1] high [1] base [5]",
                          "16x2x20xf32", "tile = [3, 1, 16], order = [2, 1, 0]", "",
                          ", spacing = [5, 1, 1]"));
  expectRight(convolution("1x2x8xf32", "2x8x20xf32", "nc,co->no", "[2] low [2] high [3] base [7]",
                          "5x2x20xf32", "tile = [3, 1, 16], order = [2, 1, 0]", "",
                          ", spacing = [7, 1, 1]"));
}

TEST(Convolution, RowsThatArePositionsSkipPadding) {
  // Filter values at taps outside the picture have no effect.
  KernelRunner runner(convolution("4x4x1x8xf32", "3x3x8x16xf32", "nc,co->no",
                                  "[3, 3] low [1, 1] high [1, 1]", "4x4x1x16xf32",
                                  "tile = [2, 4, 1, 16], order = [0, 1, 3, 2]"));
  ASSERT_TRUE(runner.isReady());
  auto operands = runner.randomOperands(1);
  for (int64_t i = 0; i < 8 * 16; ++i) // the first tap, which the first row and column have not
    operands[1].setFloat(i, INFINITY);
  auto result = runner.run(operands, {{0, runner.units()}})[0];
  for (int64_t y = 0; y < 4; ++y)
    for (int64_t x = 0; x < 4; ++x)
      EXPECT_EQ(std::isfinite(result.getFloat((y * 4 + x) * 16)), y == 0 || x == 0) << y << x;
}

TEST(Convolution, OneAndThreeDims) {
  expectRight(convolution("9x5x6xf32", "3x6x10xf32", "nc,co->no", "[3] low [1] high [1]",
                          "9x5x10xf32", "tile = [1, 5, 16], order = [0, 2, 1]"));
  expectRight(convolution("3x4x5x5x6xf32", "2x3x3x6x10xf32", "nc,co->no",
                          "[2, 3, 3] low [1, 1, 1] high [0, 1, 1]", "3x4x5x5x10xf32",
                          "tile = [1, 1, 1, 5, 16], order = [0, 1, 2, 4, 3]"));
}

TEST(Convolution, DepthwiseAndGroups) {
  expectRight(convolution("6x5x4x13xf32", "3x3x13xf32", "nc,c->nc", "[3, 3] low [1, 1] high [1, 1]",
                          "6x5x4x13xf32", "tile = [1, 1, 2, 16], order = [0, 1, 2, 3]"));
  expectRight(convolution("6x5x4x2x3xf32", "3x3x2x3x10xf32", "ngc,gco->ngo",
                          "[3, 3] low [1, 1] high [1, 1]", "6x5x4x2x10xf32",
                          "tile = [1, 1, 4, 1, 16], order = [0, 1, 3, 4, 2]"));
}

} // namespace
