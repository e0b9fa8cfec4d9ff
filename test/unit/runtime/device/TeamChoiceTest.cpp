// When a schedule runs on one thread although there is a team: only while that is faster, and tried
// only while threads are preempted.
#include "runtime/device/TeamChoice.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

using namespace gradc::runtime;

namespace {

int64_t counted = 0;

/// The steps of two entries.
std::array<Step, 1> training, evaluation;

/// A machine on which a run takes the given nanoseconds on the team and on one thread.
struct Machine {
  int64_t onTeam, alone;
  bool isBusy;
  TeamChoice choice{[] { return counted; }};
  int64_t timeAlone = 0, timeOnTeam = 0;

  void run(int64_t nanoseconds, std::span<const Step> steps = training) {
    for (int64_t end = timeAlone + timeOnTeam + nanoseconds; timeAlone + timeOnTeam < end;) {
      bool together = choice.together();
      int64_t time = together ? onTeam : alone;
      (together ? timeOnTeam : timeAlone) += time;
      counted += isBusy;
      // As in a session, every run has a schedule of its own, and all of them the same address.
      Schedule schedule{.steps = steps, .launches = {}, .slices = {}, .moving = {}};
      choice.ran(schedule, time);
    }
  }
};

constexpr int64_t millisecond = 1'000'000, second = 1000 * millisecond;

TEST(TeamChoice, AMachineWithoutOtherWorkTriesNothing) {
  Machine machine{2 * millisecond, millisecond, false};
  machine.run(10 * second);
  EXPECT_EQ(machine.timeAlone, 0);
}

TEST(TeamChoice, OneThreadIsTakenWhereItIsFaster) {
  Machine machine{2 * millisecond, millisecond, true};
  machine.run(second);
  EXPECT_FALSE(machine.choice.together());
  machine.run(30 * second);
  EXPECT_GT(machine.timeAlone, 30 * machine.timeOnTeam);
}

TEST(TeamChoice, TrialsThatFailCostLittle) {
  Machine machine{millisecond, 2 * millisecond, true};
  machine.run(30 * second);
  EXPECT_GT(machine.timeAlone, 0);
  EXPECT_LT(machine.timeAlone, machine.timeOnTeam / 40);
}

TEST(TeamChoice, TrialsOfALargeTeamsWorkAreRare) {
  Machine machine{30 * millisecond, 16 * 30 * millisecond, true};
  machine.run(600 * second);
  EXPECT_GT(machine.timeAlone, 0);
  EXPECT_LT(machine.timeAlone, machine.timeOnTeam / 20);
}

TEST(TeamChoice, LongRunsAreTriedOneAtATime) {
  Machine machine{300 * millisecond, 600 * millisecond, true};
  machine.run(60 * second);
  EXPECT_GT(machine.timeAlone, 0);
  EXPECT_LT(machine.timeAlone, machine.timeOnTeam / 10);
}

TEST(TeamChoice, OneSlowRunDecidesNothing) {
  Machine machine{80 * millisecond, 60 * millisecond, true};
  machine.run(80 * millisecond);
  machine.onTeam = 40 * millisecond;
  machine.run(second);
  EXPECT_LT(machine.timeAlone, 100 * millisecond);
}

// The first runs touch memory and code for the first time.
TEST(TeamChoice, ASlowBeginningDecidesNothing) {
  for (int64_t slow : {80, 500, 2000}) {
    Machine machine{slow * millisecond, 70 * millisecond, true};
    machine.run(slow * millisecond);
    machine.onTeam = 40 * millisecond;
    machine.run(2 * second);
    EXPECT_LT(machine.timeAlone, 100 * millisecond);
    EXPECT_TRUE(machine.choice.together());
  }
}

TEST(TeamChoice, ASlowWindowBeforeATrialDecidesNothing) {
  Machine machine{40 * millisecond, 70 * millisecond, true};
  machine.run(40 * 5 * millisecond);
  machine.onTeam = 300 * millisecond;
  machine.run(300 * 3 * millisecond);
  machine.onTeam = 40 * millisecond;
  machine.run(3 * second);
  EXPECT_GT(machine.timeAlone, 0);
  EXPECT_LT(machine.timeAlone, 6 * 70 * millisecond);
  EXPECT_TRUE(machine.choice.together());
}

TEST(TeamChoice, TheTeamComesBackWhenTheOtherWorkHasEnded) {
  Machine machine{2 * millisecond, millisecond, true};
  machine.run(10 * second);
  ASSERT_FALSE(machine.choice.together());
  machine.isBusy = false;
  machine.onTeam = millisecond / 2;
  machine.run(5 * second);
  EXPECT_TRUE(machine.choice.together());
}

TEST(TeamChoice, TheTeamOfLongRunsComesBack) {
  Machine machine{900 * millisecond, 600 * millisecond, true};
  machine.run(600 * second);
  ASSERT_FALSE(machine.choice.together());
  machine.isBusy = false;
  machine.onTeam = 300 * millisecond;
  machine.run(60 * second);
  EXPECT_TRUE(machine.choice.together());
}

TEST(TeamChoice, AnotherScheduleKeepsTheChoiceAndThePause) {
  for (bool isTeamFaster : {true, false}) {
    Machine machine{300 * millisecond, (isTeamFaster ? 600 : 150) * millisecond, true};
    for (int epoch = 0; epoch < 30; ++epoch) {
      machine.run(6 * second, training);
      machine.run(3 * second, evaluation);
    }
    EXPECT_EQ(machine.choice.together(), isTeamFaster);
    EXPECT_LT(isTeamFaster ? machine.timeAlone : machine.timeOnTeam, 270 * second / 20);
  }
}

TEST(TeamChoice, OneOfTwoSchedulesInTurnIsWatched) {
  Machine machine{300 * millisecond, 150 * millisecond, true};
  for (int i = 0; i < 100; ++i) {
    machine.run(1, training);
    machine.run(1, evaluation);
  }
  EXPECT_FALSE(machine.choice.together());
}

// Short runs of another entry on one thread are no gain over long ones on the team.
TEST(TeamChoice, RunsOfTwoEntriesAreNotCompared) {
  Machine machine{0, 0, true};
  for (int i = 0; i < 3000; ++i) {
    bool isLong = i % 9 < 4;
    machine.onTeam = (isLong ? 60 : 10) * millisecond;
    machine.alone = machine.onTeam / 2 * 3;
    machine.run(1, isLong ? training : evaluation);
  }
  EXPECT_LT(machine.timeAlone, machine.timeOnTeam / 20);
}

TEST(TeamChoice, EqualTimesDoNotSwitch) {
  Machine machine{millisecond, millisecond, true};
  machine.run(30 * second);
  EXPECT_TRUE(machine.choice.together());
  EXPECT_LT(machine.timeAlone, machine.timeOnTeam / 20);
}

TEST(TeamChoice, AnotherScheduleIsWatchedWhenTheFirstRunsNoMore) {
  Machine machine{2 * millisecond, millisecond, true};
  machine.run(second, training);
  ASSERT_FALSE(machine.choice.together());
  machine.onTeam = millisecond / 2;
  machine.run(5 * second, evaluation);
  EXPECT_TRUE(machine.choice.together());
}

} // namespace
