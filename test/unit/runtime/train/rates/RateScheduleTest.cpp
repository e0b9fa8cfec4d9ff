// Learning rates against PyTorch's, in runs and across a resume.
#include "runtime/train/rates/RateSchedule.h"
#include "test/unit/runtime/train/TrainModel.h"

#include <cmath>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

struct ScheduleCase {
  std::string text;
  std::vector<double> rates;
};

#include "test/unit/runtime/train/rates/references/schedules.inc"

/// A closed form and PyTorch's step-by-step products differ in their last bits.
void expectRate(double found, double expected, const std::string &where) {
  EXPECT_NEAR(found, expected, 1e-12 * std::abs(expected) + 1e-17) << where;
}

TEST(RateScheduleTest, FollowsPyTorch) {
  for (const ScheduleCase &one : scheduleCases) {
    JobText job("schedule { " + one.text + " }");
    auto steps = int64_t(one.rates.size());
    RateSchedule schedule(job.root().child("schedule"), optimizerRate,
                          {steps, steps / stepsPerEpoch});
    for (int64_t step = 0; step < steps; ++step)
      expectRate(schedule.rate(step, step / stepsPerEpoch), one.rates[size_t(step)],
                 one.text + " at " + std::to_string(step));
  }
}

TEST(RateScheduleTest, CyclesMomentumAsPyTorch) {
  for (const ScheduleCase &one : momentumCases) {
    JobText job("schedule { " + one.text + " }");
    auto steps = int64_t(one.rates.size());
    RateSchedule schedule(job.root().child("schedule"), optimizerRate, {steps, 1});
    for (int64_t step = 0; step < steps; ++step)
      expectRate(schedule.momentum(step, 0).value_or(NAN), one.rates[size_t(step)],
                 one.text + " at " + std::to_string(step));
  }
  JobText job("schedule { warm_up { steps: 7 } one_cycle { cycle_momentum: true } }");
  RateSchedule schedule(job.root().child("schedule"), optimizerRate, {50, 1});
  EXPECT_EQ(schedule.momentum(3, 0), 0.95);
  EXPECT_LT(schedule.momentum(8, 0), 0.95);
  JobText rate("schedule { one_cycle { } }");
  EXPECT_EQ(RateSchedule(rate.root().child("schedule"), 1, {50, 1}).momentum(3, 0), std::nullopt);
}

TEST(RateScheduleTest, StaysWhereItEnds) {
  auto behind = [](const char *text) {
    JobText job("schedule { " + std::string(text) + " }");
    return RateSchedule(job.root().child("schedule"), 1, {100, 10}).rate(1000, 100);
  };
  EXPECT_EQ(behind("cosine { length: 50 end: 0.25 }"), 0.25);
  EXPECT_EQ(behind("polynomial { length: 50 end: 0.5 }"), 0.5);
  EXPECT_DOUBLE_EQ(behind("one_cycle { length: 50 initial_divisor: 2 final_divisor: 4 }"), 0.125);
}

TEST(RateScheduleTest, ReducesOnPlateausAsPyTorch) {
  for (const ScheduleCase &one : plateauCases) {
    JobText job("schedule { reduce_on_plateau { " + one.text + " } }");
    RateSchedule schedule(job.root().child("schedule"), optimizerRate, {100, 10});
    ASSERT_TRUE(schedule.plateau());
    for (size_t i = 0; i < plateauMetrics.size(); ++i) {
      // Only its state determines the next evaluation.
      RateSchedule resumed(job.root().child("schedule"), optimizerRate, {100, 10});
      resumed.plateau()->restore(schedule.plateau()->state());
      Metric evaluation[] = {{"accuracy", 7}, {"loss", plateauMetrics[i]}};
      bool reduced = schedule.plateau()->observe(evaluation);
      EXPECT_EQ(resumed.plateau()->observe(evaluation), reduced);
      expectRate(schedule.rate(3, 1), one.rates[i], one.text + " at " + std::to_string(i));
      EXPECT_EQ(resumed.rate(3, 1), schedule.rate(3, 1));
      EXPECT_EQ(reduced, one.rates[i] != (i ? one.rates[i - 1] : optimizerRate));
    }
  }
}

