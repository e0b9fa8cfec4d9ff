// Indices that count along dims: their form, and the nodes whose rows stay rows because of it.
#include "compiler/import/onnx/ops/LinearIndex.h"
#include "dialects/grad/Grad.h"
#include "test/unit/compiler/import/GraphText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir::grad;
using namespace gradc;
using namespace gradc::graph_text;

namespace {

class LinearIndexTest : public GraphTextTest {
protected:
  /// The value that a block of ops ends with.
  mlir::Value parse(const std::string &ops) {
    context.loadDialect<GradDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(ops, &context);
    EXPECT_TRUE(module) << everything();
    return module->getBody()->back().getResult(0);
  }

  /// The value that an entry for 8 rows returns, whose ops read `%x` f32 [8, 4] and `%n`, i64 [4],
  /// the number of its rows plus `more`.
  mlir::Value parseEntry(const std::string &ops, const std::string &type, const char *more) {
    context.loadDialect<GradDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @forward(%x: tensor<8x4xf32>) -> " + type +
            " attributes {grad.batch = 8 : i64} {\n"
            "%count = grad.count %x dims [0] : tensor<8x4xf32>\n"
            "%rows = grad.cast %count : tensor<f32> -> tensor<i64>\n"
            "%more = grad.constant dense<" +
            more +
            "> : tensor<i64>\n"
            "%sum = grad.add %rows, %more : tensor<i64>\n"
            "%n = grad.broadcast %sum dims [] : tensor<i64> -> tensor<4xi64>\n" +
            ops + "return %result : " + type + "\n}",
        &context);
    EXPECT_TRUE(module) << everything();
    auto entry = module->lookupSymbol<mlir::func::FuncOp>("forward");
    return entry.front().getTerminator()->getOperand(0);
  }

  /// The dims of the only op of one kind.
  template <typename Op> llvm::SmallVector<int64_t> dimsOf(const OneNode &one) {
    auto imported = import(one);
    EXPECT_TRUE(mlir::succeeded(imported)) << everything();
    llvm::SmallVector<int64_t> dims;
    if (mlir::succeeded(imported))
      imported->module.get()->walk(
          [&](Op op) { dims.assign(op.getDims().begin(), op.getDims().end()); });
    return dims;
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
};

const std::string rows = "%c = grad.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>\n"
                         "%r = grad.reshape %c : tensor<4x1xi64> -> tensor<4xi64>\n"
                         "%b = grad.broadcast %r dims [0] : tensor<4xi64> -> tensor<4x3xi64>\n";
const std::string scaled = rows + "%s = grad.constant dense<3> : tensor<4x3xi64>\n"
                                  "%m = grad.mul %s, %b : tensor<4x3xi64>\n";

TEST_F(LinearIndexTest, FollowsBroadcastsReshapesAndSums) {
  mlir::Value index = parse(rows);
  EXPECT_EQ(dimCountedBy(index, 4, 0), 0);
  EXPECT_EQ(dimCountedBy(index, 4, 1), std::nullopt) << "another place is this dim";
  EXPECT_EQ(dimCountedBy(index, 5, 0), std::nullopt) << "it chooses from more elements";
  EXPECT_FALSE(countsInOrder(index, 12));
  index = parse(scaled + "%i = grad.iota dim 1 : tensor<4x3xi64>\n"
                         "%a = grad.add %m, %i : tensor<4x3xi64>\n");
  std::optional<LinearIndex> linear = findLinear(index);
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->start, 0);
  EXPECT_EQ(linear->strides, (llvm::SmallVector<int64_t>{3, 1}));
  EXPECT_TRUE(countsInOrder(index, 12));
  EXPECT_FALSE(countsInOrder(index, 13));
  EXPECT_EQ(dimCountedBy(index, 4, 0), std::nullopt);
}

