// Checkpoints in their folder, and resuming from them.
#include "test/unit/runtime/train/TrainModel.h"

#include "runtime/include/gradc/gradc.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/checkpoint/RunFolder.h"

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

using ResumeTest = TrainTest;

TEST_F(ResumeTest, ResumeAfterAnyStepGivesTheSameBits) {
  TrainOptions options;
  options.steps = 20;
  options.exportPath = folder / "whole.onnx";
  options.checkpoint = folder / "whole";
  auto whole = train(options);
  ASSERT_TRUE(whole.ok());
  Bytes expected = readFile(options.exportPath);
  for (int64_t stop = 1; stop <= 20; ++stop) {
    TrainOptions first;
    first.steps = stop;
    first.checkpoint = folder / ("run" + std::to_string(stop));
    ASSERT_TRUE(train(first).ok());
    TrainOptions second = options;
    second.checkpoint = first.checkpoint;
    second.resume = "latest";
    second.exportPath = folder / "resumed.onnx";
    auto summary = train(second);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(summary->steps, 20);
    EXPECT_EQ(summary->losses,
              std::vector<float>(whole->losses.begin() + stop, whole->losses.end()));
    EXPECT_EQ(readFile(second.exportPath), expected) << stop;
    EXPECT_EQ(summary->evaluation[0].value, whole->evaluation[0].value);
  }
}

TEST_F(ResumeTest, ResumeFromAFileOrAFolderAppendsToTheLog) {
  TrainOptions options;
  options.steps = 5;
  options.checkpoint = folder / "run";
  options.log = folder / "log.jsonl";
  ASSERT_TRUE(train(options).ok());
  size_t before = linesOf(options.log).size();
  options.steps = 6;
  for (std::string from : {options.checkpoint + "/step-5.ckpt", options.checkpoint}) {
    options.resume = from;
    ASSERT_TRUE(train(options).ok());
  }
  auto lines = linesOf(options.log);
  ASSERT_GT(lines.size(), before);
  EXPECT_EQ(lines[before].find("{\"event\":\"resume\",\"step\":5,"), 0u) << lines[before];
}

TEST_F(ResumeTest, ResumeErrors) {
  TrainOptions options;
  options.resume = "latest";
  EXPECT_EQ(train(options).status().message(),
            "nothing to resume from: the spec has no checkpoint folder, name one with "
            "--checkpoint");
  EXPECT_EQ(train(options).status().code(), Code::usage);
  options.checkpoint = folder / "run";
  EXPECT_EQ(train(options).status().message(), "no checkpoint in '" + options.checkpoint + "'");
  options.resume = folder / "absent.ckpt";
  EXPECT_EQ(train(options).status().message(),
            "cannot read '" + options.resume + "': No such file or directory");

  options.resume.clear();
  options.steps = 3;
  ASSERT_TRUE(train(options).ok());
  options.resume = "latest";
  options.seed = 8;
  EXPECT_EQ(train(options).status().message(),
            "cannot resume with seed 8: the checkpoint was trained with seed 7");
  options.seed.reset();
  std::string job = digitsJob;
  job.replace(job.find("end: 43"), 7, "end: 35");
  make({.job = job});
  EXPECT_EQ(train(options).status().message(),
            "cannot resume: the checkpoint was written with 43 training rows, the data now gives "
            "35");
}

TEST_F(ResumeTest, ACheckpointFitsByItsStatesWhateverTheModelHash) {
  make({.ballast = 5});
  TrainOptions options;
  options.steps = 3;
  options.checkpoint = folder / "run";
  ASSERT_TRUE(train(options).ok());
  // Another version of the compiler may hash the same states differently.
  make({.modelHash = 43, .ballast = 5});
  options.steps = 4;
  options.resume = "latest";
  auto resumed = train(options);
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_EQ(resumed->losses.size(), 1u);

  std::string who = "checkpoint '" + options.checkpoint + "/step-4.ckpt' is of another optimizer: ";
  options.steps = 5;
  make({.ballast = 6});
  EXPECT_EQ(train(options).status().message(),
            who + "its state 'ballast' is f32[5], this artifact's is f32[6]");
  make();
  EXPECT_EQ(train(options).status().message(), who + "this artifact has no state 'ballast'");
}

