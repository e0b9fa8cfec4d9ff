// The files of a training: where data are looked for, and where outputs go.
#include "test/unit/runtime/train/TrainModel.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <sys/resource.h>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

using TrainerFilesTest = TrainTest;

TEST_F(TrainerFilesTest, DataFolder) {
  TemporaryFolder other;
  writeFile(other / "digits.npz", zip(digits(50)));
  std::string job = digitsJob;
  job.replace(job.find("begin: 43"), 9, "begin: 49");
  make({.job = job});
  TrainOptions options;
  options.dataFolder = other.path;
  EXPECT_TRUE(train(options).ok());
  options.dataFolder = folder / "absent";
  EXPECT_EQ(train(options).status().message(),
            "cannot find data file 'digits.npz', tried '" + options.dataFolder + "/digits.npz'");
}

/// All paths of a spec are relative to it, including outputs; options are relative to the current
/// folder.
TEST_F(TrainerFilesTest, PathsAreRelativeToTheSpec) {
  std::string outputs = " checkpoint { directory: \"kept/here\" } export { onnx: \"out.onnx\" }";
  make({.job = digitsJob + outputs});
  auto summary = train({.steps = 1});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->checkpoint, folder / "kept/here/step-1.ckpt");
  EXPECT_EQ(access((folder / "out.onnx").c_str(), F_OK), 0);

  // Otherwise they would end up in an unrelated folder.
  std::string job = digitsJob + outputs;
  job.replace(job.find("\"{}\""), 4, "\"/absent\"");
  make({.job = job});
  EXPECT_EQ(train({.steps = 1, .dataFolder = folder.path}).status().message(),
            "cannot write 'kept/here': the spec's folder '/absent' is not on this machine; name a "
            "place with --checkpoint");

  if (geteuid() == 0)
    return; // nothing is closed to root
  std::filesystem::create_directories(folder / "closed/job");
  std::filesystem::permissions(folder / "closed", std::filesystem::perms::none);
  job.replace(job.find("/absent"), 7, folder / "closed/job");
  make({.job = job});
  EXPECT_EQ(train({.steps = 1, .dataFolder = folder.path}).status().message(),
            "cannot write 'kept/here': the spec's folder '" + (folder / "closed/job") +
                "' cannot be entered: permission denied; name a place with --checkpoint");
  std::filesystem::permissions(folder / "closed", std::filesystem::perms::owner_all);
}

/// The export of another model is not replaced silently.
TEST_F(TrainerFilesTest, SaysThatTheExportReplacesAnotherModel) {
  make({.job = digitsJob + std::string(" export { onnx: \"out.onnx\" }")});
  auto said = [&](std::vector<std::string> arguments) {
    testing::internal::CaptureStdout();
    arguments.insert(arguments.end(), {"--threads=1", "--steps=1"});
    EXPECT_EQ(main(std::move(arguments)), 0);
    return testing::internal::GetCapturedStdout().find("replaces '" + (folder / "out.onnx") +
                                                       "', which another job has written") !=
           std::string::npos;
  };
  EXPECT_FALSE(said({}));
  EXPECT_FALSE(said({})) << "it is this model's";
  writeFile(folder / "out.onnx", Bytes(100));
  EXPECT_TRUE(said({}));
  writeFile(folder / "out.onnx", Bytes(100));
  EXPECT_FALSE(said({"--export", folder / "out.onnx"})) << "it is named";
}

TEST_F(TrainerFilesTest, FieldsInMemoryTakeTheFilesPlace) {
  TrainOptions options;
  options.steps = 9;
  auto fromFiles = train(options);
  ASSERT_TRUE(fromFiles.ok()) << fromFiles.status().message();
  // The content of digits.npz, of which the job selects the same rows.
  std::vector<uint8_t> images(60 * 4);
  std::iota(images.begin(), images.end(), uint8_t(0));
  std::vector<int64_t> labels(60);
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = int64_t(i % 10);
  auto bytes = [](const auto &values) {
    return reinterpret_cast<const std::byte *>(values.data());
  };
  options.fields = {{{"images", GRADC_U8, {2, 2}}, 60, bytes(images), nullptr},
                    {{"labels", GRADC_I64, {}}, 60, bytes(labels), nullptr}};
  auto fromMemory = train(options);
  ASSERT_TRUE(fromMemory.ok()) << fromMemory.status().message();
  EXPECT_EQ(fromMemory->losses, fromFiles->losses);
  options.fields.pop_back();
  EXPECT_EQ(train(options).status().message(),
            "model input 'y' is fed from field 'labels', but the memory that was given has "
            "'images'");
}

