// Losses, regularizers, and metrics of a training spec: their results, and the messages about wrong
// ones. test/e2e/objectives/objectives.test checks their numbers.
#include "dialects/Pch.h"

#include "dialects/grad/Grad.h"
#include "test/unit/compiler/import/TrainingTesting.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// The model has logits [N, 3], the data x [4] and labels.
class ObjectiveTest : public TrainingTesting {
protected:
  void expectRefused(const std::string &objective, ArrayRef<StringRef> parts) {
    said.clear();
    Parts spec;
    (StringRef(objective).starts_with("metric") ? spec.metric : spec.loss) = objective;
    if (StringRef(objective).starts_with("regularizer"))
      spec = Parts(), spec.rest = objective;
    EXPECT_TRUE(failed(training(spec))) << objective;
    expectSaid(parts);
  }
  /// The results with their roles: "loss loss; f1 sums; ...".
  std::string results(func::FuncOp f) {
    std::string text;
    for (unsigned i = 0; i < f.getNumResults(); ++i) {
      auto get = [&](StringRef name) {
        auto value = f.getResultAttrOfType<StringAttr>(i, name);
        return value ? value.getValue().str() : std::string("-");
      };
      text += (i ? "; " : "") + get("grad.name") + " " + get("grad.role");
    }
    return text;
  }
};

TEST_F(ObjectiveTest, MetricsAreSumsThatTheRunAdds) {
  Parts parts;
  parts.metric =
      "metric { name: \"first\" f1 { logits: \"logits\" labels: \"labels\" average: MACRO } } "
      "metric { top_k { logits: \"logits\" labels: \"labels\" k: 2 } } "
      "metric { accuracy { logits: \"logits\" labels: \"labels\" } }";
  parts.rest = evaluation;
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(
      results(function(*imported, "evaluate")),
      "loss loss; first sums; first sums; first sums; top_k sums; top_k sums; accuracy metric");
}

TEST_F(ObjectiveTest, SeveralLabelsASampleCountEach) {
  for (std::string loss : {"binary_cross_entropy { logits: \"logits\" targets: \"labels\" }",
                           "focal { logits: \"logits\" targets: \"labels\" }",
                           "hinge { logits: \"logits\" targets: \"labels\" }"}) {
    Parts parts;
    parts.source = "source { npz { path: \"one-hot.npz\" } }";
    parts.loss = "loss { " + loss + " }";
    parts.metric = "metric { f1 { logits: \"logits\" labels: \"labels\" } } "
                   "metric { iou { logits: \"logits\" labels: \"labels\" average: MACRO } } "
                   "metric { auc { logits: \"logits\" labels: \"labels\" average: MACRO } } "
                   "metric { name: \"all\" auc { logits: \"logits\" labels: \"labels\" } }";
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    func::FuncOp train = function(*imported, "train");
    EXPECT_EQ(results(train), "loss loss; f1 sums; f1 sums; f1 sums; iou sums; iou sums; iou sums; "
                              "auc samples; auc samples; all samples; all samples");
    EXPECT_EQ(describe(train.getResultTypes()[1]), "f64 []");
    EXPECT_EQ(describe(train.getResultTypes()[4]), "f64 [3]");
    EXPECT_EQ(describe(train.getResultTypes()[7]), "f32 [4, 3]");
    EXPECT_EQ(describe(train.getResultTypes()[9]), "f32 [4, 3, 1]");
    EXPECT_EQ(count<ArgmaxOp>(train), 0);
    EXPECT_EQ(count<LogSoftmaxOp>(train), 0);
  }
}

TEST_F(ObjectiveTest, TheAreaUnderTheCurveOfClassesIsThatOfTheirProbabilities) {
  Parts parts;
  parts.metric = "metric { auc { logits: \"logits\" labels: \"labels\" average: MACRO } } "
                 "metric { name: \"rest\" auc { logits: \"logits\" labels: \"labels\" "
                 "average: MACRO ignore_index: 2 } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  EXPECT_EQ(results(train), "loss loss; auc samples; auc samples; rest samples; rest samples; "
                            "labels of field labels indices");
  EXPECT_EQ(describe(train.getResultTypes()[1]), "f32 [4, 3]");
  EXPECT_EQ(describe(train.getResultTypes()[2]), "f32 [4, 3]");
  EXPECT_EQ(count<LogSoftmaxOp>(train), 2);
}

