// Checkpoints: their content, and that damage, full disks, and kills are detected or survived.
#include "test/unit/runtime/train/TrainModel.h"

#include "runtime/include/gradc/hash.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class CheckpointTest : public TrainTest {
protected:
  CheckpointTest() : path(folder / "one.ckpt") {
    auto created = Session::create(artifact, {1, ""});
    EXPECT_TRUE(created.ok());
    session = std::move(*created);
  }

  void write() { ASSERT_TRUE(writeCheckpoint(path, *session, position).ok()); }
  std::string openError() {
    auto opened = Checkpoint::open(path);
    return opened ? "opened" : opened.status().message();
  }
  /// Replaces the checksum by that of the file's current content.
  void reseal(Bytes &bytes) {
    uint64_t value = gradc_hash(bytes.data(), bytes.size() - 8);
    std::memcpy(bytes.data() + bytes.size() - 8, &value, 8);
  }

  std::string path;
  std::unique_ptr<Session> session;
  TrainPosition position = {12, {2, 16}, 43, 7, {}};
};

TEST_F(CheckpointTest, HoldsStatesAndPosition) {
  float value[4] = {5, 6, 7, 8};
  ASSERT_TRUE(session->writeState(0, value).ok());
  write();
  auto checkpoint = Checkpoint::open(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->modelHash(), 42u);
  EXPECT_EQ(checkpoint->position().step, 12u);
  EXPECT_EQ(checkpoint->position().data, (Position{2, 16}));
  EXPECT_EQ(checkpoint->position().rows, 43u);
  EXPECT_EQ(checkpoint->position().seed, 7u);
  EXPECT_EQ(checkpoint->level(), "x86-64-v3");
  EXPECT_EQ(checkpoint->optimizers(), std::vector<std::string>{"sgd"});
  ASSERT_EQ(checkpoint->states().size(), 1u);
  const Checkpoint::State &state = checkpoint->states()[0];
  EXPECT_EQ(state.name, "w");
  EXPECT_EQ(state.dtype, GRADC_F32);
  EXPECT_EQ(state.kind, GRADC_STATE_PARAMETER);
  ASSERT_EQ(state.shape.size(), 1u);
  EXPECT_EQ(state.shape[0], 4);

  ASSERT_TRUE(session->resetStates().ok());
  ASSERT_TRUE(checkpoint->restore(*session).ok());
  float restored[4];
  ASSERT_TRUE(session->readState(0, restored).ok());
  EXPECT_EQ(std::memcmp(restored, value, sizeof value), 0);
}

TEST_F(CheckpointTest, SlotsNameTheirOptimizer) {
  make({.ballast = 4, .rule = "momentum"});
  session = std::move(*Session::create(artifact, {1, ""}));
  write();
  auto checkpoint = Checkpoint::open(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->states()[0].rule, "");
  EXPECT_EQ(checkpoint->states()[1].rule, "momentum");
  Bytes hostile = readFile(path);
  double number = 2; // of a state
  std::memcpy(hostile.data() + hostile.size() - 16, &number, sizeof number);
  reseal(hostile);
  writeFile(path, hostile);
  EXPECT_EQ(openError(), "checkpoint '" + path +
                             "' is damaged: 'run: slots momentum' names states that it lacks");
}

TEST_F(CheckpointTest, EveryTruncationIsNoticed) {
  write();
  Bytes whole = readFile(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    writeFile(path, Bytes(whole.begin(), whole.begin() + ptrdiff_t(length)));
    std::string message = openError();
    ASSERT_NE(message, "opened") << length;
    if (length >= 8)
      EXPECT_NE(message.find(" is truncated: "), message.npos) << message;
  }
}

TEST_F(CheckpointTest, EveryFlippedByteIsNoticed) {
  write();
  Bytes whole = readFile(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    Bytes flipped = whole;
    flipped[at] ^= std::byte(0x10);
    writeFile(path, flipped);
    ASSERT_NE(openError(), "opened") << at;
  }
}

