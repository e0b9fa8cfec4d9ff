// Nodes that read and write by index: what ONNX's cases leave out, the check in every run, and
// errors.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

constexpr int32_t int64 = 7, int32 = 6, uint32 = 12, boolean = 9;

class IndicesTest : public OneNodeTest {};

OneNode node(const char *op) { return OneNode(op, 18); }

TEST_F(IndicesTest, IndicesAreKnownToTheRunOnly) {
  expect(node("Gather").input({3, 2}).input({2, 2}, {2, -3, 1, -1}, int64), {2, 2, 2},
         {4, 5, 0, 1, 2, 3, 4, 5});
  expect(node("Gather").input({2, 3}).input({}, {-1}, int32).set("axis", int64_t(1)), {2}, {2, 5});
  expect(node("Gather").input({3}).input({2}, {2, 0}, uint32), {2}, {2, 0});
}

TEST_F(IndicesTest, OtherDimsOfTheDataMayBeLonger) {
  expect(node("GatherElements").input({2, 3}).input({1, 2}, {-1, 0}, int64).set("axis", int64_t(1)),
         {1, 2}, {2, 0});
  expect(
      node("ScatterElements").input({3, 2}).input({2, 1}, {2, -3}, int64).input({2, 1}, {10, 20}),
      {3, 2}, {20, 1, 2, 3, 10, 5});
}

TEST_F(IndicesTest, ManyScatteredIndicesAreNoMoves) {
  OneNode::Shape indices;
  Floats expected;
  for (int64_t i = 0; i < 200; ++i) {
    indices.push_back(i * i % 211);
    expected.push_back(float(indices.back()));
  }
  OneNode gather = node("Gather").input({211}).ints(indices);
  expect(gather, {200}, expected);
  EXPECT_EQ(count<GatherOp>(gather), 1);
}

// Rows of a batch at the same positions: they are read once, and may be any number.
TEST_F(IndicesTest, KnownIndicesThatRepeatAreOneRow) {
  OneNode few = node("Gather").input({4, 2}).ints({3, 2}, {1, 2, 1, 2, 1, 2});
  expect(few, {3, 2, 2}, {2, 3, 4, 5, 2, 3, 4, 5, 2, 3, 4, 5});
  EXPECT_EQ(count<SliceOp>(few), 1);
  EXPECT_EQ(count<ConcatenateOp>(few), 0);
  expect(node("Gather").input({2, 3}).ints({2, 2}, {-1, -1, 0, 0}).set("axis", int64_t(1)),
         {2, 2, 2}, {2, 2, 0, 0, 5, 5, 3, 3});
  OneNode::Shape list;
  Floats expected;
  for (int row = 0; row < 2; ++row)
    for (int64_t i = 0; i < 200; ++i) {
      list.push_back(i * i % 211);
      expected.push_back(float(list.back()));
    }
  OneNode many = node("Gather").input({211}).ints({2, 200}, list);
  expect(many, {2, 200}, expected);
  EXPECT_EQ(count<GatherOp>(many), 1);
  EXPECT_EQ(count<BroadcastOp>(many), 1);
}

// The largest index plus the limit is a result of the entry.
TEST_F(IndicesTest, EveryRunChecksItsIndices) {
  auto results = run(node("Gather").input({3}).input({4}, {2, -3, 0, 1}, int64));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].getInt(0), 2 + 3);
  results = run(node("Gather").input({3}).input({2}, {0, -4}, int64));
  EXPECT_EQ(results[1].getInt(0), -1) << "which is the largest unsigned number";
  results = run(node("GatherND").input({3, 2}).input({1, 2}, {1, 7}, int64));
  ASSERT_EQ(results.size(), 3u) << "one check for each place in the tuples";
  EXPECT_EQ(results[2].getInt(0), 7 + 2);
  EXPECT_EQ(run(node("Gather").input({3}).ints({2, 0})).size(), 1u) << "known indices need none";
  EXPECT_EQ(run(node("Gather").input({3}).input({0}, {}, int64)).size(), 1u) << "nor do none";
}

TEST_F(IndicesTest, SaysWhichIndexIsOutOfRange) {
  expectFails(node("GatherElements").input({3}).ints({-4}),
              {"expected indices from -3 to 2 for dim 0 of operand 0 (\"x0\", f32 [3]), found -4"});
  expectFails(node("ScatterElements").input({3}).ints({3}).input({1}),
              {"expected indices from -3 to 2 for dim 0"});
}

TEST_F(IndicesTest, SaysWhichShapesDoNotFit) {
  expectFails(node("GatherElements").input({2, 3}).input({3, 1}, {}, int64).set("axis", int64_t(1)),
              {"expected indices with at most 2 elements in dim 0, as operand 0 (\"x0\", f32 [2, "
               "3]) has, found operand 1 (\"x1\", i64 [3, 1])"});
  expectFails(node("GatherElements").input({2, 3}).input({2}, {}, int64),
              {"expected rank 2, found"});
  expectFails(node("GatherND").input({2}).input({}, {0}, int64),
              {"expected indices of rank 1 or more, found operand 1"});
  expectFails(node("GatherND").input({2}).input({1, 2}, {}, int64),
              {"expected at most 1 batch dims and indices a tuple, found 0 and operand 1"});
  expectFails(node("GatherND").input({2, 2}).input({3, 1}, {}, int64).set("batch_dims", int64_t(1)),
              {"expected 1 equal batch dims, found operand 0 (\"x0\", f32 [2, 2]) and operand 1"});
  expectFails(node("ScatterND").input({4, 3}).input({2, 1}, {}, int64).input({2, 2}),
              {"expected updates [2, 3] for operand 0 (\"x0\", f32 [4, 3]) and operand 1 (\"x1\", "
               "i64 [2, 1]), found operand 2 (\"x2\", f32 [2, 2])"});
}

