// A kernel's parameters are its slices, the rows of the run and, where slices may move, the address
// of their offsets.
#include "runtime/device/cuda/Launches.h"
#include "runtime/device/cuda/Library.h"

namespace gradc::runtime::cuda {

Status Launches::enqueue(const Launch &launch, void *const *slices, Address offsets) {
  switch (launch.kind) {
  case Launch::Kind::call: {
    auto *call = static_cast<const LibraryCall *>(launch.call);
    if (Status s = call->clearPadding(driver, launch.rows, slices, stream); !s.ok())
      return s;
    return call->enqueue(slices, workspace, stream);
  }
  case Launch::Kind::copy:
    return driver.check(
        driver.copyAlong(addressOf(slices[1]), addressOf(slices[0]), size_t(launch.units), stream),
        "cannot copy on the GPU");
  case Launch::Kind::collective:
    return {}; // of one rank
  case Launch::Kind::kernel:
    break;
  }
  // All parameters have 8 bytes, as has each pointer where they are one table: no gaps.
  parameters.clear();
  for (size_t i = 0; i < launch.sliceCount; ++i)
    parameters.push_back(addressOf(slices[i]));
  parameters.push_back(uint64_t(launch.rows));
  if (launch.takesOffsets)
    parameters.push_back(offsets);
  return enqueueKernel(launch.kernel, unsigned(launch.units), launch.threads, parameters.data(),
                       parameters.size() * sizeof(uint64_t));
}

Status Launches::enqueueKernel(Handle function, unsigned blocks, unsigned threads,
                               const void *given, size_t bytes) {
  void *extra[] = {parameterBuffer, const_cast<void *>(given), parameterBytes, &bytes,
                   parametersEnd};
  return driver.check(
      driver.launchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, nullptr, extra),
      "cannot launch a kernel");
}

} // namespace gradc::runtime::cuda
