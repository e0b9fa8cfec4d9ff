// Generated products against their regions: every transposition and layout, blocks of their sum,
// copies of their factors, and epilogues.
#include "test/unit/compiler/codegen/KernelRunner.h"
#include "test/unit/compiler/codegen/KernelText.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using llvm::formatv;

namespace {

/// C = op(A) op(B) with every combination of transposition and layout of B.
void contraction(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool panel, int lanes,
                 std::string tile, std::string order, std::string element = "f32",
                 double tolerance = 2e-5) {
  std::string a = ta ? tensor({k, m}, element) : tensor({m, k}, element);
  std::string b = tb ? tensor({n, k}, element) : tensor({k, n}, element);
  std::string layouts =
      panel ? formatv("layouts = [unit, #exec.panel<dim = {0}, width = {1}>, unit], ", tb ? 0 : 1,
                      2 * lanes)
                  .str()
            : "";
  expectRight(formatv(R"(exec.kernel @k(%a: {0}, %b: {1}) attributes {{{2}{3}} {{
    %c = grad.matmul %a, %b {4} {5} : {0}, {1}
    exec.yield %c : {6} })",
                      a, b, layouts, schedule(lanes, tile, order), ta ? "transpose_lhs" : "",
                      tb ? "transpose_rhs" : "", tensor({m, n}, element)),
              tolerance);
}

TEST(Contraction, EveryTransposition) {
  for (auto [m, n, k] : {std::tuple(6, 16, 8), {50, 37, 10}, {3, 1, 50}, {1, 10, 37}, {13, 48, 65}})
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (bool panel : {false, true})
          contraction(m, n, k, ta, tb, panel, 8, "6, 16", "1, 0");
}

TEST(Contraction, OtherTiles) {
  for (bool panel : {false, true}) {
    contraction(50, 37, 10, false, false, panel, 8, "6, 16", "0, 1");
    contraction(50, 37, 10, false, false, panel, 8, "4, 8", "1, 0");
    contraction(50, 100, 10, false, false, panel, 8, "2, 32", "1, 0");
    contraction(50, 37, 10, true, false, panel, 16, "8, 32", "1, 0");
    contraction(50, 37, 20, false, true, panel, 16, "8, 32", "1, 0");
    contraction(50, 37, 10, false, false, panel, 4, "6, 8", "1, 0", "f64", 1e-12);
  }
}

TEST(Contraction, NarrowTypes) {
  contraction(13, 20, 30, false, false, false, 8, "6, 16", "1, 0", "bf16", 2e-2);
  contraction(13, 20, 30, false, false, false, 8, "6, 16", "1, 0", "f16", 3e-3);
  contraction(13, 20, 30, false, false, false, 8, "6, 16", "1, 0", "i32");
}

/// A state of f16 in panels, beside a factor that was widened.
TEST(Contraction, WideByHalves) {
  for (auto [m, n, k] : {std::tuple(1, 37, 9), {13, 64, 33}})
    for (const char *layout : {"unit", "#exec.panel<dim = 1, width = 16>"})
      expectRight(formatv(R"(exec.kernel @k(%a: {0}, %b: {1}) attributes {{
          layouts = [unit, {3}, unit], {4}} {{
      %c = grad.matmul %a, %b wide : {0}, {1}
      %d = grad.cast %c : {2} -> {5}
      exec.yield %d : {5} })",
                          tensor({m, k}), tensor({k, n}, "f16"), tensor({m, n}), layout,
                          schedule(8, "6, 16", "1, 0"), tensor({m, n}, "f16")),
                  /*tolerance=*/3e-3);
}

