// ONNX Runtime's attention of as many heads of keys as of queries, rotary embeddings, and sums of
// embeddings. Expected numbers are those of ONNX Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

class MultiHeadAttentionTest : public OneNodeTest {
protected:
  using Shape = OneNode::Shape;

  /// Two heads, whose queries have 2 positions and keys 3.
  static OneNode multi(int outputs = 1) {
    OneNode one = contrib("MultiHeadAttention", outputs).set("num_heads", int64_t(2));
    one.wave({2, 2, 4}, 0);
    one.wave({2, 3, 4}, 1);
    one.wave({2, 3, 4}, 2);
    return one;
  }
  /// Input, weights and bias.
  static OneNode projected(int outputs = 1) {
    OneNode one = contrib("Attention", outputs).set("num_heads", int64_t(2));
    one.wave({2, 2, 3}, 0);
    one.wave({3, 12}, 1);
    one.wave({12}, 2);
    return one;
  }
};

// MultiHeadAttention ------------------------------------------------------------------------------

TEST_F(MultiHeadAttentionTest, ManyHeads) {
  Floats plain = {0.601454f,   0.420229f,  0.153272f,  -0.376899f, 0.209478f, 0.142256f,
                  -0.0646596f, 0.209814f,  -0.113695f, -0.157378f, 0.555373f, 0.244291f,
                  -0.199102f,  -0.394796f, -0.685823f, -0.301751f};
  expect(multi(), {2, 2, 4}, plain);
  OneNode biased = multi();
  expect(biased.wave({12}, 3), {2, 2, 4},
         {1.13887f, 0.405884f, -0.521435f, -1.13123f, 0.662454f, 0.0688196f, -0.629172f, -0.492551f,
          0.516494f, -0.179667f, -0.900771f, -1.10818f, 0.460516f, -0.374173f, -1.35807f,
          -1.29602f});
  OneNode narrow = contrib("MultiHeadAttention").set("num_heads", int64_t(2));
  narrow.wave({2, 2, 4}, 0);
  narrow.wave({2, 3, 4}, 1);
  expect(narrow.wave({2, 3, 2}, 2), {2, 2, 2},
         {-0.0550007f, -0.347339f, -0.0964138f, -0.558293f, 0.470096f, 0.752997f, 0.426159f,
          0.224598f});
  OneNode split = contrib("MultiHeadAttention").set("num_heads", int64_t(2));
  split.wave({2, 2, 4}, 0);
  split.wave({2, 2, 3, 2}, 1);
  expect(split.wave({2, 2, 3, 2}, 2), {2, 2, 4},
         {0.164025f, -0.190198f, 0.584255f, 0.239965f, -0.163803f, -0.410251f, 0.131165f, 0.53114f,
          -0.319152f, 0.0181356f, 0.402837f, -0.0457009f, -0.24112f, -0.0290609f, -0.58389f,
          -0.583908f});
}

TEST_F(MultiHeadAttentionTest, PackedOperandsHoldTheSameHeads) {
  // Keys and values, or queries too, follow each other for each head.
  OneNode keys = contrib("MultiHeadAttention").set("num_heads", int64_t(2));
  Floats k = waveOf(24, 1), v = waveOf(24, 2), both;
  for (int64_t i = 0; i < 24; i += 2) {
    both.insert(both.end(), k.begin() + i, k.begin() + i + 2);
    both.insert(both.end(), v.begin() + i, v.begin() + i + 2);
  }
  keys.wave({2, 2, 4}, 0);
  expect(keys.input({2, 3, 2, 2, 2}, both), {2, 2, 4},
         {0.601454f, 0.420229f, 0.153272f, -0.376899f, 0.209478f, 0.142256f, -0.0646596f, 0.209814f,
          -0.113695f, -0.157378f, 0.555373f, 0.244291f, -0.199102f, -0.394796f, -0.685823f,
          -0.301751f});
  OneNode all = contrib("MultiHeadAttention").set("num_heads", int64_t(1));
  OneNode apart = all;
  Floats q = waveOf(4, 0), packed;
  k = waveOf(4, 1), v = waveOf(4, 2);
  for (int64_t i : {0, 2})
    for (const Floats &part : {q, k, v})
      packed.insert(packed.end(), part.begin() + i, part.begin() + i + 2);
  auto expected = run(apart.input({1, 2, 2}, q).input({1, 2, 2}, k).input({1, 2, 2}, v));
  ASSERT_EQ(expected.size(), 1u);
  Floats values;
  for (int64_t i = 0; i < 4; ++i)
    values.push_back(float(expected[0].getFloat(i)));
  expect(all.input({1, 2, 1, 3, 2}, packed), {1, 2, 2}, values);
}

