// Products and convolutions of factors that are stored in panels, or rows, along their sum.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using llvm::formatv;

namespace {

/// x [m, k] times the transpose of w [n, k], whose panels run along k, and a pointwise op.
/// `columns` of a tile, and `tiles` that are turned together.
std::string product(int m, int n, int k, const char *type, int lanes, int columns, int tiles) {
  return formatv(
      R"(exec.kernel @k(%x: tensor<{0}x{2}x{3}>, %w: tensor<{1}x{2}x{3}>, %y: tensor<{0}x{1}x{3}>) attributes {{
    inplace = array<i64: 2>, layouts = [unit, #exec.panel<dim = 1, width = 16>, unit, unit],
    schedule = #exec.schedule<lanes = {4}, tile = [6, {5}], order = [1, 0], grain = 1, turned = <operand = 1, dim = 0, tiles = {6}>> } {{
    %c = grad.matmul %x, %w transpose_rhs : tensor<{0}x{2}x{3}>, tensor<{1}x{2}x{3}>
    %s = grad.sub %y, %c : tensor<{0}x{1}x{3}>
    exec.yield %s : tensor<{0}x{1}x{3}> })",
      m, n, k, type, lanes, columns, tiles);
}

TEST(Turned, Products) {
  for (auto [m, n, k] :
       {std::tuple(6, 64, 32), {13, 160, 48}, {1, 100, 37}, {20, 9, 16}, {7, 16, 5}}) {
    for (int tiles : {1, 2, 3, 100})
      expectRight(product(m, n, k, "f32", 8, 16, tiles));
    expectRight(product(m, n, k, "f32", 8, 8, 4));
    expectRight(product(m, n, k, "f32", 16, 32, 2));
    expectRight(product(m, n, k, "f32", 16, 48, 1));
    expectRight(product(m, n, k, "f64", 4, 8, 4), 1e-12);
  }
}

/// The last square of rows that are no multiple of a vector overlaps the one before it.
TEST(Turned, RowsOfAProduct) {
  for (auto [m, n, k] :
       {std::tuple(6, 64, 32), {13, 160, 48}, {1, 100, 37}, {20, 9, 16}, {7, 16, 23}, {64, 33, 17}})
    for (int tiles : {1, 3})
      expectRight(formatv(
          R"(exec.kernel @k(%x: tensor<{0}x{2}xf32>, %y: tensor<{1}x{2}xf32>) attributes {{
      schedule = #exec.schedule<lanes = 16, tile = [6, 32], order = [1, 0], grain = 1, turned = <operand = 1, dim = 0, tiles = {3}>> } {{
      %c = grad.matmul %x, %y transpose_rhs : tensor<{0}x{2}xf32>, tensor<{1}x{2}xf32>
      %s = grad.tanh %c : tensor<{0}x{1}xf32>
      exec.yield %s : tensor<{0}x{1}xf32> })",
          m, n, k, tiles));
}

