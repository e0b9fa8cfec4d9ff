// A folder of checkpoints with one file per step, which keeps the newest ones.
#ifndef RUNTIME_TRAIN_CHECKPOINT_CHECKPOINTFOLDER_H
#define RUNTIME_TRAIN_CHECKPOINT_CHECKPOINTFOLDER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gradc::runtime {

class CheckpointFolder {
public:
  explicit CheckpointFolder(std::string path) : path(std::move(path)) {}

  bool exists() const;
  /// Creates the folder and its parents if they do not exist; they then survive a crash of the
  /// machine.
  Status create() const;
  /// Keeps other trainings out of the folder, which must exist, as long as this object or a copy of
  /// it lives. Fails if a training is running there, in this process or another: the message names
  /// it. The kernel releases the lock of a process that ends.
  Status lock();
  /// Fails if a training is running there, with the same message. Needs no permission to write.
  Status expectIdle() const;
  bool isWritable() const;
  std::string file(int64_t step) const;
  /// The checkpoint of the best evaluation, which pruning keeps.
  std::string best() const { return path + "/best.ckpt"; }
  /// The steps of the existing checkpoints, oldest first.
  std::vector<int64_t> steps() const;
  /// Whether there is any checkpoint, including that of the best evaluation.
  bool holdsAny() const;
  /// The path of the newest checkpoint.
  Result<std::string> latest() const;
  /// The same, or that of the best evaluation if there is no other, whether or not that exists.
  std::string latestOrBest() const;
  /// Whether a checkpoint file is in this folder.
  bool holds(const std::string &file) const;
  /// Fails if checkpoints exist: a training that does not resume from one of them would replace
  /// them. The message names both ways out.
  Status expectNone() const;
  /// Keeps `newest` and older checkpoints, `keep` in total. Removes later ones, which a training
  /// resumed from an older one replaces, and unfinished files of killed processes.
  void prune(int64_t newest, int64_t keep) const;

private:
  std::string lockFile() const;
  Status take(int descriptor, int how) const;

  std::string path;
  std::shared_ptr<const void> held; ///< the lock
};

} // namespace gradc::runtime

#endif
