// Linear models, support vector machines and trees of ai.onnx.ml. Expected numbers are those of
// ONNX Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;

namespace {

using Ints = OneNode::Shape;
using Texts = std::vector<std::string>;

using LinearTest = OneNodeTest;
using SupportVectorsTest = OneNodeTest;

TEST_F(LinearTest, RegressorsMultiplyAndAdd) {
  OneNode one = learned("LinearRegressor").input({2}, {1, 2}).setFloats("coefficients", {1, 2});
  expect(one, {1, 1}, {5});
  OneNode two = learned("LinearRegressor").input({2, 2}, {1, 2, 3, 4});
  two.setFloats("coefficients", {1, 2, 0, 1}).setFloats("intercepts", {0.5, -1});
  expect(two.set("targets", int64_t(2)), {2, 2}, {5.5, 1, 11.5, 3});
}

TEST_F(LinearTest, RegressorsRefuseOtherCounts) {
  auto of = [](const Floats &coefficients) {
    return learned("LinearRegressor").input({2, 2}).setFloats("coefficients", coefficients);
  };
  expectFails(of({1, 2, 3}), {"expected coefficients for 2 features, as operand 0"});
  expectFails(of({1, 2, 3, 4}), {"expected coefficients for 1 targets, found those for 2"});
  expectFails(of({1, 2}).setFloats("intercepts", {1, 2}), {"expected 1 intercepts"});
  expectFails(of({1, 2}).set("post_transform", "LOGISTIC"),
              {"with post_transform LOGISTIC is not supported for one score a row"});
  expectFails(of({1, 2}).set("post_transform", "PROBIT"),
              {"expected post_transform NONE, SOFTMAX or LOGISTIC, found \"PROBIT\""});
}

/// Scores that are the features.
OneNode classifier(const OneNode::Shape &shape, const Floats &x, const char *transform) {
  int64_t classes = shape[1];
  Floats identity(classes * classes);
  for (int64_t i = 0; i < classes; ++i)
    identity[i * classes + i] = 1;
  OneNode one = learned("LinearClassifier", 2).input(shape, x);
  return one.setFloats("coefficients", identity).set("post_transform", transform);
}

TEST_F(LinearTest, ClassifiersChooseTheFirstLargestScore) {
  OneNode one = classifier({2, 3}, {1, 1, 0, 0.1f, 0.2f, 0.3f}, "NONE");
  one.set("classlabels_ints", Ints{5, 7, 9}).set("multi_class", int64_t(1));
  expect(one, {2}, {5, 9});
  expect(one, {2, 3}, {1, 1, 0, 0.1f, 0.2f, 0.3f}, 1);
  OneNode two = classifier({2, 2}, {-0.5, 0.2f, 0.3f, 0.3f}, "SOFTMAX");
  two.set("classlabels_ints", Ints{0, 1});
  expect(two, {2}, {1, 0});
  expect(two, {2, 2}, {0.3318122f, 0.6681878f, 0.5, 0.5}, 1);
  OneNode texts = classifier({2, 2}, {-0.5, 0.2f, 0.3f, 0.3f}, "LOGISTIC");
  texts.set("classlabels_strings", Texts{"cat", "ox"});
  expect(texts, {2, 3}, {'o', 'x', 0, 'c', 'a', 't'});
  expect(texts, {2, 2}, {0.3775407f, 0.5498340f, 0.5744425f, 0.5744425f}, 1);
}

TEST_F(LinearTest, OneScoreIsThatOfTheSecondClass) {
  for (bool isLogistic : {false, true}) {
    OneNode one = classifier({3, 1}, {-0.9f, 0.2f, 0}, isLogistic ? "LOGISTIC" : "NONE");
    one.set("classlabels_ints", Ints{5, 7});
    expect(one, {3}, {5, 7, 5});
    Floats plain{1.9f, -0.9f, 0.8f, 0.2f, 1, 0};
    Floats logistic{0.7109495f, 0.2890505f, 0.4501660f, 0.5498340f, 0.5, 0.5};
    expect(one, {3, 2}, isLogistic ? logistic : plain, 1);
  }
}

TEST_F(LinearTest, ClassifiersNeedALabelForEachScore) {
  expectFails(classifier({2, 2}, {}, "NONE").set("classlabels_ints", Ints{1, 2, 3}),
              {"expected 2 labels for 2 scores, found 3"});
  expectFails(classifier({2, 2}, {}, "NONE"),
              {"expected labels in one of \"classlabels_ints\" and \"classlabels_strings\", found "
               "0 and 0"});
  expectFails(classifier({2, 1}, {}, "SOFTMAX").set("classlabels_ints", Ints{1, 2}),
              {"with post_transform SOFTMAX is not supported for one score a row"});
}

// Support vectors ---------------------------------------------------------------------------------

OneNode machine(const char *kernel, const Floats &parameters) {
  OneNode one = learned("SVMRegressor").input({2, 2}, {0, 0, 1, 2});
  one.setFloats("coefficients", {1, 2}).setFloats("rho", {0.5}).set("kernel_type", kernel);
  return one.setFloats("kernel_params", parameters);
}

TEST_F(SupportVectorsTest, RegressorsSumKernels) {
  auto with = [](const char *kernel) {
    OneNode one = machine(kernel, {0.5, 1, 2}).set("n_supports", int64_t(2));
    return one.setFloats("support_vectors", {0, 0, 1, 0});
  };
  expect(with("LINEAR"), {2, 1}, {0.5, 2.5});
  expect(with("POLY"), {2, 1}, {3.5, 6});
  expect(with("RBF"), {2, 1}, {2.7130613f, 0.8527553f});
  expect(with("SIGMOID"), {2, 1}, {2.7847825f, 3.0718908f});
  expectFails(with("COSINE"), {"expected kernel_type LINEAR, POLY, RBF or SIGMOID"});
}

TEST_F(SupportVectorsTest, WithoutVectorsTheModelIsLinear) {
  expect(machine("LINEAR", {0, 0, 3}), {2, 1}, {0.5, 5.5});
  expect(machine("LINEAR", {0, 0, 3}).set("one_class", int64_t(1)), {2, 1}, {1, 1});
  expectFails(machine("RBF", {1, 0, 3}).set("n_supports", int64_t(2)),
              {"expected 2 support vectors of 2 features"});
}

OneNode voters(const Ints &sizes, const Floats &vectors, const Floats &coefficients,
               const Floats &rho) {
  OneNode one = learned("SVMClassifier", 2).input({3, 2}, {2, 0, 0, 2, 1, 1});
  one.set("vectors_per_class", sizes).setFloats("support_vectors", vectors);
  one.setFloats("coefficients", coefficients).setFloats("rho", rho);
  return one.setFloats("kernel_params", {0.5, 1, 2});
}

TEST_F(SupportVectorsTest, ClassifiersVote) {
  OneNode two = voters({1, 1}, {1, 0, 0, 1}, {0.5, -0.5}, {0.1f});
  two.set("classlabels_ints", Ints{5, 7});
  expect(two, {3}, {5, 7, 5});
  expect(two, {3, 2}, {-1.1f, 1.1f, 0.9f, -0.9f, -0.1f, 0.1f}, 1);
  OneNode three =
      voters({1, 1, 1}, {1, 0, 0, 1, 1, 1}, {0.5, -0.5, -0.25, 0.75, 1, -1}, {0.1f, 0.2f, -0.3f});
  three.set("classlabels_ints", Ints{5, 7, 9}).set("kernel_type", "POLY");
  expect(three, {3}, {5, 9, 5});
  expect(three, {3, 3}, {1.6f, 2.2f, -3.3f, -1.4f, -0.05f, -0.3f, 0.1f, 0.8875f, -2.05f}, 1);
}

TEST_F(SupportVectorsTest, ClassifiersRefuseProbabilities) {
  OneNode one = voters({1, 1}, {1, 0, 0, 1}, {0.5, -0.5}, {0.1f});
  one.set("classlabels_ints", Ints{5, 7});
  expectFails(OneNode(one).setFloats("prob_a", {1}).setFloats("prob_b", {1}),
              {"with prob_a and prob_b is not supported: export the model without probabilities"});
  expectFails(voters({2}, {}, {}, {}),
              {"expected support vectors of two or more classes, found vectors_per_class [2]"});
  OneNode few = voters({1, 1}, {1, 0, 0, 1}, {0.5}, {0.1f});
  expectFails(few.set("classlabels_ints", Ints{5, 7}),
              {"expected 2 coefficients, 1 rho and 2 labels, found 1, 1 and 2"});
}
} // namespace
