// The entries that training specs are imported to.
#include "dialects/Pch.h"

#include "compiler/Interpreter.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "dialects/grad/Grad.h"
#include "test/unit/compiler/import/TrainingTesting.h"

#include <set>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

class ImportTrainingTest : public TrainingTesting {};

TEST_F(ImportTrainingTest, MakesAllEntries) {
  Parts parts;
  parts.metric = "metric { accuracy { logits: \"logits\" labels: \"labels\" } }";
  parts.rest = "clip { global_norm: 0.5 } evaluation { data { source { npz { path: \"data.npz\" "
               "rows { begin: 1 } } } stage { batch { size: 7 } } } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_TRUE(said.empty()) << everything();
  // Ten rows: 4 + 4 + 2, and nine: 7 + 2.
  EXPECT_EQ(functions(*imported), (std::vector<std::string>{"train", "train.tail", "evaluate",
                                                            "evaluate.tail", "forward"}));
  EXPECT_EQ(
      signature(function(*imported, "train")),
      "x f32 [4, 4] data x; labels i64 [4] data labels; learning_rate f32 [] learning_rate -; "
      "step f32 [] step -");
  EXPECT_EQ(
      signature(function(*imported, "train.tail")),
      "x f32 [2, 4] data x; labels i64 [2] data labels; learning_rate f32 [] learning_rate -; "
      "step f32 [] step -");
  EXPECT_EQ(signature(function(*imported, "evaluate")),
            "x f32 [7, 4] data x; labels i64 [7] data labels");
  EXPECT_EQ(signature(function(*imported, "evaluate.tail")),
            "x f32 [2, 4] data x; labels i64 [2] data labels");
  EXPECT_EQ(signature(function(*imported, "forward")), "x f32 [4, 4] data x");
  func::FuncOp train = function(*imported, "train");
  EXPECT_EQ(train.getArgAttrOfType<IntegerAttr>(1, "grad.classes").getInt(), 3);
  EXPECT_EQ(train->getAttrOfType<IntegerAttr>("grad.batch").getInt(), 4);
  EXPECT_EQ(train.getResultAttrOfType<StringAttr>(0, "grad.role").getValue(), "loss");
  EXPECT_EQ(train.getResultAttrOfType<StringAttr>(1, "grad.role").getValue(), "metric");
  auto optimizer = train->getAttrOfType<DictionaryAttr>("grad.optimizer");
  EXPECT_EQ(optimizer.getAs<StringAttr>("name").getValue(), "adam");
  EXPECT_EQ(optimizer.getAs<FloatAttr>("beta2").getValueAsDouble(), 0.999);
  auto clip = train->getAttrOfType<DictionaryAttr>("grad.clip");
  EXPECT_EQ(clip.getAs<FloatAttr>("global_norm").getValueAsDouble(), 0.5);
  EXPECT_FALSE(function(*imported, "evaluate")->hasAttr("grad.optimizer"));
  EXPECT_EQ(trained(*imported),
            (std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}));
}

/// Parts of all steps count their random numbers by the largest number of parts.
TEST_F(ImportTrainingTest, AllPartsCountByTheMostOfAnyStep) {
  auto attributes = [&](int64_t rows, StringRef name) {
    Parts parts;
    parts.map = "stage { take { rows: " + std::to_string(rows) + " } }";
    parts.rest = "micro_batches: 2";
    auto imported = training(parts);
    EXPECT_TRUE(succeeded(imported)) << everything();
    func::FuncOp step = function(*imported, name);
    auto most = step->getAttrOfType<IntegerAttr>("grad.most_micro_batches");
    return std::pair(step->getAttrOfType<IntegerAttr>("grad.micro_batches").getInt(),
                     most ? most.getInt() : 0);
  };
  using Numbers = std::pair<int64_t, int64_t>;
  // Four rows in 2 parts; a last batch of 2 rows in one part, of 3 rows in 3.
  EXPECT_EQ(attributes(6, "train"), Numbers(2, 0));
  EXPECT_EQ(attributes(6, "train.tail"), Numbers(1, 2));
  EXPECT_EQ(attributes(7, "train"), Numbers(2, 3));
  EXPECT_EQ(attributes(7, "train.tail"), Numbers(3, 0));
}

