// Tensors and elements are compared by their bytes: whatever made the elements of the codes, the
// importer or a pass, only what gives the same bytes back is found.
#include "compiler/artifact/StateCodes.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace gradc;
using llvm::ArrayRef;

namespace {

/// The codes in some bytes, read with a number of bits and signs.
struct CodeReader {
  ArrayRef<char> packed;
  uint32_t bits, flip;

  uint8_t at(uint64_t i) const {
    uint64_t bit = i * bits;
    return (uint8_t(packed[bit / 8]) >> bit % 8 & ((1u << bits) - 1)) ^ flip;
  }
};

} // namespace

/// Zero points are what codes and elements differ by. They change at ends of blocks only.
static std::optional<CodeForm> findZeros(CodeReader codes, ArrayRef<char> elements) {
  constexpr uint64_t leastBlock = 16; // so that zero points take few bytes
  auto zeroAt = [&](uint64_t i) { return uint8_t(codes.at(i) - uint8_t(elements[i])); };
  uint64_t block = 0;
  uint8_t zero = zeroAt(0);
  for (uint64_t i = 1; i < elements.size(); ++i) {
    uint8_t next = zeroAt(i);
    if (next == zero)
      continue;
    zero = next;
    block = std::gcd(block, i);
    if (block < leastBlock || block % (8 / codes.bits))
      return std::nullopt;
  }
  CodeForm found{codes.bits, codes.flip, block ? block : elements.size()};
  for (uint64_t i = 0; i < elements.size(); i += found.block)
    found.zeros.push_back(char(zeroAt(i)));
  return found;
}

std::optional<CodeForm> gradc::findCodes(ArrayRef<char> packed, ArrayRef<char> elements) {
  if (elements.empty())
    return std::nullopt;
  for (uint32_t bits : {2u, 4u, 8u}) {
    if (packed.size() != llvm::divideCeil(uint64_t(elements.size()) * bits, 8))
      continue;
    if (auto found = findZeros({packed, bits, 0}, elements))
      return found;
    // The sign of 8 bits is a zero point of 128, modulo 256.
    uint32_t sign = 1u << (bits - 1);
    if (auto found = bits < 8 ? findZeros({packed, bits, sign}, elements) : std::nullopt)
      return found;
  }
  return std::nullopt;
}

std::optional<std::pair<CodeForm, std::string>> gradc::packCodes(ArrayRef<char> elements) {
  if (elements.empty())
    return std::nullopt;
  // Few numbers around 0 are close to each other with signs, others without.
  auto ofSigns = std::minmax_element(elements.begin(), elements.end(),
                                     [](char a, char b) { return int8_t(a) < int8_t(b); });
  auto ofBytes = std::minmax_element(elements.begin(), elements.end(),
                                     [](char a, char b) { return uint8_t(a) < uint8_t(b); });
  int ofSignsSpread = int8_t(*ofSigns.second) - int8_t(*ofSigns.first);
  int ofBytesSpread = uint8_t(*ofBytes.second) - uint8_t(*ofBytes.first);
  auto least = uint8_t(ofSignsSpread < ofBytesSpread ? *ofSigns.first : *ofBytes.first);
  int spread = std::min(ofSignsSpread, ofBytesSpread);
  if (spread >= 16)
    return std::nullopt;
  CodeForm codes{spread < 4 ? 2u : 4u, 0, elements.size(), std::string(1, char(-least))};
  std::string packed(llvm::divideCeil(uint64_t(elements.size()) * codes.bits, 8), '\0');
  for (uint64_t i = 0; i < elements.size(); ++i)
    packed[i * codes.bits / 8] |= char(uint8_t(uint8_t(elements[i]) - least) << i * codes.bits % 8);
  return std::pair(std::move(codes), std::move(packed));
}

bool gradc::placeCodes(Blob &blob, ArrayRef<gradc_range> tensors, ArrayRef<char> elements,
                       gradc_artifact_state &state) {
  auto place = [&](const CodeForm &codes, gradc_range initial) {
    state.initial = initial;
    state.codes = {codes.bits, codes.flip, codes.block, blob.appendShared(codes.zeros)};
    return true;
  };
  for (gradc_range tensor : tensors)
    if (auto codes = findCodes(blob.view(tensor), elements))
      return place(*codes, tensor);
  if (auto made = packCodes(elements))
    return place(made->first, blob.appendShared(made->second));
  return false;
}
