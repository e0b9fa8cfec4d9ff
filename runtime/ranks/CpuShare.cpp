// mpirun binds processes to CPUs, or lets all of them use all: masks tell which.
#include "runtime/ranks/CpuShare.h"

#include <algorithm>
#include <sched.h>
#include <unistd.h>

namespace gradc::runtime {

std::string availableCpus() {
  cpu_set_t set;
  std::string cpus;
  bool isKnown = sched_getaffinity(0, sizeof set, &set) == 0;
  long count = std::min<long>(sysconf(_SC_NPROCESSORS_CONF), CPU_SETSIZE);
  for (int cpu = 0; cpu < count; ++cpu)
    cpus += !isKnown || CPU_ISSET(cpu, &set) ? '1' : '0';
  return cpus;
}

int shareOfCpus(std::string_view own, std::span<const std::string_view> all) {
  double share = 0;
  for (size_t cpu = 0; cpu < own.size(); ++cpu) {
    auto users = std::ranges::count_if(
        all, [&](std::string_view cpus) { return cpu < cpus.size() && cpus[cpu] == '1'; });
    if (own[cpu] == '1')
      share += 1.0 / double(std::max<long>(users, 1));
  }
  constexpr double rounding = 1e-9;
  return std::max(1, int(share + rounding));
}

} // namespace gradc::runtime