/// A batch's matrices are turned tile by tile, whichever loop is outermost, and wherever the dims
/// of the batch are.
TEST(Turned, RowsOfABatch) {
  for (auto [m, n, k] :
       {std::tuple(6, 64, 32), {13, 80, 48}, {1, 50, 37}, {20, 9, 16}, {7, 16, 23}, {31, 33, 17}})
    for (const char *order : {"0, 1, 3, 2", "3, 0, 1, 2", "1, 3, 0, 2"})
      expectRight(formatv(
          R"(exec.kernel @k(%x: tensor<2x3x{0}x{2}xf32>, %y: tensor<2x3x{1}x{2}xf32>) attributes {{
      schedule = #exec.schedule<lanes = 16, tile = [1, 1, 6, 32], order = [{3}], grain = 1, turned = <operand = 1, dim = 2, tiles = 1>> } {{
      %c = grad.matmul %x, %y transpose_rhs : tensor<2x3x{0}x{2}xf32>, tensor<2x3x{1}x{2}xf32>
      %s = grad.tanh %c : tensor<2x3x{0}x{1}xf32>
      exec.yield %s : tensor<2x3x{0}x{1}xf32> })",
          m, n, k, order));
  // Heads inside the positions, as projections write them, and columns before the batch's dims.
  for (auto [dims, y, dim] : {std::tuple("aqhd,akhd->ahqk", "2x21x3x20", 1),
                              {"aqhd,kahd->ahqk", "21x2x3x20", 0},
                              {"aqhd,hakd->ahqk", "3x2x21x20", 2}})
    expectRight(formatv(
        R"(exec.kernel @k(%x: tensor<2x13x3x20xf32>, %y: tensor<{1}xf32>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = [1, 1, 6, 16], order = [1, 3, 0, 2], grain = 1, turned = <operand = 1, dim = {2}, tiles = 1>> } {{
      %c = grad.convolution %x, %y dims "{0}" window <[]> : tensor<2x13x3x20xf32>, tensor<{1}xf32>
      exec.yield %c : tensor<2x3x13x21xf32> })",
        dims, y, dim));
  expectRight(
      R"(exec.kernel @k(%x: tensor<5x24x13xf64>, %y: tensor<5x21x24xf64>) attributes {
      schedule = #exec.schedule<lanes = 8, tile = [1, 4, 16], order = [0, 2, 1], grain = 1, turned = <operand = 1, dim = 1, tiles = 1>> } {
      %c = grad.matmul %x, %y transpose_lhs transpose_rhs : tensor<5x24x13xf64>, tensor<5x21x24xf64>
      exec.yield %c : tensor<5x13x21xf64> })",
      1e-12);
}

/// A data gradient reads the forward's filter; its taps come in the opposite order.
std::string dataGradient(int filters, int channels, const char *window, int tiles) {
  return formatv(
      R"(exec.kernel @k(%g: tensor<4x5x7x{0}xf32>, %w: tensor<3x3x{1}x{0}xf32>) attributes {{
    layouts = [unit, #exec.panel<dim = 3, width = 16>, unit],
    schedule = #exec.schedule<lanes = 8, tile = [1, 1, 6, 16], order = [3, 0, 1, 2], grain = 1, turned = <operand = 1, dim = 2, tiles = {3}>> } {{
    %x = grad.convolution %g, %w dims "no,co->nc" window <{2}> : tensor<4x5x7x{0}xf32>, tensor<3x3x{1}x{0}xf32>
    exec.yield %x : tensor<4x5x7x{1}xf32> })",
      filters, channels, window, tiles);
}

TEST(Turned, Convolutions) {
  for (auto [filters, channels] : {std::pair(32, 64), {20, 90}, {48, 7}})
    for (const char *window :
         {"[3, 3] low [1, 1] high [1, 1] reversed", "[3, 3] low [1, 1] high [1, 1]"})
      for (int tiles : {1, 4})
        expectRight(dataGradient(filters, channels, window, tiles));
  // The data gradient of a stride.
  expectRight(
      R"(exec.kernel @k(%g: tensor<5x4x6x24xf32>, %w: tensor<3x3x40x24xf32>) attributes {
    layouts = [unit, #exec.panel<dim = 3, width = 16>, unit],
    schedule = #exec.schedule<lanes = 8, tile = [1, 1, 6, 16], order = [3, 0, 1, 2], grain = 1, turned = <operand = 1, dim = 2, tiles = 2>> } {
    %x = grad.convolution %g, %w dims "no,co->nc" window <[3, 3] low [1, 1] high [1, 2] base [2, 2] reversed> : tensor<5x4x6x24xf32>, tensor<3x3x40x24xf32>
    exec.yield %x : tensor<9x8x6x40xf32> })");
}

/// Without `turned`, squares of the panels are turned for each tile.
TEST(Turned, ReadsAcrossPanelsInPlace) {
  for (const char *order : {"0, 1", "1, 0"})
    expectRight(formatv(
        R"(exec.kernel @k(%x: tensor<13x37xf32>, %w: tensor<50x37xf32>) attributes {{
      layouts = [unit, #exec.panel<dim = 1, width = 16>, unit],
      schedule = #exec.schedule<lanes = 8, tile = [6, 16], order = [{0}], grain = 1> } {{
      %c = grad.matmul %x, %w transpose_rhs : tensor<13x37xf32>, tensor<50x37xf32>
      exec.yield %c : tensor<13x50xf32> })",
        order));
}

} // namespace
