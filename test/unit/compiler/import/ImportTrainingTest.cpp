// Training specs: the entries they become, and what is said about those that are wrong.
#include "dialects/Pch.h"

#include "Importing.h"
#include "compiler/Interpreter.h"
#include "compiler/import/OnnxModel.h"
#include "dialects/grad/Grad.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// A spec of parts that tests replace one by one.
struct Parts {
  std::string model = "model: \"mlp.onnx\"";
  std::string feed;
  std::string loss = "loss { softmax_cross_entropy { logits: \"logits\" labels: \"labels\" } }";
  std::string metric;
  std::string optimizer = "optimizer { adam {} }";
  std::string source = "source { npz { path: \"data.npz\" } }";
  std::string map;
  std::string batch = "batch { size: 4 }";
  std::string rest;

  operator std::string() const {
    return llvm::join(ArrayRef<std::string>{model, feed, loss, metric, optimizer,
                                            "data { " + source + " " + map + " " + batch + " }",
                                            rest},
                      "\n");
  }
};

class ImportTrainingTest : public Importing {
protected:
  std::vector<std::string> functions(const Imported &imported) {
    std::vector<std::string> names;
    ModuleOp module = imported.module.get();
    for (auto function : module.getOps<func::FuncOp>())
      names.push_back(function.getName().str());
    return names;
  }
  func::FuncOp function(const Imported &imported, StringRef name) {
    ModuleOp module = imported.module.get();
    return module.lookupSymbol<func::FuncOp>(name);
  }
  /// "x f32 [4, 4] data x; ...": arguments with role and field.
  std::string signature(func::FuncOp f) {
    std::string text;
    for (unsigned i = 0; i < f.getNumArguments(); ++i) {
      auto get = [&](StringRef name) {
        auto value = f.getArgAttrOfType<StringAttr>(i, name);
        return value ? value.getValue().str() : std::string("-");
      };
      text += (i ? "; " : "") + get("grad.name") + " " + describe(f.getArgumentTypes()[i]) + " " +
              get("grad.role") + " " + get("grad.field");
    }
    return text;
  }
  std::vector<std::string> trained(const Imported &imported) {
    std::vector<std::string> names;
    for (const Verdict &verdict : imported.verdicts)
      if (verdict.trains)
        names.push_back(verdict.initializer);
    return names;
  }
  template <typename Op> int count(func::FuncOp f) {
    int n = 0;
    f.walk([&](Op) { ++n; });
    return n;
  }
};

TEST_F(ImportTrainingTest, MakesAllEntries) {
  Parts parts;
  parts.metric = "metric { accuracy { logits: \"logits\" labels: \"labels\" } }";
  parts.rest = "clip { global_norm: 0.5 } evaluation { data { source { npz { path: \"data.npz\" "
               "rows { begin: 1 } } } batch { size: 7 } } }";
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

TEST_F(ImportTrainingTest, UpdatesRunningStatisticsInTrainingOnly) {
  Parts parts;
  parts.model = "model: \"normalized.onnx\"";
  parts.rest = "evaluation { data { source { npz { path: \"data.npz\" } } batch { size: 5 } } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported),
            (std::vector<std::string>{"norm.weight", "norm.bias", "fc.weight"}));
  EXPECT_EQ(count<WriteOp>(function(*imported, "evaluate")), 0);
  EXPECT_EQ(count<WriteOp>(function(*imported, "forward")), 0);
  EXPECT_EQ(count<WriteOp>(function(*imported, "train.tail")), 2);
  EXPECT_EQ(imported->module->lookupSymbol<StateOp>("norm.running_var").getKind(),
            StateKind::statistic);

  func::FuncOp train = function(*imported, "train");
  ASSERT_EQ(count<WriteOp>(train), 2);
  std::vector<HostTensor> arguments;
  for (Type type : train.getArgumentTypes())
    arguments.emplace_back(cast<RankedTensorType>(type));
  for (int i = 0; i < 16; ++i)
    arguments[0].setFloat(i, 0.1 * i);
  Interpreter interpreter(*imported->module);
  interpreter.run(train, arguments);
  // Four rows 0.4 apart: variance 0.2, 0.2 * 4/3 without bias; momentum is 0.75.
  for (int c = 0; c < 4; ++c) {
    EXPECT_NEAR(interpreter.state("norm.running_mean").getFloat(c),
                0.75 * 0.5 + 0.25 * (0.6 + 0.1 * c), 1e-6);
    EXPECT_NEAR(interpreter.state("norm.running_var").getFloat(c), 0.75 + 0.25 * 0.8 / 3, 1e-6);
  }
}

