// Preparation of features and categories in ai.onnx.ml. Expected numbers are those of ONNX Runtime
// 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

constexpr float NaN = std::numeric_limits<float>::quiet_NaN();

using FeaturesTest = OneNodeTest;
using CategoriesTest = OneNodeTest;

TEST_F(FeaturesTest, ScalerShiftsAndScales) {
  OneNode one = learned("Scaler").input({2, 2}).setFloats("offset", {1}).setFloats("scale", {2});
  expect(one, {2, 2}, {-2, 0, 2, 4});
  for (int32_t type : {INT64, DOUBLE}) {
    OneNode each = learned("Scaler").input({2, 2}, {}, type);
    each.setFloats("offset", {0, 1}).setFloats("scale", {2, 3});
    expect(each, {2, 2}, {0, 0, 4, 6});
    EXPECT_TRUE(run(each)[0].getElementType().isF32());
  }
}

TEST_F(FeaturesTest, ScalerNeedsOneNumberOrOneForEachFeature) {
  OneNode three = learned("Scaler").input({2, 2});
  expectFails(three.setFloats("offset", {0}).setFloats("scale", {1, 2, 3}),
              {"expected 1 or 2 numbers as \"scale\" for the last dim of operand 0 (\"x0\", f32 "
               "[2, 2]), found 3"});
  OneNode cube = learned("Scaler").input({2, 2, 2});
  expectFails(cube.setFloats("offset", {0}).setFloats("scale", {1}),
              {"expected rows of features, of rank 1 or 2, found operand 0"});
}

TEST_F(FeaturesTest, NormalizerDividesRows) {
  auto rows = [](const char *norm) {
    OneNode one = learned("Normalizer");
    return one.input({4, 3}, {-1, -2, -4, 0, 0, 0, 1, -2, 4, -1, 0, -3}).set("norm", norm);
  };
  expect(rows("MAX"), {4, 3}, {1, 2, 4, 0, 0, 0, 0.25, -0.5, 1, -1, 0, -3});
  float n = 1 / 7.0f, r = 1 / std::sqrt(21.0f), q = 1 / std::sqrt(10.0f);
  expect(rows("L1"), {4, 3}, {-n, -2 * n, -4 * n, 0, 0, 0, n, -2 * n, 4 * n, -0.25, 0, -0.75});
  expect(rows("L2"), {4, 3}, {-r, -2 * r, -4 * r, 0, 0, 0, r, -2 * r, 4 * r, -q, 0, -3 * q});
  expectFails(rows("L3"), {"expected norm MAX, L1 or L2, found \"L3\""});
}

TEST_F(FeaturesTest, BinarizerComparesWithAThreshold) {
  expect(learned("Binarizer").input({3}, {0, 0.5, 1}).set("threshold", 0.5), {3}, {0, 0, 1});
  expect(learned("Binarizer").input({3}, {}, INT64).set("threshold", 0.5), {3}, {0, 1, 1});
}

TEST_F(FeaturesTest, ImputerReplacesANumberOrNaN) {
  OneNode floats = learned("Imputer").input({2, 2}, {1, NaN, NaN, 4});
  floats.setFloats("imputed_value_floats", {7, 8}).set("replaced_value_float", double(NaN));
  expect(floats, {2, 2}, {1, 8, 7, 4});
  OneNode integers = learned("Imputer").input({2, 2}, {1, 2, 2, 4}, INT64);
  integers.set("imputed_value_int64s", OneNode::Shape{7}).set("replaced_value_int64", int64_t(2));
  expect(integers, {2, 2}, {1, 7, 7, 4});
  expectFails(learned("Imputer").input({2, 2}),
              {"expected 1 or 2 numbers as \"imputed_value_floats\""});
}

TEST_F(FeaturesTest, ExtractorPicksColumns) {
  OneNode known = learned("ArrayFeatureExtractor").input({2, 3}, {1, 2, 3, 4, 5, 6}).ints({2, 0});
  expect(known, {2, 2}, {3, 1, 6, 4});
  OneNode computed = learned("ArrayFeatureExtractor").input({3}, {1, 2, 3});
  expect(computed.input({2, 1}, {2, 0}, INT64), {1, 2}, {3, 1});
  OneNode narrow = learned("ArrayFeatureExtractor").input({2, 3}).input({2}, {1, 1}, INT32);
  expect(narrow, {2, 2}, {1, 1, 4, 4});
  expectFails(learned("ArrayFeatureExtractor").input({2, 3}).ints({3}),
              {"expected indices from -3 to 2 for dim 1 of operand 0"});
  expectFails(learned("ArrayFeatureExtractor").input({2, 3}).input({1}),
              {"expected an integer as operand 1"});
}

