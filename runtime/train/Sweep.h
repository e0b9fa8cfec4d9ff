// Several runs of one artifact that differ in one option.
#ifndef RUNTIME_TRAIN_SWEEP_H
#define RUNTIME_TRAIN_SWEEP_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/train/job/CommandLine.h"

#include <memory>

namespace gradc::runtime {

/// Trains once per value of the sweep, each time from the start, and prints a table of the results.
/// The names of a run's files contain FIELD=VALUE. A failed run is a row of the table; the sweep
/// fails only if all runs do.
Status runSweep(const std::shared_ptr<const Artifact> &artifact, const CommandLine &line);

} // namespace gradc::runtime

#endif
