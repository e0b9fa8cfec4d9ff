// Compares a kernel on fewer rows with the evaluated kernel of that size.
#include "test/unit/compiler/codegen/FewerRows.h"
#include "test/unit/compiler/codegen/KernelRunner.h"
#include "test/unit/compiler/codegen/RowsTesting.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace gradc::test;
using namespace mlir;

void gradc::test::expectRows(const std::string &text, const std::string &attributes,
                             int64_t largest, std::vector<int64_t> counts, double tolerance,
                             char behind, const mlir::exec::Level *native) {
  constexpr char nan = char(0xff); // in every byte of a float
  KernelRunner many(sized(text, largest, attributes), native);
  ASSERT_TRUE(many.isReady()) << text;
  std::vector<HostTensor> wide = many.randomOperands(1);
  for (int64_t rows : counts) {
    SCOPED_TRACE(std::to_string(rows) + " rows");
    KernelRunner few(sized(text, rows, ""));
    ASSERT_TRUE(few.isReady());
    std::vector<HostTensor> operands = few.randomOperands(unsigned(rows)), withNans, withOthers;
    for (auto [operand, type] : llvm::zip_equal(operands, wide)) {
      withNans.push_back(spread(operand, type.getType(), nan));
      withOthers.push_back(spread(operand, type.getType(), 0x11));
    }
    int64_t units = many.units(rows);
    std::vector<std::pair<int64_t, int64_t>> backwards;
    for (int64_t u = units - 1; u >= 0; --u)
      backwards.push_back({u, u + 1});
    auto results = many.run(withNans, {{0, units}}, rows);
    auto again = many.run(withOthers, backwards, rows);
    auto expected = few.evaluate(operands);
    for (size_t r = 0; r < results.size(); ++r) {
      std::vector<bool> isRow(results[r].size());
      int64_t width = grad::elementBytes(results[r].getElementType());
      forEachShared(expected[r], results[r], [&](int64_t from, int64_t to) {
        isRow[to] = true;
        double e = expected[r].getFloat(from), found = results[r].getFloat(to);
        ASSERT_NEAR(found, e, tolerance * std::max(1.0, std::abs(e))) << "element " << from;
        ASSERT_EQ(std::memcmp(results[r].bytes().data() + to * width,
                              again[r].bytes().data() + to * width, width),
                  0)
            << "what is behind the rows, or who computes a unit, changes element " << from;
      });
      char past = many.overwritten()[r] < operands.size() ? nan : behind;
      for (int64_t i = 0; i < results[r].size(); ++i)
        ASSERT_TRUE(isRow[i] || results[r].bytes()[i * width] == past)
            << "element " << i << " behind the rows was written";
    }
  }
}
