// Parameters that would not train as intended: refused, or noted.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/TrainingTesting.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

class ParameterChecksTest : public TrainingTesting {
protected:
  using Strings = std::vector<std::string>;

  /// Expects that a spec with `rest` says these notes of the model, and trains these parameters.
  void expectNotes(StringRef model, StringRef rest, ArrayRef<StringRef> notes,
                   const Strings &trains) {
    SCOPED_TRACE((model + " " + rest).str());
    said.clear();
    Parts parts;
    parts.model = ("model: \"" + model + ".onnx\"").str();
    parts.rest = rest.str();
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    expectSaid(notes);
    EXPECT_EQ(trained(*imported), trains);
  }
};

TEST_F(ParameterChecksTest, RefusesParametersOfAFreshModelThatWereMerged) {
  Parts parts;
  parts.model = "model: \"merged-biases.onnx\"";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"initializer \"bias\" is 0 everywhere and serves 2 nodes (fc1, fc2)"});
  parts.rest = "trainable: \"bias\"";
  EXPECT_TRUE(succeeded(training(parts))) << everything();
}

/// The regularizer uses all parameters, too.
TEST_F(ParameterChecksTest, RegularizesParametersThatAreOneNumber) {
  Parts parts;
  parts.model = "model: \"zero-biases.onnx\"";
  parts.rest = "regularizer { l2: 1e-4 } regularizer { l1: 1e-4 }";
  EXPECT_TRUE(succeeded(training(parts))) << everything();
}

TEST_F(ParameterChecksTest, TrainsALayerThatIsAppliedAgain) {
  Parts parts;
  parts.model = "model: \"applied-again.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"bias", "fc1.weight"}));
}

/// As an encoder of two texts is: PyTorch's newer exporter records which parameter a call takes.
TEST_F(ParameterChecksTest, TrainsAParameterThatTheModuleGivesToTwoLayers) {
  Parts parts;
  parts.model = "model: \"shared-bias.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), (Strings{"bias", "fc1.weight", "fc2.weight"}));
  said.clear();
  parts.model = "model: \"merged-recorded.onnx\"";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"initializer \"bias\" is 0 everywhere and serves 2 nodes (fc1, fc2)"});
}

TEST_F(ParameterChecksTest, NotesParametersThatLookLikeMasks) {
  const StringRef note =
      "initializer \"mask\" holds only 0 and 1 and is a factor of \"prune\": if it is a mask, "
      "which "
      "training would change, name it in the spec: freeze: \"mask\"; if it is a parameter: "
      "trainable: \"mask\"";
  for (auto [model, rest, isNoted] : {std::tuple("masked", "", true),
                                      {"masked-sub", "", true},
                                      {"masked-add", "", false},
                                      {"masked", "trainable: \"mask\"", false},
                                      {"masked", "freeze: \"mask\"", false}}) {
    bool isFrozen = StringRef(rest).starts_with("freeze");
    expectNotes(model, rest, isNoted ? ArrayRef<StringRef>(note) : ArrayRef<StringRef>(),
                isFrozen ? Strings{"weight"} : Strings{"mask", "weight"});
  }
}

/// PyTorch's newer exporter says which initializers are parameters, scalars among them, and which
/// are buffers.
TEST_F(ParameterChecksTest, TrainsWhatTheModuleCallsAParameter) {
  Parts parts;
  parts.model = "model: \"module.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  expectSaid({});
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"weight", "temperature"}));
  EXPECT_EQ(imported->verdicts[1].reason,
            "a buffer of the PyTorch module, which trains if trainable names it");
  EXPECT_EQ(imported->verdicts[3].reason, "a scalar (rank 0)");
  auto levels = imported->module->lookupSymbol<StateOp>("levels");
  EXPECT_EQ(levels.getKind(), StateKind::constant);

  parts.rest = "trainable: \"levels\" freeze: \"temperature\"";
  imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"weight", "levels"}));
  EXPECT_EQ(imported->verdicts[2].reason, "frozen by the training spec");
}

TEST_F(ParameterChecksTest, NotesScalarsThatMayBeParameters) {
  const StringRef note =
      "initializer \"temperature\" is a scalar, which does not train by itself: if it is a "
      "parameter, name it in the spec: trainable: \"temperature\"; if not: freeze: "
      "\"temperature\"";
  for (auto [model, rest, isNoted, trains] :
       {std::tuple("module-older", "", true, Strings{"weight", "levels"}),
        {"module-older", "freeze: \"temperature\"", false, {"weight", "levels"}},
        {"module-older", "trainable: \"temperature\"", false, {"weight", "levels", "temperature"}},
        {"module-elsewhere", "", false, {"weight", "levels"}}})
    expectNotes(model, rest, isNoted ? ArrayRef<StringRef>(note) : ArrayRef<StringRef>(), trains);
}

TEST_F(ParameterChecksTest, NotesHalvesOfATiedParameter) {
  Parts parts;
  parts.model = "model: \"tied.onnx\"";
  parts.loss = "loss { mean_squared_error { predictions: \"logits\" targets: \"x\" } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  expectSaid(
      {"initializer \"decoder\" is the transpose of \"encoder\": it looks like one parameter "
       "of which the exporter has made two, which would train apart; tie them in the spec: "
       "tie { a: \"encoder\" b: \"decoder\" transpose: true }; if they are two parameters: "
       "trainable: \"decoder\""});
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"encoder", "decoder"}));
  for (const char *rest : {"trainable: \"decoder\"", "freeze: \"decoder\"",
                           "tie { a: \"encoder\" b: \"decoder\" transpose: true }"}) {
    said.clear();
    parts.rest = rest;
    EXPECT_TRUE(succeeded(training(parts))) << everything();
    expectSaid({});
  }
}

TEST_F(ParameterChecksTest, RefusesParametersInF64) {
  Parts parts;
  parts.model = "model: \"in-f64.onnx\"";
  parts.map = "stage { map { field: \"x\" cast: F64 } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected parameters in f32, in which training computes, found initializer \"bias\" "
              "in f64 and 1 more; export the model in f32"});
}

} // namespace