/// Slots of several optimizers have the same names and types. Earlier versions named the kinds of
/// all optimizers, but not which of them keeps a slot.
TEST_F(ResumeTest, ACheckpointOfAnotherOptimizerIsRefused) {
  auto makeWith = [&](const std::string &blocks) {
    std::string job = digitsJob, own = "optimizer { sgd { learning_rate: 0.02 } }";
    job.replace(job.find(own), own.size(), blocks);
    make({.job = job, .ballast = 5});
  };
  TrainOptions options;
  options.checkpoint = folder / "run";
  int64_t steps = 0;
  auto resume = [&](const std::string &blocks) {
    makeWith(blocks);
    options.steps = ++steps;
    options.resume = steps == 1 ? "" : "latest";
    Status status = train(options).status();
    steps -= !status.ok();
    return status.message();
  };
  // As earlier versions wrote it: without any optimizer.
  EXPECT_EQ(resume(""), "");
  EXPECT_EQ(resume("optimizer { momentum { learning_rate: 0.02 } }"), "");
  EXPECT_EQ(resume("optimizer { momentum { learning_rate: 0.01 momentum: 0.5 } }"), "");
  EXPECT_EQ(resume(R"(optimizer { momentum { learning_rate: 0.01 } }
                      group { pattern: "w" optimizer { momentum { learning_rate: 0.03 } } })"),
            "");
  std::string who = "checkpoint '" + options.checkpoint +
                    "/step-4.ckpt' is of another optimizer: it was trained with 'momentum', this "
                    "artifact trains with ";
  EXPECT_EQ(resume("optimizer { lars { learning_rate: 0.02 } }"), who + "'lars'");
  EXPECT_EQ(resume(R"(optimizer { momentum { learning_rate: 0.01 } }
                      group { pattern: "w" optimizer { lars { learning_rate: 0.03 } } })"),
            who + "'lars' and 'momentum'");
  // Predictions need no optimizer.
  auto checkpoint = Checkpoint::open(options.checkpoint + "/step-4.ckpt");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_TRUE(checkpoint->match(*artifact, /*withSlots=*/false).ok());

  // AdamW continues Adam, and sgd keeps nothing.
  options.checkpoint = folder / "adam";
  steps = 0;
  EXPECT_EQ(resume("optimizer { adam { learning_rate: 0.001 } }"), "");
  EXPECT_EQ(resume("optimizer { adamw { learning_rate: 0.001 } }"), "");
  EXPECT_EQ(resume(R"(optimizer { adam { learning_rate: 0.001 } }
                      group { pattern: "v" optimizer { sgd { learning_rate: 0.02 } } })"),
            "");
  EXPECT_EQ(resume("optimizer { lamb { learning_rate: 0.001 } }"),
            "checkpoint '" + options.checkpoint +
                "/step-3.ckpt' is of another optimizer: it was trained with 'adam' and 'sgd', this "
                "artifact trains with 'lamb'");
}

TEST_F(ResumeTest, ASlotOfAnotherOptimizerIsRefused) {
  TrainOptions options;
  options.checkpoint = folder / "run";
  auto trainTo = [&](int64_t steps, const std::string &blocks, const std::string &rule) {
    std::string job = digitsJob, own = "optimizer { sgd { learning_rate: 0.02 } }";
    job.replace(job.find(own), own.size(), blocks);
    make({.job = job, .ballast = 5, .rule = rule});
    options.steps = steps;
    options.resume = steps == 1 ? "" : "latest";
    return train(options).status().message();
  };
  const std::string momentum = "optimizer { momentum { learning_rate: 0.02 } }",
                    larsOfNothing =
                        R"( group { pattern: "v" optimizer { lars { learning_rate: 0.02 } } })";
  EXPECT_EQ(trainTo(1, momentum, "momentum"), "");
  // A kind that keeps no slot does not count.
  EXPECT_EQ(trainTo(2, momentum + larsOfNothing, "momentum"), "");
  std::string who = "checkpoint '" + options.checkpoint + "/step-2.ckpt' is of another optimizer: ";
  std::string is = who + "its state 'ballast' is of 'momentum', this artifact's is of ";
  // Two groups that swap their kinds, and another variant of one kind.
  EXPECT_EQ(trainTo(3, momentum + larsOfNothing, "lars"), is + "'lars'");
  EXPECT_EQ(trainTo(3, momentum + larsOfNothing, "keras momentum"), is + "'keras momentum'");
  EXPECT_EQ(trainTo(3, "optimizer { lars { learning_rate: 0.02 } }", "lars"),
            who + "it was trained with 'lars' and 'momentum', this artifact trains with 'lars'");
  EXPECT_EQ(trainTo(3, momentum, "momentum"), "");
}

