// One loop per width of codes, which compilers vectorize.
#include "runtime/core/artifact/StateCodes.h"

#include <algorithm>

namespace gradc::runtime {

/// Elements of one block.
template <unsigned bits>
static void unpackBlock(const uint8_t *packed, uint64_t count, uint8_t flip, uint8_t zero,
                        uint8_t *elements) {
  constexpr unsigned perByte = 8 / bits, mask = (1u << bits) - 1;
  auto element = [=](uint8_t byte, unsigned k) {
    return uint8_t(((byte >> k * bits & mask) ^ flip) - zero);
  };
  uint64_t bytes = count / perByte;
  for (uint64_t i = 0; i < bytes; ++i)
    for (unsigned k = 0; k < perByte; ++k)
      elements[i * perByte + k] = element(packed[i], k);
  for (unsigned k = 0; k < count % perByte; ++k)
    elements[bytes * perByte + k] = element(packed[bytes], k);
}

void StateCodes::unpack(uint64_t begin, uint64_t end, uint8_t *elements) const {
  auto unpackOne = form.bits == 2   ? unpackBlock<2>
                   : form.bits == 4 ? unpackBlock<4>
                                    : unpackBlock<8>;
  while (begin < end) {
    uint64_t count = std::min(end - begin, form.block - begin % form.block);
    unpackOne(packed + begin / codesPerByte(form), count, uint8_t(form.flip),
              zeros[begin / form.block], elements + begin);
    begin += count;
  }
}

} // namespace gradc::runtime
