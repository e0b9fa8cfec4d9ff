// One loop over labels and one over distributions, per element type.
#include "runtime/base/Targets.h"

#include "runtime/base/Text.h"

#include <cmath>
#include <cstring>

namespace gradc::runtime {

namespace {

template <typename T> T load(const std::byte *values, size_t element) {
  T value;
  std::memcpy(&value, values + element * sizeof value, sizeof value);
  return value;
}

template <typename Int>
std::optional<WrongTarget> findWrongLabel(const std::byte *values, size_t count, int64_t classes) {
  for (size_t i = 0; i < count; ++i)
    // A negative label is huge as an unsigned number.
    if (Int value = load<Int>(values, i); uint64_t(value) >= uint64_t(classes))
      return WrongTarget{i, text("label ", int64_t(value)), text("0 to ", classes - 1)};
  return {};
}

template <typename Float>
std::optional<WrongTarget> findWrongDistribution(const std::byte *values, size_t count,
                                                 int64_t classes) {
  constexpr double rounding = 1e-4;    // of 255 * 0.00392157
  constexpr double sumRounding = 1e-2; // of the sum of numbers once stored in 16 bits
  for (size_t first = 0; first < count; first += size_t(classes)) {
    double sum = 0;
    for (size_t i = first; i < first + size_t(classes); ++i) {
      Float value = load<Float>(values, i);
      if (!(value >= -rounding && value <= 1 + rounding))
        return WrongTarget{i, text("target ", value), "0 to 1"};
      sum += double(value);
    }
    if (classes > 1 && !(std::abs(sum - 1) < sumRounding))
      return WrongTarget{first, text("targets with the sum ", sum),
                         "a distribution, whose sum is 1"};
  }
  return {};
}

} // namespace

std::optional<WrongTarget> findWrongTarget(gradc_dtype dtype, const std::byte *values, size_t count,
                                           int64_t classes) {
  switch (dtype) {
  case GRADC_U8:
    return findWrongLabel<uint8_t>(values, count, classes);
  case GRADC_I8:
    return findWrongLabel<int8_t>(values, count, classes);
  case GRADC_U16:
    return findWrongLabel<uint16_t>(values, count, classes);
  case GRADC_I16:
    return findWrongLabel<int16_t>(values, count, classes);
  case GRADC_I32:
    return findWrongLabel<int32_t>(values, count, classes);
  case GRADC_U32:
    return findWrongLabel<uint32_t>(values, count, classes);
  case GRADC_I64:
  case GRADC_U64:
    return findWrongLabel<int64_t>(values, count, classes);
  case GRADC_F32:
    return findWrongDistribution<float>(values, count, classes);
  case GRADC_F64:
    return findWrongDistribution<double>(values, count, classes);
  default:
    return {};
  }
}

} // namespace gradc::runtime
