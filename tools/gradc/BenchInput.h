// Times a job's input pipeline alone.
#ifndef TOOLS_GRADC_BENCHINPUT_H
#define TOOLS_GRADC_BENCHINPUT_H

#include "runtime/core/Artifact.h"
#include "runtime/data/Dataset.h"

namespace gradc {

struct InputBenchResult {
  int64_t batch = 0, rows = 0, skipped = 0;
  double open = 0;      ///< seconds until the data set was there
  double firstRate = 0; ///< rows a second in the first epoch, or what of it there was time for
  double laterRate = 0; ///< behind it; 0: there was no time
  runtime::InputReport report;
};

/// Takes the batches of the training data for about so many seconds, one epoch after the other, and
/// does nothing with them.
runtime::Result<InputBenchResult> measureInput(std::shared_ptr<const runtime::Artifact> artifact,
                                               double seconds);

} // namespace gradc

#endif
