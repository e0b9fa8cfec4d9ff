// Counts runs by the folders that are there.
#include "runtime/train/RunFolder.h"

#include "runtime/base/Text.h"

namespace gradc::runtime {

static std::string runNumber(const std::string &folder, int64_t number) {
  return number == 1 ? folder : text(folder, '-', number);
}

Result<std::string> newRun(const std::string &folder) {
  for (int64_t number = 1;; ++number) {
    CheckpointFolder run(runNumber(folder, number));
    if (!run.exists())
      return runNumber(folder, number);
    if (Status locked = run.lock(); !locked.ok())
      return locked;
    if (run.steps().empty())
      return runNumber(folder, number);
  }
}

std::string newestRun(const std::string &folder) {
  std::string newest = folder;
  for (int64_t number = 1; CheckpointFolder(runNumber(folder, number)).exists(); ++number)
    if (!CheckpointFolder(runNumber(folder, number)).steps().empty())
      newest = runNumber(folder, number);
  return newest;
}

std::string runOf(const std::string &folder, const std::string &checkpoint) {
  for (int64_t number = 1; CheckpointFolder(runNumber(folder, number)).exists(); ++number)
    if (CheckpointFolder(runNumber(folder, number)).holds(checkpoint))
      return runNumber(folder, number);
  return "";
}

} // namespace gradc::runtime
