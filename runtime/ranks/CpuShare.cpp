// mpirun may bind processes to CPUs or let every process use all CPUs; affinity masks tell which.
#include "runtime/ranks/CpuShare.h"

#include <algorithm>
#include <sched.h>
#include <unistd.h>

namespace gradc::runtime {

std::string availableCpus() {
  cpu_set_t set;
  std::string cpus;
  bool isKnown = sched_getaffinity(0, sizeof set, &set) == 0;
  if (!isKnown)
    return std::string(size_t(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L)), '1');
  // CPU numbers may have gaps, so they are not bounded by the number of CPUs.
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    cpus += CPU_ISSET(cpu, &set) ? '1' : '0';
  return cpus.substr(0, cpus.find_last_of('1') + 1);
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