TEST_F(ObjectiveTest, OneScoreTellsTwoClasses) {
  Parts parts;
  parts.model = "model: \"sigmoid.onnx\"";
  parts.loss = "loss { binary_cross_entropy { logits: \"probabilities\" targets: \"labels\" } }";
  std::string ignoring = " { logits: \"probabilities\" labels: \"labels\" ignore_index: 2 } } ";
  parts.metric = "metric { confusion_matrix" + ignoring + "metric { accuracy" + ignoring +
                 "metric { precision" + ignoring;
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  EXPECT_EQ(results(train), "loss loss; confusion_matrix sums; accuracy sums; accuracy sums; "
                            "precision sums; precision sums; precision sums");
  EXPECT_EQ(describe(train.getResultTypes()[1]), "f64 [2, 2]");
}

/// Labels that each have a mask are the second dim, as classes are, unless the model moves it back.
TEST_F(ObjectiveTest, LabelsOfPicturesAreTheirChannels) {
  struct Case {
    std::string model, output, labels;
    const char *sums, *samples;
  };
  for (const Case &one :
       {Case{"segmenter", "scores", "labels", "f64 [3]", "f32 [4, 2, 5, 3]"},
        Case{"segmenter", "mask", "channel", "f64 [1]", "f32 [4, 2, 5, 1]"},
        Case{"channels-last", "probabilities", "last", "f64 [3]", "f32 [4, 2, 5, 3]"}}) {
    Parts parts;
    parts.model = "model: \"" + one.model + ".onnx\"";
    parts.source = "source { npz { path: \"label-masks.npz\" } }";
    std::string names =
        " { logits: \"" + one.output + "\" labels: \"" + one.labels + "\" average: MACRO } }";
    parts.loss = "loss { binary_cross_entropy { logits: \"" + one.output + "\" targets: \"" +
                 one.labels + "\" } }";
    parts.metric = "metric { f1" + names + " metric { auc" + names;
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    func::FuncOp train = function(*imported, "train");
    EXPECT_EQ(results(train), "loss loss; f1 sums; f1 sums; f1 sums; auc samples; auc samples");
    EXPECT_EQ(describe(train.getResultTypes()[1]), one.sums);
    EXPECT_EQ(describe(train.getResultTypes()[4]), one.samples);
    int sums = 0;
    train.walk([&](ReduceSumOp sum) {
      if (describe(sum.getType()) != one.sums)
        return;
      ++sums;
      EXPECT_EQ(cast<RankedTensorType>(sum.getOperand().getType()).getShape().drop_back(),
                (ArrayRef<int64_t>{4, 2, 5}));
    });
    EXPECT_EQ(sums, 3);
  }
}

/// Scores [N, 3, 2, 5], as PyTorch's losses take them, with labels [N, 2, 5].
TEST_F(ObjectiveTest, ClassesMayBeTheSecondDim) {
  Parts parts;
  parts.model = "model: \"segmenter.onnx\"";
  parts.source = "source { npz { path: \"masks.npz\" } }";
  parts.loss = "loss { softmax_cross_entropy { logits: \"probabilities\" labels: \"classes\" } }";
  std::string names = " { logits: \"scores\" labels: \"classes\" ";
  parts.metric = "metric { accuracy" + names + "} } metric { confusion_matrix" + names +
                 "} } metric { auc" + names + "average: MACRO } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  EXPECT_EQ(results(train), "loss loss; accuracy metric; confusion_matrix sums; auc samples; auc "
                            "samples");
  EXPECT_EQ(describe(train.getResultTypes()[2]), "f64 [3, 3]");
  EXPECT_EQ(describe(train.getResultTypes()[3]), "f32 [4, 10, 3]");
  // The loss takes the scores before the softmax.
  int64_t losses = 0;
  train.walk([&](SoftmaxCrossEntropyOp loss) {
    Value scores = loss->getOperand(0);
    EXPECT_EQ(describe(cast<RankedTensorType>(scores.getType())), "f32 [40, 3]");
    while (isa_and_nonnull<ReshapeOp, TransposeOp>(scores.getDefiningOp()))
      scores = scores.getDefiningOp()->getOperand(0);
    EXPECT_TRUE(isa_and_nonnull<MatmulOp>(scores.getDefiningOp()));
    ++losses;
  });
  EXPECT_EQ(losses, 1);
}

