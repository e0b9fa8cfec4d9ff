// Requests a slice from EEVDF by sched_setattr(2), for which Debian 12's C library has no wrapper
// yet.
#include "runtime/base/ThreadSlice.h"

#include <cstdint>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gradc::runtime {

void preferShortSlices() {
  constexpr uint64_t shortest = 100'000; // ns, the kernel's minimum
  // The kernel's sched_attr, in its first version.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  static_assert(sizeof attributes == 48);
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER)
    return;
  attributes.runtime = shortest;
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

} // namespace gradc::runtime