TEST_F(MultiHeadAttentionTest, KeysAreMasked) {
  expect(multi().nothing().input({2}, {2, 3}, INT32), {2, 2, 4},
         {0.357358f, 0.0992165f, -0.219752f, -0.528414f, -0.112001f, -0.179848f, -0.121513f,
          0.267239f, -0.113695f, -0.157378f, 0.555373f, 0.244291f, -0.199102f, -0.394796f,
          -0.685823f, -0.301751f});
  expect(multi().nothing().input({8}, {2, 3, 0, 2, 4, 0, 3, 6}, INT32), {2, 2, 4},
         {0.357358f, 0.0992165f, -0.219752f, -0.528414f, -0.112001f, -0.179848f, -0.121513f,
          0.267239f, -0.113695f, -0.157378f, 0.555373f, 0.244291f, -0.199102f, -0.394796f,
          -0.685823f, -0.301751f});
  expect(multi().nothing().input({2, 3}, {1, 0, 1, 1, 1, 1}, INT32).set("mask_filter_value", -2.0),
         {2, 2, 4},
         {0.884114f, 0.619407f, 0.172026f, -0.452698f, 0.791256f, 0.551357f, -0.0369672f,
          -0.344079f, -0.113695f, -0.157378f, 0.555373f, 0.244291f, -0.199102f, -0.394796f,
          -0.685823f, -0.301751f});
  expect(multi().nothing().input({2, 2, 3}, {1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0}, INT32), {2, 2, 4},
         {0.937666f, 0.657142f, 0.175234f, -0.465664f, 0.209478f, 0.142256f, -0.0646596f, 0.209814f,
          -0.287903f, -0.837142f, -0.992659f, -0.681314f, -0.12374f, -0.0193932f, -0.434444f,
          0.00921134f});
  OneNode bias = multi().set("scale", 0.5).nothing().nothing();
  expect(bias.wave({1, 2, 2, 3}, 5), {2, 2, 4},
         {0.614489f, 0.520059f, -0.0427049f, -0.497467f, 0.12681f, 0.0901617f, 0.0341957f,
          0.119774f, -0.0996418f, -0.264402f, 0.287412f, 0.171064f, -0.13207f, -0.268911f,
          -0.719737f, -0.424477f});
  OneNode both = multi().nothing().input({2}, {2, 3}, INT32);
  expect(both.wave({2, 1, 2, 3}, 5), {2, 2, 4},
         {0.184881f, -0.0033322f, -0.206807f, -0.423573f, -0.237771f, -0.254626f, -0.114065f,
          0.327567f, -0.290712f, -0.32799f, 0.503014f, 0.250623f, -0.184507f, -0.497323f,
          -0.788445f, -0.458915f});
  expect(multi(4).nothing().input({2}, {2, 3}, INT32).set("mask_filter_value", -2.0), {2, 2, 2, 3},
         {0.451734f,   -0.445295f, -1.6126f,   -0.0466525f, 0.0975355f, -2.13715f,
          0.496055f,   -0.843815f, -0.905933f, -0.445172f,  0.804202f,  -3.0703f,
          -0.0184907f, 0.163797f,  -0.290176f, -0.126067f,  -0.142585f, 0.394761f,
          -1.06742f,   1.08863f,   -0.984045f, 0.798765f,   -0.836454f, 0.777485f},
         3);
}

