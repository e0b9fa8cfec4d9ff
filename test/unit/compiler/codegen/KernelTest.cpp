// Generated kernels against their regions: every kind, at sizes that are and are not multiples of
// the tile.
#include "dialects/exec/Level.h"
#include "test/unit/compiler/codegen/KernelRunner.h"
#include "test/unit/compiler/codegen/KernelText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using llvm::formatv;

namespace {

TEST(Pointwise, AnyRankAndSize) {
  for (auto [n, c] : {std::pair(3, 1), {4, 8}, {50, 37}, {7, 10}, {1, 1}, {5, 64}}) {
    std::string t = tensor({n, c});
    expectRight(formatv(R"(exec.kernel @k(%a: {0}, %b: {0}) attributes {{{1}} {{
      %s = grad.add %a, %b : {0}
      %e = grad.exp %s : {0}
      %r = grad.relu %a : {0}
      %c = grad.compare lt %a, %b : {0}
      %m = grad.select %c, %e, %r : {0}
      exec.yield %m, %c : {0}, {2} })",
                        t, schedule(8, "1, 16", "0, 1"), tensor({n, c}, "i1")));
  }
}

TEST(Pointwise, Scalars) {
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<f32>, %b: tensor<f32>) attributes {{{0}} {{
    %s = grad.mul %a, %b : tensor<f32>
    %t = grad.tanh %s : tensor<f32>
    exec.yield %t : tensor<f32> })",
                      schedule(8, "", "")));
}

TEST(Pointwise, Broadcasts) {
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<5x37xf32>, %b: tensor<37xf32>, %c: tensor<5xf32>,
                                         %d: tensor<f32>) attributes {{{0}} {{
    %bb = grad.broadcast %b dims [1] : tensor<37xf32> -> tensor<5x37xf32>
    %cc = grad.broadcast %c dims [0] : tensor<5xf32> -> tensor<5x37xf32>
    %dd = grad.broadcast %d dims [] : tensor<f32> -> tensor<5x37xf32>
    %x = grad.mul %a, %bb : tensor<5x37xf32>
    %y = grad.add %x, %cc : tensor<5x37xf32>
    %z = grad.sub %y, %dd : tensor<5x37xf32>
    exec.yield %z : tensor<5x37xf32> })",
                      schedule(8, "2, 16", "0, 1")));
}

TEST(Pointwise, Transposes) {
  for (auto [n, c] : {std::pair(16, 24), {50, 37}, {8, 8}, {1, 10}, {9, 3}})
    for (const char *tile : {"1, 8", "8, 8", "8, 16", "3, 8"})
      expectRight(formatv(R"(exec.kernel @k(%a: {0}, %b: {1}) attributes {{{2}} {{
        %t = grad.transpose %a permutation [1, 0] : {0}
        %s = grad.add %t, %b : {1}
        exec.yield %s : {1} })",
                          tensor({n, c}), tensor({c, n}), schedule(8, tile, "0, 1")));
}

TEST(Pointwise, EveryElementType) {
  for (const char *element : {"f64", "f16", "bf16", "i8", "i16", "i32", "i64", "ui8", "ui16"}) {
    double tolerance = element == std::string("bf16")  ? 2e-2
                       : element == std::string("f16") ? 2e-3
                                                       : 1e-12;
    expectRight(formatv(R"(exec.kernel @k(%a: {0}, %b: {0}) attributes {{{1}} {{
      %s = grad.add %a, %b : {0}
      %p = grad.mul %s, %b : {0}
      %m = grad.maximum %p, %a : {0}
      exec.yield %m : {0} })",
                        tensor({5, 13}, element), schedule(8, "1, 8", "0, 1")),
                tolerance);
  }
}

TEST(Reduction, Rows) {
  for (int64_t c : {1, 2, 7, 8, 37, 64, 65, 200})
    for (const char *op : {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"})
      expectRight(formatv(R"(exec.kernel @k(%a: {0}) attributes {{{1}} {{
        %q = grad.mul %a, %a : {0}
        %s = grad.{2} %q dims [1] : {0}
        exec.yield %s : tensor<13xf32> })",
                          tensor({13, c}), schedule(8, "8", "0"), op),
                  1e-4);
}

