// When launches of a profiled run began and ended on the GPU.
#ifndef RUNTIME_DEVICE_CUDA_EVENTS_H
#define RUNTIME_DEVICE_CUDA_EVENTS_H

#include "runtime/device/cuda/Driver.h"

#include <vector>

namespace gradc::runtime::cuda {

/// Marks in a stream, and the times at which they were reached. Call in the current context.
class Events {
public:
  explicit Events(const Driver &driver) : driver(driver) {}

  /// Records mark `index` in the stream. `index` is at most the number of marks so far.
  Status record(size_t index, Handle stream);
  /// Appends the times at which marks 0 to `last` were reached, in nanoseconds of the steady clock;
  /// waits for the stream.
  Status read(size_t last, Handle stream, std::vector<int64_t> &times);
  void clear();

private:
  const Driver &driver;
  std::vector<Handle> events;
};

} // namespace gradc::runtime::cuda

#endif
