// An entry that runs launch by launch: for verify and for finding the first non-finite tensor.
#ifndef RUNTIME_CORE_REPLAY_H
#define RUNTIME_CORE_REPLAY_H

#include "runtime/core/Program.h"

#include <optional>

namespace gradc::runtime {

class Replay {
public:
  /// The entry's program, with its inputs bound; both stay while this runs. `isPartial`: with fewer
  /// rows than the entry's largest batch.
  void begin(const Artifact &artifact, const gradc_artifact_entry &entry, const Program &program,
             Device &device, bool isPartial);
  /// Forgets the entry.
  void end() { program = nullptr; }

  /// The launch that comes next; nothing at the end.
  Result<std::optional<LaunchPath>> next();
  /// Runs the launch of a node, in the iteration where the replay stands.
  Status run(uint32_t node);
  /// The bytes behind a slice of the entry, in that iteration (valid until the next call).
  std::span<std::byte> slice(const gradc_artifact_slice &slice);

private:
  void clearResults(const Launch &launch);

  const Artifact *artifact = nullptr;
  const gradc_artifact_entry *entry = nullptr;
  const Program *program = nullptr;
  Device *device = nullptr;
  bool isPartial = false;
  ScheduleWalk walk;
  std::vector<void *> slices;  ///< of the walk
  const Step *piece = nullptr; ///< where it stands
  size_t launch = 0;           ///< the next of the piece
  std::vector<std::byte> copy; ///< of a slice that is not in the host's memory
};

} // namespace gradc::runtime

#endif
