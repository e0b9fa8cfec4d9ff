// Ranks divide only the CPUs that they may use.
#include "runtime/ranks/CpuShare.h"

#include <gtest/gtest.h>
#include <vector>

using namespace gradc::runtime;

static int share(std::string_view own, std::vector<std::string_view> all) {
  return shareOfCpus(own, all);
}

TEST(CpuShare, RanksThatAreBoundKeepTheirCpus) {
  EXPECT_EQ(share("1100", {"1100", "0011"}), 2);
  EXPECT_EQ(share("0001", {"1000", "0001"}), 1);
}

TEST(CpuShare, RanksThatAreNotBoundDivideThem) {
  EXPECT_EQ(share("1111", {"1111", "1111"}), 2);
  EXPECT_EQ(share("111111", {"111111", "111111", "111111"}), 2);
  EXPECT_EQ(share("1111", {"1111", "1111", "1111"}), 1);
  EXPECT_EQ(share("11111111", {"11111111", "11110000"}), 6);
}

TEST(CpuShare, MoreRanksThanCpusHaveOneEach) { EXPECT_EQ(share("1", {"1", "1", "1"}), 1); }

TEST(CpuShare, ThisProcessHasACpu) { EXPECT_NE(availableCpus().find('1'), std::string::npos); }
