// Quotas of control groups, as files in a folder that replaces "/".
#include "runtime/base/CpuQuota.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace gradc::runtime;

namespace {

class CpuQuotaTest : public testing::Test {
protected:
  CpuQuotaTest() { std::filesystem::remove_all(root); }
  ~CpuQuotaTest() override { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &content) {
    std::filesystem::path file = root + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }

  /// Of this process only, because sanitized builds run the same tests concurrently.
  const std::string root = testing::TempDir() +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + "." +
                           std::to_string(getpid());
};

TEST_F(CpuQuotaTest, WithoutControlGroupsThereIsNoLimit) { EXPECT_EQ(cpuQuota(root), 0u); }

TEST_F(CpuQuotaTest, IsRoundedUp) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpuQuota(root), 2u);
  write("/sys/fs/cgroup/cpu.max", "20000 100000\n");
  EXPECT_EQ(cpuQuota(root), 1u);
}

TEST_F(CpuQuotaTest, TheLeastOfTheGroupsAroundCounts) {
  write("/proc/self/cgroup", "0::/system/job/step");
  write("/sys/fs/cgroup/system/job/step/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/system/job/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/system/cpu.max", "800000 100000\n");
  EXPECT_EQ(cpuQuota(root), 3u);
}

TEST_F(CpuQuotaTest, AGroupOfTheHostHasItsRootInAContainer) {
  write("/proc/self/cgroup", "0::/docker/4711\n");
  write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(cpuQuota(root), 4u);
}

TEST_F(CpuQuotaTest, ReadsVersion1) {
  write("/proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n0::/\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpuQuota(root), 3u);
}

TEST_F(CpuQuotaTest, DamagedFilesAreNoLimit) {
  write("/proc/self/cgroup", "0::/\nnonsense\n:\n");
  for (const char *content : {"", "100000", "0 0", "-5 100000", "many few"}) {
    write("/sys/fs/cgroup/cpu.max", content);
    EXPECT_EQ(cpuQuota(root), 0u) << content;
  }
}

} // namespace
