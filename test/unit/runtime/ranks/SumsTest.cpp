// Sums over ranks: their order, types, and traffic, and concurrent work.
#include "test/unit/runtime/ranks/RunRanks.h"

#include "runtime/ranks/SharedSums.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <ctime>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>
#include <sys/resource.h>
#include <thread>
#include <tuple>

using namespace gradc::runtime;
using Piece = Communicator::Piece;
using Wire = Communicator::Wire;

namespace {

void sum(Communicator &ranks, std::span<const Piece> pieces, gradc_dtype type,
         Wire wire = Wire::full) {
  auto started = ranks.startSum(pieces, type, wire);
  ASSERT_TRUE(started) << started.status().message();
  Status ended = ranks.waitFor(*started);
  ASSERT_TRUE(ended.ok()) << ended.message();
}

/// Values whose sum depends on the order of additions.
float valueOf(int rank, int64_t i) {
  return std::ldexp(1.0f + 0.37f * float(i % 13), (rank * 7 + int(i)) % 23) *
         (i % 3 ? 1.0f : -1.0f);
}

/// Values in memory that exchanges read in place where they can.
template <typename T> test::RankValues<T> valuesOf(Communicator &ranks, size_t count, T value = 0) {
  return test::RankValues<T>(count, value, test::RankAllocator<T>(ranks));
}

/// Ranks, the bytes of the ring that they share (0 if they send messages), and whether they read
/// each other's memory.
class SumsTest : public testing::TestWithParam<std::tuple<int, size_t, bool>> {
protected:
  static int ranks() { return std::get<0>(GetParam()); }
  static void runRanks(const std::function<void(Communicator &)> &body) {
    auto [count, ring, lend] = GetParam();
    if (lend)
      test::runLendingRanks(count, ring, body);
    else if (ring)
      test::runSharingRanks(count, ring, body);
    else
      test::runRanks(count, body);
  }
};

/// Small pieces, which travel together, and large ones, which travel from their own memory.
TEST_P(SumsTest, AddsInTheOrderOfRanksOverAllPieces) {
  int count = ranks();
  static const std::vector<size_t> small = {1, 2500, 0, 37}, large = {3, 20000, 0, 9001};
  for (const std::vector<size_t> &sizes : {small, large})
    runRanks([&](Communicator &ranks) {
      std::vector<test::RankValues<float>> arrays;
      for (size_t size : sizes)
        arrays.push_back(valuesOf<float>(ranks, size));
      std::vector<Piece> pieces;
      for (auto &array : arrays) {
        for (size_t i = 0; i < array.size(); ++i)
          array[i] = valueOf(ranks.rank(), int64_t(i));
        pieces.push_back({array.data(), int64_t(array.size())});
      }
      sum(ranks, pieces, GRADC_F32);
      for (const auto &array : arrays)
        for (size_t i = 0; i < array.size(); ++i) {
          float expected = valueOf(0, int64_t(i));
          for (int rank = 1; rank < count; ++rank)
            expected += valueOf(rank, int64_t(i));
          ASSERT_EQ(array[i], expected) << "rank " << ranks.rank() << " element " << i;
        }
    });
}

TEST_P(SumsTest, AddsAllTypes) {
  int count = ranks();
  runRanks([&](Communicator &ranks) {
    double real[3] = {1e-12, 1.0 + ranks.rank(), -0.25};
    int64_t large[2] = {int64_t(1) << 40, ranks.rank()};
    int32_t small[5] = {1, 2, 3, 4, ranks.rank()};
    sum(ranks, {{{real, 3}}}, GRADC_F64);
    sum(ranks, {{{large, 2}}}, GRADC_I64);
    sum(ranks, {{{small, 5}}}, GRADC_I32);
    int ranksSum = count * (count - 1) / 2;
    EXPECT_EQ(real[1], count + ranksSum);
    EXPECT_EQ(large[0], count * (int64_t(1) << 40));
    EXPECT_EQ(large[1], ranksSum);
    EXPECT_EQ(small[3], 4 * count);
    EXPECT_EQ(small[4], ranksSum);
  });
}

TEST_P(SumsTest, SendsTwiceTheOthersShare) {
  int count = ranks();
  constexpr int64_t values = 12600;
  for (Wire wire : {Wire::full, Wire::bf16})
    runRanks([&](Communicator &ranks) {
      auto array = valuesOf<float>(ranks, values, 1);
      sum(ranks, {{{array.data(), values}}}, GRADC_F32, wire);
      EXPECT_EQ(ranks.sentBytes(),
                uint64_t(2 * (count - 1) * values / count) * (wire == Wire::bf16 ? 2 : 4));
    });
}

// Values are rounded when they are sent, and the sum once more; all ranks have the same result.
TEST_P(SumsTest, AddsInF32WhatTravelsAsBf16) {
  int count = ranks();
  std::mutex mutex;
  std::vector<std::vector<float>> results;
  runRanks([&](Communicator &ranks) {
    auto array = valuesOf<float>(ranks, 999);
    for (size_t i = 0; i < array.size(); ++i)
      array[i] = 1.0f / float(i + 1) + float(ranks.rank());
    sum(ranks, {{{array.data(), 999}}}, GRADC_F32, Wire::bf16);
    std::lock_guard lock(mutex);
    results.emplace_back(array.begin(), array.end());
  });
  for (const std::vector<float> &result : results) {
    EXPECT_EQ(result, results.front());
    for (size_t i = 0; i < result.size(); ++i) {
      float exact = float(count) / float(i + 1) + float(count * (count - 1) / 2);
      EXPECT_NEAR(result[i], exact, exact * 0x1p-7f) << i;
    }
  }
}

TEST_P(SumsTest, Bf16KeepsWhatIsNotFinite) {
  runRanks([](Communicator &ranks) {
    float infinity = std::numeric_limits<float>::infinity();
    float array[3] = {std::numeric_limits<float>::quiet_NaN(), infinity, 3.3e38f};
    sum(ranks, {{{array, 3}}}, GRADC_F32, Wire::bf16);
    EXPECT_TRUE(std::isnan(array[0]));
    EXPECT_EQ(array[1], infinity);
  });
}

TEST_P(SumsTest, ManyAreUnderWayAtOnce) {
  runRanks([&](Communicator &ranks) {
    for (int step = 0; step < 20; ++step) {
      std::vector<test::RankValues<float>> arrays;
      std::vector<uint64_t> sums;
      for (int i = 0; i < 6; ++i)
        arrays.push_back(valuesOf(ranks, size_t(1 + i * 50), float(i + step)));
      for (auto &array : arrays) {
        Piece piece = {array.data(), int64_t(array.size())};
        sums.push_back(*ranks.startSum({&piece, 1}, GRADC_F32, Wire::full));
        ASSERT_TRUE(ranks.progress().ok());
      }
      // Not in the order in which they were started.
      for (size_t i : {5, 0, 3, 1, 2, 4}) {
        ASSERT_TRUE(ranks.waitFor(sums[i]).ok());
        for (float value : arrays[i])
          ASSERT_EQ(value, float((int(i) + step) * ranks.size()));
      }
    }
  });
}

TEST_P(SumsTest, TextsAreShared) {
  int count = ranks();
  runRanks([&](Communicator &ranks) {
    for (int round = 0; round < 3; ++round) {
      auto texts = ranks.share(std::string(size_t(ranks.rank() * round), 'x'));
      ASSERT_TRUE(texts);
      ASSERT_EQ(texts->size(), size_t(count));
      for (int rank = 0; rank < count; ++rank)
        EXPECT_EQ((*texts)[size_t(rank)], std::string(size_t(rank * round), 'x'));
    }
  });
}

/// Parts of all sizes: none, one value, many.
std::vector<int64_t> unevenBegins(int ranks, int64_t values) {
  std::vector<int64_t> begins = {0};
  for (int rank = 1; rank < ranks; ++rank)
    begins.push_back(rank == 1 ? 0 : rank == 2 ? 1 : values - ranks + rank);
  begins.push_back(values);
  return begins;
}

TEST_P(SumsTest, ScattersSumsToTheirOwnersAndGathersWhatTheyMake) {
  constexpr int64_t values = 70'001;
  int count = ranks();
  std::vector<int64_t> begins = unevenBegins(count, values);
  for (bool leavesZeros : {false, true})
    runRanks([&](Communicator &ranks) {
      auto array = valuesOf<float>(ranks, values);
      auto expected = [&](int64_t i) {
        float sum = valueOf(0, i);
        for (int rank = 1; rank < count; ++rank)
          sum += valueOf(rank, i);
        return sum;
      };
      for (int64_t i = 0; i < values; ++i)
        array[size_t(i)] = valueOf(ranks.rank(), i);
      constexpr int64_t few = 3;
      std::vector<Piece> pieces = {{array.data(), few, !leavesZeros},
                                   {array.data() + few, values - few, leavesZeros}};
      auto exchange = [&](Communicator::Kind kind) {
        auto started = ranks.start(pieces, {kind, GRADC_F32, Wire::full, std::span(begins)});
        ASSERT_TRUE(started) << started.status().message();
        ASSERT_TRUE(ranks.waitFor(*started).ok());
      };
      exchange(Communicator::Kind::scatter);
      int64_t begin = begins[size_t(ranks.rank())], end = begins[size_t(ranks.rank() + 1)];
      for (int64_t i = 0; i < values; ++i) {
        float &value = array[size_t(i)];
        if (i >= begin && i < end)
          ASSERT_EQ(value, expected(i)) << "rank " << ranks.rank() << " element " << i;
        else if (leavesZeros == (i >= few))
          ASSERT_EQ(value, 0) << "rank " << ranks.rank() << " element " << i;
        value = i >= begin && i < end ? value + 1 : -1;
      }
      exchange(Communicator::Kind::gather);
      for (int64_t i = 0; i < values; ++i)
        ASSERT_EQ(array[size_t(i)], expected(i) + 1) << "rank " << ranks.rank();
      EXPECT_EQ(ranks.sentBytes(),
                4 * uint64_t(values - (end - begin) + (end - begin) * (count - 1)));
    });
}

TEST(SumArray, ClearsOnlyPiecesThatLeaveZeros) {
  std::vector<float> whole(10, 1), other(10, 1);
  std::vector<Piece> pieces = {{whole.data(), 10, /*leavesZeros=*/true}, {other.data(), 10}};
  SumArray array;
  array.assign(pieces, {Communicator::Kind::scatter, GRADC_F32}, 4); // 5 values each
  array.clearOthers(1);
  EXPECT_EQ(whole, (std::vector<float>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(other, std::vector<float>(10, 1));
}

/// An owner uses unrounded sums, which no other rank receives.
TEST_P(SumsTest, ScatteredSumsAreNotRoundedOnceMore) {
  int count = ranks();
  runRanks([&](Communicator &ranks) {
    auto array =
        valuesOf(ranks, 64, ranks.rank() ? 1 : 0x1p-10f); // bf16 has both, but not their sum
    Piece piece = {array.data(), 64};
    auto started = ranks.start({&piece, 1}, {Communicator::Kind::scatter, GRADC_F32, Wire::bf16});
    ASSERT_TRUE(started && ranks.waitFor(*started).ok());
    for (int64_t i = 64 * ranks.rank() / count; i < 64 * (ranks.rank() + 1) / count; ++i)
      EXPECT_EQ(array[size_t(i)], float(count - 1) + 0x1p-10f);
  });
}

INSTANTIATE_TEST_SUITE_P(Messages, SumsTest,
                         testing::Combine(testing::Values(1, 2, 3, 4, 7), testing::Values(0),
                                          testing::Values(false)));
INSTANTIATE_TEST_SUITE_P(SharedMemory, SumsTest,
                         testing::Combine(testing::Values(1, 2, 3, 4, 7),
                                          testing::Values(1, 16 << 20), testing::Bool()));

/// Sums of several sizes in flight at the same time, over memory and over messages.
std::vector<std::vector<float>> sumsOf(Communicator &ranks, Wire wire) {
  std::vector<test::RankValues<float>> arrays;
  std::vector<uint64_t> sums;
  for (size_t size : {3, 400'001, 0, 70'000, 1})
    arrays.push_back(valuesOf<float>(ranks, size));
  for (auto &array : arrays) {
    for (size_t i = 0; i < array.size(); ++i)
      array[i] = valueOf(ranks.rank(), int64_t(i));
    Piece piece = {array.data(), int64_t(array.size())};
    sums.push_back(*ranks.startSum({&piece, 1}, GRADC_F32, wire));
  }
  for (uint64_t sum : sums)
    EXPECT_TRUE(ranks.waitFor(sum).ok());
  std::vector<std::vector<float>> found;
  for (const auto &array : arrays)
    found.emplace_back(array.begin(), array.end());
  return found;
}

// Through memory, in rings much smaller than the summed data, and by messages.
TEST(SharedSums, BitsAreThoseOfMessages) {
  for (int count : {2, 3, 5})
    for (Wire wire : {Wire::full, Wire::bf16}) {
      std::vector<std::vector<float>> expected;
      test::runRanks(count, [&](Communicator &ranks) {
        auto found = sumsOf(ranks, wire);
        if (ranks.rank() == 0)
          expected = std::move(found);
      });
      for (auto *run : {test::runSharingRanks, test::runLendingRanks})
        for (size_t ring : {size_t(1), size_t(1) << 20})
          run(count, ring, [&](Communicator &ranks) {
            EXPECT_EQ(sumsOf(ranks, wire), expected) << "rank " << ranks.rank() << " of " << count;
          });
    }
}

// A rank that waits for a late one uses no processor time, and continues when that rank does.
TEST(SharedSums, WaitsAsleep) {
  constexpr auto late = std::chrono::milliseconds(300);
  test::runSharingRanks(2, 1 << 20, [&](Communicator &ranks) {
    float value = 1;
    if (ranks.rank() == 1)
      std::this_thread::sleep_for(late);
    timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    sum(ranks, {{{&value, 1}}}, GRADC_F32);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    double seconds =
        double(after.tv_sec - before.tv_sec) + 1e-9 * double(after.tv_nsec - before.tv_nsec);
    EXPECT_LT(seconds, 0.1);
    EXPECT_EQ(value, 2);
  });
}

// If one rank lacks memory for its ring, all ranks learn it and sum by messages.
TEST(SharedSums, AreNoneWithoutMemory) {
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit little = {1 << 16, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  test::runRanks(3, [](Messages &messages) {
    auto sums = SharedSums::create(messages, nullptr);
    ASSERT_TRUE(sums);
    EXPECT_EQ(*sums, nullptr);
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
}

} // namespace
