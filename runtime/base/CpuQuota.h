// The CPU time that a control group allows this process.
#ifndef RUNTIME_BASE_CPUQUOTA_H
#define RUNTIME_BASE_CPUQUOTA_H

#include <string>

namespace gradc::runtime {

/// The CPUs that the quotas of this process' control groups amount to, rounded up: `docker run
/// --cpus=1.5` is 2. The least one of the group and those around it counts. 0: there is no limit,
/// or it cannot be read. Knows cgroup v2 (cpu.max) and v1 (cpu.cfs_quota_us). `root` stands in for
/// "/" in tests.
unsigned cpuQuota(const std::string &root = "");

} // namespace gradc::runtime

#endif
