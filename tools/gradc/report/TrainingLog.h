// A training log, as written by --log, read back into curves.
#ifndef TOOLS_GRADC_REPORT_TRAININGLOG_H
#define TOOLS_GRADC_REPORT_TRAININGLOG_H

#include "runtime/base/Status.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gradc {

struct CurvePoint {
  int64_t step;
  double value;
};
using Curve = std::vector<CurvePoint>;

/// A line for the user: a warning, a skipped row, a lowered learning rate.
struct LogNote {
  int64_t step;
  std::string text;
};

struct TrainingLog {
  std::string name; ///< of the run
  std::string path;
  /// Keyed by field: "loss", "lr", "ms"; "loss (entry)" if there are several kinds of steps. Values
  /// that are not finite are left out.
  std::map<std::string, Curve> steps, evaluations;
  /// The last value of each evaluated metric that is a table, as an array of rows.
  std::map<std::string, nlohmann::json> tables;
  /// Keyed by parameter and field: "fc1.weight weight_norm".
  std::map<std::string, Curve> watched;
  std::vector<LogNote> notes;
  nlohmann::json start, done; ///< these events; null where there is none yet

  /// The step of the last point; 0 if there is none.
  int64_t lastStep() const;
};

/// An incomplete last line is ignored. After a resume, repeated steps replace their earlier
/// entries.
runtime::Result<TrainingLog> readTrainingLog(const std::string &path);

/// Names each run by its file, preceded by as many folders as needed to distinguish runs. Fails if
/// a file is given twice.
runtime::Status nameRuns(std::vector<TrainingLog> &logs);

} // namespace gradc

#endif
