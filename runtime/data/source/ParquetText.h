// A Parquet file as the text of the same table.
#ifndef RUNTIME_DATA_PARQUETTEXT_H
#define RUNTIME_DATA_PARQUETTEXT_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace gradc::runtime {

inline bool isParquet(std::span<const std::byte> bytes) {
  return bytes.size() > 8 && std::memcmp(bytes.data(), "PAR1", 4) == 0;
}

/// The table as a CSV file has it, by the plug-in for Parquet: a header, and a line for each row.
/// Columns that nobody `wants` are empty; without `wants` those are that are neither numbers nor
/// texts. Of programs that have gradc_full.
__attribute__((weak)) Result<std::string>
parquetText(const std::string &path, char delimiter,
            const std::function<bool(std::string_view column)> &wants);

/// That, or why this program cannot.
inline Result<std::string> readParquet(const std::string &path, char delimiter,
                                       const std::function<bool(std::string_view column)> &wants) {
  if (parquetText)
    return parquetText(path, delimiter, wants);
  return Status::error("'" + path +
                       "' is a Parquet file, which this program does not read: compile "
                       "it with a spec whose table is a .parquet file, or use gradc");
}

} // namespace gradc::runtime

#endif
