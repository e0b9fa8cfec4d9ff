// A column of a Parquet file, from Arrow's arrays to cells of text.
#ifndef RUNTIME_DATA_SOURCE_PARQUETCOLUMN_H
#define RUNTIME_DATA_SOURCE_PARQUETCOLUMN_H

#include "runtime/include/gradc/parquet.h"

#include <string>

namespace gradc::runtime {

/// How the cells of a column are written.
struct CellStyle {
  char delimiter = ',';
  int scale = 0; ///< of decimals: the number of digits behind the point
};

/// Writes a value of a column.
using AddCell = void (*)(std::string &out, const ArrowArray &array, int64_t row, CellStyle style);

/// A column described by its schema: numbers or texts, indices of those in a dictionary, or lists
/// of them. A list is one cell for each of its values.
class ParquetColumn {
public:
  ParquetColumn(const ArrowSchema &schema, char delimiter);

  /// False if the values are neither numbers nor texts.
  bool isKnown() const { return add != nullptr; }
  bool isList() const { return list != Lists::none; }
  /// Arrow's format, for messages: of what a list has, "+l of +s".
  const std::string &format() const { return type; }
  /// The number of values in a row's list; -1 of a null.
  int64_t countValues(const ArrowArray &array, int64_t row) const;
  /// Returns false if the array does not have what it should, as in a damaged file.
  bool addTo(std::string &out, const ArrowArray &array, int64_t row) const;

  int64_t width = 1; ///< cells of a row; of a list, the caller finds it

private:
  enum class Lists { none, ends32, ends64, fixed };
  struct Range {
    int64_t begin, count;
  };
  Range valuesOf(const ArrowArray &array, int64_t row) const;
  bool addValue(std::string &out, const ArrowArray &array, int64_t row) const;

  Lists list = Lists::none;
  int64_t fixedCount = 0; ///< of values in each list
  AddCell add = nullptr;
  char index = 0; ///< the format of a dictionary's numbers; 0: none
  CellStyle style = {};
  std::string type;
};

} // namespace gradc::runtime

#endif
