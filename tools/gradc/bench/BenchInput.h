// Measures a job's input pipeline alone.
#ifndef TOOLS_GRADC_BENCH_BENCHINPUT_H
#define TOOLS_GRADC_BENCH_BENCHINPUT_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/data/Dataset.h"

namespace gradc {

struct InputBenchResult {
  int64_t batch = 0, rows = 0, skipped = 0;
  double open = 0;      ///< seconds until the data set was ready
  double firstRate = 0; ///< rows per second in the first epoch, or the part of it within the time
  double laterRate = 0; ///< in later epochs; 0: the time was over
  runtime::InputReport report;
};

/// Reads the batches of the training data for about `seconds` seconds, over any number of epochs,
/// and discards them.
runtime::Result<InputBenchResult> measureInput(std::shared_ptr<const runtime::Artifact> artifact,
                                               double seconds);

} // namespace gradc

#endif
