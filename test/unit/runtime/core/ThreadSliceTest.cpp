// Slices of another length, and nothing else changed.
#include "runtime/core/ThreadSlice.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace gradc {
namespace {

/// In nanoseconds; 0 where the kernel tells none.
uint64_t sliceOfThisThread() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0), 0);
  return attributes.runtime;
}

TEST(ThreadSlice, KeepsNicenessAndPolicy) {
  // Of a thread of its own: niceness cannot be taken back.
  std::thread thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 7), 0); // of a thread on Linux
    uint64_t before = sliceOfThisThread();
    preferShortSlices();
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 7);
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    if (before == 0)
      GTEST_SKIP() << "this kernel has one slice for all threads";
    EXPECT_EQ(sliceOfThisThread(), 100'000u);
  });
  thread.join();
}

TEST(ThreadSlice, LeavesOtherPoliciesAlone) {
  std::thread thread([] {
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
} // namespace gradc