TEST_F(LinearIndexTest, OtherIndicesHaveNoForm) {
  EXPECT_FALSE(findLinear(parse("%c = grad.constant dense<[0, 1, 3]> : tensor<3xi64>")));
  EXPECT_FALSE(findLinear(parse("%c = grad.constant dense<0.5> : tensor<f32>")));
  EXPECT_FALSE(findLinear(parse(rows + "%x = grad.mul %b, %b : tensor<4x3xi64>")));
  EXPECT_FALSE(findLinear(parse("%c = grad.constant dense<[0, 1099511627776]> : tensor<2xi64>")));
  mlir::Value late = parse("%c = grad.constant dense<[1, 2, 3]> : tensor<3xi64>");
  EXPECT_TRUE(findLinear(late));
  EXPECT_EQ(dimCountedBy(late, 3, 0), std::nullopt);
}

// In a run of 5 rows, arange(4) + rows - 8 begins at -3.
TEST_F(LinearIndexTest, CountsOfRowsAreNoConstants) {
  const std::string count = "%i = grad.iota dim 0 : tensor<4xi64>\n"
                            "%result = grad.add %i, %n : tensor<4xi64>\n";
  mlir::Value index = parseEntry(count, "tensor<4xi64>", "-8");
  EXPECT_EQ(findLinear(index)->start, 0);
  EXPECT_EQ(findLinear(index, RunRows::oneLess)->start, -1);
  EXPECT_EQ(dimCountedBy(index, 4, 0), std::nullopt);
  EXPECT_FALSE(countsInOrder(index, 4));
  // A stride of rows - 7 is 1 in a run of 8 rows alone.
  const std::string scale = "%i = grad.iota dim 0 : tensor<4xi64>\n"
                            "%result = grad.mul %i, %n : tensor<4xi64>\n";
  index = parseEntry(scale, "tensor<4xi64>", "-7");
  EXPECT_EQ(findLinear(index)->strides, (llvm::SmallVector<int64_t>{1}));
  EXPECT_EQ(dimCountedBy(index, 4, 0), std::nullopt);
  EXPECT_FALSE(countsInOrder(index, 4));
}

// x.T.flatten()[i * rows + j] is x.T in a run of any number of rows.
TEST_F(LinearIndexTest, AStrideMayBeTheRows) {
  mlir::Value index =
      parseEntry("%i = grad.iota dim 0 : tensor<4xi64>\n"
                 "%m = grad.mul %i, %n : tensor<4xi64>\n"
                 "%w = grad.broadcast %m dims [0] : tensor<4xi64> -> tensor<4x8xi64>\n"
                 "%j = grad.iota dim 1 : tensor<4x8xi64>\n"
                 "%result = grad.add %w, %j : tensor<4x8xi64>\n",
                 "tensor<4x8xi64>", "0");
  EXPECT_EQ(findLinear(index)->strides, (llvm::SmallVector<int64_t>{8, 1}));
  EXPECT_EQ(findLinear(index, RunRows::oneLess)->strides, (llvm::SmallVector<int64_t>{7, 1}));
  EXPECT_TRUE(countsInOrder(index, 32));
}

std::string ints(const char *name, const char *dims, const char *values) {
  return std::string("initializer { name: '") + name + "' data_type: 7 dims: [" + dims +
         "] int64_data: [" + values + "] } ";
}
std::string along(const char *axis) {
  return std::string("attribute { name: 'axis' type: 2 i: ") + axis + " } ";
}

TEST_F(LinearIndexTest, AMaskReadByItsNumbersIsTheMask) {
  OneNode one =
      model(tensor("input", "x", "2x3") + ints("rows", "2, 1, 1, 1", "0, 1") +
            ints("columns", "1, 1, 3, 1", "0, 1, 2") + ints("shape", "4", "2, 1, 3, 1") +
            node("Expand", "rows shape", "r") + node("Expand", "columns shape", "c") +
            node("Concat", "r c", "i", along("3")) + node("GatherND", "x i", "y") + output);
  one.data = {{5, 6, 7, 8, 9, 10}};
  expect(one, {2, 1, 3}, {5, 6, 7, 8, 9, 10});
  EXPECT_EQ(count<GatherOp>(one), 0);
  EXPECT_EQ(run(one).size(), 1u) << "no run checks these indices";
}