TEST_F(CheckpointTest, Errors) {
  std::string who = "checkpoint '" + path + "' ";
  EXPECT_EQ(openError(), "cannot read '" + path + "': No such file or directory");
  writeFile(path, bytesOf(std::vector<char>(500, 'x')));
  EXPECT_EQ(openError(), "'" + path + "' is not a checkpoint");
  write();
  Bytes whole = readFile(path);
  Bytes longer = whole;
  longer.resize(whole.size() + 1);
  writeFile(path, longer);
  EXPECT_EQ(openError(), who + "is damaged: its checksum differs");

  Bytes newer = whole;
  newer[8] = std::byte(9);
  reseal(newer);
  writeFile(path, newer);
  EXPECT_EQ(openError(), who + "has version 9, expected 2");

  Bytes hostile = whole; // anyone can compute a checksum
  uint32_t states = 1000;
  std::memcpy(hostile.data() + 12, &states, sizeof states);
  reseal(hostile);
  writeFile(path, hostile);
  EXPECT_EQ(openError(), who + "is damaged: state 2 of 1000 lies outside the file");
}

TEST_F(CheckpointTest, OfAnotherModel) {
  write();
  make({.weight = "v"}); // the hash claims that it matches
  session = std::move(*Session::create(artifact, {1, ""}));
  auto checkpoint = Checkpoint::open(path);
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(checkpoint->restore(*session).message(),
            "checkpoint '" + path + "' is of another model: it lacks state 'v' of f32[4]");
}

/// A checkpoint whose slot `ballast` of four floats the tests change.
class ChangedCheckpointTest : public CheckpointTest {
protected:
  void SetUp() override {
    CheckpointTest::SetUp();
    make({.ballast = 4});
    session = std::move(*Session::create(artifact, {1, ""}));
    write();
    bytes = readFile(path);
    Bytes name = bytesOf(std::vector<char>{'b', 'a', 'l', 'l', 'a', 's', 't', 0});
    auto found = std::search(bytes.begin(), bytes.end(), name.begin(), name.end());
    ASSERT_NE(found, bytes.end());
    at = size_t(found - bytes.begin());
  }
  template <typename T> void put(size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  }
  void save() {
    reseal(bytes);
    writeFile(path, bytes);
  }

  Bytes bytes;
  size_t at = 0; ///< of the slot's name
};

