// The columns of a CSV table, and the fields that they form.
#ifndef RUNTIME_DATA_SOURCE_CSVCOLUMNS_H
#define RUNTIME_DATA_SOURCE_CSVCOLUMNS_H

#include "runtime/data/source/CsvReader.h"
#include "runtime/data/source/CsvText.h"

namespace gradc::runtime {

/// Reads the header. Functions return false after an error.
class CsvColumns : protected CsvText {
protected:
  /// The destination of a column.
  struct Column {
    std::string name;
    const CsvField *field = nullptr; ///< null: it is skipped
    std::byte *target = nullptr;     ///< of the first row's element
    size_t place = 0;                ///< among the field's columns

    /// Replaces a cell without a value; null if such a cell is an error.
    const double *missing() const {
      const std::vector<double> &given = field->missing;
      return given.empty() ? nullptr : &given[given.size() == 1 ? 0 : place];
    }
  };

  using CsvText::CsvText;

  bool readHeader();
  /// Finds the field's columns.
  bool claimColumns(const CsvField &field, std::vector<size_t> &indices);
  /// Appends the field's array, without memory so far.
  bool shapeArray(const CsvField &field, const std::vector<size_t> &indices);

  std::vector<Column> columns;
  std::vector<SourceArray> arrays;
};

} // namespace gradc::runtime

#endif
