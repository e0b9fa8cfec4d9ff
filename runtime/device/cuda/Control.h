// The kernels that let a graph decide and repeat without the host.
#ifndef RUNTIME_DEVICE_CUDA_CONTROL_H
#define RUNTIME_DEVICE_CUDA_CONTROL_H

#include "runtime/device/cuda/Driver.h"

namespace gradc::runtime::cuda {

class Control {
public:
  explicit Control(const Driver &driver) : driver(driver) {}
  Control(const Control &) = delete;

  /// Loads the kernels when first called. Fails with what is missing: a driver for CUDA 12.4, or
  /// machine code for this GPU. To be called in the current context.
  Status load();
  /// Releases the kernels while their context still exists.
  void close();

  Handle beginLoop = nullptr, nextIteration = nullptr, branch = nullptr, guard = nullptr,
         copy = nullptr;

private:
  Status loadOnce();

  const Driver &driver;
  bool tried = false;
  Status loaded;
  Handle module = nullptr;
};

} // namespace gradc::runtime::cuda

#endif