TEST(Reduction, Columns) {
  for (int64_t n : {1, 3, 32, 50})
    expectRight(formatv(R"(exec.kernel @k(%a: {0}) attributes {{{1}} {{
      %s = grad.reduce_sum %a dims [0] : {0}
      exec.yield %s : tensor<37xf32> })",
                        tensor({n, 37}), schedule(8, "16", "0")));
}

TEST(Reduction, Everything) {
  for (int64_t n : {1, 5, 40, 333})
    expectRight(formatv(R"(exec.kernel @k(%a: {0}) attributes {{{1}} {{
      %s = grad.reduce_sum %a dims [0, 1] : {0}
      exec.yield %s : tensor<f32> })",
                        tensor({3, n}), schedule(8, "", "")),
                1e-4);
}

// LLVM merges a sum of lanes with its broadcast if both have whole vectors, and makes wrong code
// for 8 lanes of 64 bits.
TEST(Reduction, OneSumWithTwoUses) {
  const mlir::exec::Level *wide = mlir::exec::findLevel("x86-64-v4");
  auto check = [](const char *element, int64_t n, int lanes, const mlir::exec::Level *native) {
    bool isFloat = element[0] == 'f';
    expectRight(formatv(R"(exec.kernel @k(%a: {0}) attributes {{{1}} {{
      %c = grad.constant dense<{3}> : {2}
      %d = grad.constant dense<{4}> : {2}
      %s = grad.reduce_sum %a dims [1] : {0}
      %p = grad.mul %s, %c : {2}
      %q = grad.mul %s, %d : {2}
      %t = grad.add %p, %q : {2}
      exec.yield %t : {2} })",
                        tensor({1, n}, element), schedule(lanes, std::to_string(lanes), "0"),
                        tensor({1}, element), isFloat ? "2.5e-01" : "3", isFloat ? "4.0" : "5"),
                1e-4, native);
  };
  for (const char *element : {"f64", "i64", "f32", "i32"})
    for (int64_t n : {2, 8, 9, 16, 68}) {
      check(element, n, 8, nullptr);
      if (mlir::exec::runsHere(*wide))
        check(element, n, element[1] == '6' ? 8 : 16, wide);
    }
}

TEST(Reduction, MiddleOfThree) {
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<3x5x11xf32>) attributes {{{0}} {{
    %s = grad.reduce_max %a dims [1] : tensor<3x5x11xf32>
    exec.yield %s : tensor<3x11xf32> })",
                      schedule(8, "2, 8", "0, 1")));
}

TEST(Reduction, Argmax) {
  for (int64_t c : {1, 10, 37})
    expectRight(formatv(R"(exec.kernel @k(%a: {0}) attributes {{{1}} {{
      %s = grad.argmax %a dim 1 : {0}
      exec.yield %s : tensor<13xi64> })",
                        tensor({13, c}), schedule(8, "8", "0")));
}

TEST(Reduction, SoftmaxRows) {
  for (int64_t c : {1, 2, 10, 16, 37, 64, 100, 300})
    for (const char *op : {"softmax", "log_softmax"})
      expectRight(formatv(R"(exec.kernel @k(%a: {0}) attributes {{{1}} {{
        %s = grad.{2} %a dim 1 : {0}
        exec.yield %s : {0} })",
                          tensor({7, c}), schedule(8, "2, 16", "0, 1"), op));
}

TEST(Reduction, LossBesideItsGradient) {
  for (int64_t c : {2, 10, 100})
    expectRight(formatv(
        R"(exec.kernel @k(%x: {0}, %y: tensor<13xi64>, %g: tensor<13xf32>) attributes {{{1}} {{
      %l = grad.softmax_cross_entropy %x, %y : {0}, tensor<13xi64>
      %d = grad.softmax_cross_entropy_grad %x, %y, %g : {0}, tensor<13xi64>, tensor<13xf32>
      exec.yield %l, %d : tensor<13xf32>, {0} })",
        tensor({13, c}), schedule(8, "1, 16", "0, 1")));
}