/// So that it needs no more memory than the step.
TEST_F(ImportTrainingTest, TheModelAloneTakesTheRowsOfOnePart) {
  Parts parts;
  parts.batch = "stage { batch { size: 10 } }";
  for (auto [count, wanted] :
       {std::pair("2", "x f32 [5, 4] data x"), std::pair("10", "x f32 [2, 4] data x")}) {
    parts.rest = std::string("micro_batches: ") + count;
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    EXPECT_EQ(signature(function(*imported, "forward")), wanted);
  }
  // A batch of two would be computed from its first row.
  parts.model = "model: \"mlp-fixed.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp forward = function(*imported, "forward");
  EXPECT_EQ(signature(forward), "x f32 [1, 4] data x");
  EXPECT_EQ(forward->getAttrOfType<IntegerAttr>("grad.batch").getInt(), 1);
}

TEST_F(ImportTrainingTest, RefusesParametersNamedLikeEntries) {
  Parts parts;
  parts.model = "model: \"named-like-entries.onnx\"";
  parts.rest = evaluation;
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"initializer \"forward\" has the name of an entry of the compiled program; rename it",
              "initializer \"evaluate\" has the name of an entry"});
}

TEST_F(ImportTrainingTest, TrainsConvolutionalNetworks) {
  Parts parts;
  parts.model = "model: \"convnet.onnx\"";
  parts.source = "source { npz { path: \"images.npz\" } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"conv.weight", "conv.bias", "norm.weight",
                                                          "norm.bias", "fc.weight"}));
  for (StringRef name : {"train", "train.tail", "forward"})
    EXPECT_EQ(count<ConvolutionOp>(function(*imported, name)), 1);
}

/// A problem in an output that training does not use is reported along with the others; each
/// problem only once.
TEST_F(ImportTrainingTest, SaysWhatIsWrongInAllEntries) {
  Parts parts;
  parts.model = "model: \"two-heads.onnx\"";
  parts.rest =
      "evaluation { data { source { npz { path: \"narrow.npz\" } } stage { batch { size: 7 } } } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"of \"narrow.npz\" to be f32 [7, 4]", "FlexAttention", "StringSplit"});
}

/// Losses on probabilities are computed from the scores before them.
TEST_F(ImportTrainingTest, RewritesAFinalSoftmax) {
  for (StringRef model : {"softmax.onnx", "softmax-11.onnx"}) {
    Parts parts;
    parts.model = ("model: \"" + model + "\"").str();
    parts.loss = "loss { softmax_cross_entropy { logits: \"probabilities\" labels: \"labels\" } }";
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    EXPECT_EQ(count<SoftmaxOp>(function(*imported, "train")), 0);
    EXPECT_EQ(count<SoftmaxCrossEntropyOp>(function(*imported, "train")), 1);
    EXPECT_EQ(count<SoftmaxOp>(function(*imported, "forward")), 1);
  }
}

TEST_F(ImportTrainingTest, RewritesAFinalSigmoid) {
  Parts parts;
  parts.model = "model: \"sigmoid.onnx\"";
  parts.loss = "loss { binary_cross_entropy { logits: \"probabilities\" targets: \"labels\" } }";
  parts.metric = "metric { accuracy { logits: \"probabilities\" labels: \"labels\" } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(count<SigmoidOp>(function(*imported, "train")), 0);
  EXPECT_EQ(count<BinaryCrossEntropyOp>(function(*imported, "train")), 1);
  EXPECT_TRUE(function(*imported, "train").getArgAttr(1, "grad.classes")); // labels, whole or not
  EXPECT_EQ(count<SigmoidOp>(function(*imported, "forward")), 1);
}

TEST_F(ImportTrainingTest, TakesDistributionsAsLabels) {
  Parts parts;
  parts.source = "source { npz { path: \"one-hot.npz\" } }";
  parts.metric = "metric { accuracy { logits: \"logits\" labels: \"labels\" } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(count<ArgmaxOp>(function(*imported, "train")), 2);
  EXPECT_EQ(function(*imported, "train").getArgAttrOfType<IntegerAttr>(1, "grad.classes").getInt(),
            3);
}

