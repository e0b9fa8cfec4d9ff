// Training as a whole, as run by the compiled executable, `gradc train`, and the C ABI.
#ifndef RUNTIME_TRAIN_TRAINER_H
#define RUNTIME_TRAIN_TRAINER_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/train/job/TrainOptions.h"

#include <memory>
#include <string>

namespace gradc::runtime {

/// Runs the job on a session made for it.
Result<TrainSummary> train(std::shared_ptr<const Artifact> artifact, const TrainOptions &options);

/// The command line of a compiled trainer; returns its exit code. `file`: the file given to gradc,
/// if gradc runs it; "" if the program is the trainer's own.
int trainerMain(int argc, char **argv, std::shared_ptr<const Artifact> artifact,
                const std::string &file = {});

} // namespace gradc::runtime

#endif