/// One module in two places: its statistics move twice.
TEST_F(ImportTrainingTest, UpdatesSharedStatisticsInOrder) {
  Parts parts;
  parts.model = "model: \"normalized-twice.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  EXPECT_EQ(count<WriteOp>(train), 2);
  std::vector<HostTensor> arguments;
  for (Type type : train.getArgumentTypes())
    arguments.emplace_back(cast<RankedTensorType>(type));
  for (int i = 0; i < 16; ++i)
    arguments[0].setFloat(i, 0.1 * i);
  Interpreter interpreter(*imported->module);
  interpreter.run(train, arguments);
  // What is normalized has mean 0 the second time.
  EXPECT_NEAR(interpreter.state("norm.running_mean").getFloat(0), 0.75 * (0.75 * 0.5 + 0.25 * 0.6),
              1e-6);
}

TEST_F(ImportTrainingTest, KeepsFrozenStatistics) {
  Parts parts;
  parts.model = "model: \"normalized.onnx\"";
  parts.rest = "freeze: \"norm.running_*\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  EXPECT_EQ(count<WriteOp>(train) + count<NormalizeOp>(train), 0);
  EXPECT_EQ(imported->module->lookupSymbol<StateOp>("norm.running_var").getKind(),
            StateKind::constant);
}

TEST_F(ImportTrainingTest, RefusesStatisticsThatCannotBeUpdated) {
  Parts parts;
  parts.model = "model: \"normalized-constant.onnx\"";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected an initializer as running statistic, found operand 3 (\"mean\", f32 [4])"});
}

TEST_F(ImportTrainingTest, RefusesStatisticsMergedWithParameters) {
  Parts parts;
  parts.model = "model: \"normalized-merged.onnx\"";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected a running statistic of its own, found operand 3 (\"norm.copy\", f32 [4]), "
              "which is also operand 2 of BatchNormalization \"norm\"; export the model without "
              "merging equal initializers"});
}

TEST_F(ImportTrainingTest, RefusesABatchOfOneElementAChannel) {
  Parts parts;
  parts.model = "model: \"normalized.onnx\"";
  parts.batch = "batch { size: 3 }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected more than one element a channel in training, found operand 0 (\"x\", f32 "
              "[1, 4])\n  note: for the last batch, which has 1 of 3 rows"});
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

TEST_F(ImportTrainingTest, DropsTheRemainderWhereItIsAsked) {
  Parts parts;
  parts.batch = "batch { size: 4 drop_remainder: true }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(functions(*imported), (std::vector<std::string>{"train", "forward"}));
}

TEST_F(ImportTrainingTest, LeavesAbsentDataToTheRun) {
  Parts parts;
  parts.source = "source { npz { path: \"later.npz\" } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  expectSaid({"\"later.npz\" is not there yet"});
  EXPECT_EQ(functions(*imported), (std::vector<std::string>{"train", "forward"}));
  EXPECT_TRUE(imported->spec->data().batch().drop_remainder());
  EXPECT_EQ(signature(function(*imported, "train")).find("x f32 [4, 4] data x; labels i64 [4]"),
            0u);
}

TEST_F(ImportTrainingTest, ReadsEveryKindOfFile) {
  Parts parts;
  parts.map = "map { field: \"labels\" cast: I64 }";
  for (StringRef source :
       {"npz { path: \"deflated.npz\" }",
        "npy { field { name: \"x\" path: \"x.npy\" } field { name: \"labels\" path: "
        "\"labels.npy\" } }",
        "csv { path: \"table.csv\" field { name: \"x\" column: \"p*\" } field { column: "
        "\"labels\" dtype: I64 } }",
        "idx { field { name: \"x\" path: \"x.idx.gz\" } field { name: \"labels\" path: "
        "\"labels.idx\" } }"}) {
    parts.source = ("source { " + source + " }").str();
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    EXPECT_EQ(functions(*imported), (std::vector<std::string>{"train", "train.tail", "forward"}));
  }
}

