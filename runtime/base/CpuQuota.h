// The CPU time that a control group allows this process.
#ifndef RUNTIME_BASE_CPUQUOTA_H
#define RUNTIME_BASE_CPUQUOTA_H

#include <string>

namespace gradc::runtime {

/// The number of CPUs that the quotas of this process's control groups allow, rounded up: 2 for
/// `docker run --cpus=1.5`. The smallest quota among the group and its parents counts. 0 if there
/// is no limit, or if it cannot be read. Supports cgroup v2 (cpu.max) and v1 (cpu.cfs_quota_us).
/// `root` replaces "/" in tests.
unsigned cpuQuota(const std::string &root = "");

} // namespace gradc::runtime

#endif
