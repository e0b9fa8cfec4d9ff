// Loops that only end by their conditions, and loops over embedding bags.
#include "test/unit/compiler/import/OneNode.h"

#include "google/protobuf/text_format.h"

using namespace gradc;

namespace {

class UnrollTest : public OneNodeTest {
protected:
  /// A model from the text of its graph, with a condition `yes`.
  static OneNode model(const std::string &graph) {
    OneNode one("Identity", 17);
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        graph + "initializer { name: 'yes' data_type: 9 int32_data: 1 } output { name: 'y' } ",
        one.model.mutable_graph()));
    return one;
  }
};

const std::string x = "input { name: 'x' type { tensor_type { elem_type: 1 shape { dim { "
                      "dim_value: 1 } } } } } ";

/// A loop without a bound. It appends x to the list that it carries, and continues below `last`.
std::string growing(const char *condition, const char *trips = "") {
  return x +
         "initializer { name: 'last' data_type: 7 int64_data: 2 } "
         "initializer { name: 'most' data_type: 7 int64_data: 9223372036854775807 } "
         "node { op_type: 'Loop' input: '" +
         std::string(trips) +
         "' input: 'yes' input: 'x' output: 'y' "
         "  attribute { name: 'body' type: 5 g { "
         "    input { name: 'i' } input { name: 'go' } input { name: 'v' } "
         "    node { op_type: 'Concat' input: 'v' input: 'x' output: 'w' "
         "      attribute { name: 'axis' type: 2 i: 0 } } "
         "    node { " +
         std::string(condition) +
         " output: 'goes' } output { name: 'goes' } output { name: 'w' } } } } ";
}

TEST_F(UnrollTest, AConditionKnownAtCompileTimeIsABound) {
  OneNode one = model(growing("op_type: 'Less' input: 'i' input: 'last'"));
  one.data = {{7}};
  expect(one, {4}, {7, 7, 7, 7});
  // PyTorch's exporter writes the largest number where a condition alone ends a loop.
  one = model(growing("op_type: 'Less' input: 'i' input: 'last'", "most"));
  one.data = {{7}};
  expect(one, {4}, {7, 7, 7, 7});
}

TEST_F(UnrollTest, AConditionOfTheRunIsNone) {
  expectFails(model(growing("op_type: 'IsNaN' input: 'x'")), {"carries f32 [1] at first"});
}

// The loop is imported twice, at first as a region.
TEST_F(UnrollTest, AnErrorAroundALoopIsReportedOnce) {
  std::string graph = growing("op_type: 'Less' input: 'i' input: 'last'");
  const std::string read = "input: 'v' input: 'x'";
  graph.replace(graph.find(read), read.size(), "input: 'v' input: 'absent'");
  expectFails(model("node { op_type: 'Unknown' input: 'x' output: 'absent' } " + graph),
              {"Unknown is not supported"});
}

/// A loop that stacks what an op makes of the list that it carries, which grows.
std::string stacking(const char *trips, const char *condition, const char *op = "Neg") {
  return x +
         "initializer { name: 'none' data_type: 7 int64_data: 0 } "
         "initializer { name: 'no' data_type: 9 int32_data: 0 } "
         "node { op_type: 'Loop' input: '" +
         std::string(trips) + "' input: '" + condition +
         "' input: 'x' output: 'last' output: 'y' "
         "  attribute { name: 'body' type: 5 g { "
         "    input { name: 'i' } input { name: 'go' } input { name: 'v' } "
         "    node { op_type: 'Concat' input: 'v' input: 'x' output: 'w' "
         "      attribute { name: 'axis' type: 2 i: 0 } } "
         "    node { op_type: 'Identity' input: 'go' output: 'goes' } "
         "    node { op_type: '" +
         op +
         "' input: 'w' output: 's' } "
         "    output { name: 'goes' } output { name: 'w' } output { name: 's' } } } } "
         "output { name: 'last' } ";
}

