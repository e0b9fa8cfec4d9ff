// Whole trainings: length, evaluation, log, export, and reasons to stop.
#include "test/unit/runtime/train/TrainModel.h"

#include "runtime/base/Text.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/entry/EntryCall.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <regex>
#include <set>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

using TrainerTest = TrainTest;

TEST_F(TrainerTest, TrainsWholeEpochsWithTheirSmallerLastBatch) {
  auto summary = train();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->steps, 24); // 4 epochs of five batches of 8 and one of 3
  ASSERT_EQ(summary->losses.size(), 24u);
  // The losses of small shuffled batches vary, so epochs are compared.
  auto epochLoss = [&](ptrdiff_t epoch) {
    auto first = summary->losses.begin() + 6 * epoch;
    return std::accumulate(first, first + 6, 0.0f);
  };
  EXPECT_LT(epochLoss(3), epochLoss(0));
  ASSERT_EQ(summary->evaluation.size(), 2u);
  EXPECT_EQ(summary->evaluation[0].name, "loss");
  EXPECT_EQ(summary->evaluation[1].name, "accuracy");
}

TEST_F(TrainerTest, LengthIsTheSpecsOrTheCommandLines) {
  auto steps = [&](std::optional<int64_t> steps, std::optional<int64_t> epochs) {
    TrainOptions options;
    options.steps = steps;
    options.epochs = epochs;
    auto summary = train(options);
    EXPECT_TRUE(summary.ok());
    return summary->steps;
  };
  EXPECT_EQ(steps({}, {}), 24);
  EXPECT_EQ(steps(10, {}), 10);
  EXPECT_EQ(steps(50, {}), 50); // over as many epochs as needed
  EXPECT_EQ(steps({}, 2), 12);
  EXPECT_EQ(steps(50, 2), 12);
  EXPECT_EQ(steps(7, 2), 7);
  make({.job = digitsJobWith(" steps: 9")});
  EXPECT_EQ(steps({}, {}), 9);
  std::string job = digitsJob;
  job.replace(job.find("epochs: 4"), 9, "steps: 40");
  make({.job = job});
  EXPECT_EQ(steps({}, {}), 40);
}

TEST_F(TrainerTest, EvaluationIsTheMeanOverRows) {
  TrainOptions options;
  options.steps = 1;
  auto summary = train(options);
  ASSERT_TRUE(summary.ok());
  // Computed by hand: 17 rows in batches of 8, 8, and 1, with the weights after one step.
  options.exportPath = folder / "out.onnx";
  ASSERT_TRUE(train(options).ok());
  Bytes exported = readFile(options.exportPath);
  float w[4];
  std::memcpy(w, exported.data() + 7, sizeof w);
  double sum = 0, hits = 0;
  for (int row = 43; row < 60; ++row) {
    double error = -(row % 10);
    for (int j = 0; j < 4; ++j)
      error += w[j] * (0.01 * ((4 * row + j) % 256));
    sum += error * error;
    hits += std::abs(error) < 0.5;
  }
  EXPECT_NEAR(summary->evaluation[0].value, sum / 17, 1e-4 * sum / 17);
  EXPECT_NEAR(summary->evaluation[1].value, hits / 17, 1e-6);
}

