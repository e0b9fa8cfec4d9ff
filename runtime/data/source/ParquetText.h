// Converts a Parquet file to the text of the same table.
#ifndef RUNTIME_DATA_SOURCE_PARQUETTEXT_H
#define RUNTIME_DATA_SOURCE_PARQUETTEXT_H

#include "runtime/data/source/CsvReader.h"
#include "runtime/data/source/Inflate.h"

#include <cstring>

namespace gradc::runtime {

inline bool isParquet(std::span<const std::byte> bytes) {
  return bytes.size() > 8 && std::memcmp(bytes.data(), "PAR1", 4) == 0;
}

/// An error if a file is not Parquet, though its name says so.
inline Status expectParquetByName(const std::string &path, std::span<const std::byte> bytes) {
  return !path.ends_with(".parquet") || isParquet(bytes)
             ? Status()
             : Status::error('\'' + path + "' is not a Parquet file");
}

/// The table as CSV, read by the Parquet plug-in: a header, and one line per row. A column "x" of
/// lists is the columns "x[0]", "x[1]", and so on. Columns that no field names are empty; without
/// fields, so are columns that are neither numbers nor text nor lists of one length. Rows whose
/// lists have another length than most are errors or, with `options.bad`, added to it. Only in
/// programs with gradc_full.
__attribute__((weak)) Status parquetText(const std::string &path, const CsvOptions &options,
                                         std::span<const CsvField> fields, Inflated &text);

/// The same, or an error that explains why this program cannot read Parquet.
inline Status readParquet(const std::string &path, const CsvOptions &options,
                          std::span<const CsvField> fields, Inflated &text) {
  if (parquetText)
    return parquetText(path, options, fields, text);
  return Status::error(
      "this program does not read Parquet files such as '" + path +
      "': compile it with a spec whose table's name ends with .parquet, or use gradc");
}

} // namespace gradc::runtime

#endif
