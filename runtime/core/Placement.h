// Which device and which of the artifact's levels a session runs on.
#ifndef RUNTIME_CORE_PLACEMENT_H
#define RUNTIME_CORE_PLACEMENT_H

#include "runtime/core/Session.h"
#include "runtime/device/Device.h"

namespace gradc::runtime {

/// Where a session runs.
struct Placement {
  std::unique_ptr<Device> device;
  const gradc_artifact_level *level = nullptr;
  std::string note;        ///< what a person would not expect of it
  bool hasInstead = false; ///< the CPUs could take its place
};

/// The GPU, where the artifact has code for one and there is one; else the CPUs. Who names a CUDA
/// level, or has code for nothing else, does not get the CPUs instead: `doesNotFit`.
Result<Placement> placeSession(const Artifact &artifact, const SessionOptions &options);
/// The CPUs, whatever else there is. `whyNotGpu`: said of it; empty where none was looked for.
Result<Placement> placeOnHost(const Artifact &artifact, const SessionOptions &options,
                              const std::string &whyNotGpu = "");

} // namespace gradc::runtime

#endif