TEST_F(TrainerTest, Log) {
  std::string job = digitsJob;
  job.erase(job.find("prefetch { }"), 12); // else threads might be added, with lines about them
  make({.job = job});
  TrainOptions options;
  options.epochs = 2;
  options.log = folder / "log.jsonl";
  options.checkpoint = folder / "run";
  auto summary = train(options);
  ASSERT_TRUE(summary.ok());
  auto lines = linesOf(options.log);
  // A slow machine prints more about the input than the last line.
  auto is = [](std::string_view event) {
    return [start = text("{\"event\":\"", event, '"')](const std::string &line) {
      return line.starts_with(start);
    };
  };
  std::erase_if(lines, is("warning"));
  ASSERT_GE(lines.size(), 2u);
  lines.erase(std::remove_if(lines.begin(), lines.end() - 2, is("input")), lines.end() - 2);
  EXPECT_EQ(std::erase_if(lines, is("best")), 1u);
  EXPECT_EQ(std::erase_if(lines, is("export")), 1u); // into the run's folder
  ASSERT_EQ(lines.size(), 1 + 12 + 2 * 2 + 2u);
  EXPECT_EQ(lines[0], R"({"event":"start","step":0,"steps":12,"seed":7,"level":"x86-64-v3"})");
  EXPECT_EQ(lines[1].find("{\"event\":\"step\",\"step\":1,\"loss\":"), 0u);
  for (const char *key :
       {",\"accuracy\":", ",\"lr\":0.02,", ",\"grad_norm\":", ",\"ms\":", ",\"input_ms\":"})
    EXPECT_NE(lines[1].find(key), std::string::npos) << lines[1];
  EXPECT_EQ(lines[7].find("{\"event\":\"eval\",\"epoch\":1,\"step\":6,\"loss\":"), 0u) << lines[7];
  EXPECT_NE(lines[7].find(",\"accuracy\":"), std::string::npos);
  EXPECT_EQ(lines[8], "{\"event\":\"checkpoint\",\"step\":6,\"path\":\"" + options.checkpoint +
                          "/step-6.ckpt\"}");
  EXPECT_EQ(lines[17].find("{\"event\":\"input\",\"step\":12,\"wait\":"), 0u) << lines[17];
  EXPECT_NE(lines[17].find(",\"workers\":0,\"depth\":0,\"bytes\":"), std::string::npos);
  EXPECT_EQ(lines.back().find("{\"event\":\"done\",\"step\":12,\"epochs\":2,\"seconds\":"), 0u);
  EXPECT_NE(lines.back().find("\"reason\":\"finished\"}"), std::string::npos);

  // The losses read back to the same floats.
  for (int step = 1; step <= 6; ++step) {
    const std::string &line = lines[size_t(step)];
    float loss = std::strtof(line.c_str() + line.find("\"loss\":") + 7, nullptr);
    EXPECT_EQ(loss, summary->losses[size_t(step) - 1]);
  }
}

TEST_F(TrainerTest, SeedsDecide) {
  auto losses = [&](int64_t seed) {
    TrainOptions options;
    options.seed = seed;
    auto summary = train(options);
    EXPECT_TRUE(summary.ok());
    return summary->losses;
  };
  EXPECT_EQ(losses(1), losses(1));
  EXPECT_NE(losses(1), losses(2));
}

TEST(RandomSeed, TakesAllBitsOfTheSeed) {
  for (uint64_t seed : {uint64_t(0), uint64_t(7), uint64_t(0xffffffff)})
    EXPECT_EQ(uint32_t(randomSeed(seed)), seed);
  std::set<int32_t> seen;
  for (uint64_t upper = 0; upper < 1000; ++upper)
    seen.insert(randomSeed(7 + (upper << 32)));
  EXPECT_EQ(seen.size(), 1000u);
}

TEST_F(TrainerTest, AnEpochThatTheEndCutsShortIsSaidToBe) {
  testing::internal::CaptureStdout();
  std::string run = folder / "run", log = folder / "log.jsonl", said = log;
  EXPECT_EQ(main({"--threads=1", "--steps=3", "--checkpoint", run, "--log", log}), 0);
  std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(std::regex_search(
      printed, std::regex(R"(epoch 1 \(3 of 6 steps\)  step 3  loss \d+\.\d{4}  evaluation: loss )"
                          R"(\d+\.\d{4}.*  \d+\.\d{3} s  best so far\n)")))
      << printed;
  // Paths below the current folder are printed relative to it.
  std::string here = std::filesystem::current_path().string() + '/';
  for (std::string *path : {&run, &said})
    if (path->starts_with(here))
      path->erase(0, here.size());
  EXPECT_NE(
      printed.find("checkpoint '" + run + "/step-3.ckpt'; the best '" + run + "/best.ckpt' (loss "),
      printed.npos)
      << printed;
  EXPECT_NE(printed.find("trained model '" + run + "/trained.onnx'; log '" + said +
                         "'\nuse it: "
                         "trainer predict --checkpoint " +
                         run + " --data FILE"),
            printed.npos)
      << printed;
  auto lines = linesOf(log);
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string &line) {
    return line.starts_with("{\"event\":\"eval\",\"epoch\":1,\"step\":3,\"epoch_step\":3,"
                            "\"epoch_steps\":6,\"loss\":");
  }));
  EXPECT_EQ(lines.back().find("{\"event\":\"done\",\"step\":3,\"epochs\":0,"), 0u);

  // In the epoch of the smaller last batch, and after it.
  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"--threads=1", "--steps=11", "--checkpoint", run, "--resume"}), 0);
  printed = testing::internal::GetCapturedStdout();
  EXPECT_EQ(printed.find("going on from '" + run + "/step-3.ckpt'\n"), 0u) << printed;
  EXPECT_NE(printed.find("\nepoch 2 (5 of 6 steps)  step 11  "), printed.npos) << printed;
  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"--threads=1", "--steps=12", "--checkpoint", run, "--resume"}), 0);
  printed = testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("epoch 2  step 12  "), printed.npos) << printed;

  // No work is left: prints neither "trained" nor a speed.
  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"--threads=1", "--steps=9", "--checkpoint", run, "--resume"}), 0);
  printed = testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("no step left to train: the checkpoint is of step 12, the job ends at "
                         "step 9; evaluation: loss "),
            printed.npos)
      << printed;
  EXPECT_EQ(printed.find("trained to"), printed.npos) << printed;
}

