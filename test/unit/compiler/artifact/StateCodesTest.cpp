// Codes that the compiler finds or makes are the elements again in the runtime.
#include "compiler/artifact/StateCodes.h"
#include "runtime/core/artifact/StateCodes.h"

#include "llvm/Support/MathExtras.h"

#include <gtest/gtest.h>

using namespace gradc;
using Bytes = std::vector<char>;

namespace {

constexpr uint64_t count = 200;

/// Codes of all values, as ONNX packs them.
uint8_t codeOf(uint64_t i, unsigned bits) { return uint8_t((i * i / 3 + i) & ((1u << bits) - 1)); }

Bytes packed(unsigned bits) {
  Bytes bytes(llvm::divideCeil(count * bits, 8));
  for (uint64_t i = 0; i < count; ++i)
    bytes[i * bits / 8] = char(bytes[i * bits / 8] | codeOf(i, bits) << i * bits % 8);
  return bytes;
}

/// One byte for each code: the result of `make`.
Bytes elementsOf(unsigned bits, llvm::function_ref<int(int code, uint64_t i)> make) {
  Bytes elements;
  for (uint64_t i = 0; i < count; ++i)
    elements.push_back(char(make(codeOf(i, bits), i)));
  return elements;
}

Bytes unpacked(const CodeForm &codes, llvm::ArrayRef<char> from, uint64_t elements = count) {
  gradc_artifact_codes form{codes.bits, codes.flip, codes.block, {}};
  Bytes result(elements);
  runtime::StateCodes{form, reinterpret_cast<const uint8_t *>(from.data()),
                      reinterpret_cast<const uint8_t *>(codes.zeros.data())}
      .unpack(0, elements, reinterpret_cast<uint8_t *>(result.data()));
  return result;
}

/// Expects that the elements are found in the packed codes, with so many zero points.
void expectFound(unsigned bits, const Bytes &elements, size_t zeros) {
  std::optional<CodeForm> found = findCodes(packed(bits), elements);
  ASSERT_TRUE(found) << bits;
  EXPECT_EQ(found->bits, bits);
  EXPECT_EQ(found->zeros.size(), zeros) << bits;
  EXPECT_EQ(unpacked(*found, packed(bits)), elements) << bits;
}

TEST(StateCodes, AreFoundWhateverTheyStandFor) {
  for (unsigned bits : {2u, 4u, 8u}) {
    int half = 1 << (bits - 1);
    expectFound(bits, elementsOf(bits, [&](int code, uint64_t) { return code; }), 1);
    expectFound(bits, elementsOf(bits, [&](int code, uint64_t) { return code - half; }), 1);
    expectFound(bits, elementsOf(bits, [&](int code, uint64_t) { return (code ^ half) - half; }),
                1);
    // A zero point for each 20 codes, of which two in a row may be equal.
    expectFound(
        bits,
        elementsOf(bits, [&](int code, uint64_t i) { return code - int(i / 20 * 5 % 8 / 2); }), 10);
  }
}

TEST(StateCodes, AreNotFoundInOtherBytes) {
  Bytes elements = elementsOf(4, [](int code, uint64_t) { return code - 8; });
  elements[count - 1] ^= 1;
  EXPECT_FALSE(findCodes(packed(4), elements)) << "the last one alone differs";
  elements[count - 1] ^= 1;
  elements.pop_back();
  EXPECT_TRUE(findCodes(llvm::ArrayRef(packed(4)), elements)) << "half of the last byte is unused";
  elements.pop_back();
  EXPECT_FALSE(findCodes(packed(4), elements)) << "there are more codes";
  EXPECT_FALSE(findCodes({}, {}));
  // Zero points for columns, or for few codes, would take as many bytes as they save.
  EXPECT_FALSE(
      findCodes(packed(4), elementsOf(4, [](int code, uint64_t i) { return code - int(i % 5); })));
  EXPECT_FALSE(findCodes(
      packed(4), elementsOf(4, [](int code, uint64_t i) { return code - int(i / 8 % 5); })));
  // A byte would have two zero points.
  EXPECT_FALSE(findCodes(
      packed(4), elementsOf(4, [](int code, uint64_t i) { return code - int(i / 25 % 5); })));
}

TEST(StateCodes, AreMadeOfFewNumbers) {
  struct {
    int least, numbers;
    unsigned bits;
  } cases[] = {{-8, 16, 4},  {0, 16, 4}, {240, 16, 4}, {-128, 9, 4},
               {120, 16, 4}, {-1, 3, 2}, {5, 4, 2}};
  for (auto [least, numbers, bits] : cases) {
    Bytes elements;
    for (int i = 0; i < 101; ++i)
      elements.push_back(char(least + i * 7 % numbers));
    auto made = packCodes(elements);
    ASSERT_TRUE(made) << least;
    EXPECT_EQ(made->first.bits, bits) << least;
    EXPECT_EQ(made->second.size(), llvm::divideCeil(101 * bits, 8u));
    EXPECT_EQ(unpacked(made->first, made->second, 101), elements) << least;
  }
  EXPECT_FALSE(packCodes(Bytes{-8, 8}));
  EXPECT_FALSE(packCodes({}));
}

TEST(StateCodes, TakeTheirPlaceInTheModel) {
  Blob blob;
  Bytes codes = packed(4), elements = elementsOf(4, [](int code, uint64_t) { return code - 8; });
  gradc_range other = blob.appendBytes(packed(2)), model = blob.appendBytes(codes);
  gradc_artifact_state state{};
  ASSERT_TRUE(placeCodes(blob, {other, model}, elements, state));
  EXPECT_EQ(state.initial.offset, model.offset);
  EXPECT_EQ(state.initial.count, codes.size());
  EXPECT_EQ(state.codes.bits, 4u);
  EXPECT_EQ(state.codes.block, count);
  EXPECT_EQ(blob.view(state.codes.zeros), llvm::ArrayRef<char>{8});
  // Without the model, equal codes are stored once.
  gradc_artifact_state second{}, third{};
  ASSERT_TRUE(placeCodes(blob, {}, elements, second));
  ASSERT_TRUE(placeCodes(blob, {}, elements, third));
  EXPECT_NE(second.initial.offset, model.offset);
  EXPECT_EQ(second.initial.offset, third.initial.offset);
  EXPECT_FALSE(
      placeCodes(blob, {model}, elementsOf(8, [](int code, uint64_t) { return code; }), third));
}

} // namespace