/// What maps make of pictures is known before anything is read.
TEST_F(ImportTrainingTest, FollowsPicturesThroughTheirSteps) {
  Parts parts;
  parts.source = "source { tfrecord { path: \"later.tfrecord\" feature { name: \"image/encoded\" "
                 "field: \"x\" } feature { name: \"labels\" type: INT64 } } }";
  parts.map =
      "map { field: \"x\" decode { channels: 1 } } map { field: \"x\" resize { shorter: 9 } } "
      "map { field: \"x\" random_crop { height: 4 width: 4 padding: 1 } } "
      "map { field: \"x\" flip {} } map { field: \"x\" color_jitter { hue: 0.1 } } "
      "map { field: \"x\" crop { height: 4 width: 1 } } "
      "map { field: \"x\" normalize { mean: 0.5 } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"\"later.tfrecord\" is not there yet", "found field \"x\", f32 [4, 1, 4, 1]"});
}

TEST_F(ImportTrainingTest, CountsPicturesAndRecords) {
  std::string folder = modelPath("counted");
  for (StringRef name : {"a", "b", "b/deep"})
    ASSERT_FALSE(llvm::sys::fs::create_directories(folder + "/" + name));
  for (StringRef name : {"a/1.jpg", "a/2.PNG", "a/3.txt", "a/.4.jpg", "b/deep/5.jpeg", "6.jpg"})
    std::ofstream(folder + "/" + name.str()) << "x";
  std::ofstream(modelPath("list.txt")) << "# two\na/1.jpg 0\n\nb/deep/5.jpeg 2\n";
  // Records of 3 and 0 bytes, and one that is cut off.
  std::ofstream(modelPath("counted.tfrecord"))
      << std::string("\3\0\0\0\0\0\0\0cccc", 12) << "abccccc"
      << std::string("\0\0\0\0\0\0\0\0cccccccc", 16) << "rest";
  Parts parts;
  parts.model = "model: \"pictures.onnx\"";
  parts.map = "map { field: \"x\" decode {} } map { field: \"x\" resize { height: 2 width: 2 } } "
              "map { field: \"x\" normalize {} }";
  for (auto [source, batch] :
       {std::pair("folder { path: \"counted\" image: \"x\" label: \"labels\" }", 3),
        {"folder { path: \"counted\" list: \"list.txt\" image: \"x\" label: \"labels\" }", 2},
        {"tfrecord { path: \"counted.tfrecord\" feature { name: \"x\" } feature { name: "
         "\"labels\" type: INT64 } }",
         3}}) {
    parts.source = std::string("source { ") + source + " }";
    for (bool fits : {true, false}) {
      parts.batch = "batch { drop_remainder: true size: " + std::to_string(batch + !fits) + " }";
      said.clear();
      EXPECT_EQ(succeeded(training(parts)), fits) << source << everything();
    }
  }
}

/// A problem behind an output that training does not use is said with the others, and each once.
TEST_F(ImportTrainingTest, SaysWhatIsWrongInAllEntries) {
  Parts parts;
  parts.model = "model: \"two-heads.onnx\"";
  parts.rest = "evaluation { data { source { npz { path: \"narrow.npz\" } } batch { size: 7 } } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"of \"narrow.npz\" to be f32 [7, 4]", "LSTM", "GridSample"});
}

/// Losses from probabilities are computed from the scores behind them.
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
  EXPECT_EQ(count<SigmoidOp>(function(*imported, "forward")), 1);
}

TEST_F(ImportTrainingTest, TakesDistributionsAsLabels) {
  Parts parts;
  parts.source = "source { npz { path: \"one-hot.npz\" } }";
  parts.metric = "metric { accuracy { logits: \"logits\" labels: \"labels\" } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(count<ArgmaxOp>(function(*imported, "train")), 2);
  EXPECT_FALSE(function(*imported, "train").getArgAttr(1, "grad.classes"));
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
  parts.batch = "batch { size: 4 drop_remainder: true }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), std::vector<std::string>{"scale"});
  for (const Verdict &verdict : imported->verdicts)
    if (verdict.initializer == "steps") {
      EXPECT_EQ(verdict.reason, "no gradient gets through \"rounded\"");
    }
}

