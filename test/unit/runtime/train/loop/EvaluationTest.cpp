// Actions after evaluations: the best checkpoint, the end of a run.
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/predict/Predict.h"
#include "test/unit/runtime/train/loop/EvaluationTesting.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

/// The files that were made durable; null: not of interest.
static std::vector<std::string> *synced = nullptr;

/// Takes the place of the C library's.
extern "C" int fsync(int descriptor) {
  if (synced)
    synced->push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor))
                          .filename()
                          .string());
  return int(syscall(SYS_fsync, descriptor));
}

namespace {

class EvaluationTest : public EvaluationTesting {};

TEST_F(EvaluationTest, EverySoManyStepsAndAtTheEnd) {
  makeWith("every_steps: 5", "");
  TrainOptions options;
  options.log = folder / "log.jsonl";
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(logged(options.log, "eval", "step"),
            (std::vector<std::string>{"5", "10", "15", "20", "24"}));
  makeWith("every_steps: 5 every_epochs: 2", "");
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(logged(options.log, "eval", "step"),
            (std::vector<std::string>{"5", "10", "12", "15", "20", "24"}));
  makeWith("every_steps: -1", "");
  EXPECT_EQ(train(options).status().message(),
            "evaluation { every_steps } is -1, expected 1 or more");
}

TEST_F(EvaluationTest, KeepsAndExportsTheBest) {
  // At this rate, the loss goes up and down.
  makeWith("every_steps: 2",
           "checkpoint { directory: \"{}/run\" keep: 1 best { metric: \"loss\" "
           "direction: MIN } } export { onnx: \"{}/best.onnx\" best: true }",
           "0.06");
  TrainOptions options;
  options.log = folder / "log.jsonl";
  auto trained = train(options);
  ASSERT_TRUE(trained.ok()) << trained.status().message();
  auto steps = logged(options.log, "eval", "step"), losses = logged(options.log, "eval", "loss");
  size_t best = lowest(losses);
  ASSERT_LT(best + 1, losses.size()) << "the last evaluation is the best: the test shows nothing";
  EXPECT_EQ(logged(options.log, "done", "best_step")[0], steps[best]);
  EXPECT_EQ(logged(options.log, "best", "step").back(), steps[best]);
  auto checkpoint = Checkpoint::open(folder / "run/best.ckpt");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(std::to_string(checkpoint->position().step), steps[best]);
  EXPECT_EQ(CheckpointFolder(folder / "run").steps(), std::vector<int64_t>{24});
  // A run up to that step exports the same.
  TrainOptions shorter;
  shorter.steps = std::stol(steps[best]);
  shorter.checkpoint = folder / "other";
  shorter.exportPath = folder / "short.onnx";
  ASSERT_TRUE(train(shorter).ok());
  EXPECT_EQ(readFile(folder / "best.onnx"), readFile(shorter.exportPath));
}

/// A crash of the machine leaves the best states to which the last checkpoint refers. An evaluation
/// alone does not wait for the disk.
TEST_F(EvaluationTest, TheBestIsDurableWithTheNextCheckpoint) {
  makeWith("every_steps: 1", "checkpoint { every_steps: 6 }");
  std::vector<std::string> files;
  auto count = [&] { return std::ranges::count(files, "best.ckpt"); };
  TrainOptions options;
  options.checkpoint = folder / "run";
  options.onStep = [&](const StepReport &report) {
    EXPECT_LE(count(), (report.step - 1) / 6) << report.step;
    EXPECT_EQ(count() > 0, report.step > 6) << report.step;
    return true;
  };
  synced = &files;
  auto trained = train(options);
  synced = nullptr;
  ASSERT_TRUE(trained.ok()) << trained.status().message();
  EXPECT_TRUE(std::ranges::find(files, "best.ckpt") < std::ranges::find(files, "step-6.ckpt.tmp"));
}

/// Otherwise a crash would lose the checkpoints with their folder.
TEST_F(EvaluationTest, NewFoldersOfCheckpointsAreDurable) {
  std::vector<std::string> files;
  synced = &files;
  for (int times = 0; times < 2; ++times) // the second time there is nothing to make
    EXPECT_TRUE(CheckpointFolder(folder / "runs/first").create().ok());
  synced = nullptr;
  std::string above = std::filesystem::path(folder.path).filename();
  EXPECT_EQ(files, (std::vector<std::string>{"runs", above, "first", "runs"}));
}

TEST_F(EvaluationTest, AResumeKeepsTheBest) {
  makeWith("every_steps: 2",
           "checkpoint { directory: \"{}/run\" every_steps: 3 best { } } export { "
           "onnx: \"{}/best.onnx\" best: true }",
           "0.06");
  ASSERT_TRUE(train().ok());
  Bytes expected = readFile(folder / "best.onnx"), file = readFile(folder / "run/best.ckpt");
  for (int64_t stop = 1; stop < 24; stop += 2) {
    TrainOptions options;
    options.checkpoint = folder / ("run" + std::to_string(stop));
    options.steps = stop;
    ASSERT_TRUE(train(options).ok());
    options.steps.reset();
    options.resume = "latest";
    options.exportPath = folder / "resumed.onnx";
    auto resumed = train(options);
    ASSERT_TRUE(resumed.ok()) << resumed.status().message();
    EXPECT_EQ(readFile(options.exportPath), expected) << stop;
  }
  // The best states of another run are not exported as this run's.
  TrainOptions options;
  options.resume = folder / "run/step-24.ckpt";
  writeFile(folder / "run/best.ckpt", readFile(folder / "run1/step-24.ckpt"));
  EXPECT_NE(train(options).status().message().find("cannot export the best states, of step "),
            std::string::npos);
  unlink((folder / "run/best.ckpt").c_str());
  EXPECT_NE(train(options).status().message().find("best.ckpt'"), std::string::npos);
}

/// A run that is killed before its first checkpoint leaves its best states.
TEST_F(EvaluationTest, TheBestAloneIsNotReplacedAndARunGoesOnFromIt) {
  makeWith("every_steps: 2", "checkpoint { every_steps: 6 }");
  TrainOptions options;
  options.checkpoint = folder / "whole";
  CheckpointFolder whole(options.checkpoint), killed(folder / "killed");
  options.onStep = [&](const StepReport &report) {
    if (report.step == 5) {
      std::filesystem::create_directory(std::string(folder / "killed"));
      std::filesystem::copy_file(whole.best(), killed.best());
      EXPECT_EQ(whole.steps(), std::vector<int64_t>{});
    }
    return true;
  };
  ASSERT_TRUE(train(options).ok());
  Bytes before = readFile(killed.best());
  auto best = Checkpoint::open(killed.best());
  ASSERT_TRUE(best.ok()) << best.status().message();

  options.checkpoint = folder / "killed";
  options.onStep = nullptr;
  auto refused = train(options);
  EXPECT_EQ(refused.status().message().find("folder '" + options.checkpoint +
                                            "' holds checkpoints of an earlier training, the "
                                            "newest '" +
                                            killed.best() + "', which a new one would replace"),
            0u)
      << refused.status().message();
  EXPECT_EQ(readFile(killed.best()), before);

  options.resume = "latest";
  options.log = folder / "log.jsonl";
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(logged(options.log, "resume", "step"),
            std::vector<std::string>{std::to_string(best->position().step)});
  int64_t last = whole.steps().back();
  EXPECT_EQ(readFile(killed.file(last)), readFile(whole.file(last)));
  EXPECT_EQ(readFile(killed.best()), readFile(whole.best()));
}

/// A run that a signal ends after any step makes the evaluation that is due there when it goes on:
/// rates, best states, and the end are those of a run that was left alone.
TEST_F(EvaluationTest, AResumeMakesTheEvaluationThatASignalPrevented) {
  // No loss is better by so much than the first one.
  makeWith("every_steps: 2",
           "schedule { reduce_on_plateau { patience: 1 factor: 0.5 threshold: 1000 absolute: true "
           "} } early_stopping { patience: 6 min_delta: 1000 } checkpoint { every_steps: 4 best { "
           "} }",
           "0.06");
  TrainOptions options;
  options.checkpoint = folder / "whole";
  options.exportPath = folder / "whole.onnx";
  options.log = folder / "whole.jsonl";
  auto whole = train(options);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  ASSERT_FALSE(logged(options.log, "plateau", "step").empty());
  ASSERT_EQ(logged(options.log, "done", "reason")[0], "\"early_stopping\"");

  for (int64_t stop = 1; stop <= whole->steps; ++stop) {
    std::string name = folder / ("cut" + std::to_string(stop));
    std::atomic<int> interrupt{0};
    TrainOptions cut;
    cut.checkpoint = name;
    cut.log = name + ".jsonl";
    cut.interrupt = &interrupt;
    cut.onStep = [&](const StepReport &report) {
      if (report.step == stop)
        interrupt = SIGTERM;
      return true;
    };
    auto first = train(cut);
    ASSERT_TRUE(first.ok()) << first.status().message();
    EXPECT_EQ(first->signal, SIGTERM);
    EXPECT_EQ(first->steps, stop);
    std::vector<std::string> evaluated = logged(cut.log, "eval", "step");
    EXPECT_EQ(std::ranges::count(evaluated, std::to_string(stop)), 0);

    interrupt = 0;
    cut.resume = "latest";
    cut.exportPath = name + ".onnx";
    auto rest = train(cut);
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    first->losses.insert(first->losses.end(), rest->losses.begin(), rest->losses.end());
    EXPECT_EQ(first->losses, whole->losses) << stop;
    for (const char *key : {"step", "loss"})
      EXPECT_EQ(logged(cut.log, "eval", key), logged(options.log, "eval", key)) << stop;
    EXPECT_EQ(readFile(cut.exportPath), readFile(options.exportPath)) << stop;
    EXPECT_EQ(readFile(name + "/best.ckpt"), readFile(options.checkpoint + "/best.ckpt")) << stop;
    std::string last =
        CheckpointFolder(options.checkpoint).file(whole->steps).substr(options.checkpoint.size());
    EXPECT_EQ(readFile(name + last), readFile(options.checkpoint + last)) << stop;
  }
}

/// The same, wherever in an evaluation the signal comes.
TEST_F(EvaluationTest, ASignalBreaksOffAnEvaluation) {
  writeFile(folder / "many.npz", zip(digits(8001)));
  std::string job = digitsJob;
  size_t rows = job.rfind("digits.npz\" rows { begin: 43 }");
  job.replace(rows, 30, "many.npz\"");
  make({.job = job + " schedule { reduce_on_plateau { metric: \"loss\" direction: MIN patience: 0 "
                     "} } checkpoint { best { } }"});
  TrainOptions options;
  options.checkpoint = folder / "whole";
  options.epochs = 3;
  options.exportPath = folder / "whole.onnx";
  ASSERT_TRUE(train(options).ok());
  for (int delay = 0; delay < 20; ++delay) {
    std::string name = folder / ("cut" + std::to_string(delay));
    std::atomic<int> interrupt{0};
    std::thread signal;
    TrainOptions cut = options;
    cut.checkpoint = name;
    cut.exportPath = name + ".onnx";
    cut.log = name + ".jsonl";
    cut.interrupt = &interrupt;
    cut.onStep = [&](const StepReport &report) {
      if (report.step == 12) // the second epoch's last
        signal = std::thread([&] {
          std::this_thread::sleep_for(std::chrono::microseconds(200 * delay));
          interrupt = SIGINT;
        });
      return true;
    };
    auto first = train(cut);
    signal.join();
    ASSERT_TRUE(first.ok()) << first.status().message();
    interrupt = 0;
    cut.resume = "latest";
    cut.exportPath = name + ".onnx";
    cut.onStep = {};
    auto rest = train(cut);
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    // A run that ends before its signal is evaluated once more by the second one.
    std::vector<std::string> evaluated = logged(cut.log, "eval", "step");
    evaluated.erase(std::unique(evaluated.begin(), evaluated.end()), evaluated.end());
    EXPECT_EQ(evaluated, (std::vector<std::string>{"6", "12", "18"})) << delay;
    EXPECT_EQ(readFile(cut.exportPath), readFile(options.exportPath)) << delay;
  }
}

TEST_F(EvaluationTest, ASignalEndsTheEvaluateCommandBetweenBatches) {
  std::atomic<int> interrupt{SIGINT};
  CommandLine line;
  line.options.interrupt = &interrupt;
  EXPECT_EQ(evaluateOn(artifact, line).message(), "stopped before the end of the data");
}

TEST_F(EvaluationTest, EndsEarlyAndStaysEnded) {
  makeWith("every_steps: 1",
           "early_stopping { patience: 4 min_delta: 0.5 } checkpoint { directory: "
           "\"{}/run\" }");
  TrainOptions options;
  options.log = folder / "log.jsonl";
  auto whole = train(options);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  auto losses = logged(options.log, "eval", "loss");
  // The rule, written out.
  double best = INFINITY;
  size_t expected = 0;
  for (int64_t waited = 0; waited < 4; ++expected) {
    ASSERT_LT(expected, losses.size());
    double loss = std::stod(losses[expected]);
    bool isBetter = loss < best - 0.5;
    waited = isBetter ? 0 : waited + 1;
    best = isBetter ? loss : best;
  }
  EXPECT_EQ(whole->steps, int64_t(expected));
  EXPECT_LT(whole->steps, 24);
  EXPECT_EQ(logged(options.log, "done", "reason")[0], "\"early_stopping\"");

  // If interrupted earlier, it ends at the same step; afterwards there is nothing left to do.
  TrainOptions first;
  first.checkpoint = folder / "cut";
  first.steps = whole->steps - 2;
  ASSERT_TRUE(train(first).ok());
  first.steps.reset();
  first.resume = "latest";
  auto resumed = train(first);
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(resumed->steps, whole->steps);
  EXPECT_EQ(resumed->losses.size(), 2u);
  auto again = train(first);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->steps, whole->steps);
  EXPECT_TRUE(again->losses.empty());
}

