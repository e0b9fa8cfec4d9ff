// Element types as the runtime knows them: size and name.
#ifndef RUNTIME_CORE_DATATYPE_H
#define RUNTIME_CORE_DATATYPE_H

#include "runtime/include/gradc/artifact.h"

#include <cstdint>

namespace gradc::runtime {

struct DataType {
  const char *name;
  uint32_t bytes; ///< of one element
  bool floating;
};

/// The type of that number, or null if there is none.
inline const DataType *findDataType(uint32_t dtype) {
  static constexpr DataType types[] = {
      {nullptr, 0, false}, {"f32", 4, true},   {"u8", 1, false},    {"i8", 1, false},
      {"u16", 2, false},   {"i16", 2, false},  {"i32", 4, false},   {"i64", 8, false},
      {nullptr, 0, false}, {"bool", 1, false}, {"f16", 2, true},    {"f64", 8, true},
      {"u32", 4, false},   {"u64", 8, false},  {nullptr, 0, false}, {nullptr, 0, false},
      {"bf16", 2, true},
  };
  static_assert(sizeof(types) / sizeof(*types) == GRADC_BF16 + 1);
  return dtype <= GRADC_BF16 && types[dtype].name ? &types[dtype] : nullptr;
}

} // namespace gradc::runtime

#endif