TEST_F(ImportTrainingTest, DropsOutInTrainingAlone) {
  Parts parts;
  parts.model = "model: \"dropout.onnx\"";
  parts.rest = "evaluation { data { source { npz { path: \"data.npz\" } } batch { size: 10 } } }";
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
  // The trained values go to both places of the file as it was.
  ASSERT_TRUE(model.ParseFromString(imported->modelBytes));
  std::vector<std::string> places;
  for (const InitializerRange &range : imported->ranges)
    for (const onnx::TensorProto &t : model.graph().initializer())
      if (t.raw_data() == imported->modelBytes.substr(range.offset, range.bytes))
        places.push_back(t.name() + (range.transposed ? " transposed " : " ") + range.state);
  EXPECT_EQ(places, (std::vector<std::string>{"encoder encoder", "decoder transposed encoder"}));
}

/// The imported step computes the loss: checked against the numbers by hand.
TEST_F(ImportTrainingTest, ComputesTheLoss) {
  Parts parts;
  parts.metric = "metric { accuracy { logits: \"logits\" labels: \"labels\" } }";
  parts.batch = "batch { size: 10 }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  std::vector<HostTensor> arguments;
  for (Type type : train.getArgumentTypes())
    arguments.emplace_back(cast<RankedTensorType>(type));
  // x = 0, so the logits are those of the biases: relu([0 .. 0.05]) w2 + b2.
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

// Errors ------------------------------------------------------------------------------------------

TEST_F(ImportTrainingTest, ReportsEveryUnknownFieldWithItsLine) {
  EXPECT_TRUE(failed(training("modle: \"mlp.onnx\"\n"
                              "optimizer { adam { learning_rat: 1 } }\n"
                              "data { batch { sise: 3 } }\n")));
  std::string path = modelPath("ReportsEveryUnknownFieldWithItsLine.textproto");
  expectSaid(
      {path + "\":1:6): unknown field \"modle\" in Training; did you mean \"model\"?",
       path + "\":2:32): unknown field \"learning_rat\" in Adam; did you mean \"learning_rate\"?",
       path + "\":3:20): unknown field \"sise\" in Batch; did you mean \"size\"?"});
}

TEST_F(ImportTrainingTest, ReportsSyntaxWithItsLine) {
  EXPECT_TRUE(failed(training("model: \"mlp.onnx\"\nloss {{ }\n")));
  expectSaid({".textproto\":2:7): in the training spec: expected identifier"});
}

TEST_F(ImportTrainingTest, ReportsEverythingThatIsMissing) {
  EXPECT_TRUE(failed(training("epochs: 3\n")));
  expectSaid({"missing model: add model: \"model.onnx\"", "missing loss: add loss {",
              "missing optimizer: add optimizer {", "missing data: add data {"});
}

TEST_F(ImportTrainingTest, ReportsValuesOutOfRange) {
  Parts parts;
  parts.optimizer = "optimizer { adam { learning_rate: -1 beta1: 1 } }";
  parts.batch = "batch { size: 0 }";
  parts.source = "source { npz { path: \"data.npz\" rows { every: 5 only: 5 } } }";
  parts.rest = "clip { global_norm: 0 } epochs: 0 checkpoint { directory: \"run\" keep: 0 }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected learning_rate above 0, found -1",
              "expected beta1 from 0 to below 1, found 1", "expected batch.size above 0, found 0",
              "expected only and except from 0 to below every, found 5",
              "expected global_norm above 0, found 0", "expected epochs above 0, found 0",
              "expected keep above 0, found 0"});
}

struct BadJob {
  const char *name;
  void (*change)(Parts &);
  std::vector<StringRef> expected;
};

class BadJobTest : public Importing, public testing::WithParamInterface<BadJob> {};

TEST_P(BadJobTest, IsAnswered) {
  Parts parts;
  GetParam().change(parts);
  std::string path = modelPath(std::string("bad-job-") + GetParam().name + ".textproto");
  std::ofstream(path) << std::string(parts);
  EXPECT_TRUE(failed(importTraining(context, path)));
  expectSaid(GetParam().expected);
}

