// Shorthands for building ops.
#include "dialects/Pch.h"

#include "dialects/grad/Build.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::grad;

namespace {

class BuildTest : public testing::Test {
protected:
  BuildTest() {
    context.loadDialect<GradDialect>();
    builder.setInsertionPointToEnd(&block);
  }

  /// A constant of the numbers 0, 1, 2, ...
  Expr count(ArrayRef<int64_t> shape) {
    HostTensor value(RankedTensorType::get(shape, builder.getI64Type()));
    for (int64_t i = 0; i < value.size(); ++i)
      value.setInt(i, i);
    return {builder, builder.getUnknownLoc(), constant(builder, builder.getUnknownLoc(), value)};
  }
  void expect(Expr x, ArrayRef<int64_t> shape, ArrayRef<int64_t> numbers) {
    EXPECT_EQ(x.shape(), shape);
    auto known = x.get().getDefiningOp<ConstantOp>();
    ASSERT_TRUE(known);
    HostTensor value(known.getValue());
    ASSERT_EQ(value.size(), int64_t(numbers.size()));
    for (auto [i, number] : llvm::enumerate(numbers))
      EXPECT_EQ(value.getInt(int64_t(i)), number) << i;
  }

  MLIRContext context;
  Block block;
  OpBuilder builder{&context};
};

TEST_F(BuildTest, SlicesOneDim) {
  Expr x = count({2, 4});
  expect(x.slice(1, 1, 2), {2, 2}, {1, 2, 5, 6});
  expect(x.slice(0, 1, 1), {1, 4}, {4, 5, 6, 7});
  expect(x.slice(1, 0, 2, 2), {2, 2}, {0, 2, 4, 6});
  expect(x.slice(1, 3, 4, -1), {2, 4}, {3, 2, 1, 0, 7, 6, 5, 4});
}

TEST_F(BuildTest, ConcatenatesParts) {
  Expr x = count({2, 2}), y = count({2, 1});
  auto join = [&](ArrayRef<Value> parts) {
    return x.with(concatenate(builder, x.getLoc(), parts, /*dim=*/1));
  };
  expect(join({x, y}), {2, 3}, {0, 1, 0, 2, 3, 1});
  EXPECT_EQ(join({x}).get(), x.get());
}

} // namespace
