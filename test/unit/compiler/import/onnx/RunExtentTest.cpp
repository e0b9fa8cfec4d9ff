// Nodes that take values whose extent only a run knows: their elements, extents, and errors.
#include "test/unit/compiler/import/GraphText.h"

using namespace gradc;
using namespace gradc::graph_text;

namespace {

std::string ints(const char *name, std::initializer_list<int64_t> values) {
  std::string text = std::string("initializer { name: '") + name +
                     "' data_type: 7 dims: " + std::to_string(values.size());
  for (int64_t value : values)
    text += " int64_data: " + std::to_string(value);
  return text + " } ";
}

std::string integer(const char *name, int value) {
  return std::string("attribute { name: '") + name + "' type: 2 i: " + std::to_string(value) +
         " } ";
}

/// k = the positions in x [6] of numbers above 0, and v = these numbers: both are [K].
const std::string picked = tensor("input", "x", "6") + number("none", "f32", "0") +
                           number("three", "f32", "3") + ints("first", {0}) + ints("second", {1}) +
                           node("Greater", "x none", "above") + node("NonZero", "above", "p") +
                           node("Squeeze", "p first", "k") + node("Gather", "x k", "v");

/// Of which K is 4.
const Floats numbers{1, -1, 2, -3, 4, 5};

class RunExtentTest : public GraphTextTest {
protected:
  /// Expects `count` elements along `dim` of y in a run, and which ones these are.
  void expectElements(const std::string &nodes, int64_t dim, int64_t count, const Floats &expected,
                      const std::vector<Floats> &inputs = {numbers}) {
    OneNode one = model(picked + nodes + output);
    one.data = inputs;
    auto results = run(one);
    ASSERT_GT(results.size(), 1u);
    EXPECT_EQ(results[1].getInt(0), count);
    int64_t size = results[0].getShape()[size_t(dim)];
    int64_t inner = llvm::product_of(results[0].getShape().drop_front(size_t(dim) + 1));
    Floats found;
    for (int64_t i = 0; i < results[0].size(); ++i)
      if (i / inner % size < count)
        found.push_back(float(results[0].getFloat(i)));
    ASSERT_EQ(found.size(), expected.size());
    for (auto [i, value] : llvm::enumerate(expected))
      EXPECT_NEAR(found[i], value, 1e-5) << "element " << i;
  }

  /// Expects y whole, without an extent: the other results check indices of the nodes.
  void expectWhole(const std::string &nodes, const OneNode::Shape &shape, const Floats &expected,
                   const std::vector<Floats> &inputs = {numbers}, size_t checks = 1) {
    OneNode one = model(picked + nodes + output);
    one.data = inputs;
    EXPECT_EQ(run(one).size(), 1 + checks);
    expect(one, shape, expected);
  }

