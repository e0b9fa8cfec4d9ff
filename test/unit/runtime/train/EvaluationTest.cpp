// Actions after evaluations: the best checkpoint, the end of a run.
#include "runtime/train/Checkpoint.h"
#include "runtime/train/CheckpointFolder.h"
#include "test/unit/runtime/train/TrainModel.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sys/syscall.h>
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

class EvaluationTest : public TrainTest {
protected:
  /// digitsJob with these fields in its evaluation, and further blocks.
  void makeWith(const std::string &evaluation, const std::string &more, const char *rate = "0.02") {
    std::string job = digitsJob;
    job.replace(job.find("evaluation { "), 13, "evaluation { " + evaluation + " ");
    job.replace(job.find("0.02"), 4, rate);
    make({.job = job + " " + more});
  }
  /// Values in the log's lines of one event: the text after `"key":`.
  std::vector<std::string> logged(const std::string &file, const std::string &event,
                                  const std::string &key) {
    std::vector<std::string> found;
    for (const std::string &line : linesOf(file))
      if (line.find("{\"event\":\"" + event + "\"") == 0) {
        size_t begin = line.find("\"" + key + "\":");
        begin = begin == line.npos ? begin : begin + key.size() + 3;
        found.push_back(
            begin == line.npos ? "" : line.substr(begin, line.find_first_of(",}", begin) - begin));
      }
    return found;
  }
};

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
  size_t best = 0;
  for (size_t i = 0; i < losses.size(); ++i)
    if (std::stod(losses[i]) < std::stod(losses[best]))
      best = i;
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

} // namespace
