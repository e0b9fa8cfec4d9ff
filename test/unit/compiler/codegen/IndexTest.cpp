// Kernels that read and write at indices: random ones from -3 to 3, some out of range, with
// duplicates.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using llvm::formatv;

namespace {

/// Half of the indices count from the end.
void turnIndices(std::vector<HostTensor> &operands) {
  for (HostTensor &operand : operands)
    if (operand.getElementType().isInteger(64) || operand.getElementType().isInteger(32))
      for (int64_t i = 0; i < operand.size(); ++i)
        operand.setInt(i, operand.getInt(i) - 3);
}

/// `walk`: of the schedule, behind its grain.
void expectIndexed(const std::string &signature, const std::string &body, const char *tile,
                   double tolerance = 2e-5, const std::string &walk = "") {
  std::string order = "0";
  for (size_t dim = 1, dims = size_t(llvm::StringRef(tile).count(',')) + 1; dim < dims; ++dim)
    order += ", " + std::to_string(dim);
  expectRight(formatv(R"(exec.kernel @k({0}) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = [{1}], order = [{2}], grain = 1{4}>} {{
      {3} })",
                      signature, tile, order, body, walk),
              tolerance, nullptr, turnIndices);
}

TEST(Index, RowsOfATable) {
  for (const char *element : {"f32", "f64", "bf16", "i1", "ui8", "i64"})
    for (const char *tile : {"1, 16", "3, 8"}) {
      std::string t = formatv("tensor<5x37x{0}>", element),
                  y = formatv("tensor<11x37x{0}>", element);
      expectIndexed("%t: " + t + ", %i: tensor<11xi64>",
                    "%y = grad.gather %t[%i] dims [-1, 1] index_dims [0] : " + t +
                        ", tensor<11xi64>\nexec.yield %y : " + y,
                    tile);
    }
}

TEST(Index, LanesAlongIndices) {
  for (int n : {1, 7, 8, 37})
    expectIndexed(
        formatv("%t: tensor<5xf32>, %i: tensor<{0}xi32>", n),
        formatv(R"(%y = grad.gather %t[%i] dims [-1] index_dims [0] : tensor<5xf32>, tensor<{0}xi32>
      exec.yield %y : tensor<{0}xf32>)",
                n),
        "16");
  expectIndexed("%t: tensor<4x5xf32>, %i: tensor<4x19xi64>", R"(
      %y = grad.gather %t[%i] dims [0, -1] index_dims [0, 1] : tensor<4x5xf32>, tensor<4x19xi64>
      exec.yield %y : tensor<4x19xf32>)",
                "2, 8");
  expectIndexed("%t: tensor<4x5xf32>, %i: tensor<19xi64>, %j: tensor<19xi64>", R"(
      %y = grad.gather %t[%i, %j] dims [-2, -1] index_dims [0] : tensor<4x5xf32>, tensor<19xi64>, tensor<19xi64>
      exec.yield %y : tensor<19xf32>)",
                "8");
}

TEST(Index, BetweenOtherOps) {
  expectIndexed("%t: tensor<37x5xf32>, %i: tensor<11xi64>, %b: tensor<11x37xf32>", R"(
      %m = grad.transpose %t permutation [1, 0] : tensor<37x5xf32>
      %y = grad.gather %m[%i] dims [-1, 1] index_dims [0] : tensor<5x37xf32>, tensor<11xi64>
      %s = grad.add %y, %b : tensor<11x37xf32>
      %r = grad.reduce_sum %s dims [1] : tensor<11x37xf32>
      %w = grad.broadcast %r dims [0] : tensor<11xf32> -> tensor<11x37xf32>
      %d = grad.sub %s, %w : tensor<11x37xf32>
      exec.yield %d : tensor<11x37xf32>)",
                "1, 40", 1e-4);
}

TEST(Index, NothingToReadFrom) {
  expectIndexed("%t: tensor<0x37xf32>, %i: tensor<3xi64>", R"(
      %y = grad.gather %t[%i] dims [-1, 1] index_dims [0] : tensor<0x37xf32>, tensor<3xi64>
      exec.yield %y : tensor<3x37xf32>)",
                "1, 16");
}

/// `n` updates of rows by each reduction and tile.
void expectUpdatesOfRows(int n, const std::string &walk = "") {
  for (const char *how : {"replace", "add", "mul", "max", "min"})
    for (const char *tile : {"1, 16", "3, 8"})
      expectIndexed(
          formatv("%x: tensor<5x37xf32>, %i: tensor<{0}xi64>, %u: tensor<{0}x37xf32>", n),
          formatv(
              R"(%y = grad.scatter %x[%i] {1} %u dims [-1, 1] index_dims [0] : tensor<5x37xf32>, tensor<{0}x37xf32>, tensor<{0}xi64>
      exec.yield %y : tensor<5x37xf32>)",
              n, how),
          tile, 1e-3, walk);
}

