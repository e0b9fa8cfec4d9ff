// Values from rank to rank, beside sums over all of them.
#include "test/unit/runtime/ranks/RunRanks.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

using Kind = Communicator::Kind;

static uint64_t begin(Communicator &ranks, Kind kind, std::vector<float> &values, int peer,
                      int number) {
  Communicator::Piece piece{values.data(), int64_t(values.size())};
  Communicator::Exchange exchange{kind, GRADC_F32};
  exchange.peer = peer;
  exchange.number = number;
  auto started = ranks.start({&piece, 1}, exchange);
  EXPECT_TRUE(started) << started.status().message();
  return started ? *started : 0;
}

/// Each rank passes on, in turn, what it has received, and adds its number.
static void passAround(Communicator &ranks) {
  int rank = ranks.rank(), size = ranks.size();
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);
  for (int step = 0; step < 3; ++step) {
    std::vector<float> sum(100, 1);
    Communicator::Piece piece{sum.data(), int64_t(sum.size())};
    auto summed = ranks.startSum({&piece, 1}, GRADC_F32, Communicator::Wire::full);
    ASSERT_TRUE(summed);
    if (rank > 0)
      ASSERT_TRUE(ranks.waitFor(begin(ranks, Kind::receive, values, rank - 1, rank)).ok());
    for (float &value : values)
      value += float(rank);
    uint64_t sent = begin(ranks, Kind::send, values, (rank + 1) % size, (rank + 1) % size);
    ASSERT_TRUE(ranks.waitFor(sent).ok()); // at once, even if the others are not ready
    values.assign(values.size(), -1);      // what is sent is a copy
    if (rank == 0)
      ASSERT_TRUE(ranks.waitFor(begin(ranks, Kind::receive, values, size - 1, 0)).ok());
    ASSERT_TRUE(ranks.waitFor(*summed).ok());
    ASSERT_TRUE(ranks.settle().ok());
    EXPECT_EQ(sum[99], float(size));
  }
  if (rank == 0)
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], float(i) + float(3 * (size - 1) * size / 2));
  EXPECT_GE(ranks.sentBytes(), 3 * values.size() * sizeof(float));
}

TEST(Transfers, GoFromRankToRankBesideSums) {
  for (int size : {2, 3, 4}) {
    runRanks(size, [](Communicator &ranks) { passAround(ranks); });
    runSharingRanks(size, 1 << 16, [](Communicator &ranks) { passAround(ranks); });
  }
}

/// The receiver begins in the reverse order, and before anything is sent.
TEST(Transfers, AreToldApartByTheirNumbers) {
  runRanks(2, [](Communicator &ranks) {
    std::vector<std::vector<float>> values(10, std::vector<float>(7));
    for (int i = 0; i < 10; ++i)
      values[size_t(i)].assign(7, ranks.rank() == 0 ? float(i) : -1.0f);
    if (ranks.rank() == 0) {
      for (int i = 0; i < 10; ++i)
        begin(ranks, Kind::send, values[size_t(i)], 1, i);
    } else {
      std::vector<uint64_t> numbers;
      for (int i = 10; i-- > 0;)
        numbers.push_back(begin(ranks, Kind::receive, values[size_t(i)], 0, i));
      for (uint64_t number : numbers)
        ASSERT_TRUE(ranks.waitFor(number).ok());
      for (int i = 0; i < 10; ++i)
        EXPECT_EQ(values[size_t(i)], std::vector<float>(7, float(i)));
    }
    ASSERT_TRUE(ranks.settle().ok());
  });
}
