// ONNX Runtime's GroupQueryAttention. Expected numbers are those of ONNX Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

class GroupedAttentionTest : public OneNodeTest {
protected:
  /// Two query heads and one key head; operands up to total_sequence_length.
  static OneNode grouped(int64_t past, int64_t total, int outputs = 1) {
    OneNode one = contrib("GroupQueryAttention", outputs);
    one.wave({1, 2, 16}, 0);
    one.wave({1, 2, 8}, 1);
    one.wave({1, 2, 8}, 2);
    if (past) {
      one.wave({1, 1, past, 8}, 3);
      one.wave({1, 1, past, 8}, 4);
    } else {
      one.nothing().nothing();
    }
    one.input({1}, {float(total - 1)}, INT32).ints({total});
    return one.set("num_heads", int64_t(2)).set("kv_num_heads", int64_t(1));
  }
  /// One head of 16 numbers, with tables of angles.
  static OneNode rotated(int64_t steps, int64_t past) {
    OneNode one = contrib("GroupQueryAttention", 2);
    for (float phase : {0.0f, 1.0f, 2.0f})
      one.wave({1, steps, 16}, phase);
    if (past) {
      one.wave({1, 1, past, 16}, 3);
      one.wave({1, 1, past, 16}, 4);
    } else {
      one.nothing().nothing();
    }
    one.input({1}, {float(past + steps - 1)}, INT32).ints({past + steps});
    one.wave({4, 8}, 7);
    one.wave({4, 8}, 8);
    one.set("num_heads", int64_t(1)).set("kv_num_heads", int64_t(1));
    return one.set("do_rotary", int64_t(1));
  }
  /// Compares the last elements of y1.
  void expectLastRow(const OneNode &one, const Floats &row) {
    auto results = run(one);
    ASSERT_GT(results.size(), 1u);
    for (auto [k, value] : llvm::enumerate(row))
      EXPECT_NEAR(results[1].getFloat(results[1].size() - int64_t(row.size() - k)), value, 1e-5);
  }
};

TEST_F(GroupedAttentionTest, GroupsOfQueriesShareKeys) {
  Floats prompt = {
      0.909297f, 0.42738f,  -0.255541f, -0.818277f, -0.996165f, -0.70554f,  -0.0830894f, 0.57844f,
      0.909297f, 0.42738f,  -0.255541f, -0.818277f, -0.996165f, -0.70554f,  -0.0830894f, 0.57844f,
      0.949123f, 0.749933f, 0.198039f,  -0.446997f, -0.881803f, -0.901883f, -0.497794f,  0.140416f,
      0.943778f, 0.706641f, 0.137161f,  -0.496829f, -0.897152f, -0.875531f, -0.442133f,  0.199206f};
  OneNode one = grouped(0, 2, 3);
  expect(one, {1, 2, 16}, prompt);
  expect(one, {1, 1, 2, 8}, waveOf(16, 1), 1);
  expect(one, {1, 1, 2, 8}, waveOf(16, 2), 2);
  // Queries, keys and values in one operand.
  Floats packed, q = waveOf(32, 0), k = waveOf(16, 1), v = waveOf(16, 2);
  for (int64_t i : {0, 1}) {
    packed.insert(packed.end(), q.begin() + i * 16, q.begin() + i * 16 + 16);
    packed.insert(packed.end(), k.begin() + i * 8, k.begin() + i * 8 + 8);
    packed.insert(packed.end(), v.begin() + i * 8, v.begin() + i * 8 + 8);
  }
  OneNode all = contrib("GroupQueryAttention").input({1, 2, 32}, packed).nothing().nothing();
  all.nothing().nothing().input({1}, {1}, INT32).ints({2});
  expect(all.set("num_heads", int64_t(2)).set("kv_num_heads", int64_t(1)), {1, 2, 16}, prompt);
}

