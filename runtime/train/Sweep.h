// Several runs of one artifact that differ in one option.
#ifndef RUNTIME_TRAIN_SWEEP_H
#define RUNTIME_TRAIN_SWEEP_H

#include "runtime/train/CommandLine.h"

namespace gradc::runtime {

/// Trains once for each value of the sweep, each time from the start, and prints a table of the
/// results. Files of a run have FIELD=VALUE in their names. A run that fails is a row of the table;
/// the sweep fails where all do.
Status runSweep(const std::shared_ptr<const Artifact> &artifact, const CommandLine &line);

/// "run-NAME.jsonl" of "run.jsonl".
std::string pathOfVariant(const std::string &path, const std::string &variant);

} // namespace gradc::runtime

#endif