TEST_F(IndicesTest, SaysWhichReductionItDoesNotKnow) {
  auto scatter = [](const char *reduction, int32_t type) {
    return node("ScatterElements")
        .input({4}, {}, type)
        .input({2}, {0, 1}, int64)
        .input({2}, {}, type)
        .set("reduction", reduction);
  };
  expectFails(scatter("mean", 1),
              {"expected reduction none, add, mul, max or min, found \"mean\""});
  expectFails(scatter("add", boolean), {"expected a number as operand 0 (\"x0\", bool [4])"});
}

TEST_F(IndicesTest, NonzeroElementsAreFoundByOneOp) {
  OneNode nonzero = node("NonZero").input({2, 3}, {0, 1, 0, 2, 0, -3});
  EXPECT_EQ(count<PositionsOp>(nonzero), 1);
  expect(nonzero, {2, 6}, {0, 1, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0});
  OneNode compress = node("Compress").input({4}, {5, 6, 7, 8}).input({3}, {1, 0, 1}, boolean);
  EXPECT_EQ(count<PositionsOp>(compress), 1);
  expect(compress, {3}, {5, 7, 5});
}

// Of a constant, the number of nonzero elements is known: their coordinates are no extent of a run.
TEST_F(IndicesTest, NonzeroElementsOfConstantsAreConstants) {
  OneNode known = node("NonZero").ints({2, 3}, {0, 1, 0, 2, 0, -3});
  EXPECT_EQ(count<PositionsOp>(known), 0);
  expect(known, {2, 3}, {0, 1, 1, 1, 0, 2});
  expect(node("NonZero").ints({2}, {0, 0}), {1, 0}, {});
}

TEST_F(IndicesTest, SequencesAreReversedToTheirLengths) {
  OneNode reverse = node("ReverseSequence").input({2, 3}).input({2}, {2, 0}, int64);
  reverse.set("batch_axis", int64_t(0)).set("time_axis", int64_t(1));
  expect(reverse, {2, 3}, {1, 0, 2, 3, 4, 5});
  expectFails(node("ReverseSequence").input({2, 3}).ints({3, 0, 0}),
              {"expected indices from -3 to 2 for the length of a sequence, found 3"});
  expectFails(node("ReverseSequence").input({2, 3}).input({2}, {}, int64),
              {"expected batch_axis and time_axis 0 and 1 or 1 and 0, and a length for each "
               "sequence, found 1 and 0"});
  expectFails(node("ReverseSequence").input({2, 3}).ints({0, 0, 0}).set("time_axis", int64_t(2)),
              {"found 1 and 2"});
}

TEST_F(IndicesTest, StepsOfACache) {
  OneNode cache = OneNode("TensorScatter", 24).input({1, 3, 1}).input({1, 2, 1}, {7, 8});
  expect(cache, {1, 3, 1}, {7, 8, 2});
  OneNode circular = OneNode(cache).input({1}, {5}, int64).set("mode", "circular");
  expect(circular, {1, 3, 1}, {8, 1, 7});
  auto results = run(OneNode(cache).input({1}, {2}, int64));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].getInt(0), 3 + 3) << "the step behind the last one";
  expectFails(OneNode(cache).ints({1, 2}), {"expected 1 write indices, found operand 2"});
  expectFails(OneNode(cache).set("axis", int64_t(0)), {"along dim 0, which is not 0"});
  expectFails(OneNode(cache).set("mode", "ring"),
              {"expected mode linear or circular, found \"ring\""});
  expectFails(OneNode("TensorScatter", 24).input({1, 3, 1}).input({1, 4, 1}),
              {"expected an update with at most 3 steps along dim 1"});
}

OneNode unpool(std::vector<float> indices) {
  return node("MaxUnpool")
      .input({1, 2, 2}, {1, 2, 3, 4})
      .input({1, 2, 2}, indices, int64)
      .set("kernel_shape", OneNode::Shape{2})
      .set("strides", OneNode::Shape{2});
}

TEST_F(IndicesTest, UnpooledPixelsStayInTheirPlane) {
  expect(unpool({1, 2, 4, 7}), {1, 2, 4}, {0, 1, 2, 0, 3, 0, 0, 4});
  expect(unpool({1, 2, 4, 7}).ints({1, 2, 5}), {1, 2, 5}, {0, 1, 2, 0, 0, 3, 0, 0, 4, 0});
  for (float outside : {3.0f, 8.0f}) {
    auto results = run(unpool({1, 2, 4, outside}));
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[1].getInt(0), 4 + 4) << outside << " is not in the second plane";
  }
  expectFails(unpool({1, 2, 4, 7}).ints({1, 2, 3}),
              {"and an output of at least [1, 2, 4], found operand 1"});
}

} // namespace