TEST_F(TrainerFilesTest, FilesThatCannotBeWrittenStopItBeforeTheFirstStep) {
  TrainOptions options;
  options.onStep = [](const StepReport &) {
    ADD_FAILURE() << "a step was made";
    return true;
  };
  options.log = folder / "absent/log.jsonl";
  EXPECT_EQ(train(options).status().message(),
            "cannot write log '" + options.log + "': No such file or directory");
  options.log.clear();
  options.checkpoint = folder / "digits.npz";
  EXPECT_EQ(train(options).status().message(),
            "cannot write checkpoints to '" + options.checkpoint + "': not a folder");
  options.checkpoint = folder / "digits.npz/run";
  EXPECT_EQ(train(options).status().message(),
            "cannot make folder '" + options.checkpoint + "': Not a directory");
  // The log of an earlier run is still there.
  options.checkpoint.clear();
  options.log = folder / "log.jsonl";
  options.trace = folder / "absent/trace.json";
  Bytes earlier(100, std::byte('x'));
  writeFile(options.log, earlier);
  EXPECT_EQ(train(options).status().message(),
            "cannot write trace '" + options.trace + "': No such file or directory");
  EXPECT_EQ(readFile(options.log), earlier);
}

/// Whether all lines of a log are whole, as a report expects.
bool hasWholeLines(const std::string &log) {
  Bytes bytes = readFile(log);
  return !bytes.empty() && bytes.back() == std::byte('\n') &&
         std::ranges::all_of(linesOf(log), [](const std::string &line) {
           return line.starts_with("{\"event\":\"") && line.ends_with('}');
         });
}

TEST_F(TrainerFilesTest, AResumeGoesOnAfterTheLastWholeLineOfTheLog) {
  TrainOptions options;
  options.steps = 3;
  options.log = folder / "log.jsonl";
  options.checkpoint = folder / "run";
  ASSERT_TRUE(train(options).ok());
  Bytes whole = readFile(options.log);
  size_t lines = linesOf(options.log).size();
  options.resume = "latest";
  for (size_t torn : {0u, 1u, 20u, 5000u}) {
    Bytes cut = whole;
    const std::string line = "{\"event\":\"step\",";
    for (size_t i = 0; i < torn; ++i)
      cut.push_back(std::byte(line[i % line.size()]));
    writeFile(options.log, cut);
    ++*options.steps;
    ASSERT_TRUE(train(options).ok());
    EXPECT_TRUE(hasWholeLines(options.log)) << torn;
    EXPECT_TRUE(linesOf(options.log)[lines].starts_with("{\"event\":\"resume\"")) << torn;
  }
  // A log without any whole line has nothing to keep.
  writeFile(options.log, Bytes(whole.begin(), whole.begin() + 10));
  ++*options.steps;
  ASSERT_TRUE(train(options).ok());
  EXPECT_TRUE(linesOf(options.log)[0].starts_with("{\"event\":\"resume\""));
}

// JSON is UTF-8, and names of files may have any bytes.
TEST_F(TrainerFilesTest, PathsInTheLogAreUtf8) {
  TrainOptions options;
  options.steps = 1;
  options.log = folder / "log.jsonl";
  options.checkpoint = folder / "run\xff";
  ASSERT_TRUE(train(options).ok());
  EXPECT_TRUE(std::filesystem::exists(options.checkpoint + "/step-1.ckpt"));
  std::vector<std::string> lines = linesOf(options.log);
  EXPECT_TRUE(std::ranges::any_of(lines, [](const std::string &line) {
    return line.ends_with("/run\xef\xbf\xbd/step-1.ckpt\"}");
  }));
}

TEST_F(TrainerFilesTest, ALogThatMayNotGrowKeepsItsWholeLines) {
  std::string log = folder / "log.jsonl";
  constexpr rlim_t most = 200'000; // bytes per file: in the middle of a line; kernels have fewer
  pid_t process = start({"--quiet", "--threads=1", "--epochs=10000", "--log", log}, [] {
    rlimit limit = {most, most};
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!freopen("/dev/null", "w", stderr))
      _exit(99);
  });
  EXPECT_EQ(wait(process), 1);
  EXPECT_TRUE(hasWholeLines(log));
  EXPECT_GT(readFile(log).size(), most - 500);
}

/// Metrics over the zeros in the place of the file's end would be wrong.
TEST_F(TrainerFilesTest, AnEvaluationOfAFileThatWasCutOffFails) {
  testing::internal::CaptureStderr();
  pid_t process = start({"evaluate", "--threads=1"}, [&] {
    static auto file = *MappedFile::open(folder / "digits.npz");
    (void)MappedFile::outliveFault(file->bytes().data());
  });
  EXPECT_EQ(wait(process), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: data file '" + (folder / "digits.npz") +
                                                        "' became shorter while it was read\n");
}

TEST_F(TrainerFilesTest, AFullDiskUnderTheLog) {
  TrainOptions options;
  options.log = "/dev/full";
  EXPECT_EQ(train(options).status().message(),
            "cannot write log '/dev/full': No space left on device");
}

} // namespace
