// Models without specs: the imported module, and the errors for models that cannot be imported.
#include "dialects/Pch.h"

#include "Importing.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "dialects/grad/Grad.h"
#include <random>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

using ImportModelTest = Importing;

std::string readBytes(StringRef path) {
  std::ifstream file(path.str(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(ImportModelTest, BindsTheBatchAndKeepsTheBytes) {
  auto imported = model("mlp.onnx", {.shapes = {{"x", {5, 4}}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  auto forward = imported->module->lookupSymbol<func::FuncOp>("forward");
  EXPECT_EQ(describe(forward.getArgumentTypes()[0]), "f32 [5, 4]");
  EXPECT_EQ(describe(forward.getResultTypes()[0]), "f32 [5, 3]");
  EXPECT_EQ(forward.getArgAttrOfType<StringAttr>(0, "grad.name").getValue(), "x");
  EXPECT_EQ(forward.getResultAttrOfType<StringAttr>(0, "grad.role").getValue(), "output");
  EXPECT_EQ(imported->modelBytes, readBytes(modelPath("mlp.onnx")));
  EXPECT_TRUE(said.empty()) << everything();
}

TEST_F(ImportModelTest, DescribesASizeThatVaries) {
  Type type = IntegerType::get(&context, 64);
  EXPECT_EQ(describe(RankedTensorType::get({4, ShapedType::kDynamic}, type)), "i64 [4, ?]");
  EXPECT_EQ(describe(RankedTensorType::get({}, type)), "i64 []");
}

TEST_F(ImportModelTest, FindsTheBytesOfEveryInitializer) {
  for (StringRef name : {"mlp.onnx", "typed.onnx", "external.onnx"}) {
    auto imported = model(name, {.dims = {{"N", 2}}});
    ASSERT_TRUE(succeeded(imported)) << everything();
    ASSERT_FALSE(imported->ranges.empty()) << name.str();
    for (const InitializerRange &range : imported->ranges) {
      auto state = imported->module->lookupSymbol<StateOp>(range.state);
      ASSERT_TRUE(state) << range.state;
      HostTensor initial(state.getInitial());
      ASSERT_EQ(range.bytes, initial.bytes().size());
      EXPECT_EQ(StringRef(imported->modelBytes).substr(range.offset, range.bytes),
                StringRef(initial.bytes().data(), range.bytes));
    }
    onnx::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromString(imported->modelBytes));
    EXPECT_EQ(proto.graph().initializer(0).external_data_size(), 0);
  }
}

TEST_F(ImportModelTest, ReadsExternalData) {
  auto imported = model("external.onnx", {.dims = {{"N", 2}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  HostTensor weight(imported->module->lookupSymbol<StateOp>("weight").getInitial());
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(weight.getFloat(i), i + 2); // the file holds 0, 1, 2, ...; the offset is two of them
}

TEST_F(ImportModelTest, FoldsShapeArithmetic) {
  auto imported = model("view.onnx", {.dims = {{"N", 7}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  // The remaining ops: one view, one read, one product.
  std::vector<std::string> ops;
  for (Operation &op : imported->module->lookupSymbol<func::FuncOp>("forward").front())
    ops.push_back(op.getName().getStringRef().str());
  llvm::sort(ops);
  EXPECT_EQ(ops,
            (std::vector<std::string>{"func.return", "grad.matmul", "grad.read", "grad.reshape"}));
  for (const Verdict &verdict : imported->verdicts)
    EXPECT_EQ(verdict.trains, verdict.initializer == "weight") << verdict.reason;
}

TEST_F(ImportModelTest, DropsTheZerosOfAConvolutionWithoutBias) {
  auto imported = model("no-bias.onnx", {.dims = {{"N", 2}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  int adds = 0;
  imported->module->walk([&](AddOp) { ++adds; });
  EXPECT_EQ(adds, 0);
}

TEST_F(ImportModelTest, LocatesOpsAtTheirNodes) {
  auto imported = model("mlp.onnx", {.dims = {{"N", 2}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  bool found = false;
  imported->module->walk([&](ReluOp op) {
    auto name = op.getLoc()->findInstanceOf<NameLoc>();
    ASSERT_TRUE(name);
    EXPECT_EQ(name.getName(), "act");
    EXPECT_TRUE(isa<FileLineColLoc>(name.getChildLoc()));
    found = true;
  });
  EXPECT_TRUE(found);
}

TEST_F(ImportModelTest, SortsNodes) {
  auto sorted = model("mlp.onnx", {.dims = {{"N", 2}}});
  auto unsorted = model("unsorted.onnx", {.dims = {{"N", 2}}});
  ASSERT_TRUE(succeeded(sorted) && succeeded(unsorted)) << everything();
  EXPECT_EQ(print(*sorted), print(*unsorted));
}

TEST_F(ImportModelTest, LeavesDropoutOutOfInference) {
  auto imported = model("dropout.onnx", {.dims = {{"N", 2}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(imported->module->lookupSymbol<func::FuncOp>("forward").getNumArguments(), 1u);
}

TEST_F(ImportModelTest, SaysWhatTrainsAndWhy) {
  auto imported = model("kinds.onnx", {.dims = {{"N", 2}}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  std::map<std::string, std::string> reasons;
  for (const Verdict &v : imported->verdicts)
    reasons[v.initializer] = (v.trains ? "trains: " : "no: ") + v.reason;
  EXPECT_EQ(reasons["scale"], "trains: a parameter of \"scaled\"");
  EXPECT_EQ(reasons["half"], "no: a scalar (rank 0)");
  EXPECT_EQ(reasons["floor"], "no: holds values that are not finite");
  EXPECT_EQ(reasons["mask"], "no: a mask: 0 and one number far below it");
  EXPECT_EQ(reasons["low"], "trains: a parameter of \"lowered\"");
  EXPECT_EQ(reasons["threshold"], "no: used as a constant by \"gate\"");
  EXPECT_EQ(reasons["unused"], "no: not used");
  EXPECT_EQ(reasons["table"], "no: not used");
}

// Errors ------------------------------------------------------------------------------------------

struct BadModel {
  const char *file;
  std::vector<StringRef> expected;
};

class BadModelTest : public Importing, public testing::WithParamInterface<BadModel> {};

TEST_P(BadModelTest, IsAnswered) {
  EXPECT_TRUE(failed(model(GetParam().file)));
  expectSaid(GetParam().expected);
}

const BadModel badModels[] = {
    {"nowhere.onnx", {"cannot read the ONNX model"}},
    {"truncated.onnx", {"the file is truncated or damaged: at byte"}},
    {"empty.onnx", {"expected an ONNX model, found an empty file"}},
    {"text.onnx", {"expected an ONNX model, found a text file"}},
    {"no-graph.onnx", {"expected an ONNX model, found a protobuf without a graph"}},
    {"unknown-field.onnx", {"field 99 at model is not known to this version of gradc"}},
    {"unknown-node-field.onnx", {"field 77 at model.graph.node[0] is not known"}},
    {"unsupported.onnx",
     {"StringSplit is not supported: opset 17, operands (unknown, f32 [4, 6])",
      "com.example::Elsewhere is not supported: opset of com.example not stated, operands "
      "(unknown)",
      "FlexAttention is not supported: opset 17, operands (unknown)",
      "dim 0 of graph input \"x\" is the symbol \"N\""}},
    {"symbols.onnx",
     {"dim 0 of graph input \"x\" is the symbol \"N\": bind it with batch.size of the training "
      "spec "
      "or with --shape x=1x1x4",
      "dim 1 of graph input \"x\" is the symbol \"time\": bind it with --shape x=1x1x4"}},
    {"shared-symbols.onnx",
     {"dim 0 of graph input \"a\" is the symbol \"N\": bind it with batch.size of the training "
      "spec or with --shape a=1x1, which binds it in all inputs",
      "dim 1 of graph input \"a\" is the symbol \"time\": bind it with --shape a=1x1, which binds "
      "it in all inputs"}},
    {"no-shape.onnx", {"graph input \"x\" has no shape; give it one with --shape x=32x64"}},
    {"matmul-shapes.onnx",
     {"\"node\"(\"" GRADC_TEST_MODELS
      "/in/matmul-shapes.onnx\":0:0)): MatMul expected the last dim "
      "of lhs (784) to match the second-to-last dim of rhs (768): lhs is operand 0 (\"x\", f32 [2, "
      "784]), rhs is operand 1 (initializer \"fc1.weight\", f32 [768, 10])"}},
    {"gemm-shapes.onnx", {"Gemm expected lhs dim 1 (4) to match rhs dim 0 (3)"}},
    {"gemm-bias.onnx",
     {"expected a bias that broadcasts to [2, 3], found operand 2 (\"b\", f32 [5])"}},
    {"gemm-rank.onnx", {"expected rank 2, found operand 0 (\"x\", f32 [2, 4, 1])"}},
    {"add-shapes.onnx",
     {"expected shapes that broadcast to one, found operand 0 (\"a\", f32 [2, 3]) and operand 1 "
      "(\"b\", f32 [2, 4])"}},
    {"add-types.onnx", {"expected operands of one element type, found operand 0 (\"a\", f32 [2])"}},
    {"relu-bool.onnx", {"expected a number as operand 0 (\"a\", bool [2])"}},
    {"reshape-count.onnx",
     {"expected a shape of 6 elements for operand 0 (\"a\", f32 [2, 3]), found [4, -1]"}},
    {"reshape-dynamic.onnx", {"expected the shape to be known at compile time"}},
    {"axis.onnx", {"expected an axis from -2 to 1, found 2"}},
    {"attribute.onnx", {"attribute \"slope\" is not known in opset 17"}},
    {"operands.onnx", {"Add expected 2 operands, found 1"}},
    {"outputs.onnx", {"output 1 (\"z\") is not supported"}},
    {"absurd.onnx",
     {"expected a result with sizes of 0 or more and fewer than 2^40 elements, found "
      "[1099511627776"}},
    {"string.onnx", {"Relu cannot take strings, found operand 0 (\"a\", string [2])"}},
    {"gather-far.onnx", {"expected indices from -2 to 1 for dim 0"}},
    {"transpose.onnx", {"expected a permutation of the dims of operand 0"}},
    {"old-opset.onnx", {"expected an operator set from 6 to 28, found 5"}},
    {"new-opset.onnx", {"expected an operator set from 6 to 28, found 99"}},
    {"cycle.onnx",
     {"the graph has a cycle: \"p\" needs \"q\" needs \"r\" needs \"p\"",
      "the graph has a cycle: \"q\" needs \"r\" needs \"q\""}},
    {"undefined.onnx", {"input \"nowhere\" of Add is neither a graph input, nor an initializer"}},
    {"no-output.onnx", {"graph output \"missing\" is computed by no node"}},
    {"duplicate-output.onnx",
     {"duplicate name \"y\": an output of node \"again\" (Neg) has it, and so has an output of "
      "node "
      "\"node\" (Relu)"}},
    {"duplicate-initializer.onnx",
     {"duplicate name \"w\": an initializer has it, and so has another one"}},
    {"no-data.onnx", {"expected data for 3 elements of f32 [3], found 0"}},
    {"short-data.onnx", {"expected 12 bytes of data for f32 [3], found 8"}},
    {"negative-dim.onnx", {"expected sizes of 0 or more and fewer than 2^40 elements, found [-3]"}},
    {"absurd-dim.onnx",
     {"expected sizes of 0 or more and fewer than 2^40 elements, found [1099511627776, "
      "1099511627776]"}},
    {"external-absent.onnx", {"cannot read external data \"" GRADC_TEST_MODELS "/in/absent.bin\""}},
    {"external-short.onnx",
     {"external data \"weights.bin\" is too short: expected 64 bytes at offset 4, the file has "
      "40"}},
    {"external-up.onnx", {"lies outside the model's folder (the path contains \"..\")"}},
    {"external-absolute.onnx", {"lies outside the model's folder (the path is absolute)"}},
    {"external-link.onnx", {"lies outside the model's folder (it is a link to \""}},
    {"external-offset.onnx", {"expected numbers as offset and length of external data"}},
};

INSTANTIATE_TEST_SUITE_P(, BadModelTest, testing::ValuesIn(badModels), [](const auto &info) {
  std::string name = info.param.file;
  std::replace_if(name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
});

TEST_F(ImportModelTest, NamesOptionsThatTheModelDoesNotHave) {
  EXPECT_TRUE(failed(model("mlp.onnx", {.shapes = {{"y", {1, 4}}}, .dims = {{"M", 1}}})));
  expectSaid({"--shape: graph input \"y\" is not in the model; did you mean \"x\"?",
              "symbolic dim \"M\" is not in the model; did you mean \"N\"?"});
}

TEST_F(ImportModelTest, ShapesOfOneInputBindTheSymbolsOfOthers) {
  auto imported = model("shared-symbols.onnx", {.shapes = {{"b", {2, 3}}}, .buckets = {1}});
  ASSERT_TRUE(succeeded(imported)) << everything();
  for (auto [entry, type] :
       {std::pair("forward", "f32 [2, 3]"), {"forward.rows.1", "f32 [1, 3]"}}) {
    auto function = imported->module->lookupSymbol<func::FuncOp>(entry);
    ASSERT_TRUE(function) << entry;
    for (Type argument : function.getArgumentTypes())
      EXPECT_EQ(describe(argument), type) << entry;
  }
}

TEST_F(ImportModelTest, EntriesForOtherShapesShareTheWeights) {
  auto states = [](Imported &imported) {
    return llvm::range_size(imported.module->getOps<StateOp>());
  };
  auto alone = model("mlp.onnx", {.shapes = {{"x", {8, 4}}}});
  auto both =
      model("mlp.onnx", {.shapes = {{"x", {8, 4}}}, .entryShapes = {{"step", {{"x", {1, 4}}}}}});
  ASSERT_TRUE(succeeded(alone) && succeeded(both)) << everything();
  EXPECT_EQ(states(*both), states(*alone));
  for (auto [entry, type] : {std::pair("forward", "f32 [8, 4]"), {"forward.step", "f32 [1, 4]"}}) {
    auto function = both->module->lookupSymbol<func::FuncOp>(entry);
    ASSERT_TRUE(function) << entry;
    EXPECT_EQ(describe(function.getArgumentTypes()[0]), type);
  }
  // A shape of an entry binds the symbols of its other inputs.
  auto shared = model("shared-symbols.onnx",
                      {.shapes = {{"b", {2, 3}}}, .entryShapes = {{"long", {{"b", {2, 9}}}}}});
  ASSERT_TRUE(succeeded(shared)) << everything();
  for (Type argument :
       shared->module->lookupSymbol<func::FuncOp>("forward.long").getArgumentTypes())
    EXPECT_EQ(describe(argument), "f32 [2, 9]");
}

TEST_F(ImportModelTest, RefusesEntriesThatTheModelCannotHave) {
  for (const char *input : {"x", "y"})
    EXPECT_TRUE(failed(model(
        "mlp.onnx", {.shapes = {{"x", {8, 4}}}, .entryShapes = {{"step", {{input, {1, 5}}}}}})));
  expectSaid({"dim 1 of graph input \"x\" is 4 in the model and 5 in --entry-shape step",
              "--entry-shape step: graph input \"y\" is not in the model; did you mean \"x\"?"});
}

TEST_F(ImportModelTest, ShapesThatDisagreeBindNoSymbol) {
  EXPECT_TRUE(failed(model("shared-symbols.onnx", {.shapes = {{"a", {2, 3}}, {"b", {2, 4}}}})));
  expectSaid({"dim 1 of graph input \"c\" is the symbol \"time\": bind it with --shape c=1x1"});
}

TEST_F(ImportModelTest, RefusesAShapeThatIsNotTheModels) {
  EXPECT_TRUE(failed(model("mlp.onnx", {.shapes = {{"x", {1, 5}}}})));
  expectSaid({"dim 1 of graph input \"x\" is 4 in the model and 5 in --shape"});
}

/// Whatever a file contains, the result is a model or an error.
TEST_F(ImportModelTest, SurvivesDamage) {
  std::mt19937 random(1);
  int answered = 0;
  for (StringRef name : {"mlp.onnx", "view.onnx", "kinds.onnx", "tied.onnx", "scalar.onnx"}) {
    const std::string whole = readBytes(modelPath(name));
    for (int round = 0; round < 200; ++round) {
      std::string bytes = whole;
      if (round % 4 == 0)
        bytes.resize(random() % bytes.size());
      for (int flips = round % 4; flips > 0; --flips)
        bytes[random() % bytes.size()] = char(random());
      std::ofstream(modelPath("damaged.onnx"), std::ios::binary) << bytes;
      said.clear();
      if (failed(model("damaged.onnx", {.dims = {{"N", 3}}}))) {
        ++answered;
        EXPECT_FALSE(said.empty()) << name.str() << " round " << round;
      }
    }
  }
  EXPECT_GT(answered, 300);
}

} // namespace
