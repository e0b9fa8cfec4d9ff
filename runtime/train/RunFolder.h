// The folders of a job's runs: the one named in the spec, then those with -2, -3, ... appended to
// the name.
#ifndef RUNTIME_TRAIN_RUNFOLDER_H
#define RUNTIME_TRAIN_RUNFOLDER_H

#include "runtime/train/CheckpointFolder.h"

namespace gradc::runtime {

/// The folder after that of the newest run, or a newer one that is empty. Fails if a run is in
/// progress in one of them.
Result<std::string> newRun(const std::string &folder);

/// The newest folder with a checkpoint; the first folder if there is no checkpoint.
std::string newestRun(const std::string &folder);

/// The folder that contains a checkpoint; "" if none does.
std::string runOf(const std::string &folder, const std::string &checkpoint);

} // namespace gradc::runtime

#endif
