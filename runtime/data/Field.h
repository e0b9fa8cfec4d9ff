// The shape of a data set's columns, and the model's demands on them.
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
  /// A dim that differs from row to row, such as a file's bytes or a picture's original size.
  static constexpr int64_t varying = -1;

  std::string name;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape;
  /// The number of classes of labels, each of which occurs in some row; 0: not known.
  int64_t classes = 0;
  /// Its numbers are below this one, whatever rows there are; 0: not known.
  int64_t categories = 0;

  /// Whether all rows have the same size; if not, `elements` and `bytes` are meaningless.
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

/// The demand of one input of the model on the data set.
struct Demand {
  std::string field;
  std::string input;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape; ///< of one row
  /// Targets of a loss, which are checked (base/Targets.h); 0: any value.
  int64_t classes = 0;
};

} // namespace gradc::runtime

#endif
