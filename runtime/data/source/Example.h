// Reads the features of an encoded tf.train.Example.
#ifndef RUNTIME_DATA_SOURCE_EXAMPLE_H
#define RUNTIME_DATA_SOURCE_EXAMPLE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gradc::runtime {

/// A named list of values, a view into an example that stays in memory.
struct ExampleFeature {
  enum class Kind { none, bytes, floats, int64s } kind = Kind::none;
  std::span<const std::byte> list; ///< its encoding
};

/// Finds a feature by name. Messages do not name the record. Errors: the feature does not exist;
/// the bytes are not an example.
Result<ExampleFeature> findFeature(std::span<const std::byte> example, std::string_view name);

/// The single value of a list of bytes.
Result<std::span<const std::byte>> readBytes(const ExampleFeature &feature);
/// Fills `out`. Errors: another kind of list; more or fewer values.
Status readFloats(const ExampleFeature &feature, std::span<float> out);
Status readIntegers(const ExampleFeature &feature, std::span<int64_t> out);

} // namespace gradc::runtime

#endif