TEST_F(TrainerTest, ExportPatchesTheModel) {
  TrainOptions options;
  options.exportPath = folder / "trained.onnx";
  ASSERT_TRUE(train(options).ok());
  Bytes bytes = readFile(options.exportPath);
  std::string whole(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  ASSERT_EQ(whole.size(), 7 + 16 + 6u);
  EXPECT_EQ(whole.substr(0, 7), "before ");
  EXPECT_EQ(whole.substr(23), " after");
  float first;
  std::memcpy(&first, bytes.data() + 7, sizeof first);
  EXPECT_NE(first, 0.1f);

  // An unwritable file is reported before the first step, not after the last.
  options.exportPath = folder / "absent/trained.onnx";
  options.onStep = [](const StepReport &) {
    ADD_FAILURE() << "trained before the path was tried";
    return false;
  };
  EXPECT_EQ(train(options).status().message(),
            "cannot write '" + options.exportPath + "': No such file or directory");
  options.exportPath = folder.path;
  EXPECT_EQ(train(options).status().message(),
            "cannot write '" + options.exportPath + "': it is a folder");
  options = {};
  options.exportPath = folder / "trained.onnx";
  make({.carriesModel = false});
  EXPECT_EQ(train(options).status().message(),
            "cannot export '" + options.exportPath + "': the artifact carries no ONNX model");
}

TEST_F(TrainerTest, NonFiniteLossNamesTheNodeAndKeepsTheLastCheckpoint) {
  std::string job = digitsJobWith(" checkpoint { every_steps: 1 keep: 100 }");
  job.replace(job.find("0.02"), 4, "1e20");
  make({.job = job});
  TrainOptions options;
  options.checkpoint = folder / "run";
  options.log = folder / "log.jsonl";
  auto summary = train(options);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.status().code(), Code::error);
  std::string message = summary.status().message();
  EXPECT_NE(message.find("the loss is inf at step 2 (epoch 1); the first non-finite value is inf "
                         "at element 0 of node 'dense' (linear model)"),
            message.npos)
      << message;
  EXPECT_NE(message.find("; the last checkpoint is '" + options.checkpoint + "/step-1.ckpt'"),
            message.npos);
  EXPECT_TRUE(exists(options.checkpoint + "/step-1.ckpt"));
  EXPECT_FALSE(exists(options.checkpoint + "/step-2.ckpt"));
  auto lines = linesOf(options.log);
  EXPECT_NE(lines[lines.size() - 2].find("\"loss\":null,\"loss_is\":\"inf\""), std::string::npos);
  EXPECT_EQ(lines.back().find("{\"event\":\"nonfinite\",\"step\":2,"), 0u);

  options.checkpoint.clear();
  EXPECT_NE(train(options).status().message().find("; no checkpoint was written"),
            std::string::npos);
}

TEST_F(TrainerTest, DataOfAnotherSizeThanCompiledFor) {
  std::string job = digitsJob;
  job.replace(job.find("end: 43"), 7, "end: 44");
  make({.job = job});
  EXPECT_EQ(train().status().message(),
            "the artifact was compiled for train last batches of 3 rows, but the data gives 4: "
            "compile it again with this data");
  job = digitsJob;
  job.replace(job.find("size: 8"), 7, "size: 4");
  make({.job = job});
  EXPECT_EQ(train().status().message(),
            "the artifact was compiled for train batches of 8 rows, but the data gives 4: compile "
            "it again with this data");
}

TEST_F(TrainerTest, WithoutEntriesForThemLastBatchesAreLeftOut) {
  make({.tails = false});
  auto summary = train();
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->steps, 20);
  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"--threads=1"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout().find(
                "an epoch of training leaves out 3 of 43 rows, which fill no batch of 8\n"
                "an epoch of evaluation leaves out 1 of 17 rows, which fill no batch of 8\n"),
            0u);
}

