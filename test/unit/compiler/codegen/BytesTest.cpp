// Products of codes of 8 bits, four steps of a sum in a word, and their way to codes again.
#include "dialects/exec/Level.h"
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <random>

using namespace gradc::test;
using llvm::formatv;

namespace {

/// Any bytes, half of them the largest and smallest ones: sums of two products of these do not fit
/// 16 bits.
void anyBytes(std::vector<HostTensor> &operands) {
  std::mt19937 random(11);
  for (HostTensor &operand : operands)
    if (operand.getElementType().isInteger(8))
      for (char &byte : operand.mutableBytes()) {
        constexpr uint8_t extremes[] = {0, 255, 127, 128};
        byte = char(random() % 2 ? extremes[random() % 4] : random() % 256);
      }
}

/// The lanes of a level, and the level; null: without its instructions.
struct Machine {
  int lanes;
  const mlir::exec::Level *native;
};

/// A B with B in quads along the sum, and what a network computes from it; exactly.
void product(int64_t m, int64_t n, int64_t k, int rows, Machine machine) {
  expectRight(
      formatv(
          R"(exec.kernel @k(%a: tensor<{0}x{2}xui8>, %b: tensor<{2}x{1}xi8>, %z: tensor<{1}xi32>) attributes {{
      layouts = [unit, #exec.panel<dim = 1, width = {3}, quads = 0>, unit, unit],
      schedule = #exec.schedule<lanes = {4}, tile = [{5}, {3}], order = [1, 0], grain = 1>} {{
    %c = grad.matmul %a, %b wide : tensor<{0}x{2}xui8>, tensor<{2}x{1}xi8>
    %zero = grad.broadcast %z dims [1] : tensor<{1}xi32> -> tensor<{0}x{1}xi32>
    %d = grad.sub %c, %zero : tensor<{0}x{1}xi32>
    exec.yield %d : tensor<{0}x{1}xi32> })",
          m, n, k, 2 * machine.lanes, machine.lanes, rows),
      0, machine.native, anyBytes);
}

/// Sums over channels in quads, and over taps, some of which are padding.
void convolution(int64_t channels, const char *window, const char *result, Machine machine) {
  expectRight(
      formatv(R"(exec.kernel @k(%x: tensor<7x7x2x{0}xui8>, %w: tensor<3x3x{0}x40xi8>) attributes {{
      layouts = [unit, #exec.panel<dim = 3, width = {3}, quads = 2>, unit],
      schedule = #exec.schedule<lanes = {4}, tile = [1, 4, 1, {3}], order = [0, 1, 3, 2], grain = 1>} {{
    %y = grad.convolution %x, %w dims "nc,co->no" window <{1}> wide : tensor<7x7x2x{0}xui8>, tensor<3x3x{0}x40xi8>
    exec.yield %y : tensor<{2}x2x40xi32> })",
              channels, window, result, 2 * machine.lanes, machine.lanes),
      0, machine.native, anyBytes);
}

void products(Machine machine) {
  for (auto [m, n, k] :
       {std::tuple(8, 32, 16), {13, 50, 37}, {3, 1, 50}, {1, 10, 1}, {9, 33, 6}, {5, 16, 3}})
    product(m, n, k, 4, machine);
  product(5, 40, 20, 1, machine);
  for (int64_t channels : {4, 12, 13}) {
    convolution(channels, "[3, 3]", "5x5", machine);
    convolution(channels, "[3, 3] stride [2, 2] low [1, 1] high [1, 1]", "4x4", machine);
  }
}

void onLevel(const char *name) {
  const mlir::exec::Level *level = mlir::exec::findLevel(name);
  if (!mlir::exec::runsHere(*level))
    GTEST_SKIP() << "this machine lacks level " << name;
  products({16, level});
}

TEST(Bytes, Products) { products({8, nullptr}); }
TEST(Bytes, ProductsOnLevel_x86_64_v4) { onLevel("x86-64-v4"); }
TEST(Bytes, ProductsOnLevel_x86_64_v4_bf16) { onLevel("x86-64-v4+bf16"); }

