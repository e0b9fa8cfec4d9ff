// Memory that ranks read in place.
#include "test/unit/runtime/ranks/RunRanks.h"

#include "runtime/ranks/RankPages.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace gradc::runtime;

namespace {

constexpr uint64_t large = 3 * Pages::hugePage + 5000;

/// Skipped where the system makes no huge pages of shared memory.
class RankPagesTest : public testing::Test {
protected:
  void SetUp() override {
    pages = RankPages::create();
    if (!pages)
      GTEST_SKIP() << "shared memory has no huge pages here";
  }
  std::unique_ptr<RankPages> pages;
};

TEST_F(RankPagesTest, AreZeroAndSeenByOthers) {
  auto *values = static_cast<std::byte *>(pages->allocate(large));
  ASSERT_TRUE(values);
  EXPECT_EQ(std::count(values, values + large, std::byte(0)), std::ptrdiff_t(large));
  std::memset(values, 7, large);
  auto place = pages->find(values + 4000, large - 4000);
  ASSERT_TRUE(place);
  RankViews views({getpid()});
  auto found = views.at(0, *place);
  ASSERT_TRUE(found) << found.status().message();
  const std::byte *seen = *found;
  EXPECT_NE(seen, values + 4000);
  EXPECT_EQ(std::memcmp(seen, values + 4000, large - 4000), 0);
  values[5000] = std::byte(9);
  EXPECT_EQ(seen[1000], std::byte(9));
  pages->release(values, large);
}

// Descriptors are used again, and so are addresses.
TEST_F(RankPagesTest, NewMemoryIsNotMistakenForOld) {
  RankViews views({getpid()});
  for (int value : {1, 2, 3}) {
    auto *values = static_cast<std::byte *>(pages->allocate(large));
    ASSERT_TRUE(values);
    std::memset(values, value, large);
    auto seen = views.at(0, *pages->find(values, 1));
    ASSERT_TRUE(seen) << seen.status().message();
    EXPECT_EQ(**seen, std::byte(value));
    pages->release(values, large);
  }
}

TEST_F(RankPagesTest, KeepValuesWhenTheyBecomeHuge) {
  auto *values = static_cast<uint32_t *>(pages->allocate(large));
  ASSERT_TRUE(values);
  for (uint32_t i = 0; i < large / 4; ++i)
    values[i] = i;
  // In calls of one, two and more of its four ranges.
  EXPECT_FALSE(pages->makeHuge(1));
  EXPECT_FALSE(pages->makeHuge(2));
  EXPECT_TRUE(pages->makeHuge(5));
  EXPECT_TRUE(pages->makeHuge(5));
  for (uint32_t i = 0; i < large / 4; ++i)
    ASSERT_EQ(values[i], i);
  pages->release(values, large);
}

TEST_F(RankPagesTest, DiscardOnlyWholePages) {
  auto *values = static_cast<std::byte *>(pages->allocate(large));
  ASSERT_TRUE(values);
  std::memset(values, 1, large);
  EXPECT_TRUE(pages->makeHuge(10));
  pages->discard(values + 100, 3 * 4096);
  EXPECT_EQ(values[4095], std::byte(1));
  EXPECT_EQ(values[4096], std::byte(0));
  EXPECT_EQ(values[3 * 4096 - 1], std::byte(0));
  EXPECT_EQ(values[3 * 4096], std::byte(1));
  pages->discard(values, 10); // not a whole page
  EXPECT_EQ(values[0], std::byte(1));
  pages->release(values, large);
}

TEST_F(RankPagesTest, PrivateMemoryHasNoPlace) {
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

TEST_F(RankPagesTest, CloseTheirFiles) {
  int before = openFiles();
  {
    auto pages = RankPages::create();
    ASSERT_TRUE(pages);
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

/// Memory of the views that counts as resident in this process.
uint64_t residentInViews() {
  std::ifstream maps("/proc/self/smaps");
  uint64_t kilobytes = 0;
  bool isView = false;
  for (std::string line; std::getline(maps, line);)
    if (line.find(" r--s ") != std::string::npos)
      isView = line.find("gradc-pages") != std::string::npos;
    else if (line.starts_with("VmFlags:"))
      isView = false;
    else if (isView && line.starts_with("Rss:"))
      kilobytes += std::stoull(line.substr(4));
  return kilobytes << 10;
}

TEST_F(RankPagesTest, FewPagesOfOthersStayMapped) {
  constexpr uint64_t size = 32 * Pages::hugePage;
  auto *values = static_cast<std::byte *>(pages->allocate(size));
  ASSERT_TRUE(values);
  std::memset(values, 1, size);
  while (!pages->makeHuge(32))
    ;
  RankViews views({getpid()});
  uint64_t most = 0, drops = 0, before = 0;
  unsigned sum = 0;
  auto read = [&](uint64_t at) {
    sum += unsigned(**views.at(0, *pages->find(values + at, 1)));
    uint64_t resident = residentInViews();
    most = std::max(most, resident);
    drops += resident < before;
    before = resident;
  };
  constexpr uint64_t step = Pages::hugePage / 4, half = size / 2;
  for (uint64_t at = 0; at < half; at += step) { // as a sum reads two parts in turn
    read(at);
    read(half + at);
  }
  EXPECT_EQ(sum, size / step);
  EXPECT_EQ(most, 2 * Pages::hugePage);
  EXPECT_LE(drops, size / Pages::hugePage / 2);
  pages->release(values, size);
}

TEST_F(RankPagesTest, MemoryThatCannotBeMappedIsAnError) {
  RankViews views({getpid()});
  auto missing = views.at(0, {1 << 20, 1, Pages::hugePage, 0});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().message(),
            "cannot map the memory of rank 0 (2097152 bytes): No such file or directory");
  auto *values = static_cast<std::byte *>(pages->allocate(large));
  auto place = pages->find(values, 1);
  ASSERT_TRUE(place);
  place->bytes += Pages::hugePage;
  auto another = views.at(0, *place); // of another size
  ASSERT_FALSE(another);
  EXPECT_EQ(another.status().message(),
            "cannot map the memory of rank 0 (10485760 bytes): Stale file handle");
  pages->release(values, large);
}

// A rank that may open no more files ends with a message instead of a wrong sum.
TEST_F(RankPagesTest, SumsFailIfMemoryCannotBeMapped) {
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
    int other = 1 - ranks.rank();
    EXPECT_EQ(ended.message(), "cannot map the memory of rank " + std::to_string(other) +
                                   " (2097152 bytes): Too many open files");
  });
  setrlimit(RLIMIT_NOFILE, &before);
}

// Kernels would pay for the pages of a limited address space in vain.
TEST_F(RankPagesTest, AreNoneIfAddressesAreLimited) {
  rlimit before;
  getrlimit(RLIMIT_AS, &before);
  rlimit limited = {before.rlim_max == RLIM_INFINITY ? rlim_t(1) << 46 : before.rlim_max,
                    before.rlim_max};
  setrlimit(RLIMIT_AS, &limited);
  EXPECT_FALSE(RankPages::create());
  setrlimit(RLIMIT_AS, &before);
}

/// Sums of `pieces`, some of whose values other ranks cannot read in place.
void expectSums(Communicator &ranks, std::span<const Communicator::Piece> pieces) {
  auto sum = ranks.startSum(pieces, GRADC_F32, Communicator::Wire::full);
  ASSERT_TRUE(sum);
  Status ended = ranks.waitFor(*sum);
  ASSERT_TRUE(ended.ok()) << ended.message();
}

TEST_F(RankPagesTest, SumsTakeManyPieces) {
  test::runLendingRanks(2, 1 << 20, [&](Communicator &ranks) {
    test::RankValues<float> values(1000, float(ranks.rank() + 1),
                                   test::RankAllocator<float>(ranks));
    std::vector<Communicator::Piece> pieces;
    for (size_t i = 0; i < 100; ++i) // more of a chunk than a slot has places for
      pieces.push_back({values.data() + 10 * i, 10});
    expectSums(ranks, pieces);
    EXPECT_EQ(std::ranges::count(values, 3.0f), 1000);
  });
}

// Pieces of one chunk, and ranks, that differ in where their memory is.
TEST_F(RankPagesTest, SumsTakePrivateAndSharedMemory) {
  test::runLendingRanks(3, 1 << 20, [&](Communicator &ranks) {
    test::RankValues<float> shared(1000, float(ranks.rank() + 1),
                                   test::RankAllocator<float>(ranks));
    std::vector<float> own(1000, float(ranks.rank() + 1));
    auto sumOf = [&](std::initializer_list<float *> arrays) {
      std::vector<Communicator::Piece> pieces;
      for (float *array : arrays)
        pieces.push_back({array, 1000});
      expectSums(ranks, pieces);
    };
    sumOf({shared.data(), own.data()});
    EXPECT_EQ(std::ranges::count(shared, 6.0f), 1000);
    EXPECT_EQ(std::ranges::count(own, 6.0f), 1000);
    float *chosen = ranks.rank() == 1 ? own.data() : shared.data();
    sumOf({chosen});
    EXPECT_EQ(std::count(chosen, chosen + 1000, 18.0f), 1000);
  });
}

// Rank 1 adds its part before rank 0 does, and is late to take rank 0's results, which it reads in
// that rank's memory.
TEST_F(RankPagesTest, SumsEndOnceNobodyReadsThem) {
  constexpr size_t count = 200'000;
  using Kind = Communicator::Kind;
  for (Kind kind : {Kind::sum, Kind::gather}) {
    std::atomic<int> stage = 0;
    auto waitUntil = [&](int reached) {
      while (stage < reached)
        std::this_thread::yield();
    };
    test::runLendingRanks(2, 16 << 20, [&](Communicator &ranks) {
      test::RankValues<float> values(count, 1, test::RankAllocator<float>(ranks));
      Communicator::Piece piece = {values.data(), count};
      bool isLate = ranks.rank() == 1;
      waitUntil(isLate ? 1 : 0);
      auto started = ranks.start({&piece, 1}, {kind, GRADC_F32});
      ASSERT_TRUE(started);
      ++stage;
      waitUntil(2);
      if (isLate)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      ASSERT_TRUE(ranks.waitFor(*started).ok());
      float expected = kind == Kind::sum ? 2 : 1;
      EXPECT_EQ(std::ranges::count(values, expected), std::ptrdiff_t(count));
      std::ranges::fill(values, -1.0f);
      ASSERT_TRUE(ranks.share("done"));
    });
  }
}

} // namespace