TEST_F(ObjectiveTest, LabelsTellThatAMaskHasOneScoreAPixel) {
  for (std::string logits : {"mask", "scores"}) {
    Parts parts;
    parts.model = "model: \"segmenter.onnx\"";
    parts.source = "source { npz { path: \"masks.npz\" } }";
    parts.loss = "loss { scalar: \"mean\" }";
    parts.metric = "metric { accuracy { logits: \"" + logits + "\" labels: \"channel\" } }";
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    func::FuncOp train = function(*imported, "train");
    EXPECT_EQ(count<ArgmaxOp>(train), logits == "mask" ? 0 : 1);
  }
}

TEST_F(ObjectiveTest, WeightedLossesAreSumsInEvaluations) {
  Parts parts;
  parts.loss =
      "loss { softmax_cross_entropy { logits: \"logits\" labels: \"labels\" ignore_index: 2 } }";
  parts.rest = evaluation;
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(results(function(*imported, "evaluate")),
            "loss loss; loss sums; loss sums; labels of field labels indices");
  EXPECT_EQ(results(function(*imported, "train")), "loss loss; labels of field labels indices");
}

TEST_F(ObjectiveTest, RegularizersAreOverParametersThatTrain) {
  Parts parts;
  parts.rest = "freeze: \"fc1.bias\" regularizer { pattern: \"*.bias\" l1: 0.1 l2: 0.2 }" +
               std::string(evaluation);
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(count<AbsOp>(function(*imported, "train")), 1);
  EXPECT_EQ(count<AbsOp>(function(*imported, "train.tail")), 1);
  EXPECT_EQ(count<AbsOp>(function(*imported, "evaluate")), 0);
}

TEST_F(ObjectiveTest, RefusesLossesThatNameTooLittle) {
  expectRefused("loss { focal { logits: \"logits\" } }",
                {"focal needs logits and targets or labels, found no targets or labels"});
  expectRefused("loss { hinge { logits: \"logits\" labels: \"a\" targets: \"b\" } }",
                {"hinge takes targets or labels, found both"});
  expectRefused("loss { cosine {} }",
                {"cosine needs predictions and targets or other, found neither"});
  expectRefused("loss { triplet { anchor: \"logits\" } }",
                {"missing positive: add the name of an output",
                 "missing negative: add the name of an output"});
  expectRefused("loss {}", {"missing the loss's kind: add softmax_cross_entropy {"});
  expectRefused("loss { scalar: \"logits\" sample_weights: \"x\" }",
                {"a scalar of the model has no samples left to weigh: leave sample_weights out"});
  expectRefused("regularizer { pattern: \"*\" }", {"missing l1 or l2: add l2: 1e-4"});
}

TEST_F(ObjectiveTest, RefusesNumbersOutOfRange) {
  expectRefused("loss { weight: 0 softmax_cross_entropy { logits: \"logits\" labels: \"labels\" "
                "label_smoothing: 1 class_weight: [1, -1, 1] } }",
                {"expected weight above 0 and finite, found 0",
                 "expected label_smoothing from 0 to below 1, found 1",
                 "expected class_weight of 0 or more and finite, found -1"});
  expectRefused(
      "loss { focal { logits: \"logits\" targets: \"y\" alpha: 2 gamma: -1 } }",
      {"expected gamma of 0 or more and finite, found -1", "expected alpha from 0 to 1, found 2"});
  expectRefused("loss { huber { predictions: \"logits\" targets: \"x\" delta: 0 } }",
                {"expected delta above 0 and finite, found 0"});
  expectRefused(
      "loss { binary_cross_entropy { logits: \"logits\" targets: \"x\" positive_weight: -2 } }",
      {"expected positive_weight above 0 and finite, found -2"});
  expectRefused("metric { top_k { logits: \"logits\" labels: \"labels\" k: 0 } }",
                {"expected k above 0, found 0"});
  expectRefused("regularizer { l1: -1 l2: inf }",
                {"expected l1 of 0 or more and finite, found -1",
                 "expected l2 of 0 or more and finite, found inf"});
}

