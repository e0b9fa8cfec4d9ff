// A training's log, as --log writes it, read back into curves.
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

/// A line for people: a warning, a skipped row, a learning rate that was lowered.
struct LogNote {
  int64_t step;
  std::string text;
};

struct TrainingLog {
  std::string name; ///< of the run
  std::string path;
  /// By field: "loss", "lr", "ms"; "loss (entry)" where there are several kinds of steps. Values
  /// that are not finite are left out.
  std::map<std::string, Curve> steps, evaluations;
  /// The last table of each evaluated metric that is one, as an array of rows.
  std::map<std::string, nlohmann::json> tables;
  /// By parameter and field: "fc1.weight weight_norm".
  std::map<std::string, Curve> watched;
  std::vector<LogNote> notes;
  nlohmann::json start, done; ///< these events; null where there is none yet

  /// The step of the last point, 0 without any.
  int64_t lastStep() const;
};

/// A last line that is being written is left out. After a resume, the steps that it repeats replace
/// what was logged of them before.
runtime::Result<TrainingLog> readTrainingLog(const std::string &path);

/// Names of runs: of the file, preceded by folders as far as it takes to tell runs apart. Fails
/// where a file is given twice.
runtime::Status nameRuns(std::vector<TrainingLog> &logs);

} // namespace gradc

#endif
