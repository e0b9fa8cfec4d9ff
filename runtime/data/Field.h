// The shape of a data set's columns, and what the model asks of them.
#ifndef RUNTIME_DATA_FIELD_H
#define RUNTIME_DATA_FIELD_H

#include "runtime/base/DataType.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gradc::runtime {

/// One column: the type and shape of a row.
struct Field {
  /// A dim that differs from row to row: of a file's bytes, or of a picture as it was stored.
  static constexpr int64_t varying = -1;

  std::string name;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape;

  /// All rows are of one size; without, `elements` and `bytes` say nothing.
  bool isFixed() const {
    for (int64_t dim : shape)
      if (dim == varying)
        return false;
    return true;
  }
  size_t elements() const {
    size_t count = 1;
    for (int64_t dim : shape)
      count *= size_t(dim);
    return count;
  }
  size_t elementBytes() const { return findDataType(dtype)->bytes; }
  size_t bytes() const { return elements() * elementBytes(); }
};

/// What one input of the model asks of the data set.
struct Demand {
  std::string field;
  std::string input;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape; ///< of one row
  int64_t classes = 0;        ///< labels: valid values are [0, classes); 0: not labels
};

} // namespace gradc::runtime

#endif
