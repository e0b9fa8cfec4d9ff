// Reads what tells a data set's shape from .csv and .idx files: column names, sizes, rows.
#ifndef COMPILER_IMPORT_TABLEFILE_H
#define COMPILER_IMPORT_TABLEFILE_H

#include "compiler/import/data/ArrayFile.h"

namespace gradc {

struct TableInfo {
  std::vector<std::string> columns; ///< from the header
  int64_t rows = 0;
};

/// Goes over the whole file, for that is the only way to know how many rows it has.
llvm::Expected<TableInfo> readCsv(llvm::StringRef path, char delimiter);

/// The header of an .idx file, which may be compressed with gzip; its dtype by numpy's name for
/// what the run makes of it, little-endian.
llvm::Expected<ArrayInfo> readIdx(llvm::StringRef path);

} // namespace gradc

#endif