TEST(Index, UpdatesOfRows) {
  for (int n : {0, 1, 7, 8, 40, 100})
    expectUpdatesOfRows(n);
}

TEST(Index, SumsOfUpdatesInScratchMemory) {
  for (int n : {0, 1, 7, 100})
    for (int units : {1, 2, 5})
      expectUpdatesOfRows(n, formatv(", block = [{0}], scatter", units));
}

TEST(Index, SumsOfUpdatesOfOtherShapes) {
  const char *walk = ", block = [2], scatter";
  // A list of lists; an epilogue.
  expectIndexed("%p: tensor<5x16xf32>, %i: tensor<9x11xi32>, %u: tensor<9x11x16xf32>", R"(
      %z = grad.constant dense<0.0> : tensor<5x16xf32>
      %g = grad.scatter %z[%i] add %u dims [-1, 2] index_dims [0, 1] : tensor<5x16xf32>, tensor<9x11x16xf32>, tensor<9x11xi32>
      %n = grad.sub %p, %g : tensor<5x16xf32>
      exec.yield %n, %g : tensor<5x16xf32>, tensor<5x16xf32>)",
                "2, 16", 1e-4, walk);
  // Two lists of one table; a table of its own.
  expectIndexed("%i: tensor<9x11xi32>, %u: tensor<9x11x37xf32>, %j: tensor<40xi64>, %v: "
                "tensor<40x37xf32>, %t: tensor<5x37xf32>",
                R"(
      %z = grad.constant dense<0.0> : tensor<5x37xf32>
      %f = grad.scatter %z[%i] add %u dims [-1, 2] index_dims [0, 1] : tensor<5x37xf32>, tensor<9x11x37xf32>, tensor<9x11xi32>
      %g = grad.scatter %z[%j] add %v dims [-1, 1] index_dims [0] : tensor<5x37xf32>, tensor<40x37xf32>, tensor<40xi64>
      %s = grad.add %f, %g : tensor<5x37xf32>
      %m = grad.scatter %t[%j] max %v dims [-1, 1] index_dims [0] : tensor<5x37xf32>, tensor<40x37xf32>, tensor<40xi64>
      exec.yield %s, %m : tensor<5x37xf32>, tensor<5x37xf32>)",
                "2, 16", 1e-4, walk);
  // Rows of several dims, with more vectors than are unrolled.
  expectIndexed("%x: tensor<5x3x45xf32>, %i: tensor<70xi64>, %u: tensor<70x3x45xf32>", R"(
      %y = grad.scatter %x[%i] add %u dims [-1, 1, 2] index_dims [0] : tensor<5x3x45xf32>, tensor<70x3x45xf32>, tensor<70xi64>
      exec.yield %y : tensor<5x3x45xf32>)",
                "1, 1, 48", 1e-4, walk);
  // 16 bits are added up in f32.
  expectIndexed("%x: tensor<5x37xbf16>, %i: tensor<90xi64>, %u: tensor<90x37xbf16>", R"(
      %y = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [0] : tensor<5x37xbf16>, tensor<90x37xbf16>, tensor<90xi64>
      exec.yield %y : tensor<5x37xbf16>)",
                "1, 16", 2e-2, walk);
  expectIndexed("%x: tensor<5x37xi64>, %i: tensor<90xi64>, %u: tensor<90x37xi64>", R"(
      %y = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [0] : tensor<5x37xi64>, tensor<90x37xi64>, tensor<90xi64>
      exec.yield %y : tensor<5x37xi64>)",
                "3, 8", 0, walk);
  expectIndexed("%x: tensor<19xf32>, %i: tensor<50xi64>, %u: tensor<50xf32>", R"(
      %y = grad.scatter %x[%i] add %u dims [-1] index_dims [0] : tensor<19xf32>, tensor<50xf32>, tensor<50xi64>
      exec.yield %y : tensor<19xf32>)",
                "8", 1e-4, walk);
}

