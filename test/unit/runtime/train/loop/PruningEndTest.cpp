// Evaluations count once masks of pruned parameters are final.
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "test/unit/runtime/train/loop/EvaluationTesting.h"

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class PruningEndTest : public EvaluationTesting {
protected:
  /// Changes the newest checkpoint of a run.
  void change(const std::string &run,
              const std::function<void(Session &session, TrainPosition &position)> &edit) {
    auto file = CheckpointFolder(run).latest();
    ASSERT_TRUE(file.ok()) << file.status().message();
    auto checkpoint = Checkpoint::open(*file);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    auto session = Session::create(artifact, {1, ""});
    ASSERT_TRUE(session.ok()) << session.status().message();
    ASSERT_TRUE(checkpoint->restore(**session).ok());
    TrainPosition position = checkpoint->position();
    edit(**session, position);
    ASSERT_TRUE(writeCheckpoint(*file, **session, position).ok());
  }
  /// What a run prints to the standard output.
  std::string printed(const std::vector<std::string> &arguments) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(main(arguments), 0);
    return testing::internal::GetCapturedStdout();
  }
};

/// Until the masks are final, evaluations are of models with more weights.
TEST_F(PruningEndTest, NoneIsTheBestWhileParametersArePruned) {
  makeWith("every_steps: 2",
           "pruning { end_step: 13 } checkpoint { directory: \"{}/run\" best { metric: "
           "\"loss\" direction: MIN } }");
  TrainOptions options;
  options.log = folder / "log.jsonl";
  auto trained = train(options);
  ASSERT_TRUE(trained.ok()) << trained.status().message();
  auto steps = logged(options.log, "eval", "step"), losses = logged(options.log, "eval", "loss");
  size_t best = lowest(losses, 6); // evaluation 6 is after step 14
  ASSERT_LT(lowest(losses), 6u) << "the best is behind the pruning anyway: the test shows nothing";
  EXPECT_EQ(logged(options.log, "best", "step")[0], "14");
  EXPECT_EQ(logged(options.log, "done", "best_step")[0], steps[best]);

  // A run that ends before has no best states, exports the last ones, and says so.
  std::string said = printed({"--threads=1", "--steps=12", "--checkpoint", folder / "short",
                              "--export", folder / "short.onnx"});
  EXPECT_NE(said.find("exported the last states (pruning lasts 1 more step, and evaluations before "
                      "its end are never the best) as '"),
            said.npos)
      << said;
  EXPECT_NE(said.find("; pruning lasts 1 more step\n"), said.npos) << said;
  EXPECT_TRUE(exists(folder / "short.onnx"));
  EXPECT_FALSE(exists(folder / "short/best.ckpt"));
  // A run that goes on from there has the same best states as one without a break.
  options.checkpoint = folder / "short";
  options.resume = "latest";
  options.log = folder / "resumed.jsonl";
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(logged(options.log, "done", "best_step")[0], steps[best]);
}

/// Until the masks are final, evaluations become worse because parameters have more zeros.
TEST_F(PruningEndTest, PatienceBeginsWithTheLastPruning) {
  // No loss is better than the one after step 14.
  makeWith("every_steps: 2",
           "pruning { end_step: 13 } early_stopping { patience: 1 min_delta: 1000 }");
  auto ended = train();
  ASSERT_TRUE(ended.ok()) << ended.status().message();
  EXPECT_EQ(ended->steps, 16);

  const std::string schedule = " schedule { reduce_on_plateau { metric: \"loss\" direction: MIN "
                               "patience: 0 factor: 0.5 threshold: 1000 absolute: true } }";
  makeWith("every_steps: 2", "pruning { end_step: 13 }" + schedule);
  TrainOptions options;
  options.log = folder / "log.jsonl";
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(logged(options.log, "plateau", "step")[0], "16");

  // What a run without pruning has waited for does not count; its rate stays reduced.
  makeWith("every_steps: 2", schedule + " early_stopping { patience: 3 min_delta: 1000 }");
  options.checkpoint = folder / "run";
  options.steps = 6;
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(logged(options.log, "plateau", "step"), (std::vector<std::string>{"4", "6"}));
  makeWith("every_steps: 2", "pruning { end_step: 13 }" + schedule +
                                 " early_stopping { patience: 3 min_delta: 1000 }");
  options.resume = "latest";
  options.steps.reset();
  options.log = folder / "resumed.jsonl";
  auto resumed = train(options);
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_EQ(resumed->steps, 20); // better at 14, not at 16, 18 and 20
  EXPECT_EQ(logged(options.log, "plateau", "step"), (std::vector<std::string>{"16", "18", "20"}));
  EXPECT_EQ(logged(options.log, "plateau", "factor")[0], "0.125");
}

