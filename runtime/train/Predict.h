// The use of a trained model: predictions for the rows of a file, and its metrics over them.
#ifndef RUNTIME_TRAIN_PREDICT_H
#define RUNTIME_TRAIN_PREDICT_H

#include "runtime/train/Checkpoint.h"
#include "runtime/train/CommandLine.h"

namespace gradc::runtime {

/// A checkpoint's file, or the best one of a folder, or its newest.
Result<Checkpoint> openWeights(const std::string &path);

/// Writes a line of CSV for each row of `line.data` to `line.output`; "": to standard output.
Status predict(const std::shared_ptr<const Artifact> &artifact, const CommandLine &line);

/// Prints the metrics over `line.data`; "": over the job's evaluation data.
Status evaluateOn(const std::shared_ptr<const Artifact> &artifact, const CommandLine &line);

} // namespace gradc::runtime

#endif
