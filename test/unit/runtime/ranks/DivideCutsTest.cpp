// The owners of states that ranks divide.
#include "runtime/ranks/DivideCuts.h"

#include <gtest/gtest.h>

using gradc::runtime::divideCuts;
using Cuts = std::vector<gradc_artifact_cut>;
using Begins = std::vector<int64_t>;

namespace {

TEST(DivideCuts, DividesEvenlyByWholePieces) {
  EXPECT_EQ(divideCuts(Cuts{{1000, 32}}, 1), (Begins{0, 1000}));
  EXPECT_EQ(divideCuts(Cuts{{1000, 32}}, 2), (Begins{0, 512, 1000}));
  EXPECT_EQ(divideCuts(Cuts{{96, 32}}, 3), (Begins{0, 32, 64, 96}));
}

/// For cuts with an odd number of pieces, the rank with one more piece alternates.
TEST(DivideCuts, OddPiecesGoRound) {
  EXPECT_EQ(divideCuts(Cuts{{96, 32}, {96, 32}}, 2), (Begins{0, 32, 96, 0, 64, 96}));
}

/// The largest cut first, each to the rank that owns the least.
TEST(DivideCuts, CutsOfFewPiecesBelongToOne) {
  EXPECT_EQ(divideCuts(Cuts{{10, 10}, {100, 100}, {60, 60}, {20, 20}}, 2),
            (Begins{0, 0, 10, 0, 100, 100, 0, 0, 60, 0, 0, 20}));
  EXPECT_EQ(divideCuts(Cuts{{64, 32}}, 3), (Begins{0, 64, 64, 64}));
}

TEST(DivideCuts, OwnersAreTheLastOnes) {
  EXPECT_EQ(divideCuts(Cuts{{64, 32}, {8, 8}}, 4, 2), (Begins{0, 0, 0, 32, 64, 0, 0, 0, 8, 8}));
  EXPECT_EQ(divideCuts(Cuts{{64, 32}, {8, 8}}, 3, 2), (Begins{0, 0, 0, 64, 0, 0, 0, 8}));
}

/// Every element has one owner, and owners have similar amounts.
TEST(DivideCuts, IsBalanced) {
  Cuts cuts;
  for (uint64_t i = 1; i <= 60; ++i)
    cuts.push_back({37 * i * i, i % 3 ? 32 : 37 * i * i});
  for (int64_t ranks : {2, 3, 8}) {
    Begins begins = divideCuts(cuts, ranks);
    std::vector<int64_t> owned(static_cast<size_t>(ranks));
    int64_t all = 0, largest = 0;
    for (size_t i = 0; i < cuts.size(); ++i) {
      const int64_t *of = &begins[i * size_t(ranks + 1)];
      EXPECT_EQ(of[0], 0);
      EXPECT_EQ(of[ranks], int64_t(cuts[i].elements));
      for (int64_t rank = 0; rank < ranks; ++rank) {
        EXPECT_LE(of[rank], of[rank + 1]);
        owned[size_t(rank)] += of[rank + 1] - of[rank];
      }
      all += int64_t(cuts[i].elements);
      largest = std::max(largest, int64_t(cuts[i].unit));
    }
    for (int64_t mine : owned)
      EXPECT_NEAR(double(mine), double(all) / double(ranks), double(largest));
  }
}

} // namespace