/// A step that FP16 skips renews no mask.
TEST_F(PruningEndTest, SkippedStepsDelayTheEndOfPruning) {
  makeWith("every_steps: 2", "precision: FP16 pruning { end_step: 13 } checkpoint { best { metric: "
                             "\"loss\" direction: MIN } }");
  TrainOptions options;
  options.checkpoint = folder / "run";
  options.steps = 10;
  ASSERT_TRUE(train(options).ok());
  change(options.checkpoint, [](Session &, TrainPosition &position) {
    ASSERT_EQ(position.runState["loss scale"][2], 0);
    position.runState["loss scale"][2] = 2;
  });
  std::string said =
      printed({"--threads=1", "--steps=13", "--checkpoint", options.checkpoint, "--resume"});
  EXPECT_NE(said.find("; pruning lasts 2 more steps\n"), said.npos) << said;
  EXPECT_FALSE(exists(folder / "run/best.ckpt"));
  options.resume = "latest";
  options.steps.reset();
  options.log = folder / "log.jsonl";
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(logged(options.log, "eval", "step")[0], "14");
  EXPECT_EQ(logged(options.log, "best", "step")[0], "16");
}

/// Where `train` blocks take turns, a state counts the steps that train a parameter; those of the
/// run do not matter.
TEST_F(PruningEndTest, PruningEndsWithTheStepsOfItsCounter) {
  makeWith("every_steps: 2",
           "precision: FP16 pruning { counter: \"ballast\" end_step: 3 } pruning { end_step: 2 } "
           "checkpoint { best { metric: \"loss\" direction: MIN } }",
           "0.02", /*ballast=*/1);
  const std::string run = folder / "run";
  // No step of this model writes the state.
  auto count = [&](float steps) {
    change(run, [&](Session &session, TrainPosition &) {
      ASSERT_TRUE(session.writeState(1, &steps).ok());
    });
  };
  std::string said =
      printed({"--threads=1", "--steps=10", "--checkpoint", run, "--export", folder / "last.onnx"});
  EXPECT_NE(said.find("; pruning lasts 3 more steps of those that train its parameters\n"),
            said.npos)
      << said;
  EXPECT_NE(said.find("exported the last states (pruning lasts 3 more steps of those that train "
                      "its parameters, and evaluations before its end are never the best) as '"),
            said.npos)
      << said;
  count(2);
  said = printed({"--threads=1", "--steps=12", "--checkpoint", run, "--resume"});
  EXPECT_NE(said.find("; pruning lasts 1 more step of those that train its parameters\n"),
            said.npos)
      << said;
  EXPECT_FALSE(exists(run + "/best.ckpt"));
  count(3);
  TrainOptions options;
  options.checkpoint = run;
  options.resume = "latest";
  options.steps = 14;
  options.log = folder / "log.jsonl";
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(logged(options.log, "best", "step"), std::vector<std::string>{"14"});
  // However many steps are skipped: what counts is how often the parameter was trained.
  change(run, [](Session &, TrainPosition &position) {
    position.runState["loss scale"] = {1024, 0, 12};
  });
  options.log = folder / "again.jsonl";
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(logged(options.log, "done", "best_step"), std::vector<std::string>{"14"});
}

} // namespace
