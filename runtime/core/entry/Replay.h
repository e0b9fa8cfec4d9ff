// Runs an entry launch by launch, for verify and for finding the first non-finite tensor.
#ifndef RUNTIME_CORE_ENTRY_REPLAY_H
#define RUNTIME_CORE_ENTRY_REPLAY_H

#include "runtime/core/entry/Program.h"

#include <optional>

namespace gradc::runtime {

class Replay {
public:
  /// Starts the replay of a program with bound inputs; entry and program must outlive the replay.
  /// `isPartial`: the run has fewer rows than the entry's largest batch.
  void begin(const Artifact &artifact, const gradc_artifact_entry &entry, const Program &program,
             Device &device, bool isPartial);
  /// Ends the replay.
  void end() { program = nullptr; }

  /// The next launch; none at the end.
  Result<std::optional<LaunchPath>> next();
  /// Runs the launch of a node in the current iteration.
  Status run(uint32_t node);
  /// The bytes of a slice of the entry in the current iteration; valid until the next call.
  std::span<std::byte> slice(const gradc_artifact_slice &slice);

private:
  void clearResults(const Launch &launch);

  const Artifact *artifact = nullptr;
  const gradc_artifact_entry *entry = nullptr;
  const Program *program = nullptr;
  Device *device = nullptr;
  bool isPartial = false;
  ScheduleWalk walk;
  std::vector<void *> slices;  ///< storage for the walk
  const Step *piece = nullptr; ///< the current piece
  size_t launch = 0;           ///< index of the piece's next launch
  std::vector<std::byte> copy; ///< host copy of a slice in device memory
};

} // namespace gradc::runtime

#endif