TEST_F(GroupedAttentionTest, EachRowWritesTheCacheAtItsOwnPlace) {
  OneNode one = contrib("GroupQueryAttention", 3);
  one.wave({2, 1, 16}, 0);
  one.wave({2, 1, 8}, 1);
  one.wave({2, 1, 8}, 2);
  Floats keys(64, 0), values(64, 0), pastKeys = waveOf(32, 3), pastValues = waveOf(32, 4);
  for (int64_t row : {0, 1}) {
    std::copy_n(pastKeys.begin() + row * 16, 16, keys.begin() + row * 32);
    std::copy_n(pastValues.begin() + row * 16, 16, values.begin() + row * 32);
  }
  one.input({2, 1, 4, 8}, keys).input({2, 1, 4, 8}, values);
  one.input({2}, {2, 1}, INT32).ints({3});
  one.set("num_heads", int64_t(2)).set("kv_num_heads", int64_t(1));
  expect(one, {2, 1, 16},
         {0.637362f,  0.158926f,  -0.394256f, -0.762013f, -0.771383f, -0.41796f,  0.132036f,
          0.619934f,  0.350531f,  -0.101509f, -0.505807f, -0.672217f, -0.522473f, -0.127001f,
          0.328201f,  0.629045f,  0.841599f,  0.615429f,  0.0998131f, -0.462746f, -0.807669f,
          -0.772732f, -0.374367f, 0.200068f,  0.735311f,  0.37416f,   -0.162964f, -0.623443f,
          -0.790708f, -0.58609f,  -0.105825f, 0.424211f});
  Floats newKeys = waveOf(16, 1), newValues = waveOf(16, 2);
  for (int64_t row : {0, 1}) {
    int64_t to = row * 32 + (2 - row) * 8;
    std::copy_n(newKeys.begin() + row * 8, 8, keys.begin() + to);
    std::copy_n(newValues.begin() + row * 8, 8, values.begin() + to);
  }
  expect(one, {2, 1, 4, 8}, keys, 1);
  expect(one, {2, 1, 4, 8}, values, 2);
}

TEST_F(GroupedAttentionTest, APromptStartsTheCache) {
  OneNode one = grouped(3, 2, 3);
  expect(one, {1, 2, 16},
         {0.909297f,   0.42738f,   -0.255541f, -0.818277f, -0.996165f, -0.70554f,  -0.0830894f,
          0.57844f,    0.909297f,  0.42738f,   -0.255541f, -0.818277f, -0.996165f, -0.70554f,
          -0.0830894f, 0.57844f,   0.949123f,  0.749933f,  0.198039f,  -0.446997f, -0.881803f,
          -0.901883f,  -0.497794f, 0.140416f,  0.943778f,  0.706641f,  0.137161f,  -0.496829f,
          -0.897152f,  -0.875531f, -0.442133f, 0.199206f});
  Floats keys = waveOf(16, 1), past = waveOf(24, 3);
  keys.insert(keys.end(), past.begin() + 16, past.end());
  expect(one, {1, 1, 3, 8}, keys, 1);
}

