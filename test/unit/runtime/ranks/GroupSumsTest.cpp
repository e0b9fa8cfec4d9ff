// Sums and transfers within a replica of the model, and sums between replicas.
#include "runtime/ranks/GroupSums.h"
#include "test/unit/runtime/ranks/RunRanks.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

using Group = Communicator::Group;
using Kind = Communicator::Kind;

static uint64_t begin(GroupSums &groups, Group group, float &value, Kind kind = Kind::sum,
                      int peer = 0) {
  Communicator::Piece piece{&value, 1};
  Communicator::Exchange exchange{kind, GRADC_F32};
  exchange.group = group;
  exchange.peer = peer;
  auto started = groups.start({&piece, 1}, exchange);
  EXPECT_TRUE(started) << started.status().message();
  return started ? *started : 0;
}

/// Three replicas of two ranks each: ranks 0 and 1 have the first one.
void expectGroups(bool lend) {
  runRanks(6, [lend](Messages &messages) {
    auto pages = lend ? RankPages::create() : nullptr;
    RankAllocator<float> allocator(pages.get());
    auto made = GroupSums::create(messages, pages.get(), 2);
    ASSERT_TRUE(made) << made.status().message();
    GroupSums &groups = **made;
    int rank = messages.rank(), first = rank / 2 * 2;
    for (int step = 0; step < 3; ++step) {
      RankValues<float> values(2, float(1 << rank), allocator);
      float &ofModel = values[0], &ofData = values[1];
      uint64_t model = begin(groups, Group::model, ofModel);
      uint64_t data = begin(groups, Group::data, ofData);
      EXPECT_TRUE(GroupSums::isOne(model) && GroupSums::isOne(data));
      ASSERT_TRUE(groups.waitFor(data).ok());
      ASSERT_TRUE(groups.waitFor(model).ok());
      EXPECT_EQ(ofModel, float(3 << first));
      EXPECT_EQ(ofData, float(rank % 2 ? 2 + 8 + 32 : 1 + 4 + 16));
    }
    EXPECT_GT(groups.sentBytes(), 0u);
  });
}

TEST(GroupSums, AreOfAReplicaOrOfAPart) { expectGroups(/*lend=*/false); }
TEST(GroupSums, ReadEachOthersMemory) { expectGroups(/*lend=*/true); }

/// A peer's number is the one that it has in its replica.
TEST(GroupSums, TransferWithinAReplica) {
  runRanks(4, [](Messages &messages) {
    auto made = GroupSums::create(messages, nullptr, 2);
    ASSERT_TRUE(made) << made.status().message();
    int rank = messages.rank();
    float value = float(rank);
    if (rank % 2 == 0) {
      begin(**made, Group::model, value, Kind::send, /*peer=*/1);
    } else {
      ASSERT_TRUE((*made)->waitFor(begin(**made, Group::model, value, Kind::receive, 0)).ok());
      EXPECT_EQ(value, float(rank - 1));
    }
    ASSERT_TRUE((*made)->settle().ok());
  });
}
