// The scale of the loss after finite steps and after others.
#include "runtime/train/rates/LossScale.h"
#include "test/unit/runtime/train/TrainModel.h"

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

LossScale scaleOf(const JobText &job) { return LossScale(job.root().child("loss_scaling")); }

TEST(LossScaleTest, GrowsAfterAnIntervalOfFiniteSteps) {
  JobText job("loss_scaling { initial: 1024 growth_interval: 2 }");
  LossScale scale = scaleOf(job);
  scale.grow();
  EXPECT_EQ(scale.value(), 1024);
  scale.grow();
  EXPECT_EQ(scale.value(), 2048);
  // A step that is not finite begins the interval anew.
  scale.grow();
  EXPECT_TRUE(scale.backOff());
  scale.grow();
  EXPECT_EQ(scale.value(), 1024);
  EXPECT_EQ(scale.skipped(), 1);
}

TEST(LossScaleTest, GrowsUpToItsLimit) {
  JobText job("loss_scaling { initial: 8388608 growth_interval: 1 }");
  LossScale scale = scaleOf(job);
  for (int i = 0; i < 5; ++i)
    scale.grow();
  EXPECT_EQ(scale.value(), 0x1p+24F);
}

TEST(LossScaleTest, NeverShrinksAfterFiniteSteps) {
  JobText job("loss_scaling { initial: 1073741824 growth_interval: 1 floor: 536870912 }");
  LossScale scale = scaleOf(job);
  scale.grow();
  EXPECT_EQ(scale.value(), 0x1p+30F);
  EXPECT_TRUE(scale.backOff());
  scale.grow();
  EXPECT_EQ(scale.value(), 0x1p+29F);
  EXPECT_FALSE(scale.backOff()); // it is the floor
}

} // namespace