TEST_F(GroupedAttentionTest, GroupedScoresAreScaledCappedAndMasked) {
  expect(grouped(3, 5).set("scale", 0.5), {1, 2, 16},
         {0.71447f,    0.190841f, -0.422544f,  -0.8372f,   -0.858107f, -0.475433f, 0.130844f,
          0.675584f,   0.489881f, -0.0123017f, -0.508699f, -0.765847f, -0.662805f, -0.248036f,
          0.283389f,   0.681531f, 0.208572f,   -0.077724f, -0.327465f, -0.423194f, -0.319889f,
          -0.0661342f, 0.218724f, 0.400713f,   -0.452078f, -0.772061f, -0.728932f, -0.342974f,
          0.204289f,   0.655473f, 0.798377f,   0.565792f});
  OneNode cap = grouped(3, 5).set("scale", 0.5).set("softcap", 0.7).nothing().nothing().nothing();
  cap.wave({1, 1, 2, 5}, 10);
  expect(cap, {1, 2, 16},
         {0.502121f, 0.00180604f, -0.499359f,  -0.765667f, -0.67187f,  -0.262083f, 0.270967f,
          0.676576f, 0.290539f,   -0.185326f,  -0.574029f, -0.692758f, -0.485672f, -0.0501666f,
          0.408933f, 0.675704f,   0.00285496f, -0.443911f, -0.681899f, -0.599179f, -0.234656f,
          0.24023f,  0.602131f,   0.680841f,   -0.272799f, -0.663212f, -0.741707f, -0.471365f,
          0.020667f, 0.502979f,   0.748732f,   0.642345f});
  expect(grouped(3, 5).set("local_window_size", int64_t(2)), {1, 2, 16},
         {0.78229f,   0.241707f,  -0.412555f, -0.872786f, -0.922531f, -0.538396f, 0.0989548f,
          0.689766f,  0.771561f,  0.226021f,  -0.425819f, -0.87739f,  -0.916311f, -0.524276f,
          0.114334f,  0.699171f,  0.949123f,  0.749933f,  0.198039f,  -0.446997f, -0.881803f,
          -0.901883f, -0.497794f, 0.140416f,  0.943778f,  0.706641f,  0.137161f,  -0.496829f,
          -0.897152f, -0.875531f, -0.442133f, 0.199206f});
  // A cache of 6 positions: the bias covers the 5 that are in use.
  OneNode buffer = contrib("GroupQueryAttention").set("scale", 0.5).set("softcap", 0.7);
  buffer.wave({1, 2, 16}, 0);
  buffer.wave({1, 2, 8}, 1);
  buffer.wave({1, 2, 8}, 2);
  for (float phase : {3.0f, 4.0f}) {
    Floats past = waveOf(24, phase);
    past.resize(48, 100);
    buffer.input({1, 1, 6, 8}, past);
  }
  buffer.input({1}, {4}, INT32).ints({5}).nothing().nothing().nothing();
  buffer.wave({1, 1, 2, 5}, 10);
  expect(buffer.set("num_heads", int64_t(2)).set("kv_num_heads", int64_t(1)), {1, 2, 16},
         {0.502121f, 0.00180604f, -0.499359f,  -0.765667f, -0.67187f,  -0.262083f, 0.270967f,
          0.676576f, 0.290539f,   -0.185326f,  -0.574029f, -0.692758f, -0.485672f, -0.0501666f,
          0.408933f, 0.675704f,   0.00285496f, -0.443911f, -0.681899f, -0.599179f, -0.234656f,
          0.24023f,  0.602131f,   0.680841f,   -0.272799f, -0.663212f, -0.741707f, -0.471365f,
          0.020667f, 0.502979f,   0.748732f,   0.642345f});
}

TEST_F(GroupedAttentionTest, SinksTakePartOfTheWeights) {
  OneNode sinks = grouped(3, 5).nothing().nothing().nothing().nothing();
  sinks.wave({2}, 11);
  expect(sinks, {1, 2, 16},
         {0.551628f,   0.0647528f, -0.452576f,  -0.757052f,  -0.705474f, -0.322101f, 0.212762f,
          0.647559f,   0.30885f,   -0.0985322f, -0.459574f,  -0.60447f,  -0.465075f, -0.106948f,
          0.301479f,   0.568115f,  0.198851f,   -0.0796761f, -0.320731f, -0.410941f, -0.307879f,
          -0.0600167f, 0.216072f,  0.390539f,   -0.236173f,  -0.542707f, -0.593997f, -0.365922f,
          0.0342525f,  0.418317f,  0.605641f,   0.508122f});
  expect(grouped(3, 5).set("smooth_softmax", int64_t(1)), {1, 2, 16},
         {0.485495f,   0.0569898f, -0.398319f,  -0.666292f,  -0.620897f, -0.283485f, 0.187254f,
          0.569925f,   0.253908f,  -0.0810038f, -0.377818f,  -0.496938f, -0.382341f, -0.0879225f,
          0.247847f,   0.46705f,   0.162395f,   -0.0650686f, -0.261929f, -0.3356f,   -0.251433f,
          -0.0490134f, 0.176458f,  0.318939f,   -0.207176f,  -0.476074f, -0.521068f, -0.320995f,
          0.0300471f,  0.366957f,  0.531282f,   0.445736f});
}

