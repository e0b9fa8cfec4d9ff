// FlexAttention equals Attention if its graphs express Attention's attributes, and graphs with
// other shapes are refused.
#include "test/unit/compiler/import/GraphText.h"

using namespace gradc;
using namespace gradc::graph_text;

namespace {

class FlexAttentionTest : public GraphTextTest {
protected:
  static constexpr const char *query = "1x4x3x2", *key = "1x2x5x2";

  static std::string inputs(const char *key = FlexAttentionTest::key) {
    return tensor("input", "q", query) + tensor("input", "k", key) +
           tensor("input", "v", "1x2x5x3");
  }
  static std::string flex(const std::string &more, const char *key = FlexAttentionTest::key) {
    return inputs(key) + node("FlexAttention", "q k v", "y", "domain: 'ai.onnx.preview' " + more) +
           output;
  }
  static std::string attention(const std::string &more) {
    return inputs() + node("Attention", "q k v", "y", more) + output;
  }

  Floats outputs(const std::string &graph) {
    OneNode one = model(graph, 24);
    one.data.clear();
    for (int64_t count : {24, 20, 30}) {
      one.data.emplace_back();
      for (int64_t i = 0; i < count; ++i)
        one.data.back().push_back(float((i * 7 + count) % 11 - 5) / 4);
    }
    auto results = run(one);
    Floats values;
    for (int64_t i = 0; !results.empty() && i < results[0].size(); ++i)
      values.push_back(float(results[0].getFloat(i)));
    return values;
  }

  void expectSame(const std::string &a, const std::string &b, float factor = 1) {
    Floats x = outputs(a), y = outputs(b);
    ASSERT_EQ(x.size(), 36u);
    ASSERT_EQ(y.size(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(x[i], factor * y[i], 1e-5) << i;
  }
};

std::string real(const char *name, const char *value) {
  return std::string("attribute { name: '") + name + "' type: 1 f: " + value + " } ";
}

std::string modifier(const char *name, const std::string &nodes) {
  return graph(name, "input { name: 's' } " + nodes + "output { name: 't' } ");
}

/// True where the query is not before the key; 3 queries, 5 keys.
std::string causal() {
  return "initializer { name: 'seen' dims: [3, 5] data_type: 9 int32_data: "
         "[1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0] } " +
         number("none", "f32", "-inf") + node("Where", "seen s none", "t");
}

TEST_F(FlexAttentionTest, IsAttention) {
  expectSame(flex(""), attention(""));
  expectSame(flex(real("scale", "0.3")), attention(real("scale", "0.3")));
}

TEST_F(FlexAttentionTest, GraphsModifyScoresAndWeights) {
  std::string cap = number("cap", "f32", "0.5") + node("Div", "s cap", "a") +
                    node("Tanh", "a", "b") + node("Mul", "b cap", "t");
  expectSame(flex(modifier("score_mod", cap)), attention(real("softcap", "0.5")));
  expectSame(flex(modifier("score_mod", causal())),
             attention("attribute { name: 'is_causal' type: 2 i: 1 } "));
  std::string twice = node("Add", "s s", "t");
  expectSame(flex(modifier("prob_mod", twice)), attention(""), 2);
}

TEST_F(FlexAttentionTest, AQueryThatSeesNothingGetsNothing) {
  std::string none = number("none", "f32", "-inf") + node("Add", "s none", "t");
  EXPECT_EQ(outputs(flex(modifier("score_mod", none))), Floats(36, 0.0f));
}

TEST_F(FlexAttentionTest, SaysWhatAGraphMustMake) {
  expectError(flex(modifier("score_mod", node("ReduceSum", "s", "t"))),
              "expected score_mod to make f32 [1, 4, 3, 5], found f32 [1, 1, 1, 1]");
  expectError(flex(modifier("prob_mod", node("SequenceConstruct", "s", "t"))),
              "expected prob_mod to make f32 [1, 4, 3, 5], found a sequence");
  expectError(flex(graph("score_mod", "output { name: 'q' } ")),
              "expected a graph of 1 inputs and 1 outputs, found 0 and 1");
  expectError(flex("", "1x3x5x2"), "expected queries [B, H, S, D], keys [B, h, T, D] and values");
  expectError(flex("attribute { name: 'softmax_precision' type: 2 i: 7 } "),
              "expected a float type as softmax_precision, found int64");
}

} // namespace
