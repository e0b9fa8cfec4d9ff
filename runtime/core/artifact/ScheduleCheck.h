// Validates the schedule of one entry of an artifact.
#ifndef RUNTIME_CORE_ARTIFACT_SCHEDULECHECK_H
#define RUNTIME_CORE_ARTIFACT_SCHEDULECHECK_H

#include "runtime/core/artifact/BlobView.h"

namespace gradc::runtime {

/// An entry and the tables that its slices and nodes refer to, which are already validated.
struct CheckedEntry {
  const gradc_artifact_entry &entry;
  std::span<const gradc_artifact_buffer> buffers;
  std::span<const gradc_artifact_kernel> kernels;
  std::span<const gradc_artifact_cut> cuts;
  std::span<const gradc_artifact_port> inputs, outputs;
};

/// Whether a slice outside all loops lies within its space.
bool checkSlice(BlobView &view, const CheckedEntry &entry, const gradc_artifact_slice &slice);

/// Whether the nodes form a tree of bounded depth and length whose slices lie within their spaces
/// in every iteration.
bool checkSchedule(BlobView &view, const CheckedEntry &entry);

/// Whether several threads may run an entry at the same time: it neither writes states nor waits
/// for other ranks.
bool keepsToItself(BlobView &view, const gradc_artifact_entry &entry);

} // namespace gradc::runtime

#endif
