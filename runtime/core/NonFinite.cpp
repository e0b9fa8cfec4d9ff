// A float is non-finite when all bits of its exponent are set, in each of the four formats.
#include "runtime/core/NonFinite.h"
#include "runtime/include/gradc/artifact.h"

#include <cstring>
#include <limits>

using namespace gradc;

namespace {

template <typename Bits>
std::optional<BadElement> scan(std::span<const std::byte> bytes, Bits exponent) {
  size_t count = bytes.size() / sizeof(Bits);
  for (size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
    if ((bits & exponent) != exponent)
      continue;
    // Between sign and mantissa lies the exponent alone.
    const Bits sign = Bits(Bits(1) << (8 * sizeof bits - 1)), mantissa = Bits(~(exponent | sign));
    double value = bits & mantissa ? std::numeric_limits<double>::quiet_NaN()
                                   : std::numeric_limits<double>::infinity();
    return BadElement{int64_t(i), bits & sign ? -value : value};
  }
  return std::nullopt;
}

} // namespace

std::optional<BadElement> gradc::firstNonFinite(std::span<const std::byte> bytes, uint32_t dtype) {
  switch (dtype) {
  case GRADC_F32:
    return scan<uint32_t>(bytes, 0x7f800000u);
  case GRADC_F64:
    return scan<uint64_t>(bytes, 0x7ff0000000000000u);
  case GRADC_F16:
    return scan<uint16_t>(bytes, 0x7c00u);
  case GRADC_BF16:
    return scan<uint16_t>(bytes, 0x7f80u);
  default:
    return std::nullopt;
  }
}
