// The run's settings in a training spec: the schedule of the learning rate, and the number of
// steps.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/TrainingTesting.h"

#include "compiler/import/spec/RunLength.h"
#include <google/protobuf/text_format.h>

using namespace mlir;
using namespace gradc;

namespace {

class RunSpecTest : public TrainingTesting {
protected:
  FailureOr<Imported> trainingWith(const std::string &rest) {
    said.clear();
    Parts parts;
    parts.metric = "metric { name: \"hits\" accuracy { logits: \"logits\" labels: \"labels\" } }";
    parts.rest = rest;
    return training(parts);
  }
  void expectRefused(const std::string &rest, ArrayRef<StringRef> parts) {
    EXPECT_TRUE(failed(trainingWith(rest))) << rest;
    expectSaid(parts);
  }
};

TEST_F(RunSpecTest, TakesEverySchedule) {
  for (const char *schedule :
       {"warm_up { steps: 5 }", "constant {}", "warm_up { steps: 5 factor: 0 } step { size: 3 }",
        "piecewise { milestone: [3, 5] factor: [0.1, 0.5] } unit: EPOCHS",
        "exponential { factor: 0.9 }", "polynomial { end: 0 power: 2 }",
        "cosine { length: 4 restarts: true growth: 2 }", "one_cycle { rise: 0.2 }",
        "one_cycle { cycle_momentum: true base_momentum: 0.7 max_momentum: 0.9 }", "cyclic {}",
        "cyclic { base: 0.1 up: 5 down: 7 mode: EXP_RANGE factor: 0.99 }",
        "constant { factor: 0.5 }", "linear { length: 5 start: 0.1 end: 0 }",
        "sequence { part { until: 5 linear {} } part { until: 9 constant {} } part { cosine {} } }",
        "warm_up { steps: 5 } unit: EPOCHS sequence { part { one_cycle { rise: 0.2 } } }"})
    EXPECT_TRUE(succeeded(trainingWith(std::string("schedule { ") + schedule + " }")))
        << schedule << everything();
}

TEST_F(RunSpecTest, GivesPlateausTheirMetricsDirection) {
  auto direction = [&](const std::string &block) {
    auto imported = trainingWith("schedule { reduce_on_plateau { " + block + " } }" + evaluation);
    EXPECT_TRUE(succeeded(imported)) << everything();
    return imported->spec->schedule().reduce_on_plateau().direction();
  };
  EXPECT_EQ(direction(""), spec::MIN);
  EXPECT_EQ(direction("metric: \"hits\""), spec::MAX);
  EXPECT_EQ(direction("metric: \"hits\" direction: MIN"), spec::MIN);
}

/// --checkpoint or --export names the file.
TEST_F(RunSpecTest, AnExportNeedsAPlaceUnlessItSaysMore) {
  for (const char *block : {"preprocessing: true", "external_data: true"})
    EXPECT_TRUE(succeeded(trainingWith(std::string("export { ") + block + " }"))) << everything();
  expectRefused("export {}", {"missing onnx: add onnx: \"trained.onnx\""});
  expectRefused("export { onnx: \"\" preprocessing: true }",
                {"missing onnx: add onnx: \"trained.onnx\""});
}

TEST_F(RunSpecTest, RefusesSchedulesThatSayTooLittle) {
  expectRefused("schedule {}", {":7:1): missing the schedule's kind: add cosine {}"});
  expectRefused("schedule { warm_up {} step {} }",
                {":7:12): missing steps: add steps: 500", ":7:23): missing size: add size: 1000"});
  expectRefused("schedule { exponential {} }", {"missing factor: add factor: 0.999"});
  expectRefused("schedule { piecewise {} }", {"missing milestones: add milestone: [30, 60, 80]"});
  expectRefused("schedule { cosine { restarts: true } }",
                {"missing the length of the first of several cycles: add length: 1000"});
  expectRefused("schedule { cyclic { mode: EXP_RANGE } }", {"missing factor: add factor: 0.9999"});
  expectRefused("schedule { cyclic { mode: TRIANGULAR2 factor: 0.9 } }",
                {"factor is that of EXP_RANGE: add mode: EXP_RANGE, or leave it out"});
  expectRefused("schedule { cosine { growth: 2 } }",
                {"growth is that of cycles: add restarts: true, or leave it out"});
  expectRefused("schedule { step { size: 1 } cosine {} }", {"a block like this holds one of them"});
}

TEST_F(RunSpecTest, RefusesSequencesThatHaveNoOrder) {
  expectRefused("schedule { sequence {} }",
                {":7:12): missing parts: add part { until: 500 linear {} } part { cosine {} }"});
  expectRefused("schedule { sequence { part { until: 5 linear { start: -1 } } part { constant { "
                "factor: 0 } } part { until: 4 } } }",
                {"expected start from 0 to 1, a share of learning_rate, found -1",
                 ":7:62): missing until: add until: 500",
                 "expected factor above 0 and finite, found 0",
                 "the last part lasts to the end of the run: leave until out, or add a part behind "
                 "it, such as part { constant {} }",
                 "expected until above that of the part before, 5, found 4",
                 "missing the part's kind: add cosine {} or step { size: 1000 }"});
  expectRefused("schedule { sequence { part { until: 0 step {} } part { cosine { growth: 2 } } } }",
                {"expected until above 0, found 0", ":7:39): missing size: add size: 1000",
                 "growth is that of cycles: add restarts: true, or leave it out"});
  expectRefused("schedule { sequence { part { one_cycle { cycle_momentum: true } } } }",
                {"a sequence does not change the momentum: leave cycle_momentum out, or use "
                 "one_cycle alone"});
  expectRefused("schedule { sequence { part { reduce_on_plateau {} } } }",
                {"unknown field \"reduce_on_plateau\" in SequencePart"});
}

TEST_F(RunSpecTest, RefusesNumbersOutOfRange) {
  expectRefused("schedule { warm_up { steps: 0 factor: -1 } step { size: -2 factor: 0 } }",
                {"expected steps above 0, found 0",
                 "expected factor from 0 to 1, a share of learning_rate, found -1",
                 "expected size above 0, found -2", "expected factor above 0 and finite, found 0"});
  expectRefused("schedule { piecewise { milestone: [5, 5] factor: [1, 1, 1] } }",
                {"expected milestone above the one before, 5, found 5",
                 "expected factors to be one, or one for each of 2 milestones, found 3"});
  expectRefused("schedule { one_cycle { rise: 1.5 initial_divisor: 0 length: 0 } }",
                {"expected length above 0, found 0", "expected rise from 0 to 1, found 1.5",
                 "expected initial_divisor of 1 or more and finite, found 0"});
  expectRefused("schedule { cyclic { base: -1 up: 0 down: -2 } }",
                {"expected base from 0 to below 1, a share of learning_rate, found -1",
                 "expected up above 0, found 0", "expected down above 0, found -2"});
  expectRefused("schedule { polynomial { power: nan end: -0.5 } }",
                {"expected power above 0 and finite, found nan",
                 "expected end from 0 to 1, a share of learning_rate, found -0.5"});
}

/// torch.optim.lr_scheduler takes most of these, and trains with rates above the highest one.
TEST_F(RunSpecTest, RefusesRatesAboveTheHighestOne) {
  for (const char *schedule : {"cyclic { base: 2 }", "cyclic { base: 1 }"})
    expectRefused(std::string("schedule { ") + schedule + " }",
                  {"expected base from 0 to below 1, a share of learning_rate, found "});
  expectRefused("schedule { cyclic { mode: EXP_RANGE factor: 1.01 } }",
                {"expected factor of at most 1, as cycles would rise above learning_rate, found "
                 "1.01"});
  expectRefused("schedule { cosine { end: 2 } }",
                {"expected end from 0 to 1, a share of learning_rate, found 2"});
  expectRefused("schedule { polynomial { end: 1.5 } }",
                {"expected end from 0 to 1, a share of learning_rate, found 1.5"});
  expectRefused("schedule { warm_up { steps: 5 factor: 1.5 } }",
                {"expected factor from 0 to 1, a share of learning_rate, found 1.5"});
  expectRefused("schedule { one_cycle { initial_divisor: 0.5 } }",
                {"expected initial_divisor of 1 or more and finite, found 0.5"});
  expectRefused("schedule { one_cycle { final_divisor: 0.03 } }",
                {"expected final_divisor of 1 / initial_divisor or more, as the rate would end "
                 "above learning_rate, found 0.03"});
  expectRefused("schedule { one_cycle { three_phases: true rise: 0.6 } }",
                {"expected rise of at most 0.5, as three_phases rises and falls back over as many "
                 "steps, found 0.6"});
  for (const char *schedule :
       {"cyclic { base: 0.999 mode: EXP_RANGE factor: 1 }", "cosine { end: 1 }",
        "warm_up { steps: 5 factor: 1 }", "one_cycle { final_divisor: 0.04 rise: 0.5 }",
        "exponential { factor: 1.01 }", "step { size: 3 factor: 2 }"})
    EXPECT_TRUE(succeeded(trainingWith(std::string("schedule { ") + schedule + " }")))
        << schedule << everything();
}

TEST_F(RunSpecTest, RefusesAMomentumThatRisesWithTheRate) {
  expectRefused("schedule { one_cycle { cycle_momentum: true base_momentum: 0.97 } }",
                {"expected base_momentum of at most max_momentum, 0.95, found 0.97"});
  expectRefused("schedule { one_cycle { cycle_momentum: true max_momentum: 0.8 } }",
                {"expected base_momentum of at most max_momentum, 0.8, found 0.85"});
}

TEST_F(RunSpecTest, RefusesToCycleAMomentumThatIsNotThere) {
  expectRefused("schedule { one_cycle { base_momentum: 0.8 max_momentum: 1 } }",
                {"expected max_momentum from 0 to below 1, found 1",
                 "base_momentum is that of a momentum that changes: add cycle_momentum: true, or "
                 "leave it out",
                 "max_momentum is that of a momentum that changes: add cycle_momentum: true, or "
                 "leave it out"});
  expectRefused(
      "schedule { one_cycle { cycle_momentum: true } } group { pattern: \"w\" optimizer "
      "{ lion {} } }",
      {"schedule { one_cycle { cycle_momentum } } takes momentum, adam or adamw, found lion"});
}

TEST_F(RunSpecTest, WatchesEvaluations) {
  auto imported =
      trainingWith(std::string("early_stopping { patience: 3 min_delta: 0 } checkpoint "
                               "{ directory: \"run\" best { metric: \"hits\" } } export "
                               "{ onnx: \"m.onnx\" best: true }") +
                   evaluation);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(imported->spec->early_stopping().direction(), spec::MIN);
  EXPECT_EQ(imported->spec->checkpoint().best().direction(), spec::MAX);
}

TEST_F(RunSpecTest, RefusesToWatchWhatIsNotThere) {
  expectRefused("early_stopping { metric: \"loss\" } checkpoint { directory: \"run\" best {} }",
                {"missing patience: add patience: 5",
                 "missing evaluation, which early_stopping looks at",
                 "missing evaluation, which best looks at"});
  expectRefused(std::string("early_stopping { metric: \"recall\" patience: 0 min_delta: -1 } "
                            "checkpoint { directory: \"run\" best { metric: \"x\" } }") +
                    evaluation,
                {"expected patience above 0, found 0",
                 "expected min_delta of 0 or more and finite, found -1",
                 "expected a metric of the spec or the loss (loss, hits), found \"recall\"",
                 "expected a metric of the spec or the loss (loss, hits), found \"x\""});
  expectRefused("export { onnx: \"m.onnx\" best: true }",
                {"export { best } needs the checkpoint that it exports: add checkpoint { "
                 "directory: \"run\" best {} }"});
  expectRefused("evaluation { every_steps: 0 data { source { npz { path: \"data.npz\" } } stage { "
                "batch { size: 5 } } } }",
                {"expected every_steps above 0, found 0"});
}

/// An evaluation with sets, given as their fields besides `data`.
std::string evaluationWith(std::initializer_list<std::string> sets) {
  std::string data = "data { source { npz { path: \"data.npz\" } } stage { batch { size: 5 } } }";
  std::string text = " evaluation { " + data;
  for (const std::string &fields : sets)
    text += " set { " + fields + " " + data + " }";
  return text + " }";
}

TEST_F(RunSpecTest, WatchesSetsOfEvaluations) {
  auto imported = trainingWith(
      "early_stopping { metric: \"far/hits\" patience: 3 } checkpoint { directory: \"run\" best { "
      "metric: \"near-by/loss\" } } schedule { reduce_on_plateau { metric: \"hits\" } }" +
      evaluationWith({"name: \"far\"", "name: \"near-by\""}));
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(imported->spec->early_stopping().direction(), spec::MAX);
  EXPECT_EQ(imported->spec->checkpoint().best().direction(), spec::MIN);
  EXPECT_EQ(imported->spec->schedule().reduce_on_plateau().direction(), spec::MAX);
}

TEST_F(RunSpecTest, RefusesSetsThatLogsCouldNotTellApart) {
  expectRefused(
      evaluationWith({"", "name: \"far\"", "name: \"far\"", "name: \"tail\"", "name: \"a/b\""}),
      {"missing the block's name: add name: \"elsewhere\"",
       "two sets of the evaluation are called \"far\"", "watch, found \"tail\"",
       "watch, found \"a/b\""});
  expectRefused("metric { name: \"far/loss\" accuracy { logits: \"logits\" labels: \"labels\" } }" +
                    evaluationWith({"name: \"far\""}),
                {"metric \"far/loss\" is called like one of the set \"far\": rename one of them"});
}

TEST_F(RunSpecTest, RefusesToWatchWhatNoSetHas) {
  expectRefused(
      "early_stopping { metric: \"near/loss\" patience: 1 } checkpoint { directory: "
      "\"run\" best { metric: \"far/accuracy\" } }" +
          evaluationWith({"name: \"far\""}),
      {"expected a metric of the spec or the loss (loss, hits, far/loss, far/hits), found "
       "\"near/loss\"",
       "found \"far/accuracy\""});
}

TEST_F(RunSpecTest, RefusesPlateausThatNobodyMeasures) {
  expectRefused("schedule { reduce_on_plateau {} }",
                {"missing evaluation, which reduce_on_plateau looks at: add evaluation {"});
  expectRefused(
      std::string(
          "schedule { reduce_on_plateau { metric: \"accuracy\" factor: 1 patience: -1 } }") +
          evaluation,
      {"expected a metric of the spec or the loss (loss, hits), found \"accuracy\"",
       "expected factor below 1, found 1", "expected patience of 0 or more, found -1"});
}

/// The steps of a run over 23 rows in batches of 5, or over another number of rows.
std::optional<int64_t> stepsOf(const std::string &rest, int64_t rows = 23,
                               const std::string &batch = "size: 5") {
  spec::Training training;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "data { stage { batch { " + batch + " } } } " + rest, &training));
  return RunLength(training, rows).steps;
}

TEST(RunLength, EndsWithItsEpochsOrItsSteps) {
  EXPECT_EQ(stepsOf(""), 5);
  EXPECT_EQ(stepsOf("epochs: 3"), 15);
  EXPECT_EQ(stepsOf("epochs: 3", 25), 15);
  EXPECT_EQ(stepsOf("epochs: 3", 23, "size: 5 drop_remainder: true"), 12);
  EXPECT_EQ(stepsOf("steps: 40"), 40);
  EXPECT_EQ(stepsOf("epochs: 3 steps: 14"), 14);
  EXPECT_EQ(stepsOf("epochs: 3 steps: 16"), 15);
  // Where the steps of an epoch are unknown, only a run without epochs is known.
  for (auto [rows, batch] : {std::pair(-1, "size: 5"), std::pair(23, "size: 5 bucket {}")}) {
    EXPECT_EQ(stepsOf("epochs: 3", rows, batch), std::nullopt);
    EXPECT_EQ(stepsOf("epochs: 3 steps: 14", rows, batch), std::nullopt);
    EXPECT_EQ(stepsOf("steps: 14", rows, batch), 14);
  }
}

} // namespace
