// Reads /proc/self/cgroup, and the limits below /sys/fs/cgroup.
#include "runtime/base/CpuQuota.h"

#include <algorithm>
#include <cstdio>

using namespace gradc::runtime;

namespace {

/// The beginning of a small file; "" if it cannot be read.
std::string head(const std::string &path) {
  char bytes[4096];
  FILE *file = std::fopen(path.c_str(), "re");
  if (!file)
    return "";
  size_t count = std::fread(bytes, 1, sizeof bytes, file);
  std::fclose(file);
  return {bytes, count};
}

/// The quota of one group; 0 means no limit.
unsigned quotaOf(const std::string &folder) {
  long long quota = 0, period = 0;
  if (std::sscanf(head(folder + "/cpu.max").c_str(), "%lld %lld", &quota, &period) != 2)
    if (std::sscanf(head(folder + "/cpu.cfs_quota_us").c_str(), "%lld", &quota) != 1 ||
        std::sscanf(head(folder + "/cpu.cfs_period_us").c_str(), "%lld", &period) != 1)
      return 0;
  if (quota <= 0 || period <= 0)
    return 0;
  return unsigned(std::min((quota + period - 1) / period, 4096LL));
}

} // namespace

unsigned gradc::runtime::cpuQuota(const std::string &root) {
  unsigned least = 0;
  std::string groups = head(root + "/proc/self/cgroup");
  for (size_t begin = 0; begin < groups.size();) {
    size_t end = std::min(groups.find('\n', begin), groups.size());
    // "0::/group" of v2, "4:cpu,cpuacct:/group" of v1.
    std::string line = groups.substr(begin, end - begin);
    begin = end + 1;
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos)
      continue;
    std::string mount = root + "/sys/fs/cgroup/" + controllers, group = line.substr(second + 1);
    // In a container, the group's path may be the host's, which does not exist here; only its root
    // does.
    for (;; group.resize(group.rfind('/'))) {
      if (unsigned quota = quotaOf(mount + group))
        least = least ? std::min(least, quota) : quota;
      if (group.find('/') == std::string::npos)
        break;
    }
  }
  return least;
}