TEST_F(ImportTrainingTest, MetricsHaveNamesOfTheirOwn) {
  Parts parts;
  const std::string accuracy = "accuracy { logits: \"logits\" labels: \"labels\" } }";
  parts.metric = "metric { " + accuracy + " metric { name: \"again\" " + accuracy;
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  std::vector<std::string> names;
  for (unsigned i = 0; i < train.getNumResults(); ++i)
    if (auto role = train.getResultAttrOfType<StringAttr>(i, "grad.role");
        role && role.getValue() == "metric")
      names.push_back(train.getResultAttrOfType<StringAttr>(i, "grad.name").str());
  EXPECT_EQ(names, (std::vector<std::string>{"accuracy", "again"}));

  parts.metric = "metric { " + accuracy + " metric { " + accuracy;
  EXPECT_TRUE(failed(training(parts)));
  EXPECT_NE(everything().find("two metrics are called \"accuracy\": tell them apart, "
                              "metric { name: \"...\" accuracy { ... } }"),
            std::string::npos)
      << everything();
  parts.metric = "metric { name: \"loss\" " + accuracy;
  EXPECT_TRUE(failed(training(parts)));
  EXPECT_NE(everything().find("expected a name of the metric's own, found \"loss\", which logs use "
                              "for something else"),
            std::string::npos)
      << everything();
  parts.metric = "metric { name: \"loss_is\" " + accuracy;
  EXPECT_TRUE(failed(training(parts)));
  EXPECT_NE(everything().find("expected a name that does not end in _is, found \"loss_is\": by "
                              "such fields logs tell NaN from infinity"),
            std::string::npos)
      << everything();
}

TEST_F(ImportTrainingTest, TakesMeanSquaredErrorAgainstTheInput) {
  Parts parts;
  parts.model = "model: \"tied.onnx\"";
  parts.loss = "loss { mean_squared_error { predictions: \"logits\" targets: \"x\" } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(signature(function(*imported, "train")).find("x f32 [4, 4] data x; learning_rate"), 0u);
}

TEST_F(ImportTrainingTest, TakesAScalarOfTheGraph) {
  Parts parts;
  parts.model = "model: \"scalar.onnx\"";
  parts.loss = "loss { scalar: \"loss\" }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), std::vector<std::string>{"weight"});
  EXPECT_EQ(imported->verdicts[1].reason, "the loss does not depend on it");
  EXPECT_EQ(imported->module->lookupSymbol<StateOp>("aside").getKind(), StateKind::constant);
}

TEST_F(ImportTrainingTest, SaysWhereGradientsStop) {
  Parts parts;
  parts.model = "model: \"kinds.onnx\"";
  parts.loss = "loss { softmax_cross_entropy { logits: \"out\" labels: \"labels\" } }";
  parts.source = "source { npz { path: \"later.npz\" } }";
  parts.batch = "stage { batch { size: 4 drop_remainder: true } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"scale", "low"}));
  for (const Verdict &verdict : imported->verdicts)
    if (verdict.initializer == "steps") {
      EXPECT_EQ(verdict.reason, "no gradient gets through \"rounded\"");
    }
}

TEST_F(ImportTrainingTest, StopsGradientsWhereTheModuleDetaches) {
  Parts parts;
  parts.model = "model: \"detached.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_TRUE(said.empty()) << everything();
  EXPECT_EQ(trained(*imported), std::vector<std::string>{"weight"});
  EXPECT_EQ(count<StraightThroughOp>(function(*imported, "train")), 1);
  EXPECT_EQ(count<StraightThroughOp>(function(*imported, "forward")), 0);
}

TEST_F(ImportTrainingTest, DropsOutInTrainingAlone) {
  Parts parts;
  parts.model = "model: \"dropout.onnx\"";
  parts.rest =
      "evaluation { data { source { npz { path: \"data.npz\" } } stage { batch { size: 10 } } } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(count<DropoutOp>(function(*imported, "train")), 1);
  EXPECT_EQ(count<DropoutOp>(function(*imported, "train.tail")), 1);
  EXPECT_EQ(count<DropoutOp>(function(*imported, "evaluate")), 0);
  EXPECT_EQ(count<DropoutOp>(function(*imported, "forward")), 0);
  std::string train = signature(function(*imported, "train"));
  EXPECT_NE(train.find("seed i32 [] seed -"), std::string::npos) << train;
  EXPECT_NE(train.find("counter i32 [] counter -"), std::string::npos) << train;
}

TEST_F(ImportTrainingTest, DropsOutBesideAMaskThatNobodyReads) {
  Parts parts;
  parts.model = "model: \"left-in-training.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(count<DropoutOp>(function(*imported, "train")), 1);
}

TEST_F(ImportTrainingTest, FollowsPatterns) {
  Parts parts;
  parts.rest = "freeze: \"fc1.*\" trainable: \"fc2.bias\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"fc2.weight", "fc2.bias"}));
  EXPECT_EQ(imported->verdicts[0].reason, "frozen by the training spec");
  EXPECT_EQ(imported->module->lookupSymbol<StateOp>("fc1.weight").getKind(), StateKind::constant);
}

