// The libraries of one GPU, opened if an artifact has calls for them.
#ifndef RUNTIME_DEVICE_CUDA_LIBRARIES_H
#define RUNTIME_DEVICE_CUDA_LIBRARIES_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Cudnn.h"

namespace gradc::runtime::cuda {

/// GRADC_LIBRARIES selects how kernels run that have a library call: "auto" (the default) uses a
/// library if one is found, "off" uses generated code, "required" uses a library and fails if it is
/// missing.
class Libraries {
public:
  /// Like Device::prepareCalls; call in the current CUDA context.
  Result<LibraryCalls> prepare(std::span<const gradc_artifact_call *const> wanted,
                               uint64_t maxWorkspace);
  /// Releases calls and libraries while their context still exists.
  void close();

private:
  Status open(bool convolutions);

  std::unique_ptr<CublasLt> cublasLt; ///< once it has started
  std::unique_ptr<Cudnn> cudnn;       ///< likewise
  std::vector<std::unique_ptr<LibraryCall>> calls;
};

} // namespace gradc::runtime::cuda

#endif
