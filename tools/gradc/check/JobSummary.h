// A summary of a training job in five lines, before anything runs.
#ifndef TOOLS_GRADC_CHECK_JOBSUMMARY_H
#define TOOLS_GRADC_CHECK_JOBSUMMARY_H

#include "compiler/Compiler.h"

namespace gradc {

/// The data, steps, parameters, memory, and results of a training spec; one line each.
class JobSummary {
public:
  /// Must be constructed before the job is planned, which takes the module.
  explicit JobSummary(Imported &imported);

  std::vector<std::string> lines(const PlannedProgram &program) const;

private:
  int64_t classes = 0; ///< that labels are of; 0: there are no labels
  int64_t parameters = 0;
};

} // namespace gradc

#endif