/// The result takes the updates itself: over the elements that they are added to, or after a copy
/// of these, which are computed, or are updates, too.
TEST(Index, UpdatesInTheResult) {
  for (const char *start : {"%x", "%d", "%u"})
    for (const char *walk : {", block = [1], scatter", ", block = [5], scatter"})
      for (const char *how : {"replace", "add"})
        expectIndexed("%x: tensor<70x37xf32>, %i: tensor<70xi64>, %u: tensor<70x37xf32>",
                      formatv(R"(%d = grad.add %x, %x : tensor<70x37xf32>
      %y = grad.scatter {0}[%i] {1} %u dims [-1, 1] index_dims [0] : tensor<70x37xf32>, tensor<70x37xf32>, tensor<70xi64>
      exec.yield %y : tensor<70x37xf32>)",
                              start, how),
                      "3, 8", 1e-4, walk);
  // Bools, and 16 bits that nothing is added to.
  for (const char *element : {"i1", "bf16", "ui8"}) {
    std::string rows = formatv("tensor<70x37x{0}>", element);
    expectIndexed("%x: " + rows + ", %i: tensor<70xi64>, %u: " + rows,
                  "%y = grad.scatter %x[%i] replace %u dims [-1, 1] index_dims [0] : " + rows +
                      ", " + rows + ", tensor<70xi64>\nexec.yield %y : " + rows,
                  "3, 8", 0, ", block = [4], scatter");
  }
}

/// The lists of many tables whose rows are joined.
TEST(Index, SumsOfUpdatesOfManyTables) {
  constexpr int tables = 9;
  std::string signature = formatv("%u: tensor<70x{0}xf32>", 16 * tables),
              body = "%z = grad.constant dense<0.0> : tensor<5x16xf32>\n", results, types;
  for (int i = 0; i < tables; ++i) {
    signature += formatv(", %i{0}: tensor<70xi64>, %p{0}: tensor<5x16xf32>", i);
    body += formatv(R"(
      %u{0} = grad.slice %u starts [0, {1}] sizes [70, 16] strides [1, 1] : tensor<70x{2}xf32>
      %g{0} = grad.scatter %z[%i{0}] add %u{0} dims [-1, 1] index_dims [0] : tensor<5x16xf32>, tensor<70x16xf32>, tensor<70xi64>
      %n{0} = grad.sub %p{0}, %g{0} : tensor<5x16xf32>)",
                    i, 16 * i, 16 * tables);
    results += formatv("{0}%n{1}", i ? ", " : "", i);
    types += i ? ", tensor<5x16xf32>" : "tensor<5x16xf32>";
  }
  expectIndexed(signature, body + "\nexec.yield " + results + " : " + types, "2, 16", 1e-4,
                ", block = [2], scatter");
}

/// Units along a dim outside of the one that the indices choose along: each has updates of its own.
TEST(Index, SumsOfUpdatesOfEachUnit) {
  const char *walk = ", block = [1], scatter";
  for (const char *how : {"replace", "add", "mul", "max", "min"})
    for (const char *tile : {"1, 16", "3, 8"})
      for (int n : {0, 1, 50}) {
        // A list of indices for each row, and one for all of them.
        expectIndexed(
            formatv("%x: tensor<7x37xf32>, %i: tensor<7x{0}xi64>, %u: tensor<7x{0}xf32>", n),
            formatv(
                R"(%y = grad.scatter %x[%i] {1} %u dims [0, -1] index_dims [0, 1] : tensor<7x37xf32>, tensor<7x{0}xf32>, tensor<7x{0}xi64>
      exec.yield %y : tensor<7x37xf32>)",
                n, how),
            tile, 1e-3, walk);
        expectIndexed(
            formatv("%x: tensor<7x5xf32>, %i: tensor<{0}xi64>, %u: tensor<7x{0}xf32>", n),
            formatv(
                R"(%y = grad.scatter %x[%i] {1} %u dims [0, -1] index_dims [1] : tensor<7x5xf32>, tensor<7x{0}xf32>, tensor<{0}xi64>
      exec.yield %y : tensor<7x5xf32>)",
                n, how),
            tile, 1e-3, walk);
      }
}