  void expectRefused(const std::string &nodes, llvm::StringRef what) {
    expectError(picked + nodes + output, what);
  }
};

// The gathered numbers behind v's are x[0], which is below three, too.
TEST_F(RunExtentTest, TrueElementsAmongThoseOfARun) {
  expectElements(node("Less", "v three", "low") + node("NonZero", "low", "y"), 1, 2, {0, 1});
  expectElements(tensor("input", "t", "6") + node("Less", "v three", "low") +
                     node("Compress", "t low", "y"),
                 0, 2, {7, 8}, {numbers, {7, 8, 9, 10, 11, 12}});
  expectElements(node("Greater", "v three", "high") + node("Compress", "v high", "y"), 0, 2,
                 {4, 5});
}

TEST_F(RunExtentTest, CompressKeepsOneExtent) {
  expectRefused(tensor("input", "keep", "2", 9) + node("Unsqueeze", "v first", "row") +
                    node("Concat", "row row", "rows", integer("axis", 0)) +
                    node("Compress", "rows keep", "y", integer("axis", 0)),
                "Compress cannot take operand 0 (\"rows\", f32 [2, 6]): only a run knows the "
                "extent of dim 1, and how many slices of another are kept");
}

/// n = [K], and m = the number of those below three.
const std::string lengths = node("Shape", "v", "n") + node("Less", "v three", "low") +
                            node("NonZero", "low", "q") + node("Squeeze", "q first", "few") +
                            node("Shape", "few", "m") + ints("two", {2});

TEST_F(RunExtentTest, SlicesEndWhereARunSays) {
  auto slice = [&](const char *operands) { return lengths + node("Slice", operands, "y"); };
  expectElements(slice("x first n first"), 0, 4, {1, -1, 2, -3});
  expectElements(slice("v first n first"), 0, 4, {1, 2, 4, 5});
  expectElements(slice("v first m first"), 0, 2, {1, 2});
  expectElements(slice("x first m"), 0, 2, {1, -1});
  expectElements(tensor("input", "t", "3") + slice("t first n first"), 0, 3, {7, 8, 9},
                 {numbers, {7, 8, 9}});
  expectRefused(slice("x second n first"),
                "Slice expected the first elements of dim 0 of operand 0 (\"x\", f32 [6]) alone, "
                "because only a run knows their end");
  expectRefused(node("Unsqueeze", "v second", "column") +
                    node("Concat", "column column", "pairs", integer("axis", 1)) +
                    slice("pairs first n second"),
                "Slice expected the first elements of dim 1 of operand 0 (\"pairs\", f32 [6, 2]) "
                "alone, because only a run knows their end");
}

TEST_F(RunExtentTest, ShapesOfARunExpand) {
  const std::string shape = lengths + node("Concat", "n two", "s", integer("axis", 0));
  expectElements(shape + node("Unsqueeze", "v second", "c") + node("Expand", "c s", "y"), 0, 4,
                 {1, 1, 2, 2, 4, 4, 5, 5});
  expectElements(tensor("input", "t", "2") + shape + node("Expand", "t s", "y"), 0, 4,
                 {7, 8, 7, 8, 7, 8, 7, 8}, {numbers, {7, 8}});
  expectElements(ints("rows", {2, 1}) + node("Expand", "v rows", "y"), 1, 4,
                 {1, 2, 4, 5, 1, 2, 4, 5});
  expectRefused(lengths + node("Expand", "x n", "y"),
                "Expand expected dim 0 of the result, whose extent only a run knows, to follow "
                "one of operand 0 (\"x\", f32 [6]) and operand 1 (\"n\", i64 [1]), found that "
                "both determine it");
  expectRefused(ints("six", {6}) + node("Expand", "v six", "y"), "found that both determine it");
  expectRefused(lengths + node("Expand", "v m", "y"), "found that both determine it");
}

// Of results y and z, only y has an extent, which is the third result.
TEST_F(RunExtentTest, OperandsKeepTheirExtents) {
  const std::string nodes = tensor("input", "x", "1") + ints("first", {0}) +
                            node("NonZero", "x", "p") + node("Squeeze", "p first", "k") +
                            node("Shape", "k", "n") + node("Identity", "x", "z") + output +
                            "output { name: 'z' } ";
  for (const std::string &last : {node("Expand", "x n", "y"), node("Slice", "x first n", "y")}) {
    OneNode one = model(nodes + last);
    one.data = {{3}};
    auto results = run(one);
    ASSERT_EQ(results.size(), 3u) << last;
    EXPECT_EQ(results[2].getInt(0), 1);
  }
}

/// c = v as a column, r = v as a row.
const std::string vectors = node("Unsqueeze", "v second", "c") + node("Unsqueeze", "v first", "r");

// The numbers behind v's are 1, which a sum must not include.
TEST_F(RunExtentTest, ProductsTakeRowsColumnsAndDepths) {
  const std::string transposed = integer("transB", 1);
  expectElements(vectors + tensor("input", "w", "1x2") + tensor("input", "b", "2") +
                     node("Gemm", "c w b", "y"),
                 0, 4, {11, 102, 21, 202, 41, 402, 51, 502}, {numbers, {10, 100}, {1, 2}});
  expectElements(vectors + tensor("input", "u", "2x1") + node("Gemm", "u c", "y", transposed), 1, 4,
                 {1, 2, 4, 5, 2, 4, 8, 10}, {numbers, {1, 2}});
  expectElements(vectors + tensor("input", "u", "2x1") + node("MatMul", "u r", "y"), 1, 4,
                 {1, 2, 4, 5, 2, 4, 8, 10}, {numbers, {1, 2}});
  expectElements(vectors + tensor("input", "w", "1x2") + node("MatMul", "c w", "y"), 0, 4,
                 {10, 100, 20, 200, 40, 400, 50, 500}, {numbers, {10, 100}});
  expectWhole(vectors + node("Gemm", "r c", "y"), {1, 1}, {46});
  expectWhole(node("MatMul", "v v", "y"), {}, {46});
}

TEST_F(RunExtentTest, ProductsTakeBatches) {
  const std::string batch =
      ints("back", {1, 2}) + node("Unsqueeze", "v back", "d") + tensor("input", "w", "1x2");
  expectElements(batch + node("MatMul", "d w", "y"), 0, 4, {10, 100, 20, 200, 40, 400, 50, 500},
                 {numbers, {10, 100}});
  expectElements(batch + node("Squeeze", "w first", "s") + node("Unsqueeze", "s second", "t") +
                     node("MatMul", "t d", "y"),
                 0, 4, {10, 100, 20, 200, 40, 400, 50, 500}, {numbers, {10, 100}});
  expectElements(batch + node("Reshape", "w two", "s") + node("Slice", "s first second", "t") +
                     ints("two", {2}) + node("MatMul", "t d", "y"),
                 0, 4, {10, 20, 40, 50}, {numbers, {10, 100}});
}

TEST_F(RunExtentTest, ProductsHaveOneExtent) {
  expectRefused(vectors + node("MatMul", "c r", "y"),
                "MatMul expected one extent that only a run knows, found another of operand 1 "
                "(\"r\", f32 [1, 6])");
  expectRefused(node("MatMul", "v x", "y"),
                "MatMul expected size 1 in dim 0 of operand 1 (\"x\", f32 [6]), because only a "
                "run knows the extent of another operand in that dim");
  expectRefused(vectors + node("Unsqueeze", "x second", "b") + tensor("input", "w", "1x1") +
                    node("Gemm", "c w b", "y"),
                "Gemm expected size 1 in dim 0 of operand 2 (\"b\", f32 [6, 1])");
}

TEST_F(RunExtentTest, SoftmaxIsOverTheElementsOfARun) {
  expectElements(node("Softmax", "v", "y", integer("axis", 0)), 0, 4,
                 {0.0127547f, 0.0346711f, 0.2561867f, 0.6963874f});
  expectElements(node("LogSoftmax", "v", "y", integer("axis", 0)), 0, 4,
                 {-4.361849f, -3.361849f, -1.361849f, -0.361849f});
  expectElements(vectors + node("Softmax", "c", "y", integer("axis", 1)), 0, 4, {1, 1, 1, 1});
}

TEST_F(RunExtentTest, NormalizationsOfRows) {
  const std::string rows = vectors + number("unit", "f32", "1") + node("Mul", "c three", "d") +
                           node("Concat", "c d", "s", integer("axis", 1));
  const Floats expected{-1, 1, -1, 1, -1, 1, -1, 1};
  expectElements(rows + node("LayerNormalization", "s unit", "y"), 0, 4, expected);
  expectRefused(node("LayerNormalization", "v three", "y", integer("axis", 0)),
                "LayerNormalization cannot take operand 0 (\"v\", f32 [6]): only a run knows the "
                "extent of dim 0");
  expectRefused(node("SimplifiedLayerNormalization", "v three", "y", integer("axis", 0)),
                "SimplifiedLayerNormalization cannot take operand 0 (\"v\", f32 [6]): only a run "
                "knows the extent of dim 0");
}

TEST_F(RunExtentTest, LossesOfRows) {
  const std::string scores =
      vectors + node("Concat", "c c", "s", integer("axis", 1)) + node("Sub", "k k", "labels");
  auto reduction = [](const std::string &how) {
    return "attribute { name: 'reduction' type: 3 s: '" + how + "' } ";
  };
  const float each = 0.6931472f; // log 2
  expectElements(scores + node("SoftmaxCrossEntropyLoss", "s labels", "y", reduction("none")), 0, 4,
                 {each, each, each, each});
  expectWhole(scores + node("SoftmaxCrossEntropyLoss", "s labels", "y", reduction("sum")), {},
              {4 * each});
  expectWhole(scores + node("SoftmaxCrossEntropyLoss", "s labels", "y", reduction("mean")), {},
              {each});
  expectRefused(
      scores + tensor("input", "all", "6", 7) + node("SoftmaxCrossEntropyLoss", "s all", "y"),
      "SoftmaxCrossEntropyLoss expected scores and labels with the same extent that only "
      "a run knows, found operand 0 (\"s\", f32 [6, 2]) and operand 1 (\"all\", i64 [6])");
  expectRefused(vectors + tensor("input", "all", "1", 7) +
                    node("SoftmaxCrossEntropyLoss", "r all", "y"),
                "SoftmaxCrossEntropyLoss cannot take operand 0 (\"r\", f32 [1, 6]): only a run "
                "knows the extent of dim 1");
}

TEST_F(RunExtentTest, PicturesAreRows) {
  const std::string pictures = tensor("input", "t", "6x1x2x2") + node("Gather", "t k", "g"),
                    two = "attribute { name: 'kernel_shape' type: 7 ints: 2 ints: 2 } ";
  Floats values(24);
  std::iota(values.begin(), values.end(), 0.0f);
  expectElements(pictures + tensor("input", "w", "1x1x2x2") + node("Conv", "g w", "y"), 0, 4,
                 {6, 38, 70, 86}, {numbers, values, {1, 1, 1, 1}});
  expectElements(pictures + node("MaxPool", "g", "y", two), 0, 4, {3, 11, 19, 23},
                 {numbers, values});
  expectRefused(pictures + node("Conv", "t g", "y"),
                "Conv cannot take operand 1 (\"g\", f32 [6, 1, 2, 2]): only a run knows the extent "
                "of dim 0");
  expectRefused(vectors + ints("whole", {1, 1, 1, -1}) + node("Reshape", "r whole", "wide") +
                    node("GlobalMaxPool", "wide", "y"),
                "GlobalMaxPool cannot take operand 0 (\"wide\", f32 [1, 1, 1, 6]): only a run "
                "knows the extent of dim 3");
}

TEST_F(RunExtentTest, ElementsAtPositionsOfARun) {
  const std::string data = tensor("input", "t", "6"), negative = ints("last", {-1}),
                    adding = "attribute { name: 'reduction' type: 3 s: 'add' } ";
  const std::vector<Floats> inputs{numbers, {10, 11, 12, 13, 14, 15}};
  expectWhole(data + node("ScatterElements", "t k v", "y"), {6}, {1, 11, 2, 13, 4, 5}, inputs, 2);
  expectWhole(data + node("ScatterElements", "t k v", "y", adding), {6}, {11, 11, 14, 13, 18, 20},
              inputs, 2);
  expectWhole(data + node("Unsqueeze", "k second", "i") + node("ScatterND", "t i v", "y"), {6},
              {1, 11, 2, 13, 4, 5}, inputs, 2);
  expectElements(lengths + node("Gather", "v few", "w") + node("Neg", "w", "u") +
                     node("ScatterElements", "v few u", "y"),
                 0, 4, {-1, -2, 4, 5});
  expectElements(negative + node("Unsqueeze", "three first", "u") +
                     node("ScatterElements", "v last u", "y"),
                 0, 4, {1, 2, 4, 3});
  expectElements(node("GatherElements", "x k", "y"), 0, 4, {1, 2, 4, 5});
  expectElements(vectors + node("Concat", "c c", "pairs", integer("axis", 1)) +
                     node("Unsqueeze", "k second", "i") + node("Sub", "i i", "zeros") +
                     node("GatherElements", "pairs zeros", "y", integer("axis", 1)),
                 0, 4, {1, 2, 4, 5});
}

// Rows of [2, K] are replaced and added to by rows of as many elements.
TEST_F(RunExtentTest, UpdatesMayHaveTheExtentOfTheData) {
  const std::string rows = node("Unsqueeze", "v first", "row") + node("Neg", "row", "negative") +
                           node("Concat", "row negative", "rows", integer("axis", 0)) +
                           "initializer { name: 'i' data_type: 7 dims: [1, 1] int64_data: 1 } ",
                    adding = "attribute { name: 'reduction' type: 3 s: 'add' } ";
  expectElements(rows + node("ScatterND", "rows i row", "y"), 1, 4, {1, 2, 4, 5, 1, 2, 4, 5});
  expectElements(rows + node("ScatterND", "rows i row", "y", adding), 1, 4,
                 {1, 2, 4, 5, 0, 0, 0, 0});
  expectRefused(
      rows + tensor("input", "t", "2x6") + node("ScatterND", "t i row", "y"),
      "ScatterND expected indices and updates with the same extent that only a run "
      "knows, found operand 1 (initializer \"i\", i64 [1, 1]) and operand 2 (\"row\", f32 [1, 6])");
}

// Where Expand repeats the index of a row for its elements, the row has one index, so that kernels
// move rows.
TEST_F(RunExtentTest, RowsHaveOneIndexEach) {
  OneNode one = model(picked + lengths + node("Concat", "n two", "s", integer("axis", 0)) +
                      node("Unsqueeze", "k second", "column") + node("Expand", "column s", "i") +
                      tensor("input", "t", "6x2") + node("Gather", "t k", "u") +
                      node("Neg", "u", "w") + node("ScatterElements", "t i w", "y") + output);
  one.data = {numbers, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  expect(one, {6, 2}, {0, -1, 2, 3, -4, -5, 6, 7, -8, -9, -10, -11});
  auto imported = import(one);
  ASSERT_TRUE(mlir::succeeded(imported));
  unsigned count = 0;
  imported->module->walk([&](mlir::grad::ScatterOp op) {
    ++count;
    EXPECT_TRUE(op.getIndices()[0].getDefiningOp<mlir::grad::BroadcastOp>());
  });
  EXPECT_EQ(count, 1u);
}

TEST_F(RunExtentTest, UpdatesAreAsManyAsIndices) {
  expectRefused(node("ScatterElements", "x k x", "y"),
                "ScatterElements expected indices and updates with the same extent that only a run "
                "knows, found operand 1 (\"k\", i64 [6]) and operand 2 (\"x\", f32 [6])");
  expectRefused(node("Unsqueeze", "first first", "i") + node("Unsqueeze", "three first", "u") +
                    node("ScatterND", "v i u", "y"),
                "ScatterND cannot take operand 0 (\"v\", f32 [6]): only a run knows the extent of "
                "dim 0");
  expectRefused(node("Reshape", "k as_row", "i") + ints("as_row", {1, -1}) +
                    tensor("input", "t", "2x2x2x2x2x2") + node("Unsqueeze", "three first", "u") +
                    node("ScatterND", "t i u", "y"),
                "ScatterND cannot take operand 1 (\"i\", i64 [1, 6]): only a run knows the extent "
                "of dim 1");
  expectRefused(vectors + ints("zero", {0}) + node("Unsqueeze", "zero second", "i") +
                    node("GatherElements", "c i", "y", integer("axis", 1)),
                "GatherElements cannot take operand 0 (\"c\", f32 [6, 1]): only a run knows the "
                "extent of dim 0");
}

// t[x > 0] = e, and = e[x > 0]: PyTorch counts the mask of all elements, and that of the rows.
TEST_F(RunExtentTest, MasksAreCountedApart) {
  auto assigned = [&](const char *counted, const char *dims, const std::string &rows) {
    return picked + tensor("input", "t", "6x2") + tensor("input", "e", dims) + ints("two", {2}) +
           ints("all", {-1}) + ints("shape", {6, 2}) + node("Less", "x none", "below") +
           node("Unsqueeze", "above second", "column") + node("Expand", "column shape", "mask") +
           node("NonZero", "mask", "places") + node("Transpose", "places", "i") +
           node("Cast", counted, "ones", integer("to", 7)) + node("ReduceSum", "ones", "count") +
           node("Concat", "count two", "s", integer("axis", 0)) + rows +
           node("Reshape", "rows all", "u") + node("ScatterND", "t i u", "y") + output;
  };
  OneNode one = model(assigned("above", "2", node("Expand", "e s", "rows")));
  one.data = {numbers, Floats(12, 1), {7, 8}};
  expect(one, {6, 2}, {7, 8, 1, 1, 7, 8, 1, 1, 7, 8, 7, 8});
  one = model(assigned("above", "6x2",
                       node("Transpose", "p", "q") + node("GatherND", "e q", "chosen") +
                           node("Expand", "chosen s", "rows")));
  one.data = {numbers, Floats(12, 1), {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}};
  expect(one, {6, 2}, {2, 3, 1, 1, 6, 7, 1, 1, 10, 11, 12, 13});
  expectError(assigned("below", "2", node("Expand", "e s", "rows")),
              "ScatterND expected indices and updates with the same extent");
}

/// Regions around pixels; those in rows 1 and 3 are not picked.
const Floats regions{0, 0, 1, 1, 9, 9, 9, 9, 2, 1, 3, 2, 9, 9, 9, 9, 3, 3, 4, 4, 1, 0, 2, 1};

TEST_F(RunExtentTest, RegionsOfARun) {
  const std::string rois = tensor("input", "t", "1x1x4x4") + tensor("input", "table", "6x4") +
                           node("Gather", "table k", "rois") + node("Sub", "k k", "owners"),
                    options = integer("sampling_ratio", 1);
  Floats picture(16);
  std::iota(picture.begin(), picture.end(), 0.0f);
  expectElements(rois + node("RoiAlign", "t rois owners", "y", options), 0, 4, {0, 6, 15, 1},
                 {numbers, picture, regions});
  expectRefused(rois + ints("six", {0, 0, 0, 0, 0, 0}) +
                    node("RoiAlign", "t rois six", "y", options),
                "RoiAlign expected size 1 in dim 0 of operand 2 (initializer \"six\", i64 [6])");
  expectRefused(rois + tensor("input", "more", "6x1x4x4") + node("Gather", "more k", "pictures") +
                    node("RoiAlign", "pictures rois owners", "y", options),
                "RoiAlign cannot take operand 0 (\"pictures\", f32 [6, 1, 4, 4]): only a run knows "
                "the extent of dim 0");
}

TEST_F(RunExtentTest, RangesEndWhereARunSays) {
  auto range = [&](const char *operands) {
    return number("zero", "i64", "0") + number("one", "i64", "1") + number("two", "i64", "2") +
           node("Size", "v", "n") + node("Range", operands, "y");
  };
  expectElements(range("zero n one"), 0, 4, {0, 1, 2, 3});
  for (const char *operands : {"one n one", "zero n two"})
    expectRefused(range(operands),
                  "Range expected a range of 0, 1, 2, ..., because only a run knows its limit");
}

TEST_F(RunExtentTest, PadsAreAroundTheRowsOfARun) {
  expectElements(vectors + ints("pads", {0, 1, 0, 0}) + node("Pad", "c pads", "y"), 0, 4,
                 {0, 1, 0, 2, 0, 4, 0, 5});
  expectRefused(vectors + ints("pads", {0, 0, 1, 0}) + node("Pad", "c pads", "y"),
                "Pad cannot take operand 0 (\"c\", f32 [6, 1]): only a run knows the extent of dim "
                "0");
}

// Nearest pixels, which are twice those of each picture.
TEST_F(RunExtentTest, ResizesKeepTheRowsOfARun) {
  const std::string pictures = lengths + ints("others", {1, 2, 3}) +
                               node("Unsqueeze", "v others", "pictures") + ints("rest", {1, 1, 2});
  auto scaled = [&](std::initializer_list<int64_t> factors) {
    return pictures + ints("factors", factors) +
           node("Cast", "factors", "scales", integer("to", 1)) +
           node("Resize", "pictures - scales", "y");
  };
  auto sized = [&](const char *parts) {
    return pictures + node("Concat", parts, "sizes", integer("axis", 0)) +
           node("Resize", "pictures - - sizes", "y");
  };
  const Floats doubled{1, 1, 2, 2, 4, 4, 5, 5};
  expectElements(scaled({1, 1, 1, 2}), 0, 4, doubled);
  expectElements(sized("n rest"), 0, 4, doubled);
  expectElements(pictures + node("Resize", "pictures - - rest", "y",
                                 "attribute { name: 'axes' type: 7 ints: 1 ints: 2 ints: 3 } "),
                 0, 4, doubled);
  const char *refused =
      "Resize cannot take operand 0 (\"pictures\", f32 [6, 1, 1, 1]): only a run knows the "
      "extent of dim 0";
  expectRefused(scaled({2, 1, 1, 1}), refused);
  expectRefused(ints("six", {6}) + sized("six rest"), refused);
  expectRefused(sized("rest n"),
                "Resize expected the sizes to be known at compile time, but only a run knows "
                "element 3 of operand 3 (\"sizes\", i64 [4])");
}

// The numbers behind v's are -1.
TEST_F(RunExtentTest, LargestElementsOfARun) {
  const std::string first = integer("axis", 0) + integer("keepdims", 0);
  const std::vector<Floats> inputs{{-1, 1, 2, -3, 4, 5}};
  expectWhole(node("Neg", "v", "u") + node("ArgMax", "u", "y", first), {}, {0}, inputs);
  expectWhole(node("ArgMin", "v", "y", first), {}, {0}, inputs);
  const std::string pairs = tensor("input", "t", "6x2") + node("Gather", "t k", "pairs");
  const std::vector<Floats> table{numbers, {0, 1, 9, 9, 3, 2, 9, 9, 5, 6, 8, 7}};
  for (int keepDims : {0, 1})
    expectElements(
        pairs + node("ArgMax", "pairs", "y", integer("axis", 1) + integer("keepdims", keepDims)), 0,
        4, {1, 0, 1, 0}, table);
  expectElements(pairs + node("Transpose", "pairs", "columns") +
                     node("ArgMax", "columns", "y", first),
                 0, 4, {1, 0, 1, 0}, table);
  expectRefused(node("ArgMax", "v", "y", first + integer("select_last_index", 1)),
                "ArgMax cannot take operand 0 (\"v\", f32 [6]): only a run knows the extent of dim "
                "0");
}

/// The pixel of picture 0 at the upper left, of 2 at the upper right, of 4 at the lower left, of 5
/// at the lower right; pictures 1 and 3 are not picked.
const Floats corners{-0.5, -0.5, 9, 9, 0.5, -0.5, 9, 9, -0.5, 0.5, 0.5, 0.5};

TEST_F(RunExtentTest, GridsOfThePicturesOfARun) {
  const std::string pictures = tensor("input", "t", "6x1x2x2") + node("Gather", "t k", "g"),
                    table = tensor("input", "table", "6x1x1x2");
  Floats values(24);
  std::iota(values.begin(), values.end(), 0.0f);
  expectElements(pictures + table + node("Gather", "table k", "grid") +
                     node("GridSample", "g grid", "y"),
                 0, 4, {0, 9, 18, 23}, {numbers, values, corners});
  expectRefused(pictures + table + node("GridSample", "g table", "y"),
                "GridSample expected size 1 in dim 0 of operand 1 (\"table\", f32 [6, 1, 1, 2])");
  expectRefused(vectors + ints("whole", {1, 1, 1, -1}) + node("Reshape", "r whole", "wide") +
                    tensor("input", "grid", "1x1x1x2") + node("GridSample", "wide grid", "y"),
                "GridSample cannot take operand 0 (\"wide\", f32 [1, 1, 1, 6]): only a run knows "
                "the extent of dim 3");
}

} // namespace
