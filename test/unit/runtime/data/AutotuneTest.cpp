// The number of threads that make batches, and the number of stored batches, chosen from
// measurements.
#include "runtime/data/load/Autotune.h"
#include "runtime/data/load/TuningPeriod.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;

namespace {

TEST(AutotuneTest, CheapBatchesAreMadeByTheCaller) {
  Autotune tune({.maxWorkers = 4, .maxDepth = 8});
  EXPECT_EQ(tune.decide({1.0, 0.9e-6, false, true}), (InputTuning{0, 2}));
  EXPECT_EQ(tune.decide({0.004, 1e-3, false, true}), (InputTuning{0, 2}));
  EXPECT_EQ(tune.decide({0.02, 1e-3, false, true}), (InputTuning{1, 2}));
}

TEST(AutotuneTest, SmallBatchesAreStoredSoThatThreadsAreWokenRarely) {
  Autotune tune({.maxWorkers = 4, .maxDepth = 64});
  EXPECT_EQ(tune.decide({0.1, 10e-6, false, true}), (InputTuning{1, 40}));
  Autotune other({.maxWorkers = 4, .maxDepth = 64});
  EXPECT_EQ(other.decide({0.1, 100e-6, false, true}), (InputTuning{1, 4}));
}

TEST(AutotuneTest, ThreadsComeWhileTheStepWaits) {
  Autotune tune({.maxWorkers = 3, .maxDepth = 8});
  for (int workers : {1, 2, 3, 3})
    EXPECT_EQ(tune.decide({0.4, 1e-3, false, true}).workers, workers);
  EXPECT_EQ(tune.decide({0.001, 1e-3, true, false}), (InputTuning{3, 2}));
}

TEST(AutotuneTest, UnevenBatchesAreStored) {
  Autotune tune({.maxWorkers = 2, .maxDepth = 5});
  (void)tune.decide({0.4, 1e-3, false, true});
  for (int depth : {4, 5})
    EXPECT_EQ(tune.decide({0.1, 1e-3, true, true}), (InputTuning{1, depth}));
  EXPECT_EQ(tune.decide({0.1, 1e-3, true, true}), (InputTuning{2, 5}));
}

TEST(AutotuneTest, ThreadsThatHardlyRestGetNoMoreBatches) {
  Autotune tune({.workers = 2, .maxDepth = 8});
  EXPECT_EQ(tune.decide({0.4, 1e-3, true, true, 1.9}), (InputTuning{2, 2}));
  EXPECT_EQ(tune.decide({0.4, 1e-3, true, true, 1.5}), (InputTuning{2, 4}));
}

TEST(AutotuneTest, WhatTheSpecSaysStays) {
  Autotune tune({.workers = 2, .depth = 3, .maxWorkers = 8, .maxDepth = 8});
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(tune.decide({0.9, 1e-2, true, true}), (InputTuning{2, 3}));
}

TEST(AutotuneTest, AWindowTellsWhoWasBusy) {
  TuningPeriod period;
  constexpr int64_t second = 1'000'000'000;
  // One second, of which a quarter is spent waiting, with 1.75 s of work, of which the caller did
  // 0.15 s.
  period.countWait(second, second + second / 4, 32);
  period.countWait(2 * second, 2 * second, 32);
  std::optional<InputPeriod> seen = period.closeBeside(1.75, 0.15);
  ASSERT_TRUE(seen.has_value());
  EXPECT_DOUBLE_EQ(seen->waitShare, 0.25);
  EXPECT_DOUBLE_EQ(seen->batchSeconds, 1.75 / 64);
  EXPECT_DOUBLE_EQ(seen->busyThreads, 1.6);
}

} // namespace