TEST(RateScheduleTest, DescribesItselfInALine) {
  auto describe = [](const char *text) {
    JobText job("schedule { " + std::string(text) + " }");
    return RateSchedule::describe(job.root().child("schedule"), 0.001);
  };
  EXPECT_EQ(RateSchedule::describe({}, 0.5), "0.5, constant");
  EXPECT_EQ(describe("warm_up { steps: 100 }"), "0.001, warm_up (steps 100), then constant");
  EXPECT_EQ(describe("unit: EPOCHS cosine { length: 5 restarts: true }"),
            "0.001, cosine (length 5, restarts) by epochs");
  EXPECT_EQ(
      describe("unit: EPOCHS sequence { part { until: 5 linear { start: 0.01 } } part { until: 90 "
               "cosine { } } part { constant { factor: 0.1 } } }"),
      "0.001, linear (start 0.01) until 5, then cosine until 90, then constant (factor 0.1) "
      "by epochs");
  EXPECT_EQ(describe("reduce_on_plateau { metric: \"accuracy\" direction: MAX }"),
            "0.001, reduce_on_plateau (metric accuracy, direction MAX)");
}

class ScheduledTest : public TrainTest {
protected:
  void makeWith(const std::string &more) { make({.job = digitsJob + std::string(more)}); }
  std::vector<float> rates(TrainOptions options = {}) {
    std::vector<float> found;
    options.onStep = [&](const StepReport &report) {
      found.push_back(report.learningRate);
      return true;
    };
    auto trained = train(options);
    EXPECT_TRUE(trained.ok()) << trained.status().message();
    return found;
  }
};

TEST_F(ScheduledTest, StepsTakeTheirRate) {
  makeWith(" schedule { warm_up { steps: 2 factor: 0.5 } polynomial { } }");
  std::vector<float> found = rates();
  ASSERT_EQ(found.size(), 24u); // 22 behind the warm-up
  EXPECT_EQ(found[0], 0.01f);
  EXPECT_EQ(found[1], 0.015f);
  EXPECT_EQ(found[2], 0.02f);
  EXPECT_FLOAT_EQ(found[23], 0.02f / 22);
  TrainOptions options;
  options.learningRate = 0.004;
  EXPECT_EQ(rates(options)[0], 0.002f);
  // Six steps an epoch.
  makeWith(" schedule { unit: EPOCHS step { size: 2 factor: 0.5 } }");
  found = rates();
  EXPECT_EQ(found[11], 0.02f);
  EXPECT_EQ(found[12], 0.01f);
}

/// A part begins at its own step, in whichever run that is.
TEST_F(ScheduledTest, AResumeIsInTheSamePart) {
  makeWith(" schedule { sequence { part { until: 4 linear { start: 0.5 } } part { until: 12 "
           "constant { } } part { linear { start: 1 end: 0 } } } }");
  std::vector<float> whole = rates();
  ASSERT_EQ(whole.size(), 24u);
  EXPECT_EQ(whole[0], 0.01f);
  EXPECT_EQ(whole[2], 0.015f);
  EXPECT_EQ(whole[4], 0.02f);
  EXPECT_EQ(whole[12], 0.02f);
  EXPECT_EQ(whole[18], 0.01f);
  for (int64_t stop : {3, 4, 13}) {
    TrainOptions options;
    options.checkpoint = folder / ("run" + std::to_string(stop));
    options.steps = stop;
    ASSERT_EQ(rates(options).size(), size_t(stop));
    options.steps.reset();
    options.resume = "latest";
    EXPECT_EQ(rates(options), std::vector<float>(whole.begin() + stop, whole.end())) << stop;
  }
}

/// A rate that was reduced because of evaluations before the checkpoint.
TEST_F(ScheduledTest, AResumeKeepsThePlateau) {
  makeWith(" schedule { reduce_on_plateau { metric: \"accuracy\" direction: MAX patience: 0 "
           "factor: 0.5 } } export { best: false }");
  TrainOptions options;
  options.exportPath = folder / "whole.onnx";
  options.log = folder / "log.jsonl";
  std::vector<float> whole = rates(options);
  Bytes expected = readFile(options.exportPath);
  ASSERT_EQ(whole.size(), 24u);
  EXPECT_LT(whole.back(), whole.front());
  bool isLogged = false;
  for (const std::string &line : linesOf(options.log))
    isLogged |= line.find("{\"event\":\"plateau\",") == 0;
  EXPECT_TRUE(isLogged);
  for (int64_t stop = 1; stop < 24; ++stop) {
    TrainOptions first;
    first.checkpoint = folder / ("run" + std::to_string(stop));
    first.steps = stop;
    ASSERT_EQ(rates(first).size(), size_t(stop));
    first.steps.reset();
    first.resume = "latest";
    first.exportPath = folder / "resumed.onnx";
    EXPECT_EQ(rates(first), std::vector<float>(whole.begin() + stop, whole.end())) << stop;
    EXPECT_EQ(readFile(first.exportPath), expected) << stop;
  }
}

} // namespace