/// Vectors run along the rows of a result with fewer columns than lanes.
TEST(Contraction, FewColumns) {
  for (int n : {1, 2, 3, 7})
    for (auto [m, k] : {std::pair(64, 32), {50, 37}, {5, 20}, {8, 1}})
      for (int rows : {8, 32}) {
        std::string tile = formatv("{0}, {1}", rows, n);
        for (bool ta : {false, true})
          for (bool tb : {false, true})
            contraction(m, n, k, ta, tb, /*panel=*/false, 8, tile, "0, 1");
        contraction(m, n, k, true, false, /*panel=*/false, 4, tile, "1, 0", "f64", 1e-12);
        expectRight(formatv(
            R"(exec.kernel @k(%a: tensor<{1}x{0}xf32>, %b: tensor<{1}x{2}xf32>) attributes {{
          schedule = #exec.schedule<lanes = 8, tile = [{3}], order = [0, 1], grain = 1, block = [8]> } {{
          %c = grad.matmul %a, %b transpose_lhs : tensor<{1}x{0}xf32>, tensor<{1}x{2}xf32>
          exec.yield %c : tensor<{0}x{2}xf32> })",
            m, k, n, tile));
        expectRight(formatv(
            R"(exec.kernel @k(%a: tensor<{0}x{1}xf32>, %b: tensor<{1}x{2}xf32>, %bias: tensor<{2}xf32>, %scale: tensor<{0}xf32>) attributes {{
          schedule = #exec.schedule<lanes = 8, tile = [{3}], order = [0, 1], grain = 1> } {{
          %c = grad.matmul %a, %b : tensor<{0}x{1}xf32>, tensor<{1}x{2}xf32>
          %d = grad.broadcast %bias dims [1] : tensor<{2}xf32> -> tensor<{0}x{2}xf32>
          %e = grad.add %c, %d : tensor<{0}x{2}xf32>
          %f = grad.broadcast %scale dims [0] : tensor<{0}xf32> -> tensor<{0}x{2}xf32>
          %g = grad.mul %e, %f : tensor<{0}x{2}xf32>
          exec.yield %g, %d : tensor<{0}x{2}xf32>, tensor<{0}x{2}xf32> })",
            m, k, n, tile));
      }
}

/// More units than keep their results in cache.
TEST(Contraction, InBlocks) {
  for (const char *order : {"0, 1", "1, 0"})
    for (auto [m, n, k] :
         {std::tuple(300, 500, 40), {300, 515, 37}, {513, 100, 37}, {256, 2100, 20}})
      expectRight(formatv(
          R"(exec.kernel @k(%a: tensor<{3}x{1}xf32>, %b: tensor<{3}x{2}xf32>) attributes {{
    schedule = #exec.schedule<lanes = 8, tile = [6, 16], order = [{0}], grain = 1, block = [16]> } {{
    %c = grad.matmul %a, %b transpose_lhs : tensor<{3}x{1}xf32>, tensor<{3}x{2}xf32>
    exec.yield %c : tensor<{1}x{2}xf32> })",
          order, m, n, k));
}

/// Short blocks prefetch along the rows of a factor, also beyond its end.
TEST(Contraction, InShortBlocks) {
  for (int m : {1, 7, 13})
    expectRight(formatv(
        R"(exec.kernel @k(%a: tensor<{0}x133xf32>, %b: tensor<133x2100xf32>) attributes {{
    schedule = #exec.schedule<lanes = 16, tile = [7, 32], order = [1, 0], grain = 1, block = [8]> } {{
    %c = grad.matmul %a, %b : tensor<{0}x133xf32>, tensor<133x2100xf32>
    exec.yield %c : tensor<{0}x2100xf32> })",
        m));
}

/// Factors are copied: those of some units together, and of one tile of the inner loop. Sums are
/// walked in blocks or whole, with an epilogue.
TEST(Contraction, CopiesItsFactorsInPanels) {
  const char *text =
      R"(exec.kernel @k(%a: tensor<{6}x{4}x{8}>, %b: tensor<{6}x{5}x{8}>, %w: tensor<{4}x{5}x{8}>) attributes {{
    inplace = array<i64{9}>,
    schedule = #exec.schedule<lanes = {0}, tile = [6, {1}], order = [{2}], grain = 1, {7}panels = [{3}]> } {{
    %c = grad.matmul %a, %b transpose_lhs : tensor<{6}x{4}x{8}>, tensor<{6}x{5}x{8}>
    {10})";
  auto run = [&](std::string order, std::string panels, bool isBlocked, bool isDouble, int m, int n,
                 int k) {
    std::string type = formatv("tensor<{0}x{1}x{2}>", m, n, isDouble ? "f64" : "f32").str();
    std::string yield = isBlocked
                            ? formatv("exec.yield %c : {0} }", type).str()
                            : formatv("%s = grad.sub %w, %c : {0}\n exec.yield %s : {0} }", type);
    expectRight(formatv(text, isDouble ? 4 : 8, isDouble ? 8 : 16, order, panels, m, n, k,
                        isBlocked ? "block = [16], " : "", isDouble ? "f64" : "f32",
                        isBlocked ? "" : ": 2", yield));
  };
  for (auto [m, n, k] : {std::tuple(60, 96, 32), {50, 100, 37}, {5, 200, 40}, {62, 9, 16}})
    for (bool isBlocked : {false, true}) {
      for (const char *panels : {"3, 1", "3, 0", "0, 1", "100, 1"})
        run("0, 1", panels, isBlocked, false, m, n, k);
      for (const char *panels : {"1, 3", "0, 3", "1, 0"})
        run("1, 0", panels, isBlocked, isBlocked, m, n, k);
    }
}

