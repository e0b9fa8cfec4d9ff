// A folder of checkpoints, one file a step, of which the newest stay.
#ifndef RUNTIME_TRAIN_CHECKPOINTFOLDER_H
#define RUNTIME_TRAIN_CHECKPOINTFOLDER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradc::runtime {

class CheckpointFolder {
public:
  explicit CheckpointFolder(std::string path) : path(std::move(path)) {}

  /// Makes the folder, and those above it, where absent.
  Status create() const;
  std::string file(int64_t step) const;
  /// Steps of the checkpoints that are there, oldest first.
  std::vector<int64_t> steps() const;
  /// The newest checkpoint's path.
  Result<std::string> latest() const;
  /// Whether a checkpoint's file lies in this folder.
  bool holds(const std::string &file) const;
  /// Fails when checkpoints are there: a training that does not go on from one of them would
  /// replace them. The message says the two ways out.
  Status expectNone() const;
  /// Keeps `newest` and those before it, `keep` in all. Removes those behind it, which a training
  /// resumed from an older one replaces, and what killed processes have left half written.
  void prune(int64_t newest, int64_t keep) const;

private:
  std::string path;
};

} // namespace gradc::runtime

#endif
