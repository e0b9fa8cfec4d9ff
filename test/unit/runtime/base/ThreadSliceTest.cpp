// Only the length of the slice changes.
#include "runtime/base/ThreadSlice.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace gradc::runtime {
namespace {

/// The kernel's sched_attr, in its first version.
struct Attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

/// The slice in nanoseconds; 0 if the kernel reports none.
uint64_t sliceOfThisThread() {
  Attributes attributes = {};
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0), 0);
  return attributes.runtime;
}

/// Why this thread may not change its settings, not even to their present values; empty if it may.
std::string whyNot() {
  Attributes attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 &&
      syscall(SYS_sched_setattr, 0, &attributes, 0) == 0)
    return {};
  bool isForbidden = errno == EPERM || errno == ENOSYS;
  return isForbidden ? std::string("no scheduling attributes here: ") + std::strerror(errno) : "";
}

TEST(ThreadSlice, KeepsNicenessAndPolicy) {
  // In a separate thread, because niceness cannot be reverted.
  std::thread thread([] {
    if (int policy = sched_getscheduler(0); policy != SCHED_OTHER)
      GTEST_SKIP() << "run under scheduling policy " << policy << ", not " << SCHED_OTHER;
    if (std::string why = whyNot(); !why.empty())
      GTEST_SKIP() << why;
    int niceness = std::max(7, getpriority(PRIO_PROCESS, 0));
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, niceness), 0); // of a thread on Linux
    uint64_t before = sliceOfThisThread();
    preferShortSlices();
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), niceness);
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    if (before == 0)
      GTEST_SKIP() << "this kernel has one slice for all threads";
    EXPECT_EQ(sliceOfThisThread(), 100'000u);
  });
  thread.join();
}

TEST(ThreadSlice, LeavesOtherPoliciesAlone) {
  std::thread thread([] {
    if (std::string why = whyNot(); !why.empty())
      GTEST_SKIP() << why;
    sched_param parameters = {};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &parameters), 0);
    uint64_t before = sliceOfThisThread();
    preferShortSlices();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
    EXPECT_EQ(sliceOfThisThread(), before);
  });
  thread.join();
}

} // namespace
} // namespace gradc::runtime
