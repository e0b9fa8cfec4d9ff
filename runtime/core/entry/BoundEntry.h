// An entry bound to memory, with the inputs and outputs of its runs.
#ifndef RUNTIME_CORE_ENTRY_BOUNDENTRY_H
#define RUNTIME_CORE_ENTRY_BOUNDENTRY_H

#include "runtime/core/artifact/EntryRows.h"
#include "runtime/core/entry/InputCopies.h"
#include "runtime/core/entry/Program.h"

namespace gradc::runtime {

class BoundEntry {
public:
  BoundEntry(const Artifact &artifact, const gradc_artifact_level &level,
             const gradc_artifact_entry &entry, const Spaces &spaces, Device &device);

  /// False: the device has no memory for the outputs.
  bool ok() const { return theProgram.ok(); }
  const Program &program() const { return theProgram; }

  /// Binds the inputs of a run of `rows` rows: one pointer per input. `inPlace`: kernels read those
  /// that are aligned where they are. `ranks` share the run; null for a single process.
  Status bindInputs(std::span<const void *const> inputs, int64_t rows, PrefetchedInputs prefetched,
                    bool inPlace, Communicator *ranks);
  /// Before a run on the host: kernels write large outputs directly to `outputs`, if they are
  /// aligned and overlap nothing else but, exactly, the input whose memory they may have. Others
  /// are copied there.
  void bindOutputs(std::span<const void *const> inputs, std::span<void *const> outputs,
                   int64_t rows);
  /// Kernels write all outputs to the entry's own memory.
  void keepOutputs();
  /// Copies inputs that do not change until the device has synchronized for the next run.
  Status prefetch(std::span<const void *const> inputs, int64_t rows, PrefetchedInputs prefetched);
  /// Copies the results of a run to `outputs`, one pointer per output that callers receive; null
  /// for those that they do not want.
  Status copyOutputs(std::span<void *const> outputs, int64_t rows);
  /// Fails if an index of the last run was out of range. After the copies have ended.
  Status checkIndices() const;

private:
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>; ///< of addresses
  bool isDirect(uint32_t output, const void *to, int64_t rows, std::span<const void *const> inputs,
                const Ranges &ranges) const;
  std::span<const gradc_artifact_port> ports(gradc_range range) const {
    return artifact.elements<gradc_artifact_port>(range);
  }

  const Artifact &artifact;
  const gradc_artifact_entry &entry;
  Device &device;
  Program theProgram;
  InputCopies copies;                 ///< of inputs that kernels cannot read in place
  OwnInputs own;                      ///< programs keep its addresses
  std::vector<Device::Piece> results; ///< of a run, in its output block
  std::vector<uint64_t> indices;      ///< of its ports of role INDICES, in their order
};

} // namespace gradc::runtime

#endif
