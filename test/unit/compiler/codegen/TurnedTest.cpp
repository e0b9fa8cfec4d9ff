// Products and convolutions of weights that are stored in panels along their sum.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using llvm::formatv;

namespace {

/// x [m, k] times the transpose of w [n, k], whose panels run along k, and a pointwise op.
std::string product(int m, int n, int k, const char *type, int lanes, int columns,
                    const char *order) {
  return formatv(
      R"(exec.kernel @k(%x: tensor<{0}x{2}x{3}>, %w: tensor<{1}x{2}x{3}>, %y: tensor<{0}x{1}x{3}>) attributes {{
    inplace = array<i64: 2>, layouts = [unit, #exec.panel<dim = 1, width = 16>, unit, unit],
    schedule = #exec.schedule<lanes = {4}, tile = [6, {5}], order = [{6}], grain = 1> } {{
    %c = grad.matmul %x, %w transpose_rhs : tensor<{0}x{2}x{3}>, tensor<{1}x{2}x{3}>
    %s = grad.sub %y, %c : tensor<{0}x{1}x{3}>
    exec.yield %s : tensor<{0}x{1}x{3}> })",
      m, n, k, type, lanes, columns, order);
}

TEST(Turned, Products) {
  for (auto [m, n, k] :
       {std::tuple(6, 64, 32), {13, 160, 48}, {1, 100, 37}, {20, 9, 16}, {7, 16, 5}}) {
    expectRight(product(m, n, k, "f32", 8, 16, "1, 0"));
    expectRight(product(m, n, k, "f32", 8, 8, "1, 0"));
    expectRight(product(m, n, k, "f32", 16, 32, "1, 0"));
    expectRight(product(m, n, k, "f64", 4, 8, "1, 0"), 1e-12);
    // Row tiles as units read the panels in place.
    expectRight(product(m, n, k, "f32", 8, 16, "0, 1"));
  }
}

/// A result at another index than the product's reads other columns than the unit's.
TEST(Turned, IsReadInPlaceElsewhere) {
  expectRight(
      R"(exec.kernel @k(%x: tensor<64x32xf32>, %w: tensor<64x32xf32>) attributes {
    layouts = [unit, #exec.panel<dim = 1, width = 16>, unit],
    schedule = #exec.schedule<lanes = 8, tile = [4, 16], order = [1, 0], grain = 1> } {
    %c = grad.matmul %x, %w transpose_rhs : tensor<64x32xf32>, tensor<64x32xf32>
    %r = grad.transpose %c permutation [1, 0] : tensor<64x64xf32>
    exec.yield %r : tensor<64x64xf32> })");
}

/// A data gradient reads the forward's filter; its taps come in the opposite order.
std::string dataGradient(int filters, int channels, const char *order) {
  return formatv(
      R"(exec.kernel @k(%g: tensor<4x5x7x{0}xf32>, %w: tensor<3x3x{1}x{0}xf32>) attributes {{
    layouts = [unit, #exec.panel<dim = 3, width = 16>, unit],
    schedule = #exec.schedule<lanes = 8, tile = [1, 1, 6, 16], order = [{2}], grain = 1> } {{
    %x = grad.convolution %g, %w dims "no,co->nc" window <[3, 3] low [1, 1] high [1, 1] reversed> : tensor<4x5x7x{0}xf32>, tensor<3x3x{1}x{0}xf32>
    exec.yield %x : tensor<4x5x7x{1}xf32> })",
      filters, channels, order);
}

TEST(Turned, Convolutions) {
  for (auto [filters, channels] : {std::pair(32, 64), {20, 90}, {48, 7}})
    for (const char *order : {"3, 0, 1, 2", "0, 1, 3, 2"})
      expectRight(dataGradient(filters, channels, order));
  // Taps in order, a stride of the forward.
  expectRight(
      R"(exec.kernel @k(%g: tensor<5x4x6x24xf32>, %w: tensor<3x3x40x24xf32>) attributes {
    layouts = [unit, #exec.panel<dim = 3, width = 16>, unit],
    schedule = #exec.schedule<lanes = 8, tile = [1, 1, 6, 16], order = [3, 0, 1, 2], grain = 1> } {
    %x = grad.convolution %g, %w dims "no,co->nc" window <[3, 3] low [1, 1] high [1, 2] base [2, 2] reversed> : tensor<5x4x6x24xf32>, tensor<3x3x40x24xf32>
    exec.yield %x : tensor<9x8x6x40xf32> })");
}

} // namespace