TEST_F(GroupedAttentionTest, QueriesAndKeysAreRotated) {
  OneNode one = rotated(1, 2);
  expect(one, {1, 1, 16},
         {0.662773f, 0.180703f, -0.386355f, -0.771704f, -0.794108f, -0.443031f, 0.11641f, 0.621102f,
          0.83368f, 0.654165f, 0.166986f, -0.398729f, -0.776916f, -0.789707f, -0.431087f,
          0.130281f});
  expectLastRow(one, {-0.615906f, -0.687874f, -0.512795f, -0.381312f, -0.511695f, -0.6875f,
                      -0.616879f, -0.417067f, 0.100459f, 0.903293f, 1.3393f, 0.684678f, 0.0261442f,
                      0.456907f, 1.26187f, 1.10474f});
  OneNode interleaved = rotated(1, 2).set("rotary_interleaved", int64_t(1));
  expect(interleaved, {1, 1, 16},
         {0.5906f, 0.111548f, -0.419966f, -0.753965f, -0.733361f, -0.367847f, 0.170672f, 0.628921f,
          0.791378f, 0.581639f, 0.0983449f, -0.431202f, -0.757948f, -0.728219f, -0.355997f,
          0.183655f});
  expectLastRow(interleaved, {-0.849403f, -0.310902f, -0.00201855f, 0.588158f, 0.544534f, -1.26865f,
                              -0.638747f, -0.934306f, 0.26818f, 0.708765f, 0.715566f, -0.453728f,
                              -0.626742f, 0.224049f, 0.126365f, 1.62603f});
  OneNode positions = rotated(1, 2).input({1, 1}, {1}, INT64);
  expect(positions, {1, 1, 16},
         {0.640938f, 0.163084f, -0.391472f, -0.761912f, -0.774013f, -0.422084f, 0.128358f,
          0.618431f, 0.817647f, 0.63231f, 0.149588f, -0.403488f, -0.766797f, -0.769469f, -0.410248f,
          0.141919f});
  expectLastRow(positions, {-0.239372f, -0.175198f, 0.0257512f, 0.0298874f, -0.169656f, -0.241624f,
                            -0.0665448f, 0.0649384f, 0.733435f, 1.54797f, 1.41931f, 0.561035f,
                            0.397941f, 1.20077f, 1.63678f, 0.982159f});
  OneNode prompt = rotated(2, 0);
  expect(prompt, {1, 2, 16},
         {0.909297f,  0.42738f,    -0.255541f, -0.818277f, -0.996165f, -0.70554f,  -0.0830894f,
          0.57844f,   0.96792f,    0.902172f,  0.412118f,  -0.271761f, -0.827826f, -0.994553f,
          -0.693525f, -0.0663219f, 0.635497f,  0.897456f,  0.737328f,  0.230423f,  -0.384854f,
          -0.819127f, -0.868153f,  -0.508872f, 0.0897389f, 0.646144f,  0.898658f,  0.728519f,
          0.215746f,  -0.398496f,  -0.825319f, -0.863981f});
  expect(prompt, {1, 1, 2, 16},
         {0.244609f,  0.416118f,  0.552738f, 0.427671f,  0.248536f,  0.31271f,  0.513659f,
          0.517795f,  1.03719f,   1.49782f,  0.862239f,  0.185562f,  0.591114f, 1.40565f,
          1.27699f,   0.418714f,  0.733022f, 0.557217f,  0.627838f,  0.82765f,  0.824952f,
          0.624223f,  0.558687f,  0.737137f, -0.336935f, 0.0938279f, 0.898793f, 0.741665f,
          -0.116713f, -0.251377f, 0.561224f, 0.972119f},
         1);
}

