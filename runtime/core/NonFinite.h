// Looks for infinities and NaNs in raw tensor bytes.
#ifndef RUNTIME_CORE_NONFINITE_H
#define RUNTIME_CORE_NONFINITE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gradc {

struct BadElement {
  int64_t index;
  double value;
};

/// The first non-finite element; none where the element type is not floating.
std::optional<BadElement> firstNonFinite(std::span<const std::byte> bytes, uint32_t dtype);

} // namespace gradc

#endif
