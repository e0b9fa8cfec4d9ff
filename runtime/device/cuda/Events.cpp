// The GPU measures intervals between marks; the host's clock dates the last mark.
#include "runtime/device/cuda/Events.h"

#include <chrono>

namespace gradc::runtime::cuda {

Status Events::record(size_t index, Handle stream) {
  if (index == events.size()) {
    events.push_back(nullptr);
    if (Status s = driver.check(driver.eventCreate(&events.back(), 0), "no CUDA event"); !s.ok())
      return s;
  }
  return driver.check(driver.eventRecord(events[index], stream), "cannot record a time");
}

Status Events::read(size_t last, Handle stream, std::vector<int64_t> &times) {
  if (Status s = driver.check(driver.streamSynchronize(stream), "a step failed on the GPU");
      !s.ok())
    return s;
  using std::chrono::steady_clock;
  int64_t end = std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
  for (size_t i = 0; i <= last; ++i) {
    float milliseconds = 0;
    if (Status s = driver.check(driver.eventElapsedTime(&milliseconds, events[i], events[last]),
                                "cannot read a time");
        !s.ok())
      return s;
    times.push_back(end - int64_t(double(milliseconds) * 1e6));
  }
  return {};
}

void Events::clear() {
  for (Handle event : events)
    driver.eventDestroy(event);
  events.clear();
}

} // namespace gradc::runtime::cuda
