// Ensembles of trees of ai.onnx.ml. Expected numbers are those of ONNX Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;

namespace {

/// TensorProto's number of the type.
constexpr int32_t DOUBLE = 11;
constexpr float NaN = std::numeric_limits<float>::quiet_NaN();
using Ints = OneNode::Shape;
using Texts = std::vector<std::string>;

class TreesTest : public OneNodeTest {
protected:
  /// One branch at 0 with two leaves, nodes 1 and 2.
  static OneNode stump(StringRef op, const char *mode, int outputs = 1) {
    OneNode one = learned(op, outputs).input({4, 1}, {-1, 0, 1, NaN});
    one.set("nodes_treeids", Ints{0, 0, 0}).set("nodes_nodeids", Ints{0, 1, 2});
    one.set("nodes_featureids", Ints{0, 0, 0}).setFloats("nodes_values", {0, 0, 0});
    one.set("nodes_modes", Texts{mode, "LEAF", "LEAF"});
    one.set("nodes_truenodeids", Ints{1, 0, 0});
    return one.set("nodes_falsenodeids", Ints{2, 0, 0});
  }
  static OneNode regressor(const char *mode) {
    OneNode one = stump("TreeEnsembleRegressor", mode);
    one.set("target_treeids", Ints{0, 0}).set("target_nodeids", Ints{1, 2});
    return one.set("target_ids", Ints{0, 0}).setFloats("target_weights", {0.25, 0.5});
  }
  static OneNode ofTwo(const Floats &weights, const char *transform) {
    OneNode one = stump("TreeEnsembleClassifier", "BRANCH_LEQ", 2);
    one.set("class_treeids", Ints{0, 0}).set("class_nodeids", Ints{1, 2});
    one.set("class_ids", Ints{0, 0}).setFloats("class_weights", weights);
    return one.set("classlabels_int64s", Ints{5, 7}).set("post_transform", transform);
  }
  /// Two trees of two features, of depth 2 and 1.
  static OneNode two(StringRef op, int outputs = 1, int32_t type = 1) {
    OneNode one = learned(op, outputs).input({4, 2}, {-1, 0, 1, 0, 1, 1, 1, 0.5}, type);
    one.set("nodes_treeids", Ints{0, 0, 0, 0, 0, 1, 1, 1});
    one.set("nodes_nodeids", Ints{0, 1, 2, 3, 4, 0, 1, 2});
    one.set("nodes_featureids", Ints{0, 0, 1, 0, 0, 1, 0, 0});
    one.setFloats("nodes_values", {0, 0, 1, 0, 0, 0.5, 0, 0});
    one.set("nodes_modes",
            Texts{"BRANCH_LEQ", "LEAF", "BRANCH_LT", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"});
    one.set("nodes_truenodeids", Ints{1, 0, 3, 0, 0, 1, 0, 0});
    return one.set("nodes_falsenodeids", Ints{2, 0, 4, 0, 0, 2, 0, 0});
  }
};

TEST_F(TreesTest, ModesDecideAtTheThreshold) {
  expect(regressor("BRANCH_LEQ"), {4, 1}, {0.25, 0.25, 0.5, 0.5});
  expect(regressor("BRANCH_LT"), {4, 1}, {0.25, 0.5, 0.5, 0.5});
  expect(regressor("BRANCH_GTE"), {4, 1}, {0.5, 0.25, 0.25, 0.5});
  expect(regressor("BRANCH_GT"), {4, 1}, {0.5, 0.5, 0.25, 0.5});
}

TEST_F(TreesTest, MissingValuesMayGoToTheTrueChild) {
  for (const char *mode : {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"}) {
    OneNode one = regressor(mode).set("nodes_missing_value_tracks_true", Ints{1, 0, 0});
    auto results = run(one);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].getFloat(3), 0.25) << mode;
  }
}

TEST_F(TreesTest, RegressorsSumTrees) {
  for (int32_t type : {1, DOUBLE}) {
    OneNode one = two("TreeEnsembleRegressor", 1, type);
    one.set("target_treeids", Ints{0, 0, 0, 1, 1}).set("target_nodeids", Ints{1, 3, 4, 1, 2});
    one.set("target_ids", Ints{0, 0, 0, 0, 0});
    one.setFloats("target_weights", {1, 2, 3, 10, 20}).setFloats("base_values", {0.5});
    expect(one, {4, 1}, {21.5, 22.5, 13.5, 22.5});
    expect(one.set("aggregate_function", "AVERAGE"), {4, 1}, {11, 11.5, 7, 11.5});
  }
}

TEST_F(TreesTest, ClassifiersChooseTheLargestSum) {
  OneNode one = two("TreeEnsembleClassifier", 2);
  one.set("class_treeids", Ints{0, 0, 0, 1, 1}).set("class_nodeids", Ints{1, 3, 4, 1, 2});
  one.set("class_ids", Ints{0, 1, 2, 0, 1}).setFloats("class_weights", {1, 2, 3, 1.5, 0.5});
  one.setFloats("base_values", {0.1f, 0.2f, 0.3f});
  OneNode texts = one;
  one.set("classlabels_int64s", Ints{5, 7, 9});
  expect(one, {4}, {5, 7, 9, 7});
  expect(one, {4, 3}, {1.1f, 0.7f, 0.3f, 0.1f, 2.7f, 0.3f, 1.6f, 0.2f, 3.3f, 0.1f, 2.7f, 0.3f}, 1);
  texts.set("classlabels_strings", Texts{"a", "b", "c"});
  expect(texts, {4, 1}, {'a', 'b', 'c', 'b'});
}

TEST_F(TreesTest, TwoClassesHaveOneSum) {
  expect(ofTwo({0.4f, 0.6f}, "NONE"), {4}, {5, 5, 7, 7});
  expect(ofTwo({0.4f, 0.6f}, "NONE"), {4, 2}, {0.6f, 0.4f, 0.6f, 0.4f, 0.4f, 0.6f, 0.4f, 0.6f}, 1);
  expect(ofTwo({-0.4f, 0.6f}, "NONE"), {4}, {5, 5, 7, 7});
  expect(ofTwo({-0.4f, 0.6f}, "NONE"), {4, 2}, {0.4f, -0.4f, 0.4f, -0.4f, -0.6f, 0.6f, -0.6f, 0.6f},
         1);
  OneNode logistic = ofTwo({0.4f, 0.6f}, "LOGISTIC").setFloats("base_values", {0.1f});
  expect(logistic, {4, 2},
         {0.3775407f, 0.6224593f, 0.3775407f, 0.6224593f, 0.3318122f, 0.6681878f, 0.3318122f,
          0.6681878f},
         1);
}

TEST_F(TreesTest, RefusesWhatIsNoTree) {
  expectFails(regressor("BRANCH_EQ"),
              {"expected modes BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT or LEAF, found "
               "\"BRANCH_EQ\""});
  auto changed = [](const char *name, auto change) {
    OneNode one = regressor("BRANCH_LEQ");
    for (onnx::AttributeProto &attribute : *one.node().mutable_attribute())
      if (attribute.name() == name)
        change(attribute);
    return one;
  };
  auto setInt = [&](const char *name, int i, int64_t value) {
    return changed(name, [&](onnx::AttributeProto &a) { a.set_ints(i, value); });
  };
  expectFails(setInt("nodes_truenodeids", 0, 2), // node 2 twice
              {"expected node 2, a child of node 0, once in tree 0 and with no other parent"});
  expectFails(setInt("nodes_truenodeids", 0, 9), {"expected node 9, a child of node 0"});
  expectFails(setInt("nodes_nodeids", 2, 1), {"has two nodes 1 in tree 0"});
  expectFails(setInt("nodes_featureids", 0, 1), {"expected features from 0 to 0, as operand 0"});
  expectFails(setInt("nodes_treeids", 2, 1), {"expected node 2, a child of node 0"});
  expectFails(setInt("target_nodeids", 0, 7),
              {"expected weights of nodes for outputs from 0 to 0, found one of node 7"});
  expectFails(changed("nodes_values", [](onnx::AttributeProto &a) { a.clear_floats(); }),
              {"expected one entry for each node in all attributes nodes_*, found 3 and 0"});
  expectFails(changed("nodes_modes", [](onnx::AttributeProto &a) { a.set_strings(0, "LEAF"); }),
              {"expected one root in each of 1 trees, found 3"});
  expectFails(changed("target_ids", [](onnx::AttributeProto &a) { a.clear_ints(); }),
              {"expected as many target_* as weights, 2, found 0"});
}

TEST_F(TreesTest, RefusesOtherSums) {
  expectFails(regressor("BRANCH_LEQ").set("aggregate_function", "MAX"),
              {"expected aggregate_function SUM or AVERAGE, found \"MAX\""});
  expectFails(regressor("BRANCH_LEQ").setFloats("base_values", {1, 2}),
              {"expected 1 base_values, found 2"});
  OneNode one = ofTwo({0.4f, 0.6f}, "NONE");
  for (onnx::AttributeProto &attribute : *one.node().mutable_attribute())
    if (attribute.name() == "class_ids")
      attribute.set_ints(0, 1);
  expectFails(one, {"expected class_ids of 0 alone for two classes, found others"});
}

// A chain of branches, whose first child is the next branch.
TEST_F(TreesTest, RefusesDeepTrees) {
  auto chain = [](int64_t depth) {
    OneNode one = learned("TreeEnsembleRegressor").input({1, 1});
    Ints trees(2 * depth + 1), nodes, features(2 * depth + 1), onTrue, onFalse;
    Texts modes;
    for (int64_t i = 0; i < 2 * depth + 1; ++i) {
      bool isLeaf = i % 2 == 1 || i == 2 * depth;
      nodes.push_back(i);
      modes.push_back(isLeaf ? "LEAF" : "BRANCH_LEQ");
      onTrue.push_back(isLeaf ? 0 : i + 2);
      onFalse.push_back(isLeaf ? 0 : i + 1);
    }
    one.set("nodes_treeids", trees).set("nodes_nodeids", nodes).set("nodes_modes", modes);
    one.set("nodes_featureids", features).setFloats("nodes_values", Floats(2 * depth + 1));
    one.set("nodes_truenodeids", onTrue).set("nodes_falsenodeids", onFalse);
    one.set("target_treeids", Ints{0}).set("target_nodeids", Ints{2 * depth});
    return one.set("target_ids", Ints{0}).setFloats("target_weights", {3});
  };
  expect(chain(64), {1, 1}, {3});
  expectFails(chain(65), {"is not supported for trees deeper than 64 branches, found one of 65"});
}

} // namespace
