// The targets of a loss: class labels, probabilities, and distributions over classes.
#ifndef RUNTIME_BASE_TARGETS_H
#define RUNTIME_BASE_TARGETS_H

#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <optional>
#include <string>

namespace gradc::runtime {

struct WrongTarget {
  size_t element;
  std::string found, expected; ///< "label 3", "0 to 2"
};

/// The first of `count` values for which the loss is undefined. Integers are labels in [0,
/// classes). Floats are distributions over `classes` classes along the last dim; for one class,
/// numbers from 0 to 1. 16-bit floats are not checked.
std::optional<WrongTarget> findWrongTarget(gradc_dtype dtype, const std::byte *values, size_t count,
                                           int64_t classes);

} // namespace gradc::runtime

#endif
