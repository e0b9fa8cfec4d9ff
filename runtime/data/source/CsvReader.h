// Reads the columns of a CSV table (RFC 4180) as arrays of numbers.
#ifndef RUNTIME_DATA_CSVREADER_H
#define RUNTIME_DATA_CSVREADER_H

#include "runtime/data/source/ArraySource.h"

#include <optional>

namespace gradc::runtime {

/// Columns that form a field.
struct CsvField {
  std::string name;
  std::vector<std::string> columns;          ///< of the header; "pixel*" stands for all that match
  gradc_dtype dtype = GRADC_F32;             ///< f32, f64, i32 or i64
  std::optional<std::vector<int64_t>> shape; ///< of a row; none: a number, or a vector
  std::optional<double> missing;             ///< for cells without a value; none: an error
};

struct CsvOptions {
  char delimiter = ',';
  uint64_t maxBytes = UINT64_MAX; ///< that the fields may take in memory
};

/// Reads all rows of some fields. Errors begin with `path` and the line and column in it, both from
/// 1.
Result<std::vector<SourceArray>> readCsv(std::span<const std::byte> bytes, std::string_view path,
                                         std::span<const CsvField> fields,
                                         const CsvOptions &options);

} // namespace gradc::runtime

#endif
