// Argsorts as single kernels: element types, special values, sorted dims, and few wanted positions.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <limits>

using namespace gradc::test;
using llvm::formatv;

namespace {

/// Every third element is a special one: NaN, infinities, zeros of both signs, and the widest
/// integers.
void addSpecials(std::vector<HostTensor> &operands) {
  HostTensor &x = operands[0];
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double floats[] = {
      0.0, -0.0, std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 1e-300, -1e-42};
  constexpr int64_t integers[] = {std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max(),
                                  -1,
                                  0,
                                  0x8000,
                                  -0x8000};
  bool isFloat = llvm::isa<mlir::FloatType>(x.getElementType());
  for (int64_t i = 0; i < x.size(); i += 3)
    if (isFloat)
      x.setFloat(i, i % 2 ? std::copysign(floats[i % 7], -1) : floats[i % 7]);
    else
      x.setInt(i, integers[i % 6]);
}

void expectSorted(const std::string &from, const std::string &to, int64_t dim, bool descending,
                  const char *tile, const char *order, bool special = true) {
  expectRight(formatv(R"(exec.kernel @k(%x: tensor<{0}>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = [{4}], order = [{5}], grain = 1, sort>} {{
      %i = grad.argsort %x dim {2} {3}: tensor<{0}> -> tensor<{1}xi64>
      exec.yield %i : tensor<{1}xi64> })",
                      from, to, dim, descending ? "descending " : "", tile, order),
              0, nullptr, special ? addSpecials : nullptr);
}

TEST(Sort, ElementTypes) {
  for (const char *element : {"f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64"})
    for (bool descending : {false, true})
      expectSorted(formatv("3x150x{0}", element), "3x150", 1, descending, "1, 150", "0, 1");
}

TEST(Sort, AnyDim) {
  expectSorted("150x4xf32", "150x4", 0, false, "150, 1", "1, 0");
  expectSorted("2x70x5xf32", "2x9x5", 1, true, "1, 9, 1", "0, 2, 1");
  expectSorted("2x3x70xf64", "2x3x70", 2, true, "1, 1, 70", "1, 0, 2");
  expectSorted("200xf32", "200", 0, false, "200", "0");
  expectSorted("1xf32", "1", 0, false, "1", "0");
}

TEST(Sort, CandidatesForFewPositions) {
  for (const char *element : {"f32", "f64", "i32", "bf16"})
    for (int64_t count : {1, 40, 1024})
      for (bool special : {false, true})
        expectSorted(formatv("2x5000x{0}", element), formatv("2x{0}", count), 1, count != 40,
                     formatv("1, {0}", count).str().c_str(), "0, 1", special);
}

// Among equal elements, all are candidates.
TEST(Sort, EqualElements) {
  expectRight(R"(exec.kernel @k(%x: tensor<5000xf32>) attributes {
      schedule = #exec.schedule<lanes = 8, tile = [7], order = [0], grain = 1, sort>} {
      %i = grad.argsort %x dim 0 descending : tensor<5000xf32> -> tensor<7xi64>
      exec.yield %i : tensor<7xi64> })",
              0, nullptr, [](std::vector<HostTensor> &operands) {
                for (int64_t i = 0; i < operands[0].size(); ++i)
                  operands[0].setFloat(i, 1.5);
              });
}

// Masked elements, some, all or none of them, are behind the others, in order of their positions.
TEST(Sort, MaskedElements) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const char *element : {"f32", "f64", "bf16"})
    for (int64_t period : {1, 2, 7, 1000})
      for (bool otherWay : {false, true})
        expectRight(formatv(R"(exec.kernel @k(%x: tensor<2x300x{0}>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = [1, 300], order = [0, 1], grain = 1, sort>} {{
      %i = grad.argsort %x dim 1 {1} : tensor<2x300x{0}> -> tensor<2x300xi64>
      exec.yield %i : tensor<2x300xi64> })",
                            element, otherWay ? "" : "descending"),
                    0, nullptr, [=](std::vector<HostTensor> &operands) {
                      HostTensor &x = operands[0];
                      for (int64_t i = 0; i < x.size(); ++i)
                        if (i % 300 % period != period / 2)
                          x.setFloat(i, i % 5 == 0 ? infinity : -infinity);
                        else if (period == 7 && i % 2)
                          x.setFloat(i, std::numeric_limits<double>::quiet_NaN());
                    });
  // All of a row.
  expectRight(R"(exec.kernel @k(%x: tensor<150xf32>) attributes {
      schedule = #exec.schedule<lanes = 8, tile = [150], order = [0], grain = 1, sort>} {
      %i = grad.argsort %x dim 0 descending : tensor<150xf32> -> tensor<150xi64>
      exec.yield %i : tensor<150xi64> })",
              0, nullptr, [=](std::vector<HostTensor> &operands) {
                for (int64_t i = 0; i < operands[0].size(); ++i)
                  operands[0].setFloat(i, -infinity);
              });
}

} // namespace