/// A softmax over `dim` of [13, `columns`], written over its operand where the schedule permits.
static std::string softmax(int64_t columns, int64_t dim, const std::string &tile,
                           const std::string &order) {
  std::string kept = tensor({dim ? 13 : columns});
  return formatv(R"(exec.kernel @k(%x: {0}) attributes {{{3}} {{
    %m = grad.reduce_max %x dims [{2}] : {0}
    %n = grad.broadcast %m dims [{4}] : {1} -> {0}
    %s = grad.sub %x, %n : {0}
    %e = grad.exp %s : {0}
    %t = grad.reduce_sum %e dims [{2}] : {0}
    %b = grad.broadcast %t dims [{4}] : {1} -> {0}
    %p = grad.div %e, %b : {0}
    exec.yield %p : {0} })",
                 tensor({13, columns}), kept, dim, schedule(8, tile, order), 1 - dim);
}

TEST(Reduction, RowsInPlace) {
  for (int64_t columns : {3, 16, 40, 301})
    for (const char *tile : {"1, 16", "4, 8", "8, 1"})
      for (bool rowsFirst : {false, true})
        for (int64_t dim : {0, 1}) {
          std::string text = softmax(columns, dim, tile, rowsFirst ? "0, 1" : "1, 0");
          KernelRunner runner(text);
          EXPECT_EQ(runner.overwritten()[0] == 0, dim == 1 && rowsFirst);
          expectRight(text);
        }
}

// The result's rows hold the exponentials until their sum is known, but not if it overwrites what
// another statistic reads after that.
TEST(Reduction, RowsInPlaceReadAfterASum) {
  std::string text = formatv(R"(exec.kernel @k(%x: {0}) attributes {{{1}} {{
    %e = grad.exp %x : {0}
    %t = grad.reduce_sum %e dims [1] : {0}
    %q = grad.mul %x, %x : {0}
    %u = grad.reduce_sum %q dims [1] : {0}
    %v = grad.add %t, %u : tensor<13xf32>
    %b = grad.broadcast %v dims [0] : tensor<13xf32> -> {0}
    %p = grad.div %e, %b : {0}
    exec.yield %p : {0} })",
                             tensor({13, 301}), schedule(8, "1, 16", "0, 1"));
  EXPECT_EQ(KernelRunner(text).overwritten()[0], 0u);
  expectRight(text);
}

TEST(Reduction, ScalarBesideRows) {
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<13x10xf32>) attributes {{{0}} {{
    %s = grad.reduce_sum %a dims [1] : tensor<13x10xf32>
    %t = grad.reduce_sum %s dims [0] : tensor<13xf32>
    exec.yield %s, %t : tensor<13xf32>, tensor<f32> })",
                      schedule(8, "8", "0")));
}

/// Convolutions and pools whose taps read spread-out operands, or nothing.
void window(const std::string &op, const std::string &window, std::vector<std::string> operands,
            std::vector<std::string> results, const std::string &schedule,
            double tolerance = 2e-5) {
  std::string arguments, types, values;
  for (auto [i, type] : llvm::enumerate(operands)) {
    arguments += formatv("{0}%{1}: {2}", i ? ", " : "", i, type);
    types += (i ? ", " : "") + type;
    values += formatv("{0}%{1}", i ? ", " : "", i);
  }
  std::string yielded;
  for (size_t i = 0; i < results.size(); ++i)
    yielded += formatv("{0}%r#{1}", i ? ", " : "", i);
  expectRight(formatv(R"(exec.kernel @k({0}) attributes {{{1}} {{
    %r:{2} = grad.{3} window {4} : {5}
    exec.yield {6} : {7} })",
                      arguments, schedule, results.size(), formatv(op.c_str(), values).str(),
                      window, types, yielded, llvm::join(results, ", ")),
              tolerance);
}