TEST_F(MultiHeadAttentionTest, PastKeysComeFirst) {
  OneNode one = contrib("MultiHeadAttention", 3).set("num_heads", int64_t(2));
  one.wave({2, 2, 4}, 0);
  one.wave({2, 2, 4}, 1);
  one.wave({2, 2, 4}, 2);
  one.nothing().nothing().nothing().set("unidirectional", int64_t(1));
  one.wave({2, 2, 1, 2}, 6);
  one.wave({2, 2, 1, 2}, 7);
  expect(one, {2, 2, 4},
         {0.799904f, 0.670519f, 0.49168f, -0.0527237f, 0.11221f, 0.160706f, -0.0312587f, 0.272034f,
          0.345034f, 0.0704122f, 0.237846f, -0.315147f, 0.0461329f, -0.210714f, -0.707558f,
          -0.335176f});
  expect(one, {2, 2, 3, 2},
         {-0.279415f, 0.40485f,    0.841471f, 0.991665f,  -0.611858f, -0.97753f,
          0.898708f,  0.96989f,    0.675463f, 0.0415807f, -0.883455f, -0.373877f,
          0.584917f,  -0.0751511f, 0.311541f, 0.850437f,  0.0247754f, -0.625071f,
          -0.699875f, -0.995436f,  0.989358f, 0.662969f,  -0.980936f, -0.875452f},
         1);
  expect(one, {2, 2, 3, 2},
         {0.656987f,  0.988168f,  0.909297f,  0.42738f,   -0.996165f,  -0.70554f,
          0.854599f,  0.319098f,  -0.255541f, -0.818277f, -0.0830894f, 0.57844f,
          -0.366479f, -0.879696f, 0.96792f,   0.902172f,  -0.827826f,  -0.994553f,
          -0.979178f, -0.618137f, 0.412118f,  -0.271761f, -0.693525f,  -0.0663219f},
         2);
}

TEST_F(MultiHeadAttentionTest, MultiHeadAttentionSaysWhatItExpects) {
  auto heads = [](int64_t count = 2) {
    return contrib("MultiHeadAttention").set("num_heads", count);
  };
  expectFails(heads().input({1, 2, 4}), {"operand 1 is missing"});
  expectFails(heads().input({1, 2, 4}).input({1, 2, 4}), {"operand 2 is missing"});
  expectFails(heads().input({1, 2, 4}, {}, INT32), {"expected a float as operand 0"});
  expectFails(heads().input({1, 2, 4}).input({1, 2, 4}, {}, DOUBLE).input({1, 2, 4}),
              {"expected operands of one element type"});
  expectFails(heads(3).input({1, 2, 4}).input({1, 2, 4}).input({1, 2, 4}),
              {"expected a number of heads that divides dim 2 of operand 0"});
  expectFails(heads().input({2, 4}).input({1, 2, 4}).input({1, 2, 4}), {"expected rank 3"});
  expectFails(heads().input({1, 2, 4}).input({1, 3, 4}).input({1, 2, 4}),
              {"expected queries [B, H, S, D], keys [B, h, T, D]"});
  for (int64_t wrong : {11, 13})
    expectFails(heads().input({1, 2, 4}).input({1, 2, 4}).input({1, 2, 4}).input({wrong}),
                {"expected a bias for queries, keys and values, found operand 3"});
  expectFails(heads().input({1, 2, 2, 2, 2}), {"expected 2 heads of 3 vectors, found operand 0"});
  expectFails(heads().input({1, 2, 4}).input({1, 2, 2, 2, 2}).input({1, 2, 4}),
              {"expected packed operands without others and without a bias, found operand 1"});
  expectFails(multi().nothing().input({3}, {}, INT32),
              {"expected a length for each of 2 rows or a mask of [2, 3] or [2, 2, 3]"});
  expectFails(multi().nothing().input({2, 3}), {"expected an integer as operand 4"});
  expectFails(multi().nothing().nothing().input({2, 3, 2, 3}),
              {"expected an attention_bias that broadcasts to [2, 2, 2, 3]"});
  expectFails(multi().set("scale", -1.0), {"expected a scale of at least 0, found -1"});
}

// Attention ---------------------------------------------------------------------------------------

