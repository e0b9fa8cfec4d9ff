// Puts launches into a stream, whether they run or are captured.
#ifndef RUNTIME_DEVICE_CUDA_LAUNCHES_H
#define RUNTIME_DEVICE_CUDA_LAUNCHES_H

#include "runtime/device/Schedule.h"
#include "runtime/device/cuda/Driver.h"

namespace gradc::runtime::cuda {

inline Address addressOf(const void *memory) { return reinterpret_cast<Address>(memory); }

class Launches {
public:
  explicit Launches(const Driver &driver) : driver(driver) {}

  /// `slices`: the launch's, in the current iteration.
  Status enqueue(const Launch &launch, void *const *slices) { return enqueue(launch, slices, 0); }
  /// As above, but where the kernel takes offsets, it adds those at `offsets`, one per slice, when
  /// it runs.
  Status enqueue(const Launch &launch, void *const *slices, Address offsets);
  /// `bytes` of parameters, without gaps.
  Status enqueueKernel(Handle function, unsigned blocks, unsigned threads, const void *parameters,
                       size_t bytes);

  Handle stream = nullptr;
  void *workspace = nullptr; ///< of library calls

private:
  const Driver &driver;
  std::vector<uint64_t> parameters; ///< of the kernel that is being launched
};

} // namespace gradc::runtime::cuda

#endif
