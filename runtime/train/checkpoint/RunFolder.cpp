// Finds runs by the names of existing folders; some between them may have been removed.
#include "runtime/train/checkpoint/RunFolder.h"

#include "runtime/base/Text.h"
#include "runtime/train/checkpoint/Checkpoint.h"

#include <algorithm>
#include <charconv>
#include <dirent.h>

namespace gradc::runtime {

static std::string runNumber(const std::string &folder, int64_t number) {
  return number == 1 ? folder : text(folder, '-', number);
}

/// The numbers of the runs whose folders exist, in order.
static std::vector<int64_t> runNumbers(const std::string &folder) {
  size_t slash = folder.rfind('/');
  std::string parent = slash == folder.npos ? "." : slash == 0 ? "/" : folder.substr(0, slash);
  std::string prefix = text(slash == folder.npos ? folder : folder.substr(slash + 1), '-');
  std::vector<int64_t> numbers;
  if (CheckpointFolder(folder).exists())
    numbers.push_back(1);
  DIR *siblings = opendir(parent.c_str());
  if (!siblings)
    return numbers;
  while (dirent *entry = readdir(siblings)) {
    std::string_view name = entry->d_name;
    if (!name.starts_with(prefix))
      continue;
    std::string_view digits = name.substr(prefix.size());
    int64_t number = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    // Only names that `runNumber` produces: neither run-1 nor run-02.
    if (error == std::errc() && end == digits.data() + digits.size() && number > 1 &&
        runNumber(folder, number).ends_with(name) &&
        CheckpointFolder(runNumber(folder, number)).exists())
      numbers.push_back(number);
  }
  closedir(siblings);
  std::ranges::sort(numbers);
  return numbers;
}

Result<std::string> newRun(const std::string &folder) {
  int64_t next = 1;
  for (int64_t number : runNumbers(folder)) {
    CheckpointFolder run(runNumber(folder, number));
    if (Status idle = run.expectIdle(); !idle.ok())
      return idle;
    next = run.holdsAny() || !run.isWritable() ? number + 1 : number;
  }
  return runNumber(folder, next);
}

/// Whether a run's last checkpoint is of another model. One that cannot be read is reported by its
/// reader.
static bool isOfOtherModel(const CheckpointFolder &run, const Artifact &artifact) {
  auto checkpoint = Checkpoint::open(run.latestOrBest());
  return checkpoint && !checkpoint->match(artifact, /*withSlots=*/false);
}

NewestRun newestRun(const std::string &folder, const Artifact &artifact) {
  std::vector<std::string> runs; // with checkpoints
  for (int64_t number : runNumbers(folder))
    if (std::string name = runNumber(folder, number); CheckpointFolder(name).holdsAny())
      runs.push_back(std::move(name));
  if (runs.empty())
    return {folder, ""};
  // Opening a checkpoint reads all of it; a single run needs no choice.
  for (size_t i = runs.size(); runs.size() > 1 && i-- > 0;)
    if (!isOfOtherModel(CheckpointFolder(runs[i]), artifact))
      return {runs[i], i + 1 < runs.size() ? runs.back() : ""};
  return {runs.back(), ""};
}

std::string runOf(const std::string &folder, const std::string &checkpoint) {
  for (int64_t number : runNumbers(folder))
    if (CheckpointFolder(runNumber(folder, number)).holds(checkpoint))
      return runNumber(folder, number);
  return "";
}

} // namespace gradc::runtime