TEST(Index, SumsOfUpdatesOfEachUnitOfOtherShapes) {
  const char *walk = ", block = [2], scatter";
  // Vectors of a row that shares its index; an epilogue.
  expectIndexed("%x: tensor<7x5x45xf32>, %i: tensor<7x40xi32>, %u: tensor<7x40x45xf32>", R"(
      %y = grad.scatter %x[%i] add %u dims [0, -1, 2] index_dims [0, 1] : tensor<7x5x45xf32>, tensor<7x40x45xf32>, tensor<7x40xi32>
      %d = grad.sub %x, %y : tensor<7x5x45xf32>
      exec.yield %d, %y : tensor<7x5x45xf32>, tensor<7x5x45xf32>)",
                "2, 1, 48", 1e-4, walk);
  // An index for each element, and one for all along the units and the vectors.
  for (const char *along : {"0, 1, 2", "1, 2", "0, 1", "1"}) {
    std::string shape;
    for (char dim : llvm::StringRef(along))
      if (dim >= '0' && dim <= '2')
        shape += dim == '0' ? "7x" : dim == '1' ? "40x" : "19x";
    expectIndexed(
        formatv("%x: tensor<7x5x19xf32>, %i: tensor<{0}i64>, %u: tensor<7x40x19xf32>", shape),
        formatv(R"(
      %y = grad.scatter %x[%i] add %u dims [0, -1, 2] index_dims [{0}] : tensor<7x5x19xf32>, tensor<7x40x19xf32>, tensor<{1}i64>
      exec.yield %y : tensor<7x5x19xf32>)",
                along, shape),
        "1, 1, 16", 1e-4, walk);
  }
  // Dims between the units and the targets, and updates in several lists.
  expectIndexed("%x: tensor<4x3x19xf32>, %i: tensor<6x8xi64>, %u: tensor<4x6x3x8xf32>", R"(
      %y = grad.scatter %x[%i] replace %u dims [0, 2, -1] index_dims [1, 3] : tensor<4x3x19xf32>, tensor<4x6x3x8xf32>, tensor<6x8xi64>
      exec.yield %y : tensor<4x3x19xf32>)",
                "1, 1, 8", 1e-4, walk);
  // 16 bits are added up in f32.
  expectIndexed("%x: tensor<7x37xbf16>, %i: tensor<7x90xi64>, %u: tensor<7x90xbf16>", R"(
      %y = grad.scatter %x[%i] add %u dims [0, -1] index_dims [0, 1] : tensor<7x37xbf16>, tensor<7x90xbf16>, tensor<7x90xi64>
      exec.yield %y : tensor<7x37xbf16>)",
                "1, 16", 2e-2, walk);
}

/// Units along a dim inside of the one that the indices choose along.
TEST(Index, SumsOfUpdatesOfInnerUnits) {
  expectRight(
      R"(exec.kernel @k(%x: tensor<5x7x37xf32>, %i: tensor<40x7xi64>, %u: tensor<40x7x37xf32>) attributes {
      schedule = #exec.schedule<lanes = 8, tile = [1, 2, 16], order = [1, 0, 2], grain = 1, block = [1], scatter>} {
      %y = grad.scatter %x[%i] add %u dims [-1, 1, 2] index_dims [0, 1] : tensor<5x7x37xf32>, tensor<40x7x37xf32>, tensor<40x7xi64>
      exec.yield %y : tensor<5x7x37xf32> })",
      1e-4, nullptr, turnIndices);
}

TEST(Index, UpdatesOfElements) {
  for (const char *how : {"replace", "add", "max"}) {
    expectIndexed(
        "%x: tensor<19xf32>, %i: tensor<50xi64>, %u: tensor<50xf32>",
        formatv(
            R"(%y = grad.scatter %x[%i] {0} %u dims [-1] index_dims [0] : tensor<19xf32>, tensor<50xf32>, tensor<50xi64>
      exec.yield %y : tensor<19xf32>)",
            how),
        "8", 1e-4);
    expectIndexed(
        "%x: tensor<5x37xf32>, %i: tensor<9x37xi64>, %u: tensor<9x37xf32>",
        formatv(
            R"(%y = grad.scatter %x[%i] {0} %u dims [-1, 1] index_dims [0, 1] : tensor<5x37xf32>, tensor<9x37xf32>, tensor<9x37xi64>
      exec.yield %y : tensor<5x37xf32>)",
            how),
        "1, 16");
  }
}

TEST(Index, UpdatesAtTuples) {
  expectIndexed("%x: tensor<4x5xf32>, %i: tensor<3x9xi64>, %u: tensor<3x9xf32>", R"(
      %y = grad.scatter %x[%i, %i] add %u dims [-1, -2] index_dims [0, 1] : tensor<4x5xf32>, tensor<3x9xf32>, tensor<3x9xi64>, tensor<3x9xi64>
      exec.yield %y : tensor<4x5xf32>)",
                "2, 8");
}

TEST(Index, NarrowUpdatesAddInF32) {
  expectIndexed("%x: tensor<5x37xbf16>, %i: tensor<90xi64>, %u: tensor<90x37xbf16>", R"(
      %y = grad.scatter %x[%i] add %u dims [-1, 1] index_dims [0] : tensor<5x37xbf16>, tensor<90x37xbf16>, tensor<90xi64>
      exec.yield %y : tensor<5x37xbf16>)",
                "1, 16", 2e-2);
}

TEST(Index, AnUpdateInTheOptimizersKernel) {
  expectIndexed("%p: tensor<5x37xf32>, %i: tensor<20xi64>, %u: tensor<20x37xf32>", R"(
      %z = grad.constant dense<0.0> : tensor<5x37xf32>
      %g = grad.scatter %z[%i] add %u dims [-1, 1] index_dims [0] : tensor<5x37xf32>, tensor<20x37xf32>, tensor<20xi64>
      %n = grad.sub %p, %g : tensor<5x37xf32>
      exec.yield %n : tensor<5x37xf32>)",
                "1, 40", 1e-4);
}

} // namespace
