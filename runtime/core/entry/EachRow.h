// Runs an entry with a batch of 1 for each row of a larger batch.
#ifndef RUNTIME_CORE_ENTRY_EACHROW_H
#define RUNTIME_CORE_ENTRY_EACHROW_H

#include "runtime/core/entry/BoundEntry.h"

#include <memory>

namespace gradc::runtime {

/// Threads of the host take rows in turn, each with intermediate values of its own, so they never
/// wait for each other within a row. If there are too few rows left for all threads, the team
/// shares each of these.
class EachRow {
public:
  /// `spaces`: for the first thread and the team. `arenaBytes`: of each other thread, with its
  /// scratch memory at `scratchAt`.
  EachRow(const Artifact &artifact, const gradc_artifact_level &level,
          const gradc_artifact_entry &entry, const gradc_artifact_entry &oneRow,
          const Spaces &spaces, uint64_t arenaBytes, uint64_t scratchAt, Device &device)
      : artifact(artifact), level(level), entry(entry), oneRow(oneRow), spaces(spaces),
        arenaBytes(arenaBytes), scratchAt(scratchAt), device(device) {}

  /// `inputs` and `outputs` point to `rows` rows, like those of Session::run. The profile, unless
  /// null, receives what the first thread does. If several rows fail, reports the first of them.
  Status run(std::span<const void *const> inputs, std::span<void *const> outputs, int64_t rows,
             Profile *profile);

private:
  /// The memory of one thread, and the row that it processes.
  struct Worker {
    DeviceMemory memory;
    BoundEntry bound;
    std::vector<const void *> inputs; ///< of its current row
    std::vector<void *> outputs;
    Profile profile;
    int64_t failedRow = 0;
    Status failure;
  };

  Status addWorkers(unsigned count);
  bool isWrittenOver(size_t input, const void *from, std::span<void *const> outputs,
                     int64_t rows) const;
  Status copyInputs(std::vector<const void *> &inputs, std::span<void *const> outputs,
                    int64_t rows);
  template <typename Launch>
  Status tryRow(Worker &worker, int64_t row, std::span<const void *const> inputs,
                std::span<void *const> outputs, Launch &&launch);
  template <typename Launch>
  void runRow(Worker &worker, int64_t row, std::span<const void *const> inputs,
              std::span<void *const> outputs, Launch &&launch);

  const Artifact &artifact;
  const gradc_artifact_level &level;
  const gradc_artifact_entry &entry, &oneRow;
  Spaces spaces;
  uint64_t arenaBytes, scratchAt;
  Device &device;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<DeviceMemory> inputCopies;
};

} // namespace gradc::runtime

#endif