TEST_F(GroupedAttentionTest, EachRowIsRotatedByItsOwnPosition) {
  OneNode one = contrib("GroupQueryAttention", 2);
  for (float phase : {0.0f, 1.0f, 2.0f})
    one.wave({2, 1, 16}, phase);
  Floats keys(128, 0), values(128, 0), pastKeys = waveOf(64, 3), pastValues = waveOf(64, 4);
  for (int64_t row : {0, 1}) {
    std::copy_n(pastKeys.begin() + row * 32, 32, keys.begin() + row * 64);
    std::copy_n(pastValues.begin() + row * 32, 32, values.begin() + row * 64);
  }
  one.input({2, 1, 4, 16}, keys).input({2, 1, 4, 16}, values);
  one.input({2}, {2, 1}, INT32).ints({3});
  one.wave({4, 8}, 7);
  one.wave({4, 8}, 8);
  one.set("num_heads", int64_t(1)).set("kv_num_heads", int64_t(1)).set("do_rotary", int64_t(1));
  expect(one, {2, 1, 16},
         {0.662773f,  0.180703f,  -0.386355f, -0.771704f, -0.794108f, -0.443031f, 0.11641f,
          0.621102f,  0.83368f,   0.654165f,  0.166986f,  -0.398729f, -0.776916f, -0.789707f,
          -0.431087f, 0.130281f,  0.722306f,  0.954183f,  0.737293f,  0.173642f,  -0.471675f,
          -0.895156f, -0.897631f, -0.477937f, 0.166539f,  0.732689f,  0.954244f,  0.727003f,
          0.157841f,  -0.485556f, -0.900588f, -0.89206f});
  Floats third = {-0.615906f, -0.687874f, -0.512795f, -0.381312f, -0.511695f, -0.6875f,
                  -0.616879f, -0.417067f, 0.100459f,  0.903293f,  1.3393f,    0.684678f,
                  0.0261442f, 0.456907f,  1.26187f,   1.10474f};
  Floats second = {0.733022f,  0.557217f,  0.627838f,  0.82765f,   0.824952f, 0.624223f,
                   0.558687f,  0.737137f,  -0.336935f, 0.0938279f, 0.898793f, 0.741665f,
                   -0.116713f, -0.251377f, 0.561224f,  0.972119f};
  llvm::copy(third, keys.begin() + 2 * 16);
  llvm::copy(second, keys.begin() + 64 + 16);
  expect(one, {2, 1, 4, 16}, keys, 1);
}

