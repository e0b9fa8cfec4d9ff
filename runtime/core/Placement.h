// The choice of a session's device and of the artifact's level to run.
#ifndef RUNTIME_CORE_PLACEMENT_H
#define RUNTIME_CORE_PLACEMENT_H

#include "runtime/core/Session.h"
#include "runtime/device/Device.h"

namespace gradc::runtime {

/// Where a session runs.
struct Placement {
  std::unique_ptr<Device> device;
  const gradc_artifact_level *level = nullptr;
  std::string note;        ///< a note for the user, if the choice may be unexpected
  bool hasInstead = false; ///< the session could fall back to the CPUs
};

/// Chooses the GPU if the artifact has code for one and one is present; else the CPUs. If the
/// options name a CUDA level or the artifact has no CPU code, it fails with `doesNotFit` instead.
Result<Placement> placeSession(const Artifact &artifact, const SessionOptions &options);
/// Always chooses the CPUs. `whyNotGpu`: the reason, for the note; empty if no GPU was looked for.
Result<Placement> placeOnHost(const Artifact &artifact, const SessionOptions &options,
                              const std::string &whyNotGpu = "");

} // namespace gradc::runtime

#endif