TEST_F(UnrollTest, ALoopOfNoIterationStacksNothing) {
  for (auto [trips, condition] :
       {std::pair("none", ""), std::pair("none", "yes"), std::pair("", "no")}) {
    OneNode one = model(stacking(trips, condition));
    one.data = {{7}};
    expect(one, {1}, {7}, 0);
    expect(one, {0, 2}, {}, 1);
    EXPECT_EQ(count<mlir::grad::NegOp>(one), 0);
  }
  expectFails(model(stacking("none", "", "Unknown")), {"Unknown is not supported"});
  EXPECT_NE(everything().find("no iteration runs, but a first one would tell"), std::string::npos);
}

TEST_F(UnrollTest, ALoopThatNeverEndsIsRefused) {
  expectFails(model(x + "node { op_type: 'SequenceEmpty' output: 's' } "
                        "node { op_type: 'Loop' input: '' input: 'yes' input: 's' output: 't' "
                        "  attribute { name: 'body' type: 5 g { "
                        "    input { name: 'i' } input { name: 'go' } input { name: 'v' } "
                        "    node { op_type: 'SequenceInsert' input: 'v' input: 'x' output: 'w' } "
                        "    node { op_type: 'Identity' input: 'go' output: 'goes' } "
                        "    output { name: 'goes' } output { name: 'w' } } } } "
                        "node { op_type: 'ConcatFromSequence' input: 't' output: 'y' "
                        "  attribute { name: 'axis' type: 2 i: 0 } } "),
              {"its condition still holds after 1024 iterations"});
}

/// A list that `outer` * `inner` iterations of a loop in a loop extend.
std::string extending(const char *outer, const char *inner) {
  std::string head = "attribute { name: 'body' type: 5 g { "
                     "  input { name: 'i' } input { name: 'go' } input { name: 'v' } "
                     "  node { op_type: 'Identity' input: 'go' output: 'goes' } "
                     "  output { name: 'goes' } ";
  return x + "initializer { name: 'n' data_type: 7 int64_data: " + inner +
         " } initializer { name: 'm' data_type: 7 int64_data: " + outer +
         " } node { op_type: 'Loop' input: 'm' input: '' input: 'x' output: 'y' " + head +
         "  node { op_type: 'Loop' input: 'n' input: '' input: 'v' output: 'w' " + head +
         "    node { op_type: 'Concat' input: 'v' input: 'x' output: 'u' "
         "      attribute { name: 'axis' type: 2 i: 0 } } output { name: 'u' } } } } "
         "  output { name: 'w' } } } } ";
}

TEST_F(UnrollTest, LoopsInLoopsAreWrittenOutUpToALimit) {
  OneNode one = model(extending("2", "3"));
  one.data = {{5}};
  expect(one, {7}, Floats(7, 5));
  expectFails(model(extending("100", "1000")),
              {"the loops of the model have more than 16384 iterations together"});
}

/// Three bags of six indices into a table of four rows, in the form that TorchScript's exporter
/// writes.
std::string bags(const char *starts, const char *ends, const char *reduction = "ReduceSum") {
  return "input { name: 'table' type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } "
         "dim { dim_value: 2 } } } } } "
         "input { name: 'ids' type { tensor_type { elem_type: 7 shape { dim { dim_value: 6 } } } } "
         "} "
         "initializer { name: 'n' data_type: 7 int64_data: 3 } "
         "initializer { name: 'starts' data_type: 7 dims: 3 int64_data: " +
         std::string(starts) +
         " } initializer { name: 'ends' data_type: 7 dims: 3 int64_data: " + ends +
         " } initializer { name: 'zero' data_type: 7 dims: 1 int64_data: 0 } "
         "node { op_type: 'Loop' input: 'n' input: 'yes' output: 'y' "
         "  attribute { name: 'body' type: 5 g { input { name: 'i' } input { name: 'go' } "
         "    node { op_type: 'Gather' input: 'starts' input: 'i' output: 'start' } "
         "    node { op_type: 'Gather' input: 'ends' input: 'i' output: 'end' } "
         "    node { op_type: 'Unsqueeze' input: 'start' input: 'zero' output: 'from' } "
         "    node { op_type: 'Unsqueeze' input: 'end' input: 'zero' output: 'to' } "
         "    node { op_type: 'Slice' input: 'ids' input: 'from' input: 'to' input: 'zero' "
         "      output: 'bag' } "
         "    node { op_type: 'Gather' input: 'table' input: 'bag' output: 'rows' } "
         "    node { op_type: '" +
         reduction +
         "' input: 'rows' output: 'sum' attribute { name: 'keepdims' type: 2 i: 0 } "
         "      attribute { name: 'axes' type: 7 ints: 0 } } "
         "    node { op_type: 'Identity' input: 'yes' output: 'goes' } "
         "    output { name: 'goes' } output { name: 'sum' } } } } ";
}