TEST(Window, Convolutions) {
  std::string at = schedule(8, "1, 4, 1, 16", "0, 1, 2, 3");
  const char *ordinary = "convolution {0} dims \"nc,co->no\"";
  window(ordinary, "<[3, 3]>", {tensor({7, 9, 2, 3}), tensor({3, 3, 3, 13})},
         {tensor({5, 7, 2, 13})}, at);
  window(ordinary, "<[3, 3] stride [2, 2] low [1, 1] high [1, 1]>",
         {tensor({8, 7, 2, 5}), tensor({3, 3, 5, 16})}, {tensor({4, 4, 2, 16})}, at);
  window(ordinary, "<[3, 2] low [2, -1] high [-1, 2] dilation [1, 2]>",
         {tensor({6, 7, 1, 5}), tensor({3, 2, 5, 8})}, {tensor({5, 6, 1, 8})}, at);
  window(ordinary, "<[3, 3] low [2, 1] high [1, 2] base [2, 3] reversed>",
         {tensor({4, 3, 2, 3}), tensor({3, 3, 3, 9})}, {tensor({8, 8, 2, 9})}, at);
  window("convolution {0} dims \"nc,no->co\"", "<[5, 5] low [1, 1] high [1, 1]>",
         {tensor({5, 5, 4, 3}), tensor({5, 5, 4, 13})}, {tensor({3, 3, 3, 13})}, at);
  window("convolution {0} dims \"nc,c->nc\"", "<[3, 3] low [1, 1] high [1, 1]>",
         {tensor({5, 5, 2, 13}), tensor({3, 3, 13})}, {tensor({5, 5, 2, 13})}, at);
  window("convolution {0} dims \"ngc,gco->ngo\"", "<[3] low [1] high [1]>",
         {tensor({9, 2, 3, 4}), tensor({3, 3, 4, 10})}, {tensor({9, 2, 3, 10})}, at);
}

TEST(Window, NarrowConvolutions) {
  for (auto [element, tolerance] : {std::pair("bf16", 2e-2), {"f16", 3e-3}, {"i8", 0.0}})
    window("convolution {0} dims \"nc,co->no\"", "<[3] low [1] high [1]>",
           {tensor({7, 2, 3}, element), tensor({3, 3, 13}, element)}, {tensor({7, 2, 13}, element)},
           schedule(8, "2, 1, 16", "0, 1, 2"), tolerance);
}

TEST(Window, Pools) {
  std::string at = schedule(8, "1, 2, 1, 8", "0, 1, 2, 3");
  const char *windows[] = {"<[2, 2] stride [2, 2]>",
                           "<[3, 3] stride [2, 2] low [1, 1] high [0, 0]>",
                           "<[1, 2] stride [2, 2] low [-1, 1] high [1, 0]>"};
  for (const char *each : windows) {
    std::string x = tensor({8, 8, 2, 13}), y = tensor({4, 4, 2, 13}),
                i = tensor({4, 4, 2, 13}, "i8");
    window("window_sum {0}", each, {x}, {y}, at);
    window("window_max {0}", each, {x}, {y, i}, at);
    window("window_gather {0}", each, {x, i}, {y}, at);
    window("window_scatter {0} size [8, 8]", each, {y, i}, {x}, at);
  }
  for (auto [element, tolerance] :
       {std::pair("bf16", 2e-2), {"f16", 3e-3}, {"ui8", 0}, {"i32", 0}}) {
    const char *each = windows[element == std::string("bf16") ? 0 : 1];
    std::string x = tensor({8, 8, 2, 13}, element), y = tensor({4, 4, 2, 13}, element);
    std::string i = tensor({4, 4, 2, 13}, "i8");
    window("window_sum {0}", each, {x}, {y}, at, tolerance);
    window("window_max {0}", each, {x}, {y, i}, at, 0);
    window("window_gather {0}", each, {x, i}, {y}, at, 0);
    window("window_scatter {0} size [8, 8]", each, {y, i}, {x}, at, tolerance);
  }
  // A window without elements gives tap 0.
  window("window_max {0}", "<[2] stride [2] low [3] high [2]>", {tensor({7, 13}, "i32")},
         {tensor({6, 13}, "i32"), tensor({6, 13}, "i8")}, schedule(8, "2, 8", "0, 1"), 0);
}

TEST(Layout, RepacksEitherWay) {
  for (auto [k, n] : {std::pair(16, 32), {20, 37}, {5, 3}})
    for (const char *tile : {"1, 16", "8, 16", "8, 8", "16, 8"})
      for (int from : {-1, 0, 1})
        for (int to : {-1, 0, 1}) {
          auto layout = [](int dim) {
            return dim < 0 ? std::string("unit")
                           : formatv("#exec.panel<dim = {0}, width = 16>", dim).str();
          };
          expectRight(formatv(R"(exec.kernel @k(%a: {0}) attributes {{layouts = [{1}, {2}], {3}} {{
            exec.yield %a : {0} })",
                              tensor({k, n}), layout(from), layout(to), schedule(8, tile, "0, 1")));
        }
}