const BadJob badJobs[] = {
    {"model",
     [](Parts &p) { p.model = "model: \"nowhere.onnx\""; },
     {"cannot read the ONNX model"}},
    {"names",
     [](Parts &p) {
       p.rest =
           "freeze: \"fc1.wieght\"\ntrainable: \"conv*\"\ntie { a: \"fc1.bias\" b: \"fc3.bias\" }";
     },
     {"freeze: no initializer matches \"fc1.wieght\"; did you mean \"fc1.weight\"?",
      "trainable: no initializer matches \"conv*\"",
      "initializer \"fc3.bias\" is not in the model; did you mean \"fc1.bias\"?"}},
    {"untied",
     [](Parts &p) {
       p.model = "model: \"tied.onnx\"";
       p.rest = "tie { a: \"decoder\" b: \"other\" }";
     },
     {"\"decoder\" and \"other\" hold different values"}},
    {"feed",
     [](Parts &p) { p.feed = "feed { input: \"y\" field: \"x\" }"; },
     {"graph input \"y\" is not in the model; did you mean \"x\"?"}},
    {"field",
     [](Parts &p) { p.feed = "feed { input: \"x\" field: \"images\" }"; },
     {"no field \"images\" in \"data.npz\"; it has labels, x"}},
    {"logits",
     [](Parts &p) {
       p.loss = "loss { softmax_cross_entropy { logits: \"logit\" labels: \"labels\" } }";
     },
     {"output \"logit\" is not in the model; did you mean \"logits\"?"}},
    {"labels",
     [](Parts &p) {
       p.loss = "loss { softmax_cross_entropy { logits: \"logits\" labels: \"label\" } }";
     },
     {"no field \"label\" in \"data.npz\"; it has labels, x"}},
    {"mapped",
     [](Parts &p) { p.map = "map { field: \"y\" cast: F32 }"; },
     {"no field \"y\" in \"data.npz\"; it has labels, x"}},
    {"doubles",
     [](Parts &p) { p.source = "source { npz { path: \"doubles.npz\" } }"; },
     {"expected field \"x\" of \"doubles.npz\" to be f32 [4, 4] for graph input \"x\", found f64 "
      "[4, "
      "4]; add map { field: \"x\" cast: F32 }"}},
    {"narrow",
     [](Parts &p) { p.source = "source { npz { path: \"narrow.npz\" } }"; },
     {"to be f32 [4, 4] for graph input \"x\", found f32 [4, 3]"}},
    {"uneven",
     [](Parts &p) { p.source = "source { npz { path: \"uneven.npz\" } }"; },
     {"array \"x\" of \"uneven.npz\" has 10 rows, \"labels\" has 9"}},
    {"fortran",
     [](Parts &p) { p.source = "source { npz { path: \"fortran.npz\" } }"; },
     {"array \"x\" of \"fortran.npz\" is in Fortran order"}},
    {"endian",
     [](Parts &p) { p.source = "source { npz { path: \"big-endian.npz\" } }"; },
     {"array \"x\" of \"big-endian.npz\" has dtype >f4, which is not supported"}},
    {"truncated",
     [](Parts &p) { p.source = "source { npz { path: \"truncated.npz\" } }"; },
     {"expected a zip archive, found no directory (truncated?)"}},
    {"empty",
     [](Parts &p) { p.source = "source { npz { path: \"empty.npz\" } }"; },
     {"the data set is empty: none of the 0 rows of \"empty.npz\" is selected"}},
    {"csv-columns",
     [](Parts &p) {
       p.source = "source { csv { path: \"table.csv\" field { name: \"x\" column: \"p0\" column: "
                  "\"p9\" }\nfield { column: \"label\" } field { name: \"y\" column: \"p*\" } } }";
     },
     {"no column \"p9\" in \"table.csv\"; did you mean \"p0\"?",
      "no column \"label\" in \"table.csv\"; did you mean \"labels\"?",
      "column \"p0\" is in field \"x\" and again in \"y\", expected one"}},
    {"csv-twice",
     [](Parts &p) {
       p.source = "source { csv { path: \"twice.csv\" field { name: \"x\" column: \"p0\" } } }";
     },
     {"\"twice.csv\" has two columns \"p0\""}},
    {"csv-shape",
     [](Parts &p) {
       p.source =
           "source { csv { path: \"table.csv\" field { name: \"x\" column: \"p*\" shape: 3 } "
           "field { column: \"labels\" dtype: I64 } } }";
     },
     {"field \"x\" has 4 columns, but its shape asks for 3"}},
    {"csv-dtype",
     [](Parts &p) {
       p.source =
           "source { csv { path: \"table.csv\" field { name: \"x\" column: \"p*\" dtype: F64 "
           "} field { column: \"labels\" dtype: I64 } } }";
     },
     {"expected field \"x\" of \"table.csv\" to be f32 [4, 4] for graph input \"x\", found f64 [4, "
      "4]; "
      "add map { field: \"x\" cast: F32 }"}},
    {"csv-spec",
     [](Parts &p) {
       p.source = "source { csv { delimiter: \"e\" field { name: \"x\" shape: 0 } field { column: "
                  "\"y\" dtype: I32 missing: 0.5 } } }";
     },
     {"missing path: add path: \"data.csv\"",
      "expected delimiter to be one character that is no part of a number, found e",
      "missing column: add column: \"age\"", "expected shape of dims above 0, found 0",
      "expected missing to be a 32-bit integer, found 0.5"}},
    {"idx",
     [](Parts &p) { p.source = "source { idx { field { name: \"x\" path: \"short.idx\" } } }"; },
     {"expected 10 bytes of data, found 9"}},
    {"selection",
     [](Parts &p) { p.source = "source { npz { path: \"data.npz\" rows { begin: 10 } } }"; },
     {"the data set is empty: none of the 10 rows of \"data.npz\" is selected"}},
    {"no-picture",
     [](Parts &p) { p.map = "map { field: \"x\" flip {} }"; },
     {"expected pictures [height, width, channels] of u8 or f32, found f32 [4]"}},
    {"no-file",
     [](Parts &p) { p.map = "map { field: \"x\" decode {} }"; },
     {"expected files for decode, bytes of any number, found f32 of 1 dims"}},
    {"picture-steps",
     [](Parts &p) {
       p.map = "map { field: \"x\" decode { channels: 2 min_height: 5 } } "
               "map { field: \"x\" resize { height: 3 shorter: 2 } } "
               "map { field: \"x\" crop { width: 40000 height: 1 } } "
               "map { field: \"x\" random_crop { height: 1 width: 1 padding: -1 } } "
               "map { field: \"x\" flip { horizontal: 2 } } "
               "map { field: \"x\" color_jitter { hue: 1 } } "
               "map { field: \"x\" normalize { deviation: 0 } }";
     },
     {"expected channels of 1, 3 or 4, found 2",
      "expected decode with min_height and min_width, found one of them",
      "expected resize with height and width, or with shorter, found both",
      "expected width from 1 to 32768, found 40000", "expected padding from 0 to 32768, found -1",
      "expected horizontal and vertical from 0 to 1, found 2",
      "expected hue from 0 to 0.5, found 1", "expected deviation above 0, found 0"}},
    {"no-folder",
     [](Parts &p) { p.source = "source { folder { list: \"list.txt\" } }"; },
     {"missing path"}},
    {"records",
     [](Parts &p) {
       p.source = "source { tfrecord { path: \"a\" feature { name: \"x\" shape: 0 } "
                  "feature { name: \"y\" field: \"x\" } feature { type: FLOAT } } }";
     },
     {"expected shape of dims above 0, found 0", "field \"x\" is declared twice", "missing name"}},
    {"one-batch",
     [](Parts &p) { p.batch = "batch { size: 11 drop_remainder: true }"; },
     {"expected at least one batch of 11 rows, \"data.npz\" has 10"}},
    {"label-shape",
     [](Parts &p) { p.source = "source { npz { path: \"odd-labels.npz\" } }"; },
     {"found field \"labels\", i64 [4, 2]"}},
    {"batch",
     [](Parts &p) { p.model = "model: \"mlp-fixed.onnx\""; },
     {"expected graph input \"x\" to have a first dim of 4, the batch, found f32 [1, 4]"}},
    {"frozen",
     [](Parts &p) { p.rest = "freeze: \"*\""; },
     {"nothing trains: no initializer is a parameter"}},
    {"scalar",
     [](Parts &p) { p.loss = "loss { scalar: \"logits\" }"; },
     {"expected a scalar loss, found \"logits\", f32 [4, 3]"}},
};

INSTANTIATE_TEST_SUITE_P(, BadJobTest, testing::ValuesIn(badJobs), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