TEST_F(ResumeTest, ADamagedNewestCheckpointNamesOneThatCanBeRead) {
  make({.job = digitsJobWith(" checkpoint { every_steps: 2 }")});
  TrainOptions options;
  options.steps = 6;
  options.checkpoint = folder / "run";
  ASSERT_TRUE(train(options).ok());
  std::string newest = options.checkpoint + "/step-6.ckpt";
  auto damage = [](const std::string &file) {
    Bytes bytes = readFile(file);
    bytes[bytes.size() / 2] ^= std::byte(1);
    writeFile(file, bytes);
  };
  options.resume = "latest";
  std::string damaged = "checkpoint '" + newest + "' is damaged: its checksum differs";
  auto names = [&](const char *file) {
    return damaged + "; the newest one that can be read is '" + options.checkpoint + file + "'";
  };
  damage(newest);
  EXPECT_EQ(train(options).status().message(), names("/step-4.ckpt"));
  damage(options.checkpoint + "/step-4.ckpt");
  EXPECT_EQ(train(options).status().message(), names("/step-2.ckpt"));
  damage(options.checkpoint + "/step-2.ckpt");
  EXPECT_EQ(train(options).status().message(), damaged);
}

TEST_F(ResumeTest, CheckpointsByStepsAndEpochsKeepTheNewest) {
  auto kept = [&](std::string_view checkpoint, const char *name) {
    make({.job = digitsJobWith(checkpoint)});
    TrainOptions options;
    options.steps = 20;
    options.checkpoint = folder / name;
    EXPECT_TRUE(train(options).ok());
    std::vector<int64_t> steps;
    for (int64_t step = 0; step <= 30; ++step)
      if (exists(options.checkpoint + "/step-" + std::to_string(step) + ".ckpt"))
        steps.push_back(step);
    return steps;
  };
  using Steps = std::vector<int64_t>;
  EXPECT_EQ(kept(" checkpoint { every_steps: 4 }", "a"), (Steps{12, 16, 20}));
  EXPECT_EQ(kept(" checkpoint { every_epochs: 1 keep: 9 }", "b"), (Steps{6, 12, 18, 20}));
  EXPECT_EQ(kept(" checkpoint { every_epochs: 2 keep: 2 }", "c"), (Steps{12, 20}));
  EXPECT_EQ(kept("", "d/e/f"), (Steps{12, 18, 20}));
}

