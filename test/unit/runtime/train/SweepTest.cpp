// Several runs of one artifact, and the search for a learning rate.
#include "runtime/train/Sweep.h"
#include "runtime/train/RateFinder.h"
#include "runtime/train/spec/JobFiles.h"
#include "test/unit/runtime/train/TrainModel.h"

#include <algorithm>
#include <cmath>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

using SweepTest = TrainTest;

TEST_F(SweepTest, EachValueTrainsFromTheStart) {
  TrainOptions options;
  options.steps = 9;
  options.learningRate = 0.01;
  options.exportPath = folder / "alone.onnx";
  options.checkpoint = folder / "alone";
  ASSERT_TRUE(train(options).ok());

  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"--steps=9", "--sweep", "learning_rate=0.02,0.01", "--log", folder / "log.jsonl",
                  "--export", folder / "model.onnx", "--checkpoint", folder / "run"}),
            0);
  std::string said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(readFile(folder / "model-learning_rate=0.01.onnx"), readFile(options.exportPath));
  EXPECT_NE(readFile(folder / "model-learning_rate=0.02.onnx"), readFile(options.exportPath));
  EXPECT_EQ(readFile(folder / "run/learning_rate=0.01/step-9.ckpt"),
            readFile(folder / "alone/step-9.ckpt"));
  EXPECT_EQ(linesOf(folder / "log-learning_rate=0.02.jsonl").back().find("{\"event\":\"done\""),
            0u);
  EXPECT_FALSE(exists(folder / "log.jsonl"));
  size_t table = said.find("learning_rate  steps  last loss  evaluation loss  accuracy\n0.02 ");
  ASSERT_NE(table, said.npos) << said;
  EXPECT_NE(said.find("\n0.01           9      ", table), said.npos) << said;
}

TEST_F(SweepTest, ARunThatFailsIsARow) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"--steps=9", "--sweep", "learning_rate=1e30,0.01"}), 0);
  std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("\n1e30                  failed: the loss is "), said.npos) << said;
  EXPECT_NE(said.find("\n0.01           9      "), said.npos) << said;

  testing::internal::CaptureStderr();
  EXPECT_EQ(main({"--quiet", "--steps=9", "--sweep", "learning_rate=1e30"}), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("error: the loss is "), 0u);
}

TEST_F(SweepTest, VariantsOfPaths) {
  EXPECT_EQ(pathOfVariant("a/b.c/run.jsonl", "x=1"), "a/b.c/run-x=1.jsonl");
  EXPECT_EQ(pathOfVariant("a.b/run", "x=1"), "a.b/run-x=1");
  EXPECT_EQ(pathOfVariant("", "x=1"), "");
  EXPECT_EQ(pathOfVariant("run", ""), "run");
}

TEST_F(SweepTest, FindsALearningRate) {
  make({.job = std::string(digitsJob) + " checkpoint { directory: \"run\" } export { onnx: "
                                        "\"trained.onnx\" } schedule { warm_up { steps: 50 } "
                                        "one_cycle { cycle_momentum: true } }"});
  for (std::string name : {"curve.csv", "curve.jsonl"}) {
    TrainOptions options;
    options.findRate = folder / name;
    options.rateRange = {1e-5, 1e3};
    options.steps = 60;
    options.log = folder / "log.jsonl";
    options.threads = 1;
    options.quiet = true;
    auto summary = findLearningRate(artifact, options);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_TRUE(summary->evaluation.empty());
    // The search ends when the loss explodes: gradient descent is only stable up to some rate.
    EXPECT_LT(summary->steps, 60);
    EXPECT_GT(summary->steps, 10);
  }
  // The steps have the momentum of the optimizer, not of the schedule.
  for (const std::string &line : linesOf(folder / "log.jsonl"))
    EXPECT_EQ(line.find("\"momentum\""), line.npos) << line;
  EXPECT_FALSE(exists(folder / "run"));
  EXPECT_FALSE(exists(folder / "trained.onnx"));
  auto lines = linesOf(folder / "curve.csv");
  EXPECT_EQ(lines[0], "step,learning_rate,loss,smoothed");
  EXPECT_EQ(lines[1].find("1,1e-05,"), 0u) << lines[1];
  EXPECT_EQ(lines.size(), linesOf(folder / "curve.jsonl").size() + 1);
  EXPECT_EQ(linesOf(folder / "curve.jsonl")[0].find("{\"event\":\"rate\",\"step\":1,\"lr\":1e-05,"),
            0u);
}

/// The number of these losses, each the best one until the last one, before the search ends.
size_t lengthOfSearch(const std::vector<double> &losses) {
  double best = INFINITY;
  for (size_t i = 0; i < losses.size(); ++i) {
    best = std::min(best, losses[i]);
    if (hasExploded(losses[i], best, losses[0]))
      return i;
  }
  return losses.size();
}

TEST_F(SweepTest, EndsWhenTheLossExplodesWhateverItsSign) {
  EXPECT_EQ(lengthOfSearch({2, 1, 0.5, 1.9, 2.1, 1}), 4u);
  EXPECT_EQ(lengthOfSearch({-2, -3, -5, -4, -1, 9.9, 10.1}), 6u);
  EXPECT_EQ(lengthOfSearch({-2, -1, 3.9, 4.1}), 3u);
  // Near 0, small changes are no explosion.
  EXPECT_EQ(lengthOfSearch({1, 0.5, 0.01, 0.2, 0, 0.2, -0.01, 0.2, -1, 1.9, 2.1}), 10u);
  EXPECT_EQ(lengthOfSearch({-1, 0, NAN}), 2u);
  EXPECT_EQ(lengthOfSearch({-1, INFINITY}), 1u);
  EXPECT_EQ(lengthOfSearch({INFINITY, 1}), 0u);
  EXPECT_EQ(lengthOfSearch({-1, -INFINITY}), 1u);
}

TEST_F(SweepTest, ACurveThatCannotBeWrittenIsSaidBeforeTheFirstStep) {
  TrainOptions options;
  options.findRate = folder / "absent/curve.csv";
  auto summary = findLearningRate(artifact, options);
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.status().message().find("absent/curve.csv"), std::string::npos);
}

TEST_F(SweepTest, SuggestsTheSteepestDescent) {
  std::vector<RatePoint> curve;
  for (int i = 0; i < 30; ++i) {
    double rate = std::pow(10, -3 + 0.1 * i);
    curve.push_back({rate, 0, 1 / (1 + std::exp(4 * std::log10(rate / 0.1)))});
  }
  ASSERT_TRUE(steepest(curve));
  EXPECT_NEAR(steepest(curve)->rate, 0.1, 1e-6);
  for (RatePoint &point : curve)
    point.smoothed = 1 - point.smoothed;
  EXPECT_EQ(steepest(curve), nullptr);
}

} // namespace