OneNode withTable(OneNode one) {
  one.data = {{1, 10, 2, 20, 4, 40, 8, 80}, {0, 1, 2, 3, 3, 3}};
  return one;
}

TEST_F(UnrollTest, BagsOfOneSizeAreOneGather) {
  for (auto [reduction, expected] : {std::pair("ReduceMean", Floats{1.5, 15, 6, 60, 8, 80}),
                                     std::pair("ReduceMax", Floats{2, 20, 8, 80, 8, 80})}) {
    OneNode one = withTable(model(bags("[0, 2, 4]", "[2, 4, 6]", reduction)));
    expect(one, {3, 2}, expected);
    EXPECT_EQ(count<mlir::grad::GatherOp>(one), 1);
    EXPECT_EQ(count<mlir::grad::ConcatenateOp>(one), 0);
  }
}

TEST_F(UnrollTest, BagsOfOtherSizesAreWrittenOut) {
  OneNode one = withTable(model(bags("[0, 1, 4]", "[1, 4, 6]", "ReduceMean")));
  expect(one, {3, 2}, {1, 10, 14.0 / 3, 140.0 / 3, 8, 80});
  EXPECT_EQ(count<mlir::grad::GatherOp>(one), 3);
}

TEST_F(UnrollTest, BagsCheckTheirIndices) {
  auto results = run(withTable(model(bags("[0, 2, 4]", "[2, 4, 6]", "ReduceMean"))));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].getInt(0), 7); // the largest index plus the number of rows
}

/// Two bags of six rows that have been read before, as PyTorch's newer exporter writes them, with
/// its record of the call. With padding, a node of the loop reads the indices as well.
std::string recorded(const std::string &arguments, const char *starts, bool hasPadding = false) {
  std::string reads =
      hasPadding ? "node { op_type: 'Gather' input: 'starts' input: 'at' output: 'first' } "
                   "node { op_type: 'Gather' input: 'ids' input: 'first' output: 'id' } "
                   "node { op_type: 'Gather' input: 'rows' input: 'id' output: 'row' } "
                   "node { op_type: 'Unsqueeze' input: 'row' input: 'axis' output: 'bag' } "
                 : "node { op_type: 'Reshape' input: 'at' input: 'all' output: 'from' } "
                   "node { op_type: 'Add' input: 'from' input: 'one' output: 'to' } "
                   "node { op_type: 'Add' input: 'to' input: 'one' output: 'behind' } "
                   "node { op_type: 'Slice' input: 'starts' input: 'from' input: 'to' "
                   "  output: 'start' } "
                   "node { op_type: 'Slice' input: 'starts' input: 'to' input: 'behind' "
                   "  output: 'end' } "
                   "node { op_type: 'Slice' input: 'rows' input: 'start' input: 'end' "
                   "  output: 'bag' } ";
  return "input { name: 'rows' type { tensor_type { elem_type: 1 shape { dim { dim_value: 6 } "
         "dim { dim_value: 2 } } } } } "
         "input { name: 'ids' type { tensor_type { elem_type: 7 shape { dim { dim_value: 6 } } } } "
         "} "
         "initializer { name: 'zero' data_type: 7 int64_data: 0 } "
         "initializer { name: 'axis' data_type: 7 dims: 1 int64_data: 0 } "
         "initializer { name: 'one' data_type: 7 dims: 1 int64_data: 1 } "
         "initializer { name: 'all' data_type: 7 dims: 1 int64_data: -1 } "
         "initializer { name: 'step' data_type: 7 int64_data: 1 } "
         "initializer { name: 'count' data_type: 7 int64_data: 2 } "
         "initializer { name: 'starts' data_type: 7 dims: 3 int64_data: " +
         std::string(starts) +
         " } node { op_type: 'SequenceEmpty' output: 'none' } "
         "node { op_type: 'Loop' input: '' input: 'yes' input: 'zero' input: 'none' "
         "  output: 'last' output: 'bags' "
         "  metadata_props { key: 'pkg.torch.onnx.fx_node' value: '%embedding_bag : [num_users=1] "
         "= "
         "call_function[target=torch.ops.aten.embedding_bag.padding_idx](args = (%p_weight, %view, "
         "%arange, False, " +
         arguments +
         "), kwargs = {})' } "
         "  attribute { name: 'body' type: 5 g { input { name: 'i' } input { name: 'go' } "
         "    input { name: 'at' } input { name: 'before' } " +
         reads +
         "    node { op_type: 'ReduceSum' input: 'bag' input: 'axis' output: 'sum' } "
         "    node { op_type: 'SequenceInsert' input: 'before' input: 'sum' output: 'after' } "
         "    node { op_type: 'Add' input: 'at' input: 'step' output: 'then' } "
         "    node { op_type: 'Less' input: 'then' input: 'count' output: 'goes' } "
         "    output { name: 'goes' } output { name: 'then' } output { name: 'after' } } } } "
         "node { op_type: 'ConcatFromSequence' input: 'bags' output: 'y' "
         "  attribute { name: 'axis' type: 2 i: 0 } } ";
}