TEST_F(ResumeTest, ANewTrainingDoesNotReplaceAnEarlierOnesCheckpoints) {
  make({.job = digitsJobWith(" checkpoint { every_steps: 4 }")});
  TrainOptions options;
  options.checkpoint = folder / "run";
  options.steps = 10;
  ASSERT_TRUE(train(options).ok());
  CheckpointFolder run(options.checkpoint);
  std::vector<int64_t> before = run.steps();

  TrainOptions again = options;
  again.log = folder / "log.jsonl";
  again.onStep = [](const StepReport &) {
    ADD_FAILURE() << "a step was made";
    return false;
  };
  std::string refused = "folder '" + options.checkpoint +
                        "' holds checkpoints of an earlier training, the newest '" + run.file(10) +
                        "', which a new one would replace: go on from it with --resume, or name "
                        "another folder with --checkpoint or remove this one";
  EXPECT_EQ(train(again).status().message(), refused);
  EXPECT_EQ(train(again).status().code(), Code::error);
  EXPECT_EQ(run.steps(), before);
  EXPECT_FALSE(exists(again.log));

  // Nor does a run that resumes from a checkpoint elsewhere.
  options.checkpoint = folder / "other";
  options.resume = run.file(8);
  ASSERT_TRUE(train(options).ok());
  again.resume = CheckpointFolder(options.checkpoint).file(10);
  EXPECT_EQ(train(again).status().message(), refused);

  // It does from an older checkpoint of the folder, since that was requested.
  options.checkpoint = folder / "run";
  options.steps = 9;
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(run.steps(), (std::vector<int64_t>{4, 8, 9}));
}

TEST_F(ResumeTest, RunsInTheJobsOwnFolderAreNumbered) {
  make({.job = digitsJobWith(" checkpoint { directory: \"{}/run\" }")});
  TrainOptions options;
  options.steps = 7;
  ASSERT_TRUE(train(options).ok());
  options.steps = 8;
  ASSERT_TRUE(train(options).ok());
  CheckpointFolder first(folder / "run"), second(folder / "run-2");
  EXPECT_EQ(first.steps(), (std::vector<int64_t>{6, 7}));
  EXPECT_EQ(second.steps(), (std::vector<int64_t>{6, 8}));
  EXPECT_TRUE(exists(folder / "run/trained.onnx") && exists(folder / "run-2/trained.onnx"));

  // A resume continues with the newest checkpoint, or in the folder of the given one.
  options.steps = 9;
  options.resume = "latest";
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(second.steps(), (std::vector<int64_t>{6, 8, 9}));
  options.resume = first.file(7);
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(first.steps(), (std::vector<int64_t>{6, 7, 9}));
  EXPECT_FALSE(exists(folder / "run-3"));

  // A run in progress keeps others out.
  options.resume.clear();
  ASSERT_TRUE(second.lock().ok());
  auto locked = train(options);
  EXPECT_EQ(locked.status().code(), Code::error);
  EXPECT_NE(locked.status().message().find("run-2' belongs to a training under way, process " +
                                           std::to_string(getpid())),
            std::string::npos)
      << locked.status().message();
}

TEST_F(ResumeTest, RunsOfAnotherModelArePassedOver) {
  std::string job = digitsJobWith(" checkpoint { directory: \"{}/run\" }");
  TrainOptions options;
  auto trainTo = [&](const std::string &weight, int64_t steps, const std::string &resume) {
    make({.job = job, .weight = weight});
    options.steps = steps;
    options.resume = resume;
    return train(options).status().message();
  };
  EXPECT_EQ(trainTo("w", 7, ""), "");
  EXPECT_EQ(trainTo("v", 8, ""), "");
  NewestRun newest = newestRun(folder / "run", *artifact);
  EXPECT_EQ(newest.folder, folder / "run-2");
  EXPECT_EQ(newest.passedOver, "");

  EXPECT_EQ(trainTo("w", 9, "latest"), "");
  EXPECT_EQ(CheckpointFolder(folder / "run").steps(), (std::vector<int64_t>{6, 7, 9}));
  newest = newestRun(folder / "run", *artifact);
  EXPECT_EQ(newest.folder, folder / "run");
  EXPECT_EQ(newest.passedOver, folder / "run-2");

  // That comes before all that the other model's data differ in.
  std::string other = "checkpoint '" + (folder / "run-2/step-8.ckpt") +
                      "' is of another model: it lacks state 'w' of f32[4]";
  writeFile(folder / "digits.npz", zip(digits(70)));
  EXPECT_EQ(trainTo("w", 9, folder / "run-2/step-8.ckpt"), other);
  std::filesystem::remove_all(folder / "run");
  EXPECT_EQ(trainTo("w", 9, "latest"), other);
}

