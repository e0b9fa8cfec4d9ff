// Inspects a user's data before there is a spec: its fields, and what their values look like.
#ifndef TOOLS_GRADC_INIT_DATALOOK_H
#define TOOLS_GRADC_INIT_DATALOOK_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <set>
#include <string>
#include <vector>

namespace gradc {

/// An array, or a column of a table.
struct LookedField {
  std::string name;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape = {}; ///< of one row
  std::string file = {};           ///< of its own, in a folder of .npy files
  int64_t rows = 0;                ///< of an array

  bool isText = false;
  bool isBoolean = true; ///< all cells of a table's column are true or false
  bool isWhole = true;   ///< all values are integers
  int64_t missing = 0;   ///< cells without a value
  double least = 0, most = 0;
  bool hasOneNegative = true; ///< all negative values, if there are any, are the same
  /// The distinct texts of columns, and of arrays with one number per row; at most `maxDistinct`.
  std::set<std::string> texts = {};
  static constexpr size_t maxDistinct = 1000;

  /// For example "images u8 [8, 8]" or "city text".
  std::string describe() const;
  bool isScalar() const { return shape.empty() || (shape.size() == 1 && shape[0] == 1); }
};

struct LookedData {
  enum class Kind { csv, npz, npy, folder };
  Kind kind;
  std::string path;
  int64_t rows = 0; ///< of a table, or pictures of a folder
  char delimiter = ',';
  std::vector<LookedField> fields = {};       ///< none of a folder of pictures
  std::vector<std::string> emptyColumns = {}; ///< of a table; they are no fields
  int64_t classes = 0;                        ///< sub-folders of a folder of pictures
};

/// The number of columns whose names are numbers, which suggests a table without a header. 0 if
/// these rise or fall in even steps, as those of numbered columns do.
int64_t countNumbersAsNames(const LookedData &data);

/// Inspects a .csv, .csv.gz, .tsv, .parquet, or .npz file, a folder of .npy files, or a folder with
/// one sub-folder of pictures per class. Reads tables completely, and only as much of arrays as
/// needed to judge them.
runtime::Result<LookedData> lookAtData(const std::string &path);

} // namespace gradc

#endif
