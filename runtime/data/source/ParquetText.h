// A Parquet file as the text of the same table.
#ifndef RUNTIME_DATA_PARQUETTEXT_H
#define RUNTIME_DATA_PARQUETTEXT_H

#include "runtime/data/source/CsvReader.h"
#include "runtime/data/source/Inflate.h"

#include <cstring>

namespace gradc::runtime {

inline bool isParquet(std::span<const std::byte> bytes) {
  return bytes.size() > 8 && std::memcmp(bytes.data(), "PAR1", 4) == 0;
}

/// The table as a CSV file has it, by the plug-in for Parquet: a header, and a line for each row.
/// Columns that no field names are empty; without fields those are that are neither numbers nor
/// texts. Of programs that have gradc_full.
__attribute__((weak)) Status parquetText(const std::string &path, char delimiter,
                                         std::span<const CsvField> fields, uint64_t maxBytes,
                                         Inflated &text);

/// That, or why this program cannot.
inline Status readParquet(const std::string &path, char delimiter, std::span<const CsvField> fields,
                          uint64_t maxBytes, Inflated &text) {
  if (parquetText)
    return parquetText(path, delimiter, fields, maxBytes, text);
  return Status::error(
      "this program does not read Parquet files such as '" + path +
      "': compile it with a spec whose table's name ends with .parquet, or use gradc");
}

} // namespace gradc::runtime

#endif
