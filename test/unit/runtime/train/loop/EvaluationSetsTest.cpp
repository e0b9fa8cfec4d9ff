// Evaluations of several data sets, by their names.
#include "runtime/train/checkpoint/Checkpoint.h"
#include "test/unit/runtime/train/loop/EvaluationTesting.h"

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class EvaluationSetsTest : public EvaluationTesting {
protected:
  /// A set of other rows than those of digitsJob's evaluation, and as many.
  static std::string far(const std::string &batch = "size: 8",
                         const std::string &file = "digits.npz") {
    return "set { name: \"far\" data { source { npz { path: \"" + file +
           "\" rows { begin: 3 end: 20 } } } map { field: \"images\" cast: F32 scale: 0.01 } batch "
           "{ " +
           batch + " } } }";
  }
  static std::string jobWith(const std::string &set) {
    std::string job = digitsJob;
    return job.replace(job.find("evaluation { "), 13, "evaluation { " + set + " ");
  }
  std::string outputOf(std::vector<std::string> arguments) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(main(std::move(arguments)), 0);
    return testing::internal::GetCapturedStdout();
  }
};

TEST_F(EvaluationSetsTest, HaveTheMetricsOfEvaluationsOfTheirOwn) {
  auto trainedInto = [&](const std::string &log, const std::string &job) {
    make({.job = job});
    TrainOptions options;
    options.log = folder / log;
    auto trained = train(options);
    EXPECT_TRUE(trained.ok()) << trained.status().message();
    return std::move(*trained);
  };
  Trained both = trainedInto("both.jsonl", jobWith(far()));
  Trained alone = trainedInto("alone.jsonl", digitsJob);
  std::string farOnly = digitsJob;
  farOnly.replace(farOnly.find("rows { begin: 43 }"), 18, "rows { begin: 3 end: 20 }");
  trainedInto("far.jsonl", farOnly);

  EXPECT_EQ(both.losses, alone.losses);
  for (const char *metric : {"loss", "accuracy"}) {
    auto own = logged(folder / "both.jsonl", "eval", metric);
    auto set = logged(folder / "both.jsonl", "eval", std::string("far/") + metric);
    EXPECT_EQ(own.size(), 4u);
    EXPECT_EQ(own, logged(folder / "alone.jsonl", "eval", metric));
    EXPECT_EQ(set, logged(folder / "far.jsonl", "eval", metric));
    EXPECT_EQ(logged(folder / "both.jsonl", "done", std::string("far/") + metric)[0], set.back());
  }
  std::vector<std::string> names;
  for (const Metric &metric : both.evaluation)
    names.push_back(metric.name);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "accuracy", "far/loss", "far/accuracy"}));
  EXPECT_EQ(both.ownMetrics, 2u);
  EXPECT_EQ(alone.ownMetrics, 2u);
}

TEST_F(EvaluationSetsTest, OneOfThemIsWatched) {
  make(
      {.job = jobWith("every_steps: 1 " + far()) +
              " early_stopping { metric: \"far/loss\" direction: MIN patience: 4 min_delta: 1e9 } "
              "checkpoint { directory: \"{}/run\" best { metric: \"far/loss\" direction: MIN } }"});
  TrainOptions options;
  options.log = folder / "log.jsonl";
  auto trained = train(options);
  ASSERT_TRUE(trained.ok()) << trained.status().message();
  EXPECT_EQ(trained->steps, 5); // only the first evaluation is so much better than none
  auto losses = logged(options.log, "eval", "far/loss");
  ASSERT_EQ(losses.size(), 5u);
  EXPECT_EQ(logged(options.log, "done", "best_step")[0],
            logged(options.log, "eval", "step")[lowest(losses)]);
  EXPECT_EQ(logged(options.log, "best", "metric").back(), "\"far/loss\"");
  EXPECT_EQ(logged(options.log, "done", "reason")[0], "\"early_stopping\"");
  auto checkpoint = Checkpoint::open(trained->checkpoint);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_TRUE(checkpoint->position().runState.contains("early_stopping by MIN far/loss"));
}

/// If the entry of the evaluation does not take their batches.
TEST_F(EvaluationSetsTest, MayHaveAnEntryOfTheirOwn) {
  TrainOptions options;
  options.log = folder / "whole.jsonl";
  make({.job = jobWith(far())});
  ASSERT_TRUE(train(options).ok());
  auto expected = logged(options.log, "eval", "far/loss");

  options.log = folder / "single.jsonl";
  make({.job = jobWith(far("size: 1")), .evaluateOne = {"evaluate.far"}});
  auto trained = train(options);
  ASSERT_TRUE(trained.ok()) << trained.status().message();
  auto found = logged(options.log, "eval", "far/loss");
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(std::stod(found[i]) / std::stod(expected[i]), 1, 1e-5);

  make({.job = jobWith(far("size: 1"))});
  EXPECT_EQ(train().status().message(),
            "the artifact was compiled for evaluate batches of 8 rows, but the data gives 1: "
            "compile it again with this data");
}

TEST_F(EvaluationSetsTest, MayHaveALastBatchOfTheirOwn) {
  const std::string
      training = "an epoch of training leaves out 3 of 43 rows, which fill no batch of "
                 "8\n",
      own = "an epoch of evaluation leaves out 1 of 17 rows, which fill no batch of 8\n",
      set = "an epoch of evaluation set 'far' leaves out 1 of 17 rows, which fill no "
            "batch of 8\n";
  make({.job = jobWith(far()), .tails = false});
  EXPECT_EQ(outputOf({"--threads=1"}).find(training + own + set), 0u);
  make({.job = jobWith(far()), .tails = false, .evaluateOne = {"evaluate.far.tail"}});
  std::string said = outputOf({"--threads=1"});
  EXPECT_EQ(said.find(training + own), 0u);
  EXPECT_EQ(said.find("set 'far'"), said.npos);
}

TEST_F(EvaluationSetsTest, AreEvaluatedByTheCommand) {
  make({.job = jobWith(far())});
  std::string said = outputOf({"evaluate"});
  EXPECT_EQ(said.find("evaluation of 17 rows with "), 0u) << said;
  size_t second = said.find("\nevaluation 'far' of 17 rows with ");
  ASSERT_NE(second, said.npos) << said;
  EXPECT_NE(said.find(": far/loss ", second), said.npos) << said;
  EXPECT_NE(said.find(", far/accuracy ", second), said.npos) << said;
  // Another file takes the place of the evaluation's data.
  said = outputOf({"evaluate", "--data", folder / "digits.npz"});
  EXPECT_EQ(said.find("far"), said.npos) << said;
}

TEST_F(EvaluationSetsTest, NoOutputReplacesTheirFiles) {
  writeFile(folder / "far.npz", zip(digits(60)));
  make({.job = jobWith(far("size: 8", "far.npz"))});
  TrainOptions options;
  options.log = folder / "far.npz";
  EXPECT_EQ(train(options).status().message(),
            "cannot write '" + options.log + "': the run reads it; name another file");
}

} // namespace