std::string standardizedJob() {
  std::string job = digitsJob, map = "map { field: \"images\" cast: F32 scale: 0.01 }";
  for (size_t at; (at = job.find(map)) != job.npos;)
    job.replace(at, map.size(), "map { field: \"images\" standardize { } } parallelism: 2");
  return job;
}

TEST_F(ResumeTest, WhatTheDataWasStandardizedByIsInTheCheckpoint) {
  make({.job = standardizedJob()});
  TrainOptions options;
  options.steps = 20;
  auto whole = train(options);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  options.steps = 9;
  options.checkpoint = folder / "run";
  ASSERT_TRUE(train(options).ok());
  auto checkpoint = Checkpoint::open(folder / "run/step-9.ckpt");
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(checkpoint->position().dataState.at("standardize images").size(), 2 * 2u);
  options.steps = 20;
  options.resume = "latest";
  auto rest = train(options);
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_TRUE(std::equal(rest->losses.begin(), rest->losses.end(), whole->losses.begin() + 9));
  EXPECT_EQ(rest->evaluation.front().value, whole->evaluation.front().value);
}

/// The C interface's sessions write what they have loaded.
TEST_F(ResumeTest, ASavedSessionIsACheckpointOfItsTraining) {
  make({.job = standardizedJob()});
  TrainOptions options;
  options.steps = 20;
  options.checkpoint = folder / "whole";
  auto whole = train(options);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  options.steps = 9;
  options.checkpoint = folder / "run";
  ASSERT_TRUE(train(options).ok());

  gradc_model *model = nullptr;
  gradc_session *session = nullptr;
  ASSERT_EQ(gradc_open_memory(blob.data(), blob.size(), &model), GRADC_OK) << gradc_last_error();
  ASSERT_EQ(gradc_session_create(model, nullptr, &session), GRADC_OK) << gradc_last_error();
  std::string loaded = folder / "run/step-9.ckpt", saved = folder / "saved.ckpt";
  auto save = [&] {
    EXPECT_EQ(gradc_checkpoint_save(session, saved.c_str()), GRADC_OK) << gradc_last_error();
  };
  auto resume = [&] {
    TrainOptions resumed;
    resumed.steps = 20;
    resumed.resume = saved;
    return train(resumed);
  };
  save();
  EXPECT_EQ(resume().status().message(),
            "cannot resume: the checkpoint has no position in training data: it is of a session's "
            "steps, not of a training");
  ASSERT_EQ(gradc_checkpoint_load(session, loaded.c_str()), GRADC_OK) << gradc_last_error();
  save();
  EXPECT_EQ(readFile(saved), readFile(loaded));
  testing::internal::CaptureStdout();
  EXPECT_EQ(main({"evaluate", "--checkpoint", saved}), 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("saved.ckpt"), std::string::npos);
  auto rest = resume();
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_TRUE(std::equal(rest->losses.begin(), rest->losses.end(), whole->losses.begin() + 9));

  // A step of the session counts, but the next batch stays the next one.
  std::vector<float> images(8 * 4, 0.5f);
  std::vector<int64_t> labels(8, 3);
  const void *data[] = {images.data(), labels.data()};
  ASSERT_EQ(gradc_train_step(session, data, 2, 8, 0, nullptr), GRADC_OK) << gradc_last_error();
  save();
  auto checkpoint = Checkpoint::open(saved), before = Checkpoint::open(loaded);
  ASSERT_TRUE(checkpoint.ok() && before.ok());
  EXPECT_EQ(checkpoint->position().step, 10u);
  EXPECT_EQ(checkpoint->position().data, before->position().data);
  EXPECT_EQ(checkpoint->position().dataState, before->position().dataState);
  EXPECT_EQ(checkpoint->position().runState, before->position().runState);
  rest = resume();
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_EQ(rest->losses.size(), 10u);

  // A reset takes it back to the model's weights, which are of no training.
  ASSERT_EQ(gradc_state_reset(session), GRADC_OK);
  save();
  EXPECT_FALSE(resume().ok());
  gradc_session_free(session);
  gradc_close(model);
}

} // namespace
