// Uses a trained model: predictions for the rows of a file, and metrics over them.
#ifndef RUNTIME_TRAIN_PREDICT_PREDICT_H
#define RUNTIME_TRAIN_PREDICT_PREDICT_H

#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/job/CommandLine.h"

namespace gradc::runtime {

/// Opens a checkpoint file, or a folder's best checkpoint, or its newest.
Result<Checkpoint> openWeights(const std::string &path);

/// Writes one CSV line per row of `line.data` to `line.output`, or to standard output if that is
/// "".
Status predict(const std::shared_ptr<const Artifact> &artifact, const CommandLine &line);

/// Prints the metrics over `line.data`, or over the job's evaluation data if that is "".
Status evaluateOn(const std::shared_ptr<const Artifact> &artifact, const CommandLine &line);

} // namespace gradc::runtime

#endif