TEST_F(ImportTrainingTest, TiesWhatTheModelKeepsTwice) {
  Parts parts;
  parts.model = "model: \"tied.onnx\"";
  parts.loss = "loss { mean_squared_error { predictions: \"logits\" targets: \"x\" } }";
  parts.rest = "tie { a: \"encoder\" b: \"decoder\" transpose: true }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), std::vector<std::string>{"encoder"});
  EXPECT_EQ(count<ReadOp>(function(*imported, "train")), 1);
  onnx::ModelProto model;
  // The trained values go to both places of the original file.
  ASSERT_TRUE(model.ParseFromString(imported->modelBytes));
  std::vector<std::string> places;
  for (const InitializerRange &range : imported->ranges)
    for (const onnx::TensorProto &t : model.graph().initializer())
      if (!range.state.empty() &&
          t.raw_data() == imported->modelBytes.substr(range.offset, range.bytes))
        places.push_back(t.name() + (range.transposed ? " transposed " : " ") + range.state);
  EXPECT_EQ(places, (std::vector<std::string>{"encoder encoder", "decoder transposed encoder"}));
}

/// 16 bits have too few digits to round to codes by.
TEST_F(ImportTrainingTest, QuantizationStaysInF32) {
  auto high = [&](const Parts &parts) {
    std::set<std::string> names;
    auto imported = training(parts);
    EXPECT_TRUE(succeeded(imported)) << everything();
    if (succeeded(imported)) {
      func::FuncOp train = function(*imported, "train");
      auto precision = train->getAttrOfType<DictionaryAttr>("grad.precision");
      for (StringRef name : precision.getAs<ArrayAttr>("high").getAsValueRange<StringAttr>())
        names.insert(name.str());
    }
    return names;
  };
  Parts parts;
  parts.rest = "precision: BF16 quantize { pattern: \"fc1.weight\" }";
  std::set<std::string> added = high(parts);
  for (const char *value :
       {"x_range_now", "x_range_now_scale", "x_QuantizeLinear_Output", "x_DequantizeLinear_Output",
        "fc1.weight_scale", "fc1.weight_quantized", "fc1.weight_DequantizeLinear_Output"})
    EXPECT_TRUE(added.contains(std::string("quantize:") + value)) << value;
  for (const std::string &name : added)
    EXPECT_TRUE(StringRef(name).starts_with("quantize:")) << name;
  // So do a model's own nodes.
  parts.model = "model: \"rounded.onnx\"";
  parts.rest = "precision: FP16";
  EXPECT_EQ(high(parts), (std::set<std::string>{"round", "DequantizeLinear:numbers"}));
  parts.rest += " keep_fp32: \"fc1\"";
  EXPECT_EQ(high(parts), (std::set<std::string>{"fc1", "round", "DequantizeLinear:numbers"}));
}

/// The imported step computes the loss; the expected numbers are computed by hand.
TEST_F(ImportTrainingTest, ComputesTheLoss) {
  Parts parts;
  parts.metric = "metric { accuracy { logits: \"logits\" labels: \"labels\" } }";
  parts.batch = "stage { batch { size: 10 } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  std::vector<HostTensor> arguments;
  for (Type type : train.getArgumentTypes())
    arguments.emplace_back(cast<RankedTensorType>(type));
  // x = 0, so the logits only depend on the biases: relu([0 .. 0.05]) w2 + b2.
  double hidden[6], logits[3], sum = 0;
  for (int i = 0; i < 6; ++i)
    hidden[i] = 0.01 * i;
  for (int c = 0; c < 3; ++c) {
    logits[c] = 0.01 * c;
    for (int i = 0; i < 6; ++i)
      logits[c] += hidden[i] * 0.1 * ((i * 3 + c) * 7 % 11 - 5);
    sum += std::exp(logits[c]);
  }
  Interpreter interpreter(*imported->module);
  SmallVector<HostTensor> results = interpreter.run(train, arguments);
  EXPECT_NEAR(results[0].getFloat(0), std::log(sum) - logits[0], 1e-6); // all labels are 0
  bool right = logits[0] >= logits[1] && logits[0] >= logits[2];
  EXPECT_EQ(results[1].getFloat(0), right ? 1 : 0);
}

} // namespace
