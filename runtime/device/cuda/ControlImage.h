// The kernels of ControlKernels.cu as machine code: part of programs that were built with nvcc and
// nvlink.
#ifndef RUNTIME_DEVICE_CUDA_CONTROLIMAGE_H
#define RUNTIME_DEVICE_CUDA_CONTROLIMAGE_H

namespace gradc::runtime::cuda {

/// A fatbin for cuModuleLoadData; null if there was no CUDA toolkit when this was built.
const void *controlImage();

} // namespace gradc::runtime::cuda

#endif
