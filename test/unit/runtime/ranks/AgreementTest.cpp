// Agreements: either all ranks continue, or none, and one of them gives the reason.
#include "test/unit/runtime/ranks/RunRanks.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;

namespace {

/// The result of an agreement on each of three ranks.
std::vector<Status> agree(const std::function<Status(int)> &statusOf,
                          const std::function<std::string(int)> &seedOf) {
  std::vector<Status> agreed(3);
  test::runRanks(3, [&](Communicator &ranks) {
    int rank = ranks.rank();
    std::vector<Communicator::Fact> facts = {{"the artifact", "1234"}, {"the seed", seedOf(rank)}};
    agreed[size_t(rank)] = ranks.agree(statusOf(rank), facts);
  });
  return agreed;
}

TEST(Agreement, AllGoOn) {
  for (const Status &status : agree([](int) { return Status(); }, [](int) { return "7"; }))
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Agreement, TheFirstRankNamesADifference) {
  auto agreed = agree([](int) { return Status(); }, [](int rank) { return rank == 2 ? "8" : "7"; });
  EXPECT_EQ(agreed[0].message(), "rank 2 differs from rank 0: the seed is 8, expected 7");
  for (const Status &status : agreed)
    EXPECT_EQ(status.code(), Code::error);
  EXPECT_EQ(agreed[1].message() + agreed[2].message(), "");
}

TEST(Agreement, OneOfThoseThatFailSaysWhy) {
  auto agreed = agree(
      [](int rank) {
        return rank ? Status::invalid("no data on " + std::to_string(rank)) : Status();
      },
      [](int) { return "7"; });
  EXPECT_EQ(agreed[1].message(), "no data on 1");
  EXPECT_EQ(agreed[0].message() + agreed[2].message(), "");
  for (const Status &status : agreed)
    EXPECT_EQ(status.code(), Code::invalid);
}

} // namespace