TEST(Movement, SlicesPadsAndConcatenates) {
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<9x40xf32>) attributes {{{0}} {{
    %s = grad.slice %a starts [8, 3] sizes [4, 13] strides [-2, 2] : tensor<9x40xf32>
    exec.yield %s : tensor<4x13xf32> })",
                      schedule(8, "1, 8", "0, 1")));
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<9x40xf32>) attributes {{{0}} {{
    %s = grad.slice %a starts [0, 39] sizes [9, 20] strides [1, -1] : tensor<9x40xf32>
    exec.yield %s : tensor<9x20xf32> })",
                      schedule(8, "1, 8", "0, 1")));
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<9x40xf32>) attributes {{{0}} {{
    %s = grad.slice %a starts [0, 0] sizes [4, 20] strides [1, 1] : tensor<9x40xf32>
    exec.yield %s : tensor<4x20xf32> })",
                      schedule(8, "1, 8", "0, 1")));
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<5x11xf32>) attributes {{{0}} {{
    %s = grad.pad %a low [1, 3] high [2, 0] interior [0, 0] {{value = 1.5} : tensor<5x11xf32>
    exec.yield %s : tensor<8x14xf32> })",
                      schedule(8, "1, 8", "0, 1")));
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<5x11xf32>) attributes {{{0}} {{
    %s = grad.pad %a low [1, 3] high [2, 0] interior [1, 2] : tensor<5x11xf32>
    exec.yield %s : tensor<12x34xf32> })",
                      schedule(8, "1, 8", "0, 1")));
  for (int dim : {0, 1})
    expectRight(formatv(R"(exec.kernel @k(%a: tensor<5x11xf32>, %b: {1}) attributes {{{0}} {{
      %s = grad.concatenate %a, %b dim {2} : tensor<5x11xf32>, {1}
      exec.yield %s : {3} })",
                        schedule(8, "1, 8", "0, 1"), dim ? tensor({5, 6}) : tensor({3, 11}), dim,
                        dim ? tensor({5, 17}) : tensor({8, 11})));
}

TEST(Movement, PartsWithoutElements) {
  for (auto [low, high] : {std::pair(0, 1), {1, 0}, {0, 3}})
    expectRight(formatv(R"(exec.kernel @k(%a: tensor<0x5xf32>) attributes {{{0}} {{
      %s = grad.pad %a low [{1}, 0] high [{2}, 0] interior [0, 0] {{value = 1.5} : tensor<0x5xf32>
      exec.yield %s : {3} })",
                        schedule(8, "1, 8", "0, 1"), low, high, tensor({low + high, 5})));
  for (auto [first, second] : {std::pair("%a", "%b"), {"%b", "%a"}})
    expectRight(
        formatv(R"(exec.kernel @k(%a: tensor<5x0xf32>, %b: tensor<5x1xf32>) attributes {{{0}} {{
      %s = grad.concatenate {1}, {2} dim 1 : {3}, {4}
      exec.yield %s : tensor<5x1xf32> })",
                schedule(8, "1, 8", "0, 1"), first, second, tensor({5, first[1] == 'a' ? 0 : 1}),
                tensor({5, first[1] == 'a' ? 1 : 0})));
}

TEST(Movement, VectorsOfAPieceOrBesideIt) {
  for (int lanes : {8, 16}) {
    expectRight(formatv(R"(exec.kernel @k(%a: {1}, %b: {2}, %c: {3}) attributes {{{0}} {{
      %s = grad.concatenate %a, %b, %c dim 1 : {1}, {2}, {3}
      exec.yield %s : {4} })",
                        schedule(lanes, formatv("1, {0}", lanes).str(), "0, 1"), tensor({5, 16}),
                        tensor({5, 48}), tensor({5, 5}), tensor({5, 69})));
    expectRight(formatv(R"(exec.kernel @k(%a: tensor<5x16xf32>) attributes {{{0}} {{
      %s = grad.pad %a low [1, 16] high [2, 32] interior [0, 0] {{value = 1.5} : tensor<5x16xf32>
      exec.yield %s : tensor<8x64xf32> })",
                        schedule(lanes, formatv("1, {0}", 2 * lanes).str(), "0, 1")));
  }
}