/// Two query heads, a key head and a value head in one operand.
TEST_F(GroupedAttentionTest, PackedHeadsAreRotated) {
  Floats packed, q = waveOf(64, 0), k = waveOf(32, 1), v = waveOf(32, 2);
  for (int64_t i : {0, 1}) {
    packed.insert(packed.end(), q.begin() + i * 32, q.begin() + i * 32 + 32);
    packed.insert(packed.end(), k.begin() + i * 16, k.begin() + i * 16 + 16);
    packed.insert(packed.end(), v.begin() + i * 16, v.begin() + i * 16 + 16);
  }
  OneNode one = contrib("GroupQueryAttention", 2).input({1, 2, 64}, packed).nothing().nothing();
  one.nothing().nothing().input({1}, {1}, INT32).ints({2});
  one.wave({4, 8}, 7);
  one.wave({4, 8}, 8);
  one.set("num_heads", int64_t(2)).set("kv_num_heads", int64_t(1)).set("do_rotary", int64_t(1));
  one.set("rotary_interleaved", int64_t(1));
  expect(one, {1, 2, 32},
         {0.909297f,  0.42738f,    -0.255541f, -0.818277f,  -0.996165f, -0.70554f,  -0.0830894f,
          0.57844f,   0.96792f,    0.902172f,  0.412118f,   -0.271761f, -0.827826f, -0.994553f,
          -0.693525f, -0.0663219f, 0.909297f,  0.42738f,    -0.255541f, -0.818277f, -0.996165f,
          -0.70554f,  -0.0830894f, 0.57844f,   0.96792f,    0.902172f,  0.412118f,  -0.271761f,
          -0.827826f, -0.994553f,  -0.693525f, -0.0663219f, 0.784315f,  0.641957f,  0.197676f,
          -0.339575f, -0.717118f,  -0.75739f,  -0.441449f,  0.0821123f, 0.567055f,  0.785302f,
          0.63421f,   0.184839f,   -0.351465f, -0.722469f,  -0.753685f, -0.430431f, 0.893739f,
          0.454092f,  -0.199121f,  -0.758684f, -0.961426f,  -0.711995f, -0.127701f, 0.516653f,
          0.918017f,  0.887623f,   0.439766f,  -0.214919f,  -0.768525f, -0.960681f, -0.701014f,
          -0.111649f});
  expect(one, {1, 1, 2, 16},
         {-0.428277f, 1.48403f,  0.639905f,  0.4889f,    -0.498674f, -0.850555f, -0.515608f,
          0.432918f,  0.720051f, -0.617269f, -0.289936f, -1.44935f,  -0.248178f, 0.60318f,
          0.893041f,  0.219918f, -0.293398f, -0.296766f, -0.39845f,  1.50851f,   0.639002f,
          0.430763f,  -0.53184f, -0.837351f, -0.481404f, 0.449555f,  0.722647f,  -0.669346f,
          -0.320509f, -1.419f,   -0.214306f, 0.638127f},
         1);
}

TEST_F(GroupedAttentionTest, TablesOfItsAnglesDoNotTrain) {
  auto tables = [](int64_t rotates) {
    OneNode one = contrib("GroupQueryAttention").input({1, 1, 16}).input({1, 1, 16});
    one.input({1, 1, 16}).input({1, 1, 2, 16}).input({1, 1, 2, 16});
    one.input({1}, {2}, INT32).ints({3});
    one.floats({4, 8}, waveOf(32, 7)).floats({4, 8}, waveOf(32, 8));
    one.set("num_heads", int64_t(1)).set("kv_num_heads", int64_t(1));
    return one.set("do_rotary", rotates);
  };
  for (auto [rotates, reason] :
       {std::pair(1, "a table of angles of \"node\", which trains if trainable names it"),
        {0, "only its shape or value at compile time is used"}}) {
    auto imported = import(tables(rotates));
    ASSERT_TRUE(succeeded(imported)) << everything();
    ASSERT_EQ(imported->verdicts.size(), 3u);
    for (const Verdict &verdict : ArrayRef(imported->verdicts).drop_front()) {
      EXPECT_FALSE(verdict.trains);
      EXPECT_EQ(verdict.reason, reason);
    }
  }
}

