// The folders of a job's runs: the one named in the spec, then those with -2, -3, ... appended to
// the name.
#ifndef RUNTIME_TRAIN_CHECKPOINT_RUNFOLDER_H
#define RUNTIME_TRAIN_CHECKPOINT_RUNFOLDER_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"

namespace gradc::runtime {

/// The folder after that of the newest run, or a newer one that is empty. Fails if a run is in
/// progress in one of them. Earlier runs may be read-only.
Result<std::string> newRun(const std::string &folder);

struct NewestRun {
  std::string folder;
  std::string passedOver; ///< the newest run, if its checkpoints are of another model; "": none
};

/// The newest folder with a checkpoint of the artifact's model. If there is none, the newest with
/// any checkpoint, otherwise the first folder.
NewestRun newestRun(const std::string &folder, const Artifact &artifact);

/// The folder that contains a checkpoint; "" if none does.
std::string runOf(const std::string &folder, const std::string &checkpoint);

} // namespace gradc::runtime

#endif