/// The filter of each channel has one column, so sums are not in words.
TEST(Bytes, DepthwiseConvolution) {
  expectRight(R"(exec.kernel @k(%x: tensor<7x7x2x20xui8>, %w: tensor<3x3x20xi8>) attributes {
      schedule = #exec.schedule<lanes = 8, tile = [1, 4, 1, 8], order = [0, 1, 3, 2], grain = 1>} {
    %y = grad.convolution %x, %w dims "nc,c->nc" window <[3, 3] low [1, 1] high [1, 1]> wide : tensor<7x7x2x20xui8>, tensor<3x3x20xi8>
    exec.yield %y : tensor<7x7x2x20xi32> })",
              0, nullptr, anyBytes);
}

/// Floats by codes, which are converted in registers: in panels, and in rows.
TEST(Bytes, BesideFloats) {
  for (const char *element : {"ui8", "i8", "i16"})
    for (const char *layout : {"#exec.panel<dim = 1, width = 16>", "unit"})
      for (auto [m, n, k] : {std::tuple(8, 32, 16), {13, 50, 37}, {1, 21, 70}})
        expectRight(
            formatv(
                R"(exec.kernel @k(%x: tensor<{0}x{2}xf32>, %w: tensor<{2}x{1}x{3}>) attributes {{
      layouts = [unit, {4}, unit],
      schedule = #exec.schedule<lanes = 8, tile = [4, 16], order = [1, 0], grain = 1>} {{
    %y = grad.matmul %x, %w wide : tensor<{0}x{2}xf32>, tensor<{2}x{1}x{3}>
    exec.yield %y : tensor<{0}x{1}xf32> })",
                m, n, k, element, layout),
            1e-4, nullptr, [](std::vector<HostTensor> &operands) {
              int64_t i = 0;
              for (int64_t code : {255, 0, 127, -128, -255}) // wrapped in bytes
                operands[1].setInt(i++, code);
            });
}

/// Codes of four bits.
void nibbles(std::vector<HostTensor> &operands) {
  std::mt19937 random(11);
  for (HostTensor &operand : operands)
    if (operand.getElementType().isInteger(8))
      for (char &byte : operand.mutableBytes())
        byte = char(int(random() % 16) - 8);
}

/// Floats by codes of four bits, eight steps of the sum in a word; of blocks, whose sums are
/// scaled.
void nibbleProducts(Machine machine) {
  int width = 2 * machine.lanes;
  for (auto [m, n, k] : {std::tuple(8, 32, 16), {13, 50, 40}, {1, 21, 72}, {5, 16, 8}})
    for (int rows : {1, 4})
      expectRight(
          formatv(R"(exec.kernel @k(%x: tensor<{0}x{2}xf32>, %w: tensor<{2}x{1}xi8>) attributes {{
        layouts = [unit, #exec.panel<dim = 1, width = {3}, nibbles = 0>, unit],
        schedule = #exec.schedule<lanes = {4}, tile = [{5}, {3}], order = [1, 0], grain = 1>} {{
      %y = grad.matmul %x, %w wide : tensor<{0}x{2}xf32>, tensor<{2}x{1}xi8>
      exec.yield %y : tensor<{0}x{1}xf32> })",
                  m, n, k, width, machine.lanes, rows),
          1e-5, machine.native, nibbles);
  for (int64_t m : {1, 3})
    expectRight(
        formatv(
            R"(exec.kernel @k(%x: tensor<3x{0}x16xf32>, %w: tensor<3x16x70xi8>, %s: tensor<3x70xf32>) attributes {{
      layouts = [unit, #exec.panel<dim = 2, width = {1}, nibbles = 1>, #exec.panel<dim = 1, width = {1}>, unit],
      schedule = #exec.schedule<lanes = {2}, tile = [{0}, {3}], order = [1, 0], grain = 1>} {{
    %c = grad.matmul %x, %w wide : tensor<3x{0}x16xf32>, tensor<3x16x70xi8>
    %b = grad.broadcast %s dims [0, 2] : tensor<3x70xf32> -> tensor<3x{0}x70xf32>
    %d = grad.mul %c, %b : tensor<3x{0}x70xf32>
    %y = grad.reduce_sum %d dims [0] : tensor<3x{0}x70xf32>
    exec.yield %y : tensor<{0}x70xf32> })",
            m, width, machine.lanes, 2 * width),
        1e-5, machine.native, nibbles);
}

TEST(Nibbles, Products) { nibbleProducts({8, nullptr}); }
TEST(Nibbles, ProductsOnLevel_x86_64_v4) {
  const mlir::exec::Level *level = mlir::exec::findLevel("x86-64-v4");
  if (!mlir::exec::runsHere(*level))
    GTEST_SKIP() << "this machine lacks level x86-64-v4";
  nibbleProducts({16, level});
}