TEST_F(GroupedAttentionTest, GroupedAttentionSaysWhatItExpects) {
  auto heads = [](int64_t queries, int64_t keys) {
    OneNode one = contrib("GroupQueryAttention").set("num_heads", queries);
    return one.set("kv_num_heads", keys);
  };
  OneNode plain = heads(2, 1).input({1, 2, 8}).input({1, 2, 4}).input({1, 2, 4});
  auto lengths = [](OneNode one, int64_t total) { return one.input({1}, {}, INT32).ints({total}); };
  OneNode fresh = OneNode(plain).nothing().nothing();
  expectFails(heads(2, 1).input({1, 2, 8}).input({1, 2, 4}),
              {"expected keys and values, found one of them"});
  expectFails(heads(2, 1).input({1, 2, 8}, {}, INT32), {"expected a float as operand 0"});
  expectFails(heads(2, 1).input({2, 8}), {"expected rank 3, found operand 0"});
  expectFails(heads(3, 2).input({1, 2, 8}),
              {"expected kv_num_heads that divides num_heads, found 2 and 3"});
  expectFails(heads(2, 1).input({1, 2, 7}), {"expected a number of heads that divides dim 2"});
  expectFails(fresh, {"operand 5 is missing"});
  expectFails(OneNode(fresh).input({1}, {}, INT32), {"operand 6 is missing"});
  expectFails(OneNode(fresh).input({1}).ints({2}), {"expected an integer as operand 5"});
  expectFails(OneNode(fresh).input({2}, {}, INT32).ints({2}),
              {"expected a length for each of 1 rows, found operand 5"});
  expectFails(OneNode(fresh).input({1}, {}, INT32).input({}, {}, INT32),
              {"expected the total sequence length to be known at compile time"});
  expectFails(lengths(fresh, 1), {"expected a total sequence length of at least 2, found [1]"});
  expectFails(lengths(fresh, 3),
              {"expected past keys and values for a total sequence length of 3"});
  expectFails(lengths(OneNode(plain).input({1, 1, 3, 4}).nothing(), 5),
              {"expected past keys and past values, found one of them"});
  expectFails(lengths(OneNode(plain).input({1, 1, 3, 4}).input({1, 1, 2, 4}), 5),
              {"expected 3 past values, as there are past keys, found operand 4"});
  expectFails(lengths(OneNode(plain).input({1, 1, 3, 3}).input({1, 1, 3, 4}), 5),
              {"expected past keys and values like [1, 1, 2, 4], found operand 3"});
  // Two steps, and one key with them: the first would be written before the cache.
  OneNode few = OneNode(plain).input({1, 1, 3, 4}).input({1, 1, 3, 4});
  few.ints({1}, {0}).ints({3});
  expectFails(few, {"expected indices from -3 to 2 for the cache, from seqlens_k, found -4"});
  expectFails(lengths(fresh, 2).set("scale", -1.0), {"expected a scale of at least 0, found -1"});
  expectFails(lengths(fresh, 2).set("k_quant_type", "PER_TENSOR"),
              {"cannot take quantized keys and values"});
  OneNode biased = lengths(fresh, 2).nothing().nothing().nothing();
  expectFails(OneNode(biased).input({1, 3, 2, 2}),
              {"expected an attention_bias that broadcasts to [1, 2, 2, 2], found operand 10"});
  expectFails(biased.nothing().input({3}), {"expected a sink for each of 2 heads"});
}

TEST_F(GroupedAttentionTest, RotationsOfAttentionSayWhatTheyExpect) {
  OneNode plain = contrib("GroupQueryAttention").set("num_heads", int64_t(2));
  plain.set("kv_num_heads", int64_t(1)).set("do_rotary", int64_t(1));
  plain.input({1, 2, 8}).input({1, 2, 4}).input({1, 2, 4}).nothing().nothing();
  plain.input({1}, {}, INT32).ints({2});
  expectFails(plain, {"operand 7 is missing"});
  expectFails(OneNode(plain).input({4, 2}), {"operand 8 is missing"});
  expectFails(OneNode(plain).input({4, 2}, {}, DOUBLE).input({4, 2}),
              {"expected operands of one element type"});
  expectFails(OneNode(plain).input({4, 3}).input({4, 3}),
              {"expected two tables with 1 to 2 columns, found operand 7"});
  expectFails(OneNode(plain).input({4, 2}).input({4, 1}),
              {"expected two tables with 1 to 2 columns, found operand 8"});
  expectFails(OneNode(plain).input({1, 2}).input({1, 2}),
              {"expected positions 0 to 1 in operand 7"});
  OneNode tables = OneNode(plain).input({4, 2}).input({4, 2});
  expectFails(OneNode(tables).input({2}, {}, INT64), {"expected position_ids for 1 rows of 2"});
  expectFails(OneNode(tables).input({1, 2}), {"expected an integer as operand 9"});
}

} // namespace
