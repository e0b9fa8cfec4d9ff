// The shapes of a data set's columns, and the model's requirements for them.
#ifndef RUNTIME_DATA_FIELD_H
#define RUNTIME_DATA_FIELD_H

#include "runtime/base/DataType.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gradc::runtime {

/// One column: the type and shape of one row.
struct Field {
  /// A dim that differs between rows, such as the bytes of a file or a picture's original size.
  static constexpr int64_t varying = -1;

  std::string name;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape;
  /// The number of classes of labels, each of which occurs in some row; 0 if unknown.
  int64_t classes = 0;
  /// An upper bound of its numbers in any data; 0 if unknown.
  int64_t categories = 0;
  /// Pixels are numbers of classes, of which no mixture makes sense.
  bool isIndices = false;
  /// The field of the pictures that these are masks of; "": they are none.
  std::string maskOf = {};

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

/// The requirements of one input of the model on the data set.
struct Demand {
  std::string field;
  std::string input;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape; ///< of one row
  /// The number of classes of a loss's targets, which are checked (base/Targets.h); 0 accepts any
  /// value.
  int64_t classes = 0;
};

} // namespace gradc::runtime

#endif