TEST_F(LinearIndexTest, AFlatMaskReadInOrderIsTheMask) {
  OneNode one =
      model(tensor("input", "x", "2x3") + ints("flat", "1", "-1") + ints("rows", "2, 1", "0, 3") +
            ints("columns", "1, 3", "0, 1, 2") + node("Reshape", "x flat", "f") +
            node("Add", "rows columns", "i") + node("Gather", "f i", "y") + output);
  one.data = {{5, 6, 7, 8, 9, 10}};
  expect(one, {2, 3}, {5, 6, 7, 8, 9, 10});
  EXPECT_EQ(count<GatherOp>(one), 0);
}

// x[arange(2), j]
const std::string pairs = tensor("input", "x", "2x3") + tensor("input", "j", "2x1", 7) +
                          ints("rows", "2, 1", "0, 1") + node("Concat", "rows j", "i", along("1"));

TEST_F(LinearIndexTest, NumberedRowsAreADim) {
  OneNode one = model(pairs + node("GatherND", "x i", "y") + output);
  one.data = {{5, 6, 7, 8, 9, 10}, {2, 0}};
  expect(one, {2}, {7, 8});
  EXPECT_EQ(dimsOf<GatherOp>(one), (llvm::SmallVector<int64_t>{0, -1}));
}

/// x.flatten(0, 1)[3 * arange(2) + j.argmax(1)], which may name an element of another row if j has
/// more than three columns.
std::string flat(const char *scores) {
  return tensor("input", "x", "2x3x2") + tensor("input", "j", scores) + ints("shape", "2", "6, 2") +
         ints("starts", "2", "0, 3") + node("Reshape", "x shape", "elements") +
         node("ArgMax", "j", "largest",
              along("1") + "attribute { name: 'keepdims' type: 2 i: 0 } ") +
         node("Add", "largest starts", "i") + node("Gather", "elements i", "y") + output;
}

TEST_F(LinearIndexTest, ElementsOfNumberedRowsStayInThem) {
  OneNode one = model(flat("2x3"));
  one.data = {waveOf(12, 0), {1, 2, 3, 6, 5, 4}};
  const Floats &x = one.data[0];
  expect(one, {2, 2}, {x[4], x[5], x[6], x[7]});
  EXPECT_EQ(dimsOf<GatherOp>(one), (llvm::SmallVector<int64_t>{0, -1, 1}));
  EXPECT_EQ(run(one).size(), 1u) << "no run checks these indices";

  one = model(flat("2x4"));
  one.data = {waveOf(12, 0), {1, 2, 3, 4, 8, 7, 6, 5}};
  expect(one, {2, 2}, {one.data[0][6], one.data[0][7], one.data[0][6], one.data[0][7]});
  EXPECT_EQ(dimsOf<GatherOp>(one), (llvm::SmallVector<int64_t>{-1, 1}));
}

TEST_F(LinearIndexTest, UpdatesOfNumberedRowsStayInThem) {
  OneNode one = model(pairs + tensor("input", "u", "2") + node("ScatterND", "x i u", "y") + output);
  one.data = {{5, 6, 7, 8, 9, 10}, {2, 0}, {1, 2}};
  expect(one, {2, 3}, {5, 6, 1, 2, 9, 10});
  EXPECT_EQ(dimsOf<ScatterOp>(one), (llvm::SmallVector<int64_t>{0, -1}));
}

TEST_F(LinearIndexTest, AScatterKeepsAnIndex) {
  OneNode one = model(tensor("input", "x", "2x2") + tensor("input", "u", "2x2") +
                      ints("i", "2, 1", "0, 1") + node("ScatterND", "x i u", "y") + output);
  one.data = {{5, 6, 7, 8}, {1, 2, 3, 4}};
  expect(one, {2, 2}, {1, 2, 3, 4});
}

} // namespace
