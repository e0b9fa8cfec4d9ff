// Units of work that their owner takes from the front, and other threads from the back.
#include "runtime/device/WorkShare.h"

#include <array>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace gradc::runtime;

namespace {

TEST(WorkShare, OwnersTakeFromTheFrontOthersFromTheBack) {
  WorkShare share;
  EXPECT_FALSE(share.takeFront(1));
  share.set({10, 30});
  auto first = share.takeFront(1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->begin, 10u);
  EXPECT_EQ(first->end, 20u);
  auto last = share.takeBack(1);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->begin, 25u);
  EXPECT_EQ(last->end, 30u);
  // At least the number of units worth a call, and never more than exist.
  auto least = share.takeFront(4);
  ASSERT_TRUE(least);
  EXPECT_EQ(least->end - least->begin, 4u);
  auto rest = share.takeBack(4);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->begin, 24u);
  EXPECT_EQ(rest->end, 25u);
  EXPECT_FALSE(share.takeFront(1));
  EXPECT_FALSE(share.takeBack(1));
}

TEST(WorkShare, EveryUnitIsTakenOnce) {
  constexpr uint32_t units = 100000, threads = 4;
  std::vector<int> taken(units); // a race on an element is a race of the shares
  std::array<WorkShare, threads> shares;
  for (uint32_t i = 0; i < threads; ++i)
    shares[i].set({units / threads * i, units / threads * (i + 1)});
  std::vector<std::thread> team;
  for (uint32_t self = 0; self < threads; ++self)
    team.emplace_back([&, self] {
      auto count = [&](UnitRange range) {
        for (uint32_t i = range.begin; i < range.end; ++i)
          ++taken[i];
      };
      // The first thread has no share.
      while (auto range = self ? shares[self].takeFront(3) : std::nullopt)
        count(*range);
      for (uint32_t other = 0; other < threads; ++other)
        while (auto range = shares[other].takeBack(3))
          count(*range);
    });
  for (std::thread &thread : team)
    thread.join();
  EXPECT_EQ(taken, std::vector<int>(units, 1));
}

} // namespace
