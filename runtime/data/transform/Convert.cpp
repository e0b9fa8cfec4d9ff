// One loop per pair of types, simple enough to be vectorized.
#include "runtime/data/transform/Convert.h"

#include "runtime/base/ShortFloats.h"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace gradc::runtime {

namespace {

struct Half {
  uint16_t bits;
  operator float() const { return fromF16(bits); }
};

struct Bool {
  uint8_t byte;
  operator int() const { return byte != 0; }
};

template <typename T> struct Arithmetic {
  using type = T;
};
template <> struct Arithmetic<Half> {
  using type = float;
};
template <> struct Arithmetic<Bool> {
  using type = int;
};

template <typename To, typename From> bool holds(From value) {
  if constexpr (std::floating_point<To>)
    return true;
  else if constexpr (std::floating_point<From>) // -min is a power of two, exact in any float
    return value >= From(std::numeric_limits<To>::min()) &&
           value < -From(std::numeric_limits<To>::min());
  else if constexpr (std::is_signed_v<From>)
    return int64_t(value) >= int64_t(std::numeric_limits<To>::min()) &&
           int64_t(value) <= int64_t(std::numeric_limits<To>::max());
  else
    return uint64_t(value) <= uint64_t(std::numeric_limits<To>::max());
}

template <typename From, typename To>
size_t convert(const std::byte *in, std::byte *out, size_t count, double scale, double offset) {
  auto *result = reinterpret_cast<To *>(out);
  for (size_t i = 0; i < count; ++i) {
    From loaded;
    std::memcpy(&loaded, in + i * sizeof(From), sizeof loaded);
    auto value = static_cast<typename Arithmetic<From>::type>(loaded);
    if constexpr (std::floating_point<To>) {
      result[i] = To(value) * To(scale) + To(offset);
    } else {
      // Wraps on overflow like the machine.
      using Bits = std::make_unsigned_t<To>;
      if (!holds<To>(value))
        return i;
      result[i] = To(Bits(To(value)) * Bits(To(scale)) + Bits(To(offset)));
    }
  }
  return count;
}

template <typename From> Converter to(gradc_dtype type) {
  switch (type) {
  case GRADC_F32:
    return convert<From, float>;
  case GRADC_F64:
    return convert<From, double>;
  case GRADC_I32:
    return convert<From, int32_t>;
  case GRADC_I64:
    return convert<From, int64_t>;
  default:
    return nullptr;
  }
}

} // namespace

Converter findConverter(gradc_dtype from, gradc_dtype type) {
  switch (from) {
  case GRADC_F32:
    return to<float>(type);
  case GRADC_F64:
    return to<double>(type);
  case GRADC_F16:
    return to<Half>(type);
  case GRADC_U8:
    return to<uint8_t>(type);
  case GRADC_I8:
    return to<int8_t>(type);
  case GRADC_U16:
    return to<uint16_t>(type);
  case GRADC_I16:
    return to<int16_t>(type);
  case GRADC_U32:
    return to<uint32_t>(type);
  case GRADC_I32:
    return to<int32_t>(type);
  case GRADC_U64:
    return to<uint64_t>(type);
  case GRADC_I64:
    return to<int64_t>(type);
  case GRADC_BOOL:
    return to<Bool>(type);
  default:
    return nullptr;
  }
}

namespace {
struct Cast {
  std::string_view name;
  gradc_dtype dtype;
};
constexpr Cast casts[] = {
    {"F32", GRADC_F32}, {"F64", GRADC_F64}, {"I32", GRADC_I32}, {"I64", GRADC_I64}};
} // namespace

std::optional<gradc_dtype> castType(std::string_view name) {
  for (const Cast &cast : casts)
    if (cast.name == name)
      return cast.dtype;
  return std::nullopt;
}

std::string_view castName(gradc_dtype dtype) {
  for (const Cast &cast : casts)
    if (cast.dtype == dtype)
      return cast.name;
  return {};
}

double elementAsDouble(gradc_dtype dtype, const std::byte *element) {
  double value = std::numeric_limits<double>::quiet_NaN();
  if (Converter converter = findConverter(dtype, GRADC_F64))
    converter(element, reinterpret_cast<std::byte *>(&value), 1, 1.0, -0.0);
  return value;
}

} // namespace gradc::runtime
