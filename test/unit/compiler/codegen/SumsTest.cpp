// Long f32 sums: their error does not grow with their length, whatever form a reduction has.
#include "test/unit/compiler/codegen/KernelRunner.h"
#include "test/unit/compiler/codegen/KernelText.h"
#include "test/unit/compiler/codegen/RowsTesting.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using llvm::formatv;

namespace {

/// The evaluator adds in f64. One accumulator would be wrong by 1e-5 to 1e-3.
constexpr double tolerance = 2e-6;

/// Expects right sums of squares, which are positive, and of equal terms, which are all rounded in
/// the same direction.
void expectRightSums(const std::vector<int64_t> &shape, const std::string &dims,
                     const std::vector<int64_t> &result, const std::string &schedule,
                     const std::string &element = "f32") {
  std::string wide = element == "f32" ? "%x" : "%w";
  std::string cast =
      formatv("%w = grad.cast %x : {0} -> {1}", tensor(shape, element), tensor(shape));
  std::string text = formatv(R"(exec.kernel @k(%x: {0}) attributes {{{1}} {{
    {2}
    %q = grad.mul {3}, {3} : {4}
    %s = grad.reduce_sum %q dims [{5}] : {4}
    exec.yield %s : {6} })",
                             tensor(shape, element), schedule, wide == "%x" ? "" : cast, wide,
                             tensor(shape), dims, tensor(result));
  expectRight(text, tolerance);
  expectRight(text, tolerance, /*native=*/nullptr, [](std::vector<HostTensor> &operands) {
    constexpr double term = 0.7;
    for (int64_t i = 0; i < operands[0].size(); ++i)
      operands[0].setFloat(i, term);
  });
}

// Vectors run along the last dim, of which a short one has fewer elements than a vector.
TEST(LongSums, OfAll) {
  for (const char *element : {"f32", "bf16"}) {
    expectRightSums({300001}, "0", {}, schedule(8, "", ""), element);
    expectRightSums({300, 401, 3}, "0, 1, 2", {}, schedule(8, "", ""), element);
    expectRightSums({70, 41, 5, 21}, "0, 1, 2, 3", {}, schedule(8, "", ""), element);
  }
}

TEST(LongSums, OfRows) { expectRightSums({3, 200003}, "1", {3}, schedule(8, "8", "0")); }

TEST(LongSums, OfColumns) {
  for (int64_t columns : {1, 4, 21})
    expectRightSums({100003, columns}, "0", {columns}, schedule(8, "16", "0"));
  expectRightSums({50, 70, 60, 5}, "0, 1, 2", {5}, schedule(8, "8", "0"));
  expectRightSums({3, 60000, 5}, "1", {3, 5}, schedule(8, "2, 8", "0, 1"));
}

// Lanes run across rows of which the elements of a column are apart: loads are transposed.
TEST(LongSums, OfStridedColumns) {
  expectRight(formatv(R"(exec.kernel @k(%x: {0}) attributes {{{1}} {{
    %q = grad.mul %x, %x : {0}
    %s = grad.reduce_sum %q dims [1] : {0}
    %t = grad.transpose %s permutation [1, 0] : {2}
    exec.yield %t : {3} })",
                      tensor({16, 5003, 3}), schedule(8, "1, 8", "0, 1"), tensor({16, 3}),
                      tensor({3, 16})),
              tolerance);
}

// What is added to what depends on neither the largest number of rows nor those of the run.
TEST(LongSums, OfFewerRows) {
  std::string text = R"(exec.kernel @k(%x: tensor<@1@x21xf32>) attributes {
    schedule = #exec.schedule<lanes = 8, tile = [16], order = [0], grain = 1> @rows@} {
    %s = grad.reduce_sum %x dims [0] : tensor<@1@x21xf32>
    exec.yield %s : tensor<21xf32> })";
  constexpr int64_t largest = 5000;
  KernelRunner many(sized(text, largest, ", extents = [array<i64: 1, 0>], rows = array<i64: 0>"));
  ASSERT_TRUE(many.isReady());
  for (int64_t rows : {1, 64, 65, 1000, 4096, 4097}) {
    KernelRunner few(sized(text, rows, ""));
    ASSERT_TRUE(few.isReady());
    std::vector<HostTensor> operands = few.randomOperands(unsigned(rows));
    std::vector<HostTensor> spreadOut = {
        spread(operands[0], many.randomOperands(1)[0].getType(), char(0xff))};
    auto expected = few.run(operands, {{0, few.units()}});
    auto found = many.run(spreadOut, {{0, many.units(rows)}}, rows);
    EXPECT_EQ(found[0].bytes(), expected[0].bytes()) << rows << " rows";
  }
}

} // namespace