/// The best value of one metric is not compared with values of another metric of a changed spec.
TEST_F(EvaluationTest, AResumeWithAnotherMetricBeginsToCompareAnew) {
  auto makeBy = [&](const std::string &metric) {
    makeWith("every_steps: 2",
             "checkpoint { directory: \"{}/run\" best { " + metric +
                 " } } early_stopping { patience: 2 " + metric +
                 " } schedule { reduce_on_plateau { patience: 0 factor: 0.5 threshold: 1000 "
                 "absolute: true " +
                 metric + " } }");
  };
  makeBy("metric: \"loss\" direction: MIN");
  TrainOptions options;
  options.steps = 4;
  options.log = folder / "loss.jsonl";
  ASSERT_TRUE(train(options).ok());
  ASSERT_EQ(logged(options.log, "plateau", "factor"), std::vector<std::string>{"0.5"});

  // Accuracies are below the best loss, so none of them would be the best one.
  makeBy("metric: \"accuracy\" direction: MAX");
  options.resume = "latest";
  options.steps = 6;
  options.log = folder / "accuracy.jsonl";
  auto resumed = train(options);
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_EQ(resumed->steps, 6);
  EXPECT_EQ(logged(options.log, "best", "metric"), std::vector<std::string>{"\"accuracy\""});
  // The rate stays as low as it was, and the first accuracy is no plateau.
  for (const std::string &rate : logged(options.log, "step", "lr"))
    EXPECT_FLOAT_EQ(std::stof(rate), 0.01f);
  EXPECT_TRUE(logged(options.log, "plateau", "factor").empty());
}

} // namespace
