// The features of a tf.train.Example, read from its encoding.
#ifndef RUNTIME_DATA_EXAMPLE_H
#define RUNTIME_DATA_EXAMPLE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gradc::runtime {

/// A named list of values in an example that stays in memory.
struct ExampleFeature {
  enum class Kind { none, bytes, floats, int64s } kind = Kind::none;
  std::span<const std::byte> list; ///< its encoding
};

/// Finds a feature by its name. Messages don't name the record. Errors: no such feature; not an
/// example at all.
Result<ExampleFeature> findFeature(std::span<const std::byte> example, std::string_view name);

/// The only value of a list of bytes.
Result<std::span<const std::byte>> readBytes(const ExampleFeature &feature);
/// Fills `out`. Errors: another kind; more or fewer values.
Status readFloats(const ExampleFeature &feature, std::span<float> out);
Status readIntegers(const ExampleFeature &feature, std::span<int64_t> out);

} // namespace gradc::runtime

#endif
