// The steps whose weights a training averages.
#ifndef COMPILER_IMPORT_JOB_EQUALAVERAGE_H
#define COMPILER_IMPORT_JOB_EQUALAVERAGE_H

#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// Replaces the epochs of `swa` by steps, and warns if the run ends before it begins. `rows`: that
/// an epoch visits; -1: unknown.
mlir::LogicalResult countAveragedSteps(SpecFile &spec, int64_t rows);

} // namespace gradc

#endif