/// In panels and out of them, in the order of the sum's steps or turned; other readers take them
/// one by one.
TEST(Nibbles, Copies) {
  for (const char *layouts : {"unit, #exec.panel<dim = 1, width = 16, nibbles = 0>",
                              "#exec.panel<dim = 1, width = 16, nibbles = 0>, unit"})
    for (const char *permutation : {"[0, 1]", "[1, 0]"})
      for (const char *tile : {"[8, 8]", "[8, 16]"})
        expectRight(formatv(R"(exec.kernel @k(%x: tensor<40x40xi8>) attributes {{
          layouts = [{0}],
          schedule = #exec.schedule<lanes = 8, tile = {1}, order = [1, 0], grain = 1>} {{
        %y = grad.transpose %x permutation {2} : tensor<40x40xi8>
        exec.yield %y : tensor<40x40xi8> })",
                            layouts, tile, permutation),
                    0, nullptr, nibbles);
}

/// Casts saturate, also where a quotient is infinite; NaN becomes 0.
TEST(Bytes, Saturation) {
  for (const char *element : {"ui8", "i8", "ui16", "i16"})
    expectRight(formatv(R"(exec.kernel @k(%x: tensor<5x40xf32>) attributes {{
        schedule = #exec.schedule<lanes = 8, tile = [1, 8], order = [0, 1], grain = 1>} {{
      %s = grad.constant dense<0.0371> : tensor<5x40xf32>
      %z = grad.constant dense<3.0> : tensor<5x40xf32>
      %q = grad.div %x, %s : tensor<5x40xf32>
      %r = grad.round %q : tensor<5x40xf32>
      %a = grad.add %r, %z : tensor<5x40xf32>
      %c = grad.cast %a : tensor<5x40xf32> -> tensor<5x40x{0}>
      exec.yield %c : tensor<5x40x{0}> })",
                        element),
                0, nullptr, [](std::vector<HostTensor> &operands) {
                  int64_t i = 0;
                  for (double x : {0.0, -0.0, 1.0, 4.7, 9.3, 9.4, 1e30, -1e30, double(INFINITY),
                                   -double(INFINITY), double(NAN), 3e38, -4.8, 1212.2, -1216.0})
                    operands[0].setFloat(i++, x);
                });
}

/// What becomes codes, is read as floats again, and divides, so that zeros show their signs.
TEST(Bytes, ThereAndBack) {
  for (const char *element : {"ui8", "i8"})
    for (const char *between : {"", "%a = grad.add %r, %z : tensor<5x40xf32>"}) // integers
      for (const char *after : {"%w", "%d"})
        expectRight(formatv(R"(exec.kernel @k(%x: tensor<5x40xf32>) attributes {{
        schedule = #exec.schedule<lanes = 8, tile = [1, 8], order = [0, 1], grain = 1>} {{
      %s = grad.constant dense<0.0371> : tensor<5x40xf32>
      %z = grad.constant dense<3.0> : tensor<5x40xf32>
      %zero = grad.constant dense<3> : tensor<5x40xi32>
      %q = grad.div %x, %s : tensor<5x40xf32>
      %r = grad.round %q : tensor<5x40xf32>
      {1}
      %c = grad.cast {2} : tensor<5x40xf32> -> tensor<5x40x{0}>
      %w = grad.cast %c : tensor<5x40x{0}> -> tensor<5x40xi32>
      %d = grad.sub %w, %zero : tensor<5x40xi32>
      %f = grad.cast {3} : tensor<5x40xi32> -> tensor<5x40xf32>
      %b = grad.cast %c : tensor<5x40x{0}> -> tensor<5x40xf32>
      %y = grad.div %z, %f : tensor<5x40xf32>
      %v = grad.div %z, %b : tensor<5x40xf32>
      exec.yield %y, %v : tensor<5x40xf32>, tensor<5x40xf32> })",
                            element, between, *between ? "%a" : "%r", after),
                    0, nullptr, [](std::vector<HostTensor> &operands) {
                      int64_t i = 0;
                      for (double x : {0.0, -0.0, -0.01, 0.01, 9.3, 9.5, -4.7, -4.9, 1e30, -1e30,
                                       double(INFINITY), double(NAN), -0.1113})
                        operands[0].setFloat(i++, x);
                    });
}

} // namespace