TEST_F(ChangedCheckpointTest, SlotsOf16BitsAreWidened) {
  // As earlier versions wrote slots of bf16 parameters: behind the name are half as many bytes.
  bytes.erase(bytes.begin() + ptrdiff_t(at) + 16, bytes.begin() + ptrdiff_t(at) + 24);
  put(16, uint64_t(bytes.size())); // of the file
  put(at - 32, uint32_t(GRADC_BF16));
  put(at - 16, uint64_t(8)); // of the state
  put(at + 8, uint64_t(0x3f80'c000'0080'7f80));
  save();

  auto checkpoint = Checkpoint::open(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const Checkpoint::State &slot = checkpoint->states()[1];
  EXPECT_EQ(slot.name, "ballast");
  EXPECT_EQ(slot.dtype, GRADC_F32);
  float values[4];
  ASSERT_EQ(slot.bytes.size(), sizeof values);
  std::memcpy(values, slot.bytes.data(), sizeof values);
  EXPECT_EQ(std::vector(values, values + 4),
            (std::vector{std::numeric_limits<float>::infinity(), 0x1p-126f, -2.0f, 1.0f}));
  EXPECT_TRUE(checkpoint->restore(*session).ok());
  Checkpoint::State narrow = slot.as(GRADC_BF16);
  EXPECT_TRUE(
      std::equal(narrow.bytes.begin(), narrow.bytes.end(), bytes.begin() + ptrdiff_t(at) + 8));
}

TEST_F(ChangedCheckpointTest, BytesOfAnotherShapeAreNamed) {
  auto errorOf = [&](gradc_dtype type, int64_t dim) {
    put(at - 32, uint32_t(type));
    put(at - 8, dim);
    save();
    return openError();
  };
  std::string who = "checkpoint '" + path + "' is damaged: state 'ballast' is ";
  EXPECT_EQ(errorOf(GRADC_F32, 5), who + "f32[5], but has 16 bytes");
  EXPECT_EQ(errorOf(GRADC_BF16, 4), who + "bf16[4], but has 16 bytes");
  EXPECT_EQ(errorOf(GRADC_F32, -4), who + "f32[-4], but has 16 bytes");
  EXPECT_EQ(errorOf(GRADC_F32, (int64_t(1) << 62) + 4), // the product exceeds 64 bits
            who + "f32[4611686018427387908], but has 16 bytes");
  EXPECT_EQ(errorOf(GRADC_F32, 4), "opened");
}

TEST_F(ChangedCheckpointTest, AveragesOfAnotherTypeAreNotExported) {
  put(at - 28, uint32_t(GRADC_STATE_AVERAGE));
  put(at - 20, uint32_t(5)); // letters of the name
  std::memcpy(bytes.data() + at, "w.ema\0\0", 8);
  auto exported = [&](gradc_dtype type) {
    put(at - 32, uint32_t(type));
    save();
    auto checkpoint = Checkpoint::open(path);
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    auto weights = checkpoint->weights();
    EXPECT_EQ(weights.size(), 1u);
    EXPECT_EQ(weights[0].dtype, GRADC_F32);
    return std::string(weights[0].name);
  };
  EXPECT_EQ(exported(GRADC_F32), "w.ema");
  EXPECT_EQ(exported(GRADC_I32), "w");
}

TEST_F(ChangedCheckpointTest, StatesThatAJobNoLongerHas) {
  auto refusal = [&](gradc_state_kind kind, const char (&name)[8], size_t letters) {
    put(at - 28, uint32_t(kind));
    put(at - 20, uint32_t(letters));
    std::memcpy(bytes.data() + at, name, sizeof name);
    save();
    auto checkpoint = Checkpoint::open(path);
    return checkpoint ? checkpoint->restore(*session).message() : checkpoint.status().message();
  };
  make();
  session = std::move(*Session::create(artifact, {1, ""}));
  EXPECT_EQ(
      refusal(GRADC_STATE_AVERAGE, "w.ema\0\0", 5),
      "checkpoint '" + path +
          "' is of another job: it averages weights (ema or swa), this artifact does not: this "
          "artifact has no state 'w.ema'");
  // Earlier versions wrote no rule, by which a range is told from a statistic of the model.
  EXPECT_EQ(refusal(GRADC_STATE_STATISTIC, "b_range", 7),
            "checkpoint '" + path +
                "' is of another model: this artifact has no state 'b_range' (a range, if the run "
                "quantized)");
}

TEST_F(ChangedCheckpointTest, AModelThatDoesNotTrainTakesAveragesAndNoNumbersOfTheData) {
  float zeros[4] = {}, weights[4] = {0.1f, 0.2f, 0.3f, 0.4f};
  put(at - 28, uint32_t(GRADC_STATE_AVERAGE));
  put(at - 20, uint32_t(5)); // letters of the name
  std::memcpy(bytes.data() + at, "w.ema\0\0", 8);
  std::memcpy(bytes.data() + at + 8, zeros, sizeof zeros);
  save();
  make({.job = "seed: 7"});
  session = std::move(*Session::create(artifact, {1, ""}));
  auto restored = [&](bool withSlots) {
    auto checkpoint = Checkpoint::open(path);
    return checkpoint ? checkpoint->restore(*session, withSlots).message()
                      : checkpoint.status().message();
  };
  auto holds = [&](const float *expected) {
    float found[4];
    return session->readState(0, found).ok() && !std::memcmp(found, expected, sizeof found);
  };
  EXPECT_TRUE(holds(weights));
  EXPECT_EQ(restored(false), "");
  EXPECT_TRUE(holds(zeros));
  EXPECT_NE(restored(true), "");

  // Another shape is no average of the weight.
  put(at - 8, int64_t(2));
  put(at - 16, uint64_t(8)); // of the state
  bytes.erase(bytes.begin() + ptrdiff_t(at) + 16, bytes.begin() + ptrdiff_t(at) + 24);
  put(16, uint64_t(bytes.size())); // of the file
  save();
  EXPECT_EQ(restored(false), "");
  EXPECT_TRUE(holds(weights));

  // What `standardize` has found.
  bytes.insert(bytes.begin() + ptrdiff_t(at) + 8, 8, std::byte(0));
  put(16, uint64_t(bytes.size()));
  put(at - 28, uint32_t(GRADC_STATE_STATISTIC));
  put(at - 20, uint32_t(15));
  std::memcpy(bytes.data() + at, "gradc.data/mean", 16);
  save();
  EXPECT_EQ(restored(false), "");
  EXPECT_TRUE(holds(weights));
  make(); // a job that trains
  session = std::move(*Session::create(artifact, {1, ""}));
  EXPECT_EQ(restored(false), "checkpoint '" + path +
                                 "' is of another model: this artifact has no state "
                                 "'gradc.data/mean'");
}

TEST_F(CheckpointTest, LevelOfTheCheckpointThatThisMachineLacks) {
  TrainOptions options;
  options.steps = 3;
  options.checkpoint = folder / "run";
  ASSERT_TRUE(train(options).ok());
  std::string file = options.checkpoint + "/step-3.ckpt";
  Bytes bytes = readFile(file);
  auto level = std::string_view("x86-64-v3");
  for (size_t at = 0; at + level.size() < bytes.size(); ++at)
    if (std::memcmp(bytes.data() + at, level.data(), level.size()) == 0)
      bytes[at + 8] = std::byte('9');
  reseal(bytes);
  writeFile(file, bytes);
  options.resume = "latest";
  options.steps = 4;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(train(options).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr().find(
                "warning: the checkpoint was trained on level x86-64-v9, this run is on x86-64-v3: "
                "results may differ in their last bits\n"),
            0u); // lines about input may follow
}

TEST_F(CheckpointTest, AFullDiskLeavesThePreviousOne) {
  make({.ballast = 1 << 18});
  std::string run = folder / "run";
  ASSERT_EQ(main({"--quiet", "--threads=1", "--steps=3", "--checkpoint", run}), 0);
  Bytes before = readFile(run + "/step-3.ckpt");
  std::string errors = folder / "errors";
  pid_t process =
      start({"--quiet", "--threads=1", "--steps=6", "--checkpoint", run, "--resume"}, [&] {
        if (!freopen(errors.c_str(), "w", stderr))
          _exit(99);
        rlimit limit = {1 << 19, 1 << 19}; // bytes per file: half a checkpoint
        setrlimit(RLIMIT_FSIZE, &limit);
      });
  EXPECT_EQ(wait(process), 1);
  auto said = linesOf(errors);
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.back(), "error: cannot write '" + run +
                             "/best.ckpt': File too large; the previous checkpoint '" + run +
                             "/step-3.ckpt' is whole");
  EXPECT_EQ(readFile(run + "/step-3.ckpt"), before);
  EXPECT_FALSE(exists(run + "/step-6.ckpt"));
  EXPECT_FALSE(exists(run + "/step-6.ckpt.tmp"));
  EXPECT_EQ(main({"--quiet", "--threads=1", "--steps=6", "--checkpoint", run, "--resume"}), 0);
}

TEST_F(CheckpointTest, AFullDiskIsSaidWithTheCheckpointThatIsLeft) {
  // The second checkpoint cannot be written: a folder has its name.
  make({.job = digitsJob + std::string(" checkpoint { every_steps: 2 }")});
  TrainOptions options;
  options.checkpoint = folder / "run";
  CheckpointFolder checkpoints(options.checkpoint);
  ASSERT_TRUE(CheckpointFolder(checkpoints.file(4) + ".tmp").create().ok());
  auto summary = train(options);
  EXPECT_EQ(summary.status().code(), Code::error);
  EXPECT_EQ(summary.status().message(), "cannot write '" + checkpoints.file(4) +
                                            "': Is a directory; the previous checkpoint '" +
                                            checkpoints.file(2) + "' is whole");
}

TEST_F(CheckpointTest, AKillAtAnyMomentLeavesWholeCheckpoints) {
  std::mt19937 random(1);
  std::string run = folder / "run";
  CheckpointFolder checkpoints(run);
  make({.job = digitsJob + std::string(" checkpoint { every_steps: 1 keep: 2 }")});
  int64_t newest = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> arguments = {"--quiet", "--threads=1", "--epochs=100000000",
                                          "--checkpoint", run};
    if (!checkpoints.steps().empty())
      arguments.push_back("--resume");
    pid_t process = start(arguments);
    if (round % 2) // otherwise at any point, on a slow machine before its first step
      waitForCheckpoint(run, newest);
    usleep(2000 + random() % 12000);
    kill(process, SIGKILL);
    ASSERT_EQ(wait(process), 1000 + SIGKILL) << "it ended by itself";
    auto steps = checkpoints.steps();
    for (int64_t step : steps) {
      auto checkpoint = Checkpoint::open(checkpoints.file(step));
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
      EXPECT_EQ(checkpoint->position().step, uint64_t(step));
    }
    if (!steps.empty()) {
      EXPECT_GE(steps.back(), newest);
      newest = steps.back();
    }
  }
  EXPECT_GT(newest, 0);

  // After all kills, the bits equal those of a single run.
  TrainOptions options;
  options.steps = newest + 5;
  options.checkpoint = run;
  options.resume = "latest";
  options.exportPath = folder / "resumed.onnx";
  ASSERT_TRUE(train(options).ok());
  options.resume.clear();
  options.checkpoint = folder / "whole";
  options.exportPath = folder / "whole.onnx";
  ASSERT_TRUE(train(options).ok());
  EXPECT_EQ(readFile(folder / "resumed.onnx"), readFile(folder / "whole.onnx"));
}

TEST_F(CheckpointTest, FolderIgnoresOtherFilesAndRemovesLeftovers) {
  CheckpointFolder checkpoints(folder / "run");
  ASSERT_TRUE(checkpoints.create().ok());
  for (const char *name :
       {"step-3.ckpt", "step-20.ckpt", "step-100.ckpt", "step-7.ckpt.tmp", "best.ckpt",
        "best.ckpt.tmp", "step-x.ckpt", "step-.ckpt", "notes.tmp", "step-9.txt"})
    writeFile(folder / ("run/" + std::string(name)), {});
  EXPECT_EQ(checkpoints.steps(), (std::vector<int64_t>{3, 20, 100}));
  EXPECT_EQ(*checkpoints.latest(), checkpoints.file(100));
  checkpoints.prune(100, 2);
  EXPECT_EQ(checkpoints.steps(), (std::vector<int64_t>{20, 100}));
  checkpoints.prune(20, 2);
  EXPECT_EQ(checkpoints.steps(), (std::vector<int64_t>{20}));
  EXPECT_FALSE(exists(folder / "run/step-7.ckpt.tmp"));
  EXPECT_FALSE(exists(folder / "run/best.ckpt.tmp"));
  for (const char *name : {"best.ckpt", "step-x.ckpt", "step-.ckpt", "notes.tmp", "step-9.txt"})
    EXPECT_TRUE(exists(folder / ("run/" + std::string(name)))) << name;
}

} // namespace