/// The rows of the lhs run along the sum, and stay where they are.
TEST(Contraction, CopiesItsColumnsInPanels) {
  for (const char *panels : {"0, 2", "0, 1"})
    expectRight(formatv(
        R"(exec.kernel @k(%a: tensor<37x20xf32>, %b: tensor<20x100xf32>, %bias: tensor<100xf32>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = [6, 16], order = [1, 0], grain = 1, panels = [{0}]> } {{
      %c = grad.matmul %a, %b : tensor<37x20xf32>, tensor<20x100xf32>
      %d = grad.broadcast %bias dims [1] : tensor<100xf32> -> tensor<37x100xf32>
      %e = grad.add %c, %d : tensor<37x100xf32>
      exec.yield %e : tensor<37x100xf32> })",
        panels));
}

/// Each result has vectors of partial sums, whose lanes are added at the end; the next rows are
/// prefetched, also beyond the last. With few columns a vector of results has idle lanes.
TEST(Contraction, LaneSums) {
  for (auto [m, n, k] : {std::tuple(1, 16, 128), {1, 21, 133}, {2, 1100, 700}, {7, 7, 400}})
    for (auto [lanes, rows, columns] : {std::tuple(16, 1, 8), {16, 7, 3}, {8, 3, 4}, {8, 7, 1}})
      expectRight(formatv(
          R"(exec.kernel @k(%a: {0}, %b: {1}, %bias: {2}) attributes {{
          schedule = #exec.schedule<lanes = {4}, tile = [{5}, {6}], order = [1, 0], grain = 1, lane_sums> } {{
      %c = grad.matmul %a, %b transpose_rhs : {0}, {1}
      %d = grad.broadcast %bias dims [1] : {2} -> {3}
      %e = grad.add %c, %d : {3}
      exec.yield %e : {3} })",
          tensor({m, k}), tensor({n, k}), tensor({n}), tensor({m, n}), lanes, rows, columns));
}

/// Vectors of results run along the rows.
TEST(Contraction, LaneSumsOfAColumn) {
  for (auto [m, k] : {std::pair(16, 64), {37, 300}})
    expectRight(formatv(R"(exec.kernel @k(%a: {0}, %b: {1}) attributes {{
          schedule = #exec.schedule<lanes = 16, tile = [16, 1], order = [0, 1], grain = 1, lane_sums> } {{
      %c = grad.matmul %a, %b : {0}, {1}
      exec.yield %c : {2} })",
                        tensor({m, k}), tensor({k, 1}), tensor({m, 1})));
}

TEST(Contraction, Batched) {
  expectRight(formatv(
      R"(exec.kernel @k(%a: tensor<3x7x10xf32>, %b: tensor<3x10x19xf32>) attributes {{{0}} {{
    %c = grad.matmul %a, %b : tensor<3x7x10xf32>, tensor<3x10x19xf32>
    exec.yield %c : tensor<3x7x19xf32> })",
      schedule(8, "1, 6, 16", "0, 2, 1")));
}

