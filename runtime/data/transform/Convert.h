// Converts elements with scale and offset, in one pass.
#ifndef RUNTIME_DATA_TRANSFORM_CONVERT_H
#define RUNTIME_DATA_TRANSFORM_CONVERT_H

#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace gradc::runtime {

/// Writes cast(in[i]) * scale + offset, computed in the result's type, for `count` elements; `in`
/// may have any alignment. Returns the index of the first value that an integer result cannot
/// represent, or `count`.
using Converter = size_t (*)(const std::byte *in, std::byte *out, size_t count, double scale,
                             double offset);

/// Null if no conversion exists: results are f32, f64, i32 or i64; all types but bf16 can be read.
Converter findConverter(gradc_dtype from, gradc_dtype to);

/// The type named by a spec's `cast`, and the reverse ("" if the spec has no name for it).
std::optional<gradc_dtype> castType(std::string_view name);
std::string_view castName(gradc_dtype dtype);

/// The element as a number, for messages.
double elementAsDouble(gradc_dtype dtype, const std::byte *element);

} // namespace gradc::runtime

#endif
