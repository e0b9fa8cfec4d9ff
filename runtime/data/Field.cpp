// The table of element types.
#include "runtime/data/Field.h"

namespace gradc {

namespace {
struct DtypeInfo {
  gradc_dtype dtype;
  size_t bytes;
  std::string_view name, specName;
};
} // namespace

static constexpr DtypeInfo dtypes[] = {
    {GRADC_F32, 4, "f32", "F32"}, {GRADC_U8, 1, "u8", ""},     {GRADC_I8, 1, "i8", ""},
    {GRADC_U16, 2, "u16", ""},    {GRADC_I16, 2, "i16", ""},   {GRADC_I32, 4, "i32", "I32"},
    {GRADC_I64, 8, "i64", "I64"}, {GRADC_BOOL, 1, "bool", ""}, {GRADC_F16, 2, "f16", ""},
    {GRADC_F64, 8, "f64", "F64"}, {GRADC_U32, 4, "u32", ""},   {GRADC_U64, 8, "u64", ""},
    {GRADC_BF16, 2, "bf16", ""},
};

static constexpr DtypeInfo unknown = {GRADC_F32, 0, "unknown", ""};

static const DtypeInfo &info(uint32_t dtype) {
  for (const DtypeInfo &entry : dtypes)
    if (entry.dtype == dtype)
      return entry;
  return unknown;
}

size_t dtypeBytes(uint32_t dtype) { return info(dtype).bytes; }
std::string_view dtypeName(uint32_t dtype) { return info(dtype).name; }
std::string_view dtypeSpecName(uint32_t dtype) { return info(dtype).specName; }

size_t Field::elements() const {
  size_t count = 1;
  for (int64_t dim : shape)
    count *= size_t(dim);
  return count;
}

} // namespace gradc