/// Blocks of codes, in panels and in rows, and a batch of floats: more blocks than one sum adds up,
/// tiles with remainders, and an epilogue.
TEST(Contraction, ReducesItsBatch) {
  for (const char *element : {"i8", "i16", "f32"})
    for (const char *layout : {"unit", "#exec.panel<dim = 2, width = 16>"})
      for (auto [blocks, m, n, tile] :
           {std::tuple(5, 1, 37, "1, 32"), {70, 1, 96, "1, 48"}, {3, 13, 40, "6, 16"}})
        expectRight(
            formatv(
                R"(exec.kernel @k(%x: tensor<{0}x{1}x9xf32>, %w: tensor<{0}x9x{2}x{3}>, %s: tensor<{0}x{2}xf32>, %b: tensor<{2}xf32>) attributes {{
          layouts = [unit, {4}, unit, unit, unit], {5}} {{
      %p = grad.matmul %x, %w {6} : tensor<{0}x{1}x9xf32>, tensor<{0}x9x{2}x{3}>
      %t = grad.broadcast %s dims [0, 2] : tensor<{0}x{2}xf32> -> tensor<{0}x{1}x{2}xf32>
      %q = grad.mul %p, %t : tensor<{0}x{1}x{2}xf32>
      %r = grad.reduce_sum %q dims [0] : tensor<{0}x{1}x{2}xf32>
      %c = grad.broadcast %b dims [1] : tensor<{2}xf32> -> tensor<{1}x{2}xf32>
      %y = grad.add %r, %c : tensor<{1}x{2}xf32>
      exec.yield %y : tensor<{1}x{2}xf32> })",
                blocks, m, n, element, layout, schedule(8, tile, "1, 0"),
                llvm::StringRef(element) == "f32" ? "" : "wide"),
            1e-4);
}

TEST(Contraction, BiasReluAndItsMask) {
  for (auto [m, n, k] : {std::tuple(32, 64, 16), {13, 37, 10}})
    expectRight(formatv(R"(exec.kernel @k(%a: {0}, %b: {1}, %bias: {2}, %y: {3}) attributes {{
          layouts = [unit, #exec.panel<dim = 1, width = 16>, unit, unit, unit, unit], {4}} {{
      %c = grad.matmul %a, %b : {0}, {1}
      %bb = grad.broadcast %bias dims [1] : {2} -> {3}
      %s = grad.add %c, %bb : {3}
      %r = grad.relu %s : {3}
      %zero = grad.constant dense<0.0> : {3}
      %p = grad.compare gt %y, %zero : {3}
      %g = grad.select %p, %c, %zero : {3}
      exec.yield %r, %g : {3}, {3} })",
                        tensor({m, k}), tensor({k, n}), tensor({n}), tensor({m, n}),
                        schedule(8, "6, 16", "1, 0")));
}

TEST(Contraction, SoftmaxOverItsRows) {
  expectRight(
      formatv(R"(exec.kernel @k(%a: tensor<13x20xf32>, %b: tensor<20x10xf32>) attributes {{{0}} {{
    %c = grad.matmul %a, %b : tensor<13x20xf32>, tensor<20x10xf32>
    %s = grad.softmax %c dim 1 : tensor<13x10xf32>
    exec.yield %s : tensor<13x10xf32> })",
              schedule(8, "6, 16", "0, 1")));
}

TEST(Contraction, UpdateInItsEpilogueInPlace) {
  for (const char *element : {"f32", "f64"})
    for (bool proceeds : {true, false})
      expectRight(
          formatv(
              R"(exec.kernel @k(%x: {0}, %dy: {1}, %w: {2}, %m: {2}, %v: {2}, %lr: {3}, %step: {3},
                              %go: tensor<i1>) attributes {{ inplace = array<i64: 2, 3, 4>,
          layouts = [unit, unit, {4}, {4}, {4}, unit, unit, unit, {4}, {4}, {4}], {5}} {{
      %g = grad.matmul %x, %dy transpose_lhs : {0}, {1}
      %r:3 = grad.adam %w, %g, %m, %v, %lr, %step, %go {{beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, weight_decay = 0.01} : ({2}, {2}, {2}, {2}, {3}, {3}, tensor<i1>) -> ({2}, {2}, {2})
      exec.yield %r#0, %r#1, %r#2 : {2}, {2}, {2} })",
              tensor({9, 20}, element), tensor({9, 37}, element), tensor({20, 37}, element),
              tensor({}, element), "#exec.panel<dim = 1, width = 16>",
              schedule(8, "6, 16", "1, 0")),
          1e-4, nullptr, [&](std::vector<HostTensor> &operands) {
            HostTensor &second = operands[4]; // a mean of squares
            for (int64_t i = 0; i < second.size(); ++i)
              second.setFloat(i, std::abs(second.getFloat(i)));
            operands[5].setFloat(0, 1e-2);
            operands[6].setFloat(0, 3);
            operands[7].setInt(0, proceeds);
          });
}

} // namespace
