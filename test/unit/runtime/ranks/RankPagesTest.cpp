// Memory that ranks read in place.
#include "test/unit/runtime/ranks/RunRanks.h"

#include "runtime/ranks/RankPages.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace gradc::runtime;

namespace {

constexpr uint64_t large = 3 * Pages::hugePage + 5000;

/// Skips the test where the system makes no huge pages of shared memory.
#define EXPECT_PAGES(PAGES)                                                                        \
  auto PAGES = RankPages::create();                                                                \
  if (!PAGES)                                                                                      \
  GTEST_SKIP() << "shared memory has no huge pages here"

TEST(RankPages, AreZeroAndSeenByOthers) {
  EXPECT_PAGES(pages);
  auto *values = static_cast<std::byte *>(pages->allocate(large));
  ASSERT_TRUE(values);
  EXPECT_EQ(std::count(values, values + large, std::byte(0)), std::ptrdiff_t(large));
  std::memset(values, 7, large);
  auto place = pages->find(values + 4000, large - 4000);
  ASSERT_TRUE(place);
  RankViews views({getpid()});
  const std::byte *seen = views.at(0, *place);
  ASSERT_TRUE(seen);
  EXPECT_NE(seen, values + 4000);
  EXPECT_EQ(std::memcmp(seen, values + 4000, large - 4000), 0);
  values[5000] = std::byte(9);
  EXPECT_EQ(seen[1000], std::byte(9));
  pages->release(values, large);
}

// Descriptors are used again, and so are addresses.
TEST(RankPages, NewMemoryIsNotMistakenForOld) {
  EXPECT_PAGES(pages);
  RankViews views({getpid()});
  for (int value : {1, 2, 3}) {
    auto *values = static_cast<std::byte *>(pages->allocate(large));
    ASSERT_TRUE(values);
    std::memset(values, value, large);
    const std::byte *seen = views.at(0, *pages->find(values, 1));
    ASSERT_TRUE(seen);
    EXPECT_EQ(*seen, std::byte(value));
    pages->release(values, large);
  }
}

TEST(RankPages, KeepValuesWhenTheyBecomeHuge) {
  EXPECT_PAGES(pages);
  auto *values = static_cast<uint32_t *>(pages->allocate(large));
  ASSERT_TRUE(values);
  for (uint32_t i = 0; i < large / 4; ++i)
    values[i] = i;
  for (int times = 0; times < 2; ++times)
    pages->settle();
  for (uint32_t i = 0; i < large / 4; ++i)
    ASSERT_EQ(values[i], i);
  pages->release(values, large);
}

TEST(RankPages, DiscardOnlyWholePages) {
  EXPECT_PAGES(pages);
  auto *values = static_cast<std::byte *>(pages->allocate(large));
  ASSERT_TRUE(values);
  std::memset(values, 1, large);
  pages->settle();
  pages->discard(values + 100, 3 * 4096);
  EXPECT_EQ(values[4095], std::byte(1));
  EXPECT_EQ(values[4096], std::byte(0));
  EXPECT_EQ(values[3 * 4096 - 1], std::byte(0));
  EXPECT_EQ(values[3 * 4096], std::byte(1));
  pages->discard(values, 10); // not a whole page
  EXPECT_EQ(values[0], std::byte(1));
  pages->release(values, large);
}

TEST(RankPages, PrivateMemoryHasNoPlace) {
  EXPECT_PAGES(pages);
  auto *small = static_cast<std::byte *>(pages->allocate(1000));
  auto *values = static_cast<std::byte *>(pages->allocate(large));
  ASSERT_TRUE(small && values);
  int local = 0;
  EXPECT_FALSE(pages->find(small, 1000));
  EXPECT_FALSE(pages->find(&local, sizeof local));
  EXPECT_FALSE(pages->find(values, large + Pages::hugePage)) << "beyond the end";
  std::memset(small, 1, 1000);
  pages->discard(small, 1000);
  pages->release(small, 1000);
  pages->release(values, large);
}

int openFiles() {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (readdir(folder))
    ++count;
  closedir(folder);
  return count;
}

TEST(RankPages, CloseTheirFiles) {
  EXPECT_PAGES(first);
  int before = openFiles();
  {
    auto pages = RankPages::create();
    void *released = pages->allocate(large), *kept = pages->allocate(large);
    ASSERT_TRUE(released && kept);
    EXPECT_EQ(openFiles(), before + 2);
    RankViews views({getpid()});
    EXPECT_TRUE(views.at(0, *pages->find(kept, 1)));
    EXPECT_EQ(openFiles(), before + 2) << "a view needs no file once it is mapped";
    pages->release(released, large);
    EXPECT_EQ(openFiles(), before + 1);
  }
  EXPECT_EQ(openFiles(), before);
}

TEST(RankPages, OthersThatCannotBeReadAreNull) {
  RankViews views({getpid()});
  EXPECT_FALSE(views.at(0, {1 << 20, 1, Pages::hugePage, 0})) << "no such file";
  EXPECT_FALSE(views.at(0, {0, 2, uint64_t(77) << 30, 0})) << "another size";
}

// A rank that may open no more files ends with a message instead of a wrong sum.
TEST(RankPages, SumsFailIfMemoryCannotBeMapped) {
  EXPECT_PAGES(sample);
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  std::atomic<int> ready = 0;
  test::runLendingRanks(2, 1 << 20, [&](Communicator &ranks) {
    test::RankValues<float> values(100, 1, test::RankAllocator<float>(ranks));
    if (++ready == 2) {
      rlimit few = {3, before.rlim_max};
      setrlimit(RLIMIT_NOFILE, &few);
      ++ready;
    }
    while (ready < 3)
      std::this_thread::yield();
    Communicator::Piece piece = {values.data(), 100};
    auto sum = ranks.startSum({&piece, 1}, GRADC_F32, Communicator::Wire::full);
    ASSERT_TRUE(sum);
    Status ended = ranks.waitFor(*sum);
    EXPECT_FALSE(ended.ok());
    EXPECT_EQ(ended.message(),
              ranks.rank() ? "cannot map the memory of rank 0" : "cannot map the memory of rank 1");
  });
  setrlimit(RLIMIT_NOFILE, &before);
}

} // namespace