TEST_F(MultiHeadAttentionTest, HeadsAreProjected) {
  expect(projected(), {2, 2, 4},
         {1.21448f, 1.1455f, 0.53545f, -0.323505f, 0.441712f, 0.0982503f, 0.367822f, -0.368212f,
          0.526193f, 0.319286f, 0.0575394f, -0.316446f, 0.560744f, 0.403448f, 0.0907949f,
          -0.29529f});
  OneNode unbiased = contrib("Attention").set("num_heads", int64_t(2));
  unbiased.wave({2, 2, 3}, 0);
  expect(unbiased.wave({3, 12}, 1), {2, 2, 4},
         {0.662892f, 0.807523f, 0.10741f, -0.0559908f, -0.421011f, -0.661361f, -0.0604197f,
          -0.100751f, -0.409622f, -0.504684f, -0.396993f, -0.0716667f, -0.37596f, -0.422686f,
          -0.363309f, -0.0502383f});
  expect(projected().input({4}, {2, 1, 1, 0}, INT32), {2, 2, 4},
         {1.80088f, 1.94016f, 1.16696f, -0.155081f, 1.80088f, 1.94016f, 1.16696f, -0.155081f,
          0.680518f, 0.695202f, 0.382921f, -0.109453f, 0.680518f, 0.695202f, 0.382921f,
          -0.109453f});
  OneNode sizes = contrib("Attention").set("num_heads", int64_t(2));
  sizes.wave({2, 2, 3}, 0);
  sizes.wave({3, 10}, 1);
  expect(sizes.wave({10}, 2).set("qkv_hidden_sizes", {4, 4, 2}), {2, 2, 2},
         {1.44435f, 1.76087f, 1.52563f, 1.92477f, 2.49266f, 1.06637f, -0.766734f, -0.808362f});
  OneNode bias = projected().set("scale", 0.5).nothing().nothing();
  expect(bias.wave({2, 2, 2, 2}, 5), {2, 2, 4},
         {1.31841f, 1.28634f, 0.428733f, -0.351967f, 0.559263f, 0.257552f, 0.145f, -0.427638f,
          0.535812f, 0.342716f, 0.00591488f, -0.349287f, 0.516688f, 0.296131f, 0.168744f,
          -0.245702f});
}

TEST_F(MultiHeadAttentionTest, PastAndPresentAreOneTensor) {
  OneNode one = projected(2).input({2, 3}, {1, 1, 1, 0, 1, 1}, INT32);
  one.wave({2, 2, 2, 1, 2}, 4).set("unidirectional", int64_t(1));
  expect(one, {2, 2, 4},
         {0.0869024f, -0.399875f, -0.783694f, -0.695069f, 0.343714f, -0.0395012f, -0.391379f,
          -0.586774f, 0.680518f, 0.695202f, 0.382921f, -0.109453f, 0.560744f, 0.403448f, 0.0907949f,
          -0.29529f});
  expect(one, {2, 2, 2, 3, 2},
         {-0.756802f, -0.999923f, -0.257352f, 0.133572f,  -1.98947f,  -1.66325f,  -0.772765f,
          -0.182163f, 0.461675f,  0.572645f,  -0.554782f, 0.814609f,  0.494113f,  0.938f,
          -0.732048f, -0.57766f,  -0.269539f, 0.123051f,  0.940731f,  0.501021f,  -0.15159f,
          0.345776f,  0.457767f,  0.577189f,  -0.174327f, -0.767686f, 0.414291f,  0.0610893f,
          1.80088f,   1.94016f,   -0.99999f,  -0.761984f, -0.320844f, -0.551879f, 1.16696f,
          -0.155081f, -0.165604f, 0.508661f,  0.680518f,  0.695202f,  0.42515f,   0.0731557f,
          0.943696f,  0.934895f,  0.382921f,  -0.109453f, -0.313245f, -0.552321f},
         1);
}

TEST_F(MultiHeadAttentionTest, ProjectedAttentionSaysWhatItExpects) {
  auto heads = [](int64_t count = 2) { return contrib("Attention").set("num_heads", count); };
  expectFails(heads().input({2, 3}).input({3, 12}), {"expected rank 3, found operand 0"});
  expectFails(heads().input({1, 2, 3}).input({3, 12}, {}, DOUBLE),
              {"expected operands of one element type"});
  expectFails(heads().input({1, 2, 3}).input({4, 12}),
              {"expected the last dim of lhs (3) to match"});
  expectFails(heads().input({1, 2, 3}).input({3, 12}).input({11}),
              {"expected a bias of 12 elements, found operand 2"});
  expectFails(heads(5).input({1, 2, 3}).input({3, 12}),
              {"expected queries, keys and values of sizes that num_heads (5) divides"});
  expectFails(projected().nothing().input({2, 2, 2, 1, 3}),
              {"expected past keys and values [2, 2, 2, 1, 2], keys like values, found operand 4"});
  expectFails(projected().set("do_rotary", int64_t(1)),
              {"cannot take do_rotary and past_present_share_buffer"});
}

// RotaryEmbedding ---------------------------------------------------------------------------------