OneNode withRows(OneNode one) {
  one.data = {{1, 2, 2, 4, 3, 6, 4, 8, 5, 10, 6, 12}, {5, 1, 2, 5, 5, 5}};
  return one;
}

TEST_F(UnrollTest, RecordedBagsOfOneSizeAreOneReduction) {
  for (auto [arguments, expected] :
       {std::pair("0, False, None, False, None", Floats{6, 12, 15, 30}),
        std::pair("1, False, None, False, None", Floats{2, 4, 5, 10}),
        std::pair("2", Floats{3, 6, 6, 12})}) {
    OneNode one = withRows(model(recorded(arguments, "[0, 3, 6]")));
    expect(one, {2, 2}, expected);
    EXPECT_EQ(count<mlir::grad::ConcatenateOp>(one), 0) << arguments;
  }
}

/// The second bag has nothing but padding.
TEST_F(UnrollTest, RecordedBagsLeaveOutPadding) {
  for (auto [arguments, expected] : {std::pair("0, False, None, False, 5", Floats{5, 10, 0, 0}),
                                     std::pair("1, False, None, False, 5", Floats{2.5, 5, 0, 0}),
                                     std::pair("2, False, None, False, 5", Floats{3, 6, 0, 0})})
    expect(withRows(model(recorded(arguments, "[0, 3, 6]", /*hasPadding=*/true))), {2, 2},
           expected);
}

TEST_F(UnrollTest, OtherRecordedBagsAreWrittenOut) {
  // Of other sizes, and in a call that is not an embedding bag's.
  OneNode one = withRows(model(recorded("0, False, None, False, None", "[0, 2, 6]")));
  expect(one, {2, 2}, {3, 6, 18, 36});
  EXPECT_EQ(count<mlir::grad::ConcatenateOp>(one), 1);
  for (const char *arguments : {"7, False, None, False, None", "0, False, None, False, 5"}) {
    one = withRows(model(recorded(arguments, "[0, 3, 6]")));
    expect(one, {2, 2}, {6, 12, 15, 30});
    EXPECT_EQ(count<mlir::grad::ConcatenateOp>(one), 1) << arguments;
  }
  // All of the sequence is read.
  one = withRows(model(recorded("0", "[0, 3, 6]") + "node { op_type: 'SequenceAt' input: 'bags' "
                                                    "input: 'step' output: 'second' } "
                                                    "output { name: 'second' } "));
  expect(one, {2, 2}, {6, 12, 15, 30}, /*i=*/1);
  expect(one, {1, 2}, {15, 30}, /*i=*/0);
}

} // namespace
