// Coordinates of true elements as single kernels.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <random>

using namespace gradc::test;
using llvm::formatv;

namespace {

/// Among elements of this shape, of which `percent` are true on average. `columns`: of the result;
/// -1: as many as elements.
void expectPositions(llvm::ArrayRef<int64_t> shape, unsigned percent, int64_t columns = -1) {
  if (columns < 0)
    columns = llvm::product_of(shape);
  std::string operand = "tensor<";
  for (int64_t size : shape)
    operand += std::to_string(size) + "x";
  operand += "i1>";
  std::string result = formatv("tensor<{0}x{1}xi64>", shape.size(), columns);
  expectRight(formatv(R"(exec.kernel @k(%x: {0}) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = [{2}, {3}], order = [1, 0], grain = 1, positions>} {{
      %y = grad.positions %x : {0} -> {1}
      exec.yield %y : {1} })",
                      operand, result, shape.size(), columns),
              0, nullptr, [&](std::vector<HostTensor> &operands) {
                std::mt19937 random(7);
                for (int64_t i = 0; i < operands[0].size(); ++i)
                  operands[0].setInt(i, random() % 100 < percent);
              });
}

TEST(Positions, AnyNumberOfElementsAndDims) {
  for (unsigned percent : {0, 10, 50, 100}) {
    for (int64_t n : {1, 7, 100})
      expectPositions({n}, percent);
    expectPositions({13, 11}, percent);
    expectPositions({1, 40, 1}, percent);
    expectPositions({3, 4, 5, 2}, percent);
  }
}

// What does not fit is left out; a branch decides what is stored.
TEST(Positions, FewerColumnsThanElements) {
  for (unsigned percent : {0, 10, 50, 100})
    for (int64_t columns : {1, 20, 142})
      expectPositions({13, 11}, percent, columns);
}

} // namespace
