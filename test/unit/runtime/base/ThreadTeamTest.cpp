// The team: every thread runs, barriers order memory, and there may be more threads than CPUs.
#include "runtime/base/ThreadTeam.h"

#include <chrono>
#include <gtest/gtest.h>
#include <numeric>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gradc::runtime;

namespace {

class ThreadTeamTest : public testing::TestWithParam<int> {};

TEST_P(ThreadTeamTest, RunsTheBodyOnceOnEveryThread) {
  auto team = ThreadTeam::create(GetParam());
  ASSERT_TRUE(team);
  std::vector<int> calls((*team)->size());
  for (int i = 0; i < 100; ++i)
    (*team)->run([&](unsigned thread) { ++calls[thread]; });
  EXPECT_EQ(calls, std::vector<int>(size_t(GetParam()), 100));
}

// In each round, every thread reads the values that all others wrote in the previous round. They
// are not atomic: a barrier that does not order them is a data race, which ThreadSanitizer reports.
TEST_P(ThreadTeamTest, BarrierMakesEarlierWritesVisible) {
  auto created = ThreadTeam::create(GetParam());
  ASSERT_TRUE(created);
  ThreadTeam &team = **created;
  constexpr int rounds = 300;
  std::vector<int> values[2] = {std::vector<int>(team.size()), std::vector<int>(team.size())};
  std::vector<int> errors(team.size());
  team.run([&](unsigned thread) {
    for (int round = 0; round < rounds; ++round) {
      values[round % 2][thread] = round;
      team.barrier(thread);
      for (int value : values[round % 2])
        errors[thread] += value != round;
    }
  });
  EXPECT_EQ(std::accumulate(errors.begin(), errors.end(), 0), 0);
}

TEST_P(ThreadTeamTest, WakesAfterASleep) {
  auto team = ThreadTeam::create(GetParam());
  ASSERT_TRUE(team);
  std::atomic<int> calls = 0;
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    (*team)->run([&](unsigned) { ++calls; });
  }
  EXPECT_EQ(calls, 5 * GetParam());
}

TEST_P(ThreadTeamTest, IsMadeAndEndedRepeatedly) {
  for (int i = 0; i < 20; ++i) {
    auto team = ThreadTeam::create(GetParam());
    ASSERT_TRUE(team);
    std::atomic<int> calls = 0;
    if (i % 2)
      (*team)->run([&](unsigned) { ++calls; });
    EXPECT_EQ(calls, i % 2 ? GetParam() : 0);
  }
}

TEST_P(ThreadTeamTest, TeamsNest) {
  auto outer = ThreadTeam::create(GetParam());
  ASSERT_TRUE(outer);
  std::atomic<int> calls = 0;
  (*outer)->run([&](unsigned) {
    auto inner = ThreadTeam::create(2);
    (*inner)->run([&](unsigned) { ++calls; });
  });
  EXPECT_EQ(calls, 2 * GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadTeamTest, testing::Values(1, 2, 3, 8, 13));

// Several threads on one CPU must yield it: if a thread waits until the kernel takes the CPU away,
// each barrier takes a scheduler tick. The test counts instead of measuring time, which also
// depends on other programs.
TEST(ThreadTeam, GivesWayWithoutACpuForEach) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(ThreadTeam::availableCpus(), 1u);
  auto team = ThreadTeam::create(3);
  ASSERT_TRUE(team);
  constexpr int barriers = 200;
  auto timesGivenAway = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
  };
  auto start = timesGivenAway();
  (*team)->run([&](unsigned thread) {
    for (int i = 0; i < barriers; ++i)
      (*team)->barrier(thread);
  });
  auto end = timesGivenAway();
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_GT(end - start, barriers / 2);
}

// In the child, nothing may wait for threads that it does not have.
TEST(ThreadTeam, AForkedProcessHasNoneOfItsThreads) {
  auto team = ThreadTeam::create(3), single = ThreadTeam::create(1);
  ASSERT_TRUE(team && single);
  EXPECT_FALSE((*team)->isForked());
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool isRight = (*team)->isForked() && !(*single)->isForked();
    int calls = 0;
    (*single)->run([&](unsigned) { ++calls; });
    team->reset();
    _exit(isRight && calls == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_FALSE((*team)->isForked());
}

TEST(ThreadTeam, RefusesImpossibleSizes) {
  for (int threads : {0, -1, ThreadTeam::maxThreads + 1}) {
    auto team = ThreadTeam::create(threads);
    ASSERT_FALSE(team);
    EXPECT_EQ(team.status().code(), Code::usage);
    EXPECT_EQ(team.status().message(),
              "expected between 1 and 1024 threads, found " + std::to_string(threads));
  }
}

} // namespace