TEST(Movement, SumsOfPaddedSlices) {
  for (int lanes : {8, 16})
    for (const char *value : {"0.0", "1.5"})
      expectRight(formatv(R"(exec.kernel @k(%a: tensor<5x3x4x21xf32>) attributes {{{0}} {{
      %s = grad.slice %a starts [0, 0, 0, 0] sizes [5, 1, 4, 21] strides [1, 1, 1, 1] : tensor<5x3x4x21xf32>
      %p = grad.pad %s low [0, 0, 1, 0] high [0, 0, 0, 2] interior [0, 0, 0, 0] {{value = {1}} : tensor<5x1x4x21xf32>
      %t = grad.slice %a starts [0, 2, 0, 0] sizes [5, 1, 4, 21] strides [1, 1, 1, 1] : tensor<5x3x4x21xf32>
      %q = grad.pad %t low [0, 0, 0, 2] high [0, 0, 1, 0] interior [0, 0, 0, 0] : tensor<5x1x4x21xf32>
      %y = grad.add %p, %q : tensor<5x1x5x23xf32>
      exec.yield %y : tensor<5x1x5x23xf32> })",
                          schedule(lanes, formatv("1, 1, 1, {0}", 2 * lanes).str(), "0, 1, 2, 3"),
                          value));
  // Lanes that lie apart in the sliced tensor.
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<5x42xf32>) attributes {{{0}} {{
      %s = grad.slice %a starts [0, 1] sizes [5, 20] strides [1, 2] : tensor<5x42xf32>
      %p = grad.pad %s low [1, 3] high [0, 0] interior [0, 0] : tensor<5x20xf32>
      exec.yield %p : tensor<6x23xf32> })",
                      schedule(8, "1, 16", "0, 1")));
}

TEST(Movement, ReshapesInside) {
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<6x20xf32>) attributes {{{0}} {{
    %n = grad.neg %a : tensor<6x20xf32>
    %r = grad.reshape %n : tensor<6x20xf32> -> tensor<8x15xf32>
    %e = grad.exp %r : tensor<8x15xf32>
    exec.yield %e : tensor<8x15xf32> })",
                      schedule(8, "1, 8", "0, 1")));
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<6x1x20xf32>) attributes {{{0}} {{
    %n = grad.neg %a : tensor<6x1x20xf32>
    %r = grad.reshape %n : tensor<6x1x20xf32> -> tensor<6x20x1xf32>
    exec.yield %r : tensor<6x20x1xf32> })",
                      schedule(8, "1, 1, 8", "0, 1, 2")));
}

TEST(Constants, SplatAndDense) {
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<2x3xf32>) attributes {{{0}} {{
    %c = grad.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %i = grad.iota dim 1 : tensor<2x3xf32>
    %s = grad.add %a, %c : tensor<2x3xf32>
    %t = grad.mul %s, %i : tensor<2x3xf32>
    exec.yield %t : tensor<2x3xf32> })",
                      schedule(8, "1, 8", "0, 1")));
}

TEST(Constants, OfNoElements) {
  expectRight(formatv(R"(exec.kernel @k(%a: tensor<0xf32>) attributes {{{0}} {{
    %c = grad.constant dense<> : tensor<0xf32>
    %s = grad.add %a, %c : tensor<0xf32>
    exec.yield %s : tensor<0xf32> })",
                      schedule(8, "8", "0")));
}

TEST(Random, Dropout) {
  expectRight(formatv(
      R"(exec.kernel @k(%a: tensor<5x37xf32>, %seed: tensor<i32>, %step: tensor<i32>) attributes {{{0}} {{
    %d = grad.dropout %a, %seed, %step stream 3 ratio 0.25 : tensor<5x37xf32>, tensor<i32>
    exec.yield %d : tensor<5x37xf32> })",
      schedule(8, "1, 16", "0, 1")));
}

} // namespace
