// Element types and the shape of a data set's columns.
#ifndef RUNTIME_DATA_FIELD_H
#define RUNTIME_DATA_FIELD_H

#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradc {

/// Bytes of one element; 0 for a number that is no element type.
size_t dtypeBytes(uint32_t dtype);
/// "f32"
std::string_view dtypeName(uint32_t dtype);
/// The training spec's name ("F32"), or "" where it has none.
std::string_view dtypeSpecName(uint32_t dtype);

/// One column: the type and shape of a row.
struct Field {
  std::string name;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape;

  size_t elements() const;
  size_t bytes() const { return elements() * dtypeBytes(dtype); }
};

/// What one input of the model asks of the data set.
struct Demand {
  std::string field;
  std::string input;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape; ///< of one row
  int64_t classes = 0;        ///< labels: valid values are [0, classes); 0: not labels
};

} // namespace gradc

#endif