TEST_F(TrainerTest, AnEvaluationSaysWhatItLeavesOut) {
  auto evaluationOf = [&](std::vector<std::string> arguments) {
    testing::internal::CaptureStdout();
    arguments.insert(arguments.begin(), "evaluate");
    EXPECT_EQ(main(arguments), 0);
    std::string said = testing::internal::GetCapturedStdout();
    return said.substr(0, said.find(" rows with ") + 5);
  };
  make();
  EXPECT_EQ(evaluationOf({}), "evaluation of 17 rows");
  // Other data, whose last batch is not that of evaluate.tail.
  writeFile(folder / "other.npz", zip(digits(12)));
  EXPECT_EQ(evaluationOf({"--data", folder / "other.npz"}),
            "the evaluation leaves out 4 of 12 rows, which fill no batch of 8, and the artifact "
            "takes no last batch of 4\nevaluation of 8 rows");
  make({.tails = false});
  EXPECT_EQ(evaluationOf({}), "the evaluation leaves out 1 of 17 rows, which fill no batch of 8, "
                              "and the artifact takes no last batch of 1\nevaluation of 16 rows");
}

TEST_F(TrainerTest, JobErrors) {
  TrainModelOptions model;
  model.job = "model: \"no data\"";
  make(model);
  EXPECT_EQ(train().status().message(),
            "the artifact was compiled without a training spec, expected one with a data block");
  EXPECT_EQ(train().status().code(), Code::invalid);
  auto error = [&](std::string from, std::string to) {
    std::string job = digitsJob;
    job.replace(job.find(from), from.size(), to);
    make({.job = job});
    return train().status().message();
  };
  EXPECT_EQ(error("epochs: 4", "epochs: 0"), "epochs is 0, expected 1 or more");
  EXPECT_EQ(error("epochs: 4", "steps: -1"), "steps is -1, expected 1 or more");
  EXPECT_EQ(error("evaluation {", "evaluation { every_epochs: 0 "),
            "evaluation { every_epochs } is 0, expected 1 or more");
  EXPECT_EQ(error("epochs: 4", "checkpoint { keep: 0 }"),
            "checkpoint { keep } is 0, expected 1 or more");
}

TEST_F(TrainerTest, StepsAreReportedAndMayStop) {
  std::vector<int64_t> steps, epochs;
  TrainOptions options;
  options.onStep = [&](const StepReport &report) {
    steps.push_back(report.step);
    epochs.push_back(report.epoch);
    EXPECT_TRUE(report.gradientNorm.has_value());
    EXPECT_EQ(report.metrics.size(), 1u);
    EXPECT_GE(report.milliseconds, report.inputMilliseconds);
    return report.step < 7;
  };
  auto summary = train(options);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->steps, 7);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(epochs, (std::vector<int64_t>{1, 1, 1, 1, 1, 1, 2}));
}

TEST_F(TrainerTest, ASignalEndsTheStepAndWritesACheckpoint) {
  for (auto [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    std::string run = folder / ("run" + std::to_string(signal));
    std::string log = run + ".jsonl";
    pid_t process = start(
        {"--quiet", "--threads=1", "--epochs", "100000000", "--checkpoint", run, "--log", log});
    waitForCheckpoint(run);
    kill(process, signal);
    EXPECT_EQ(wait(process), code);
    EXPECT_NE(linesOf(log).back().find("\"reason\":\"signal\"}"), std::string::npos);
    EXPECT_EQ(main({"--quiet", "--threads=1", "--epochs=1", "--checkpoint", run, "--resume"}), 0);
  }
}

TEST_F(TrainerTest, MainReportsErrorsWithTheirExitCodes) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(main({"--setps", "3"}), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: unknown option '--setps', did you mean '--steps'?\nsee trainer --help\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(main({"predict", "--setps", "3"}), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: unknown option '--setps'\nsee trainer predict --help\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(main({"--quiet", "--data-dir", "/absent"}), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: cannot find data file 'digits.npz', tried '/absent/digits.npz'\n");
}

TEST_F(TrainerTest, MainSaysWhatItDoes) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"--threads=1", "--epochs=1"}), 0);
  std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("epoch 1/1  step 6  loss "), printed.npos) << printed;
  EXPECT_NE(printed.find("trained to step 6 in "), printed.npos) << printed;
  EXPECT_NE(printed.find("; evaluation: loss "), printed.npos) << printed;
  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"--help"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout().find("usage: trainer [options]\n"), 0u);
  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"--version"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout().find("gradc "), 0u);
}

} // namespace
