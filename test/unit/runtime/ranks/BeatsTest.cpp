// Signs of life: another rank names a silent one, and a failure stops all ranks.
#include "runtime/ranks/Beats.h"
#include "test/unit/runtime/ranks/RunRanks.h"

#include <gtest/gtest.h>
#include <unistd.h>

using namespace gradc::runtime;
using namespace std::chrono_literals;

namespace {

constexpr double stall = 3; // also suffices on a busy machine

/// The status that each rank learns; `dead` ranks give no sign of life.
std::vector<Status> lossesOf(int count, const std::function<bool(int)> &isDead,
                             const std::function<void(int, Beats &)> &body = {}) {
  std::vector<Status> losses(static_cast<size_t>(count));
  test::runRanks(count, [&](Messages &messages) {
    if (isDead(messages.rank()))
      return;
    auto beats = Beats::start(messages);
    ASSERT_TRUE(beats);
    (*beats)->setStall(stall);
    (*beats)->atStep(7);
    if (body)
      body(messages.rank(), **beats);
    for (int waits = 0; waits < 600 && !(*beats)->hasLost(); ++waits)
      std::this_thread::sleep_for(10ms);
    Status &loss = losses[size_t(messages.rank())] = (*beats)->lost();
    if ((*beats)->hasLost())
      (*beats)->fail(loss.code()); // another rank may hear this before the first rank's failure
  });
  return losses;
}

TEST(Beats, KeepRanksAlive) {
  for (const Status &loss : lossesOf(3, [](int) { return false; }))
    EXPECT_TRUE(loss.ok()) << loss.message();
}

TEST(Beats, TheFirstOfTheOthersNamesASilentRank) {
  for (int dead : {0, 1, 2}) {
    std::vector<Status> losses = lossesOf(3, [&](int rank) { return rank == dead; });
    int speaker = dead == 0;
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == dead)
        continue;
      const Status &loss = losses[size_t(rank)];
      EXPECT_EQ(loss.code(), Code::error);
      std::string named = "rank " + std::to_string(dead) + " has given no sign of life for ";
      ASSERT_EQ(loss.message().substr(0, named.size()), rank == speaker ? named : "");
      // Also if the other rank noticed it first.
      if (rank == speaker)
        EXPECT_GE(std::stod(loss.message().substr(named.size())), 0.9 * stall) << loss.message();
    }
  }
}

/// The message ends with the step of the ranks that are left, whose sums had the lost rank's part;
/// apart, with the step of its last beat.
TEST(Beats, TheStepOfALostRankIsNotThatOfAnOldBeat) {
  auto isDead = [](int rank) { return rank == 1; };
  auto apart = [](int, Beats &beats) { beats.setStepsApart(); };
  std::string together = lossesOf(2, isDead)[0].message();
  EXPECT_TRUE(together.ends_with(" s (its last step: 7): all ranks stop")) << together;
  std::string alone = lossesOf(2, isDead, apart)[0].message();
  EXPECT_TRUE(alone.ends_with(" s (it was last heard at step 0): all ranks stop")) << alone;
}

TEST(Beats, AFailureStopsTheOthersInSilence) {
  std::vector<Status> losses = lossesOf(
      3, [](int) { return false; },
      [](int rank, Beats &beats) {
        if (rank == 1)
          beats.fail(Code::invalid);
      });
  for (int rank : {0, 2}) {
    EXPECT_EQ(losses[size_t(rank)].code(), Code::invalid);
    EXPECT_EQ(losses[size_t(rank)].message(), "");
  }
}

TEST(Beats, AnEndThatIsExpectedIsNoLoss) {
  std::vector<Status> losses = lossesOf(
      2, [](int rank) { return rank == 1; }, [](int, Beats &beats) { beats.expectSilence(); });
  EXPECT_TRUE(losses[0].ok()) << losses[0].message();
}

} // namespace