TEST_F(MultiHeadAttentionTest, PositionsStartAtANumberOrAreGiven) {
  auto rotary = [](const Shape &x, const Shape &ids, const Floats &values) {
    OneNode one = contrib("RotaryEmbedding");
    one.wave(x, 0).input(ids, values, INT64);
    one.wave({4, 4}, 7);
    return one.wave({4, 4}, 8);
  };
  expect(rotary({1, 2, 8}, {1}, {2}), {1, 2, 8},
         {-0.287809f, 0.777492f, 1.54297f, 0.73788f, 0.0112633f, 0.400822f, -0.222563f, -0.824032f,
          0.353977f, 0.307589f, -0.900931f, -1.26536f, 0.66186f, -0.138464f, -0.244465f,
          0.519826f});
  expect(rotary({1, 2, 8}, {1, 2}, {3, 1}), {1, 2, 8},
         {0.213758f, -0.591331f, -1.63049f, -1.17864f, 0.101541f, -0.499928f, -0.0810022f,
          0.662874f, 1.06965f, 0.264564f, -0.77459f, -0.322746f, 0.30604f, -0.295429f, 0.123496f,
          0.867373f});
  expect(rotary({1, 1, 2, 8}, {1}, {2}).set("interleaved", int64_t(1)), {1, 1, 2, 8},
         {-0.553487f, 0.0216606f, -0.191963f, 1.55039f, 0.559952f, -0.12965f, -0.729309f,
          -0.837847f, -0.180619f, 0.407912f, 0.721406f, -1.02407f, -0.481791f, -1.02433f,
          0.0562678f, 0.983766f});
  OneNode part = rotary({1, 2, 10}, {1}, {0}).set("num_heads", int64_t(1));
  expect(part.set("rotary_embedding_dim", int64_t(8)), {1, 2, 10},
         {-0.331423f, 0.869154f,   0.863758f,  -0.338654f, 0.220083f, 0.0804637f, -0.720433f,
          -0.853066f, -0.631267f,  0.0168139f, -0.600265f, -1.63942f, -1.18757f,  0.00517757f,
          -0.510155f, -0.0912294f, 0.652647f,  0.48659f,   0.033623f, 0.66957f});
}

TEST_F(MultiHeadAttentionTest, RotationsSayWhatTheyExpect) {
  auto rotary = [](const Shape &x, const Shape &ids, int64_t columns) {
    OneNode one = contrib("RotaryEmbedding").input(x).input(ids, {}, INT64);
    return one.input({4, columns}).input({4, 2});
  };
  expectFails(rotary({1, 2, 8}, {1}, 3),
              {"expected a number of heads that divides dim 2 of operand 0"});
  expectFails(rotary({1, 2, 2, 4}, {1}, 1), {"expected tables with 2 columns, found operand 2"});
  expectFails(rotary({1, 2, 2, 3}, {1}, 2), {"expected an even number of at most 3 elements"});
  expectFails(rotary({1, 2, 8}, {3}, 2), {"expected position_ids for 1 rows of 2"});
  expectFails(rotary({2, 8}, {1}, 2), {"expected rank 4, found operand 0"});
  OneNode reals =
      contrib("RotaryEmbedding").input({1, 2, 4}).input({1}).input({4, 2}).input({4, 2});
  expectFails(reals, {"expected an integer as operand 1"});
}

/// Both operators of this name. Without position_ids, ONNX's tables hold the rows in order.
TEST_F(MultiHeadAttentionTest, TablesOfAnglesDoNotTrain) {
  OneNode runtime = contrib("RotaryEmbedding").input({1, 2, 8}).input({1}, {2}, INT64);
  runtime.floats({4, 4}, waveOf(16, 7)).floats({4, 4}, waveOf(16, 8));
  OneNode picked = OneNode("RotaryEmbedding", 23).input({1, 1, 2, 8});
  picked.floats({4, 4}, waveOf(16, 7)).floats({4, 4}, waveOf(16, 8));
  picked.input({1, 2}, {3, 1}, INT64);
  OneNode inOrder = OneNode("RotaryEmbedding", 23).input({1, 1, 2, 8});
  inOrder.floats({1, 2, 4}, waveOf(8, 7)).floats({1, 2, 4}, waveOf(8, 8));
  for (const OneNode &one : {runtime, picked, inOrder}) {
    auto imported = import(one);
    ASSERT_TRUE(succeeded(imported)) << everything();
    ASSERT_EQ(imported->verdicts.size(), 2u);
    for (const Verdict &verdict : imported->verdicts) {
      EXPECT_FALSE(verdict.trains);
      EXPECT_EQ(verdict.reason,
                "a table of angles of \"node\", which trains if trainable names it");
    }
  }
}