TEST_F(ObjectiveTest, RefusesWhatDoesNotFitTheModel) {
  expectRefused(
      "loss { softmax_cross_entropy { logits: \"logits\" labels: \"labels\" class_weight: 1 } }",
      {"expected one class_weight for each of 3 classes, found 1"});
  expectRefused(
      "loss { softmax_cross_entropy { logits: \"logits\" labels: \"x\" ignore_index: 0 } }",
      {"expected labels as integers i64 [4] for scores f32 [4, 3], found field \"x\", f32 "
       "[4, 4]"});
  expectRefused(
      "loss { sample_weights: \"x\" softmax_cross_entropy { logits: \"logits\" labels: "
      "\"labels\" } }",
      {"expected one weight a row, or dims like those of the losses, f32 [4], found field "
       "\"x\", f32 [4, 4]"});
  expectRefused("loss { kl_divergence { logits: \"logits\" targets: \"labels\" } }",
                {"expected as many targets as \"logits\", f32 [4, 3], has elements, found field "
                 "\"labels\", i64 [4]"});
  expectRefused("loss { cosine { predictions: \"logits\" other: \"nowhere\" } }",
                {"output \"nowhere\" is not in the model"});
  expectRefused(
      "loss { softmax_cross_entropy { logits: \"logits\" labels: \"labels\" } } "
      "loss { triplet { anchor: \"logits\" positive: \"logits\" negative: \"hidden\" } }",
      {"expected vectors of one size, found \"logits\", f32 [4, 3], and \"hidden\", f32 [4, "});
  expectRefused("regularizer { pattern: \"fc7.*\" l2: 1 }",
                {"regularizer: no parameter that trains matches \"fc7.*\""});
  expectRefused("regularizer { pattern: \"[\" l2: 1 }",
                {"regularizer: expected a glob pattern or the name of a parameter that trains, "
                 "found \"[\": invalid glob pattern"});
}

TEST_F(ObjectiveTest, RefusesSequencesThatAreNone) {
  expectRefused("loss { ctc { logits: \"logits\" blank: -1 } }",
                {"ctc needs logits and labels, found no labels",
                 "expected blank of 0 or more and finite, found -1"});
  expectRefused("loss { ctc { logits: \"logits\" labels: \"labels\" } }",
                {"expected scores [batch, steps, classes], found \"logits\", f32 [4, 3]"});
}

TEST_F(ObjectiveTest, RefusesMetricsOfOtherOutputs) {
  for (StringRef kind : {"precision", "recall", "f1", "iou", "auc"})
    expectRefused(("metric { " + kind + " { logits: \"logits\" labels: \"labels\" } }").str(),
                  {(":4:10): " + kind +
                    " is of one score a sample, found \"logits\", f32 [4, 3]; average: MACRO takes "
                    "the mean over classes")
                       .str()});
  expectRefused("metric { top_k { logits: \"logits\" labels: \"labels\" k: 4 } }",
                {"expected k to be at most the number of classes, 3, found 4"});
  expectRefused("metric { r2 { predictions: \"logits\" targets: \"labels\" } }",
                {"expected as many targets as \"logits\""});
  expectRefused("metric { perplexity { logits: \"logits\" labels: \"x\" } }",
                {"expected labels as integers"});
  expectRefused(
      "metric { auc { logits: \"logits\" labels: \"labels\" } } "
      "metric { auc { logits: \"logits\" labels: \"labels\" } }",
      {"two metrics are called \"auc\": tell them apart, metric { name: \"...\" auc { ... } }"});
}

} // namespace