TEST_F(FeaturesTest, VectorizerJoinsFeatures) {
  auto two = [](const OneNode::Shape &sizes) {
    OneNode one = learned("FeatureVectorizer").input({2, 2}, {1, 2, 3, 4});
    return one.input({2, 1}, {5, 6}, INT64).set("inputdimensions", sizes);
  };
  expect(two({2, 1}), {2, 3}, {1, 2, 5, 3, 4, 6});
  expectFails(two({1, 2}), {"expected inputdimensions [2, 1], as the operands have, found [1, 2]"});
  expectFails(learned("FeatureVectorizer").input({2, 2}).input({3, 1}),
              {"expected operands with the same number of rows"});
}

// Categories --------------------------------------------------------------------------------------

TEST_F(CategoriesTest, LabelEncoderLooksUpNumbers) {
  OneNode floats = learned("LabelEncoder").input({4}, {1, NaN, 3, -0.0f});
  floats.setFloats("keys_floats", {1, NaN, 0}).setFloats("values_floats", {5, 6, 7});
  expect(floats.set("default_float", -2.0), {4}, {5, 6, -2, 7});
  OneNode integers = learned("LabelEncoder").input({3, 1}, {1, 2, 4}, INT64);
  integers.set("keys_int64s", OneNode::Shape{1, 2, 1});
  integers.set("values_int64s", OneNode::Shape{5, 6, 7});
  expect(integers, {3, 1}, {5, 6, -1}); // the first of equal keys
}

TEST_F(CategoriesTest, LabelEncoderWritesStrings) {
  OneNode one = learned("LabelEncoder").input({2}, {2, 3}, INT64);
  one.set("keys_int64s", OneNode::Shape{1, 2});
  one.set("values_strings", std::vector<std::string>{"a", "bc"}).set("default_string", "?");
  expect(one, {2, 2}, {'b', 'c', '?', 0});
}

TEST_F(CategoriesTest, LabelEncoderNeedsListsOfOneLength) {
  OneNode one = learned("LabelEncoder").input({2}, {}, INT64);
  one.set("keys_int64s", OneNode::Shape{1, 2}).set("values_int64s", OneNode::Shape{1});
  expectFails(one, {"expected lists of keys and values of one length, found [2] and [1]"});
  expectFails(learned("LabelEncoder").input({2}), {"expected keys and values"});
  OneNode floats = learned("LabelEncoder").input({1}, {}, INT64).setFloats("keys_floats", {1});
  expectFails(floats.setFloats("values_floats", {1}), {"expected floats, as the keys are"});
  OneNode text =
      learned("LabelEncoder").input({1}).set("keys_strings", std::vector<std::string>{"a"});
  expectFails(text.setFloats("values_floats", {1}), {"expected strings, as the keys are"});
}

TEST_F(CategoriesTest, OneHotEncoderMarksTheCategory) {
  OneNode one = learned("OneHotEncoder").input({3, 1}, {1, 2, 9}, INT64);
  expect(one.set("cats_int64s", OneNode::Shape{1, 2}), {3, 1, 2}, {1, 0, 0, 1, 0, 0});
  expectFails(learned("OneHotEncoder").input({3}), {"expected categories in one of"});
}

TEST_F(CategoriesTest, OneHotEncoderReportsUnknownCategories) {
  OneNode one = learned("OneHotEncoder").input({2}, {2, 1}, INT64).set("zeros", int64_t(0));
  auto results = run(one.set("cats_int64s", OneNode::Shape{1, 2}));
  ASSERT_EQ(results.size(), 2u); // the second one is the largest position, which a run checks
  EXPECT_EQ(results[0].getFloat(1), 1);
}

TEST_F(CategoriesTest, ZipMapSaysHowToExportArrays) {
  expectFails(learned("ZipMap").input({2, 2}).set("classlabels_int64s", OneNode::Shape{0, 1}),
              {"ZipMap is not supported, since its results are maps: export the model with arrays "
               "instead (skl2onnx: options={\"zipmap\": False}"});
}

TEST_F(CategoriesTest, MessagesNameTheDomainsOpset) {
  expectFails(learned("DictVectorizer").input({2}),
              {"ai.onnx.ml::DictVectorizer is not supported: opset of ai.onnx.ml not stated, "
               "operands (f32 [2])"});
  OneNode one = learned("DictVectorizer").input({2});
  onnx::OperatorSetIdProto &set = *one.model.add_opset_import();
  set.set_domain("ai.onnx.ml");
  set.set_version(3);
  expectFails(one, {"is not supported: opset 3 of ai.onnx.ml, operands (f32 [2])"});
  OneNode other = OneNode("ReverseV2", 9).input({2});
  other.model.set_producer_name("tf2onnx");
  expectFails(other, {"ReverseV2 is not supported: opset 9, operands (f32 [2]); tf2onnx leaves "
                      "what it cannot translate"});
}

} // namespace