// EmbedLayerNormalization -------------------------------------------------------------------------

TEST_F(MultiHeadAttentionTest, EmbeddingsAreSummedAndNormalized) {
  OneNode one = contrib("EmbedLayerNormalization", 3).input({2, 3}, {1, 2, 0, 2, 2, 1}, INT32);
  one.input({2, 3}, {0, 0, 1, 1, 0, 0}, INT32);
  one.wave({3, 4}, 0);
  one.wave({4, 4}, 1);
  one.wave({2, 4}, 2);
  one.wave({4}, 3);
  one.wave({4}, 4).input({2, 3}, {1, 1, 0, 1, 1, 1}, INT32);
  expect(one, {2, 3, 4}, {-0.578423f,  -1.30129f, -0.325774f, 1.07982f,   -0.697309f, -0.405036f,
                          -0.0824126f, -1.50298f, -0.974917f, -0.886848f, -1.51814f,  -1.08551f,
                          -0.966524f,  -0.83401f, -1.44494f,  -1.19399f,  -0.697309f, -0.405036f,
                          -0.0824126f, -1.50298f, -0.584698f, -1.32208f,  -0.365932f, 1.11404f});
  expect(one, {2}, {2, 3}, 1);
  expect(one, {2, 3, 4}, {2.08576f,   1.06826f,   -0.451654f, -1.75915f, -0.333827f, -0.533336f,
                          -0.482009f, -0.203986f, -0.684623f, 0.789114f, 1.89172f,   2.10462f,
                          -0.78596f,  0.302938f,  1.24936f,   1.60819f,  -0.333827f, -0.533336f,
                          -0.482009f, -0.203986f, 1.55583f,   0.927033f, -0.137759f, -1.13776f},
         2);
  OneNode positions = contrib("EmbedLayerNormalization", 2);
  positions.input({2, 3}, {1, 2, 0, 2, 2, 1}, INT32).nothing();
  positions.wave({3, 4}, 0);
  positions.wave({4, 4}, 1).nothing();
  positions.wave({4}, 3);
  positions.wave({4}, 4).nothing().input({1, 3}, {3, 2, 1}, INT32);
  expect(positions, {2, 3, 4},
         {-0.532369f, -1.06176f,  0.036636f,  0.610813f,  -0.981236f, -0.938088f,
          -1.58217f,  -0.975138f, -0.932862f, -0.690692f, -1.20477f,  -1.45724f,
          -0.876566f, -0.547095f, -0.877901f, -1.65683f,  -0.981236f, -0.938088f,
          -1.58217f,  -0.975138f, -0.524276f, -0.85558f,  0.228038f,  0.117424f});
  expect(positions, {2}, {0, 0}, 1);
}

TEST_F(MultiHeadAttentionTest, EmbeddingsSayWhatTheyExpect) {
  auto tables = [](int64_t columns, int64_t positions) {
    OneNode one = contrib("EmbedLayerNormalization").input({2, 3}, {}, INT32).nothing();
    return one.input({5, 4}).input({positions, columns}).nothing();
  };
  auto whole = [&](int64_t scales) { return tables(4, 3).input({scales}).input({4}); };
  expectFails(tables(4, 3), {"operand 5 is missing"});
  expectFails(tables(3, 3).input({4}).input({4}),
              {"expected tables of 4 columns, found operand 3"});
  expectFails(tables(4, 2).input({4}).input({4}),
              {"expected at least 3 positions, found operand 3"});
  expectFails(whole(3), {"expected 4 elements, as the last dim of operand 2"});
  expectFails(whole(4).nothing().input({2, 2}, {}, INT32), {"expected integers like operand 0"});
  OneNode segments = contrib("EmbedLayerNormalization").input({2, 3}, {}, INT32);
  segments.input({2, 3}, {}, INT32).input({5, 4}).input({3, 4}).nothing().input({4}).input({4});
  expectFails(segments, {"expected segments and a table for them, found one of them"});
  OneNode mask = contrib("EmbedLayerNormalization", 2).input({2, 3}, {}, INT32).nothing();
  mask.input({5, 4}).input({3, 4}).nothing().input({4}).input({4});
  expectFails(mask.input({2}, {}, INT32), {"expected a mask like operand 0"});
}

} // namespace
