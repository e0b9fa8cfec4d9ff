// Element types as the runtime knows them: size and name.
#ifndef RUNTIME_BASE_DATATYPE_H
#define RUNTIME_BASE_DATATYPE_H

#include "runtime/include/gradc/artifact.h"

#include <cstdint>
#include <span>

namespace gradc::runtime {

struct DataType {
  const char *name;
  uint32_t bytes; ///< of one element
  bool floating;  ///< and computed with: the floats of a byte are bits to the runtime
};

/// The type with that number, or null if there is none.
inline const DataType *findDataType(uint32_t dtype) {
  static constexpr DataType types[] = {
      {nullptr, 0, false},      {"f32", 4, true},     {"u8", 1, false},
      {"i8", 1, false},         {"u16", 2, false},    {"i16", 2, false},
      {"i32", 4, false},        {"i64", 8, false},    {nullptr, 0, false},
      {"bool", 1, false},       {"f16", 2, true},     {"f64", 8, true},
      {"u32", 4, false},        {"u64", 8, false},    {nullptr, 0, false},
      {nullptr, 0, false},      {"bf16", 2, true},    {"f8e4m3fn", 1, false},
      {"f8e4m3fnuz", 1, false}, {"f8e5m2", 1, false}, {"f8e5m2fnuz", 1, false},
      {"u4", 1, false},         {"i4", 1, false},     {"f4e2m1", 1, false},
      {"f8e8m0", 1, false},     {"u2", 1, false},     {"i2", 1, false},
  };
  static_assert(sizeof(types) / sizeof(*types) == GRADC_I2 + 1);
  return dtype <= GRADC_I2 && types[dtype].name ? &types[dtype] : nullptr;
}

/// Whether a tensor of this type and shape occupies exactly `bytes` bytes.
inline bool hasBytes(uint32_t dtype, std::span<const int64_t> shape, uint64_t bytes) {
  uint64_t expected = findDataType(dtype)->bytes;
  for (int64_t dim : shape)
    if (dim < 0 || __builtin_mul_overflow(expected, uint64_t(dim), &expected))
      return false;
  return expected == bytes;
}

} // namespace gradc::runtime

#endif
