// The folders of a job's runs: the one that the spec names, then those with -2, -3, ... behind the
// name.
#ifndef RUNTIME_TRAIN_RUNFOLDER_H
#define RUNTIME_TRAIN_RUNFOLDER_H

#include "runtime/train/CheckpointFolder.h"

namespace gradc::runtime {

/// The folder behind that of the newest run, or a newer one that is empty. Fails where a run is
/// under way in one of them.
Result<std::string> newRun(const std::string &folder);

/// The newest with a checkpoint; without any, the first one.
std::string newestRun(const std::string &folder);

/// The one that a checkpoint lies in; "": none of them.
std::string runOf(const std::string &folder, const std::string &checkpoint);

} // namespace gradc::runtime

#endif
