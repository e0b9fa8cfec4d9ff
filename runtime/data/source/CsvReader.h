// Reads the columns of a CSV table (RFC 4180) as arrays of numbers.
#ifndef RUNTIME_DATA_SOURCE_CSVREADER_H
#define RUNTIME_DATA_SOURCE_CSVREADER_H

#include "runtime/data/source/ArraySource.h"
#include "runtime/data/source/Categories.h"

#include <functional>
#include <optional>

namespace gradc::runtime {

/// The columns that form a field.
struct CsvField {
  std::string name;
  std::vector<std::string> columns;          ///< of the header; "pixel*" stands for all that match
  gradc_dtype dtype = GRADC_F32;             ///< f32, f64, i32 or i64
  std::optional<std::vector<int64_t>> shape; ///< of a row; none: a number, or a vector
  /// For cells without a value, of all columns or of each; none: an error.
  std::vector<double> missing;
  std::shared_ptr<Categories> categories = {}; ///< cells are texts; null: numbers
};

/// With more bad rows than these, a column is wrong rather than rows.
constexpr size_t mostBadRows = size_t(1) << 20;

struct CsvOptions {
  char delimiter = ',';
  uint64_t maxBytes = UINT64_MAX; ///< that the fields may take in memory
  BadRows *bad = nullptr;         ///< receives rows that cannot be read; null: they are errors
};

/// Reads all rows of some fields. Errors begin with `path`, the line, and the column, both counted
/// from 1.
Result<std::vector<SourceArray>> readCsv(std::span<const std::byte> bytes, std::string_view path,
                                         std::span<const CsvField> fields,
                                         const CsvOptions &options);

/// A table's columns and number of rows.
struct CsvOutline {
  std::vector<std::string> columns;
  int64_t rows = 0;
};
Result<CsvOutline> outlineCsv(std::span<const std::byte> bytes, std::string_view path,
                              const CsvOptions &options);

/// The table that readCsv would make, without data: lines are counted, but no number is parsed.
/// `wrong` is called with the number of each field that has a problem; the result is then an error.
Result<std::vector<SourceArray>>
describeCsv(std::span<const std::byte> bytes, std::string_view path,
            std::span<const CsvField> fields, const CsvOptions &options,
            const std::function<void(size_t field, const std::string &message)> &wrong);

} // namespace gradc::runtime

#endif
