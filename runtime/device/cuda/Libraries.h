// The libraries of one GPU: opened if an artifact has calls for them.
#ifndef RUNTIME_DEVICE_CUDA_LIBRARIES_H
#define RUNTIME_DEVICE_CUDA_LIBRARIES_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Cudnn.h"

namespace gradc::runtime::cuda {

/// GRADC_LIBRARIES selects what runs the kernels that a library could: "auto" (the default) a
/// library if it is found, "off" the generated code, "required" a library, and its absence is an
/// error.
class Libraries {
public:
  /// As Device::prepareCalls; in the current CUDA context.
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
