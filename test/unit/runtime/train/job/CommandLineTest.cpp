// The command line, log lines and progress.
#include "runtime/train/job/CommandLine.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/report/Progress.h"
#include "test/unit/runtime/train/TrainModel.h"

#include <cmath>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

Result<CommandLine> parse(std::vector<std::string> arguments) {
  std::vector<char *> raw;
  for (std::string &argument : arguments)
    raw.push_back(argument.data());
  return parseCommandLine(raw);
}

std::string parseError(std::vector<std::string> arguments) {
  auto line = parse(std::move(arguments));
  EXPECT_FALSE(line.ok());
  EXPECT_EQ(line.status().code(), Code::usage);
  return line.status().message();
}

TEST(CommandLineTest, ReadsEveryOption) {
  auto line = parse(
      {"--steps",  "5",         "--epochs=6", "--seed",   "0",       "--threads",       "8",
       "--level",  "x86-64-v3", "--data-dir", "d",        "--log=l", "--checkpoint",    "c",
       "--export", "e.onnx",    "--quiet",    "--resume", "r",       "--learning-rate", "2e-3"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  const TrainOptions &options = line->options;
  EXPECT_EQ(options.steps, 5);
  EXPECT_EQ(options.epochs, 6);
  EXPECT_EQ(options.seed, 0);
  EXPECT_EQ(options.learningRate, 2e-3);
  EXPECT_EQ(options.threads, 8);
  EXPECT_EQ(options.level, "x86-64-v3");
  EXPECT_EQ(options.dataFolder, "d");
  EXPECT_EQ(options.log, "l");
  EXPECT_EQ(options.checkpoint, "c");
  EXPECT_EQ(options.exportPath, "e.onnx");
  EXPECT_EQ(options.resume, "r");
  EXPECT_TRUE(options.quiet);
  EXPECT_FALSE(line->help);
}

TEST(CommandLineTest, ResumeTakesAPathOrNothing) {
  EXPECT_EQ(parse({"--resume"})->options.resume, "latest");
  EXPECT_EQ(parse({"--resume", "--quiet"})->options.resume, "latest");
  EXPECT_EQ(parse({"--resume=run"})->options.resume, "run");
  EXPECT_EQ(parse({})->options.resume, "");
}

TEST(CommandLineTest, RepeatsAllButResume) {
  EXPECT_EQ(parse({"train", "--epochs=6", "--resume", "r", "--log", "a b", "--quiet"})->repeated,
            " --epochs=6 --log 'a b' --quiet");
  EXPECT_EQ(parse({"--resume", "--export", "it's.onnx"})->repeated, " --export 'it'\\''s.onnx'");
  EXPECT_EQ(parse({"--resume=r"})->repeated, "");
}

TEST(CommandLineTest, Errors) {
  EXPECT_EQ(parseError({"--chekpoint", "d"}),
            "unknown option '--chekpoint', did you mean '--checkpoint'?");
  EXPECT_EQ(parseError({"--frobnicate"}), "unknown option '--frobnicate'");
  EXPECT_EQ(parseError({"model.onnx"}), "unexpected argument 'model.onnx'");
  EXPECT_EQ(parseError({"predcit", "--data", "d"}),
            "unexpected argument 'predcit', did you mean 'predict'?");
  EXPECT_EQ(parseError({"--quiet", "predcit"}), "unexpected argument 'predcit'");
  EXPECT_EQ(parseError({"--steps"}), "option '--steps' expects a value: --steps N");
  EXPECT_EQ(parseError({"--steps", "--quiet"}), "option '--steps' expects a value: --steps N");
  EXPECT_EQ(parseError({"--steps", "0"}), "option '--steps' is '0', expected a number, 1 or more");
  EXPECT_EQ(parseError({"--steps", "5x"}),
            "option '--steps' is '5x', expected a number, 1 or more");
  EXPECT_EQ(parseError({"--epochs="}), "option '--epochs' is '', expected a number, 1 or more");
  EXPECT_EQ(parseError({"--seed", "-1"}), "option '--seed' is '-1', expected a number, 0 or more");
  EXPECT_EQ(parseError({"--threads", "1025"}),
            "option '--threads' is '1025', expected a number from 1 to 1024");
  EXPECT_EQ(parseError({"--log="}), "option '--log' is '', expected a name");
  EXPECT_EQ(parseError({"--resume="}), "option '--resume' is '', expected a name");
  EXPECT_EQ(parseError({"--resume", "", "--quiet"}), "option '--resume' is '', expected a name");
  EXPECT_EQ(parseError({"--quiet=yes"}), "option '--quiet' takes no value");
}

TEST(CommandLineTest, RatesAreNumbersAboveZero) {
  for (std::string rate : {"0", "-1", "nan", "inf", "1e", ""})
    EXPECT_EQ(parseError({"--learning-rate=" + rate}),
              "option '--learning-rate' is '" + rate + "', expected a number above 0");
  auto line = parse({"--find-learning-rate", "curve.csv", "--rates", "1e-4:0.5"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->options.findRate, "curve.csv");
  EXPECT_EQ(line->options.rateRange, std::pair(1e-4, 0.5));
  for (std::string range : {"1", "1:", ":1", "1:1", "0:1", "2:1", "1:2:3"})
    EXPECT_EQ(parseError({"--rates=" + range}),
              "option '--rates' is '" + range +
                  "', expected two rates above 0, the lower one first, such as 1e-5:1");
  EXPECT_EQ(parseError({"--find-learning-rate=c", "--resume"}),
            "option '--find-learning-rate' starts from the model's weights: it does not go with "
            "'--resume'");
  EXPECT_EQ(parseError({"--find-learning-rate=c", "--epochs=1"}),
            "option '--find-learning-rate' goes over its rates in --steps: it does not go with "
            "'--epochs'");
  EXPECT_EQ(parseError({"--find-learning-rate=c", "--learning-rate=1"}),
            "option '--find-learning-rate' goes over --rates: it does not go with "
            "'--learning-rate'");
}

TEST(CommandLineTest, ASweepIsAListOfRuns) {
  // The position of options does not matter.
  auto line = parse({"--steps=5", "--sweep", "learning_rate=0.1,1e-3", "--seed=3"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->sweep.field, "learning_rate");
  ASSERT_EQ(line->sweep.runs.size(), 2u);
  EXPECT_EQ(line->sweep.runs[1].first, "1e-3");
  const TrainOptions &run = line->sweep.runs[1].second;
  EXPECT_EQ(run.learningRate, 1e-3);
  EXPECT_EQ(run.steps, 5);
  EXPECT_EQ(run.seed, 3);
  EXPECT_EQ(run.variant, "learning_rate=1e-3");
  EXPECT_EQ(parse({"--sweep=seed=1,2,3"})->sweep.runs[2].second.seed, 3);

  EXPECT_EQ(
      parseError({"--sweep", "batch=1,2"}),
      "option '--sweep' names 'batch', expected one of 'learning_rate', 'steps', 'epochs' and "
      "'seed'; other fields of a spec are compiled in");
  EXPECT_EQ(parseError({"--sweep", ""}),
            "option '--sweep' is '', expected a field and its values, FIELD=A,B,C");
  EXPECT_EQ(parseError({"--sweep", "seed"}), "option '--sweep' expects values: --sweep seed=A,B,C");
  EXPECT_EQ(parseError({"--sweep", "steps=5,0"}),
            "option '--sweep steps' is '0', expected a number, 1 or more");
  EXPECT_EQ(parseError({"--sweep", "seed=5,"}),
            "option '--sweep seed' is '', expected a number, 0 or more");
  EXPECT_EQ(parseError({"--sweep", "seed=5,5"}), "option '--sweep' has the value '5' twice");
  EXPECT_EQ(parseError({"--sweep", "learning_rate=1,2", "--learning-rate=3"}),
            "option '--learning-rate' does not go with '--sweep learning_rate', which gives its "
            "values");
  EXPECT_EQ(parseError({"--seed=3", "--sweep", "seed=1,2"}),
            "option '--seed' does not go with '--sweep seed', which gives its values");
  EXPECT_EQ(parseError({"--sweep", "seed=5", "--resume"}),
            "option '--sweep' trains from the start: it goes neither with '--resume' nor with "
            "'--find-learning-rate'");
}

TEST(CommandLineTest, HelpNamesEveryOption) {
  std::string help = helpText("trainer", trains);
  for (const char *name :
       {"--steps N", "--epochs N", "--seed N", "--threads N", "--level NAME", "--data-dir DIR",
        "--log FILE", "--checkpoint DIR", "--resume [PATH]", "--export FILE",
        "--learning-rate RATE", "--find-learning-rate FILE", "--rates LOW:HIGH",
        "--sweep FIELD=A,B,C", "--quiet", "--help", "--version"})
    EXPECT_NE(help.find(name), help.npos) << name;
}

TEST(LogTest, NumbersReadBackAndNonFiniteOnesAreNull) {
  std::string out;
  LogLine(out, "test")
      .integer("i", -3)
      .real("third", 1 / 3.0f)
      .real("tenth", 0.1)
      .real("nan", NAN)
      .real("inf", INFINITY)
      .real("low", -double(INFINITY));
  EXPECT_EQ(out, "{\"event\":\"test\",\"i\":-3,\"third\":0.33333334,\"tenth\":0.1,"
                 "\"nan\":null,\"nan_is\":\"nan\",\"inf\":null,\"inf_is\":\"inf\","
                 "\"low\":null,\"low_is\":\"-inf\"}\n");
}

TEST(LogTest, StringsAreEscaped) {
  std::string out;
  LogLine(out, "test").string("s", "a\"b\\c\n\x01 \xc3\xa9");
  EXPECT_EQ(out, "{\"event\":\"test\",\"s\":\"a\\\"b\\\\c\\u000a\\u0001 \xc3\xa9\"}\n");
  out.clear();
  LogLine(out, "test").real("top \"1\"", NAN);
  EXPECT_EQ(out, "{\"event\":\"test\",\"top \\\"1\\\"\":null,\"top \\\"1\\\"_is\":\"nan\"}\n");
}

TEST(LogTest, LinesReachTheFileWhenTheBufferIsFullAndAtTheEnd) {
  TemporaryFolder folder;
  std::string path = folder / "log";
  {
    Log log;
    ASSERT_TRUE(log.open(path, false).ok());
    log.line("one");
    ASSERT_TRUE(log.write().ok());
    EXPECT_EQ(linesOf(path).size(), 0u);
    for (int i = 0; i < 10000; ++i)
      log.line("more");
    ASSERT_TRUE(log.write().ok());
    EXPECT_EQ(linesOf(path).size(), 10001u);
    log.line("last");
  }
  EXPECT_EQ(linesOf(path).size(), 10002u);
  Log log;
  ASSERT_TRUE(log.open(path, /*append=*/true).ok());
  log.line("appended");
  ASSERT_TRUE(log.flush().ok());
  EXPECT_EQ(linesOf(path).size(), 10003u);
}

TEST(LogTest, OneTrainingAtATimeWritesAFile) {
  TemporaryFolder folder;
  std::string path = folder / "log";
  std::optional<Log> first(std::in_place);
  ASSERT_TRUE(first->open(path, false).ok());
  first->line("one");
  ASSERT_TRUE(first->flush().ok());
  for (bool append : {false, true}) {
    Status second = Log().open(path, append);
    EXPECT_FALSE(second.ok());
    EXPECT_NE(second.message().find("belongs to a training under way"), std::string::npos);
  }
  EXPECT_EQ(linesOf(path).size(), 1u);
  first.reset();
  Log second;
  ASSERT_TRUE(second.open(path, false).ok());
  EXPECT_EQ(linesOf(path).size(), 1u); // its training may still fail to begin
  ASSERT_TRUE(second.begin().ok());
  EXPECT_EQ(linesOf(path).size(), 0u);
  Log devices[2];
  for (Log &device : devices)
    EXPECT_TRUE(device.open("/dev/null", false).ok());
}

TEST(LogTest, ASecondsStepsReachTheFile) {
  TemporaryFolder folder;
  std::string path = folder / "log";
  Log log;
  ASSERT_TRUE(log.open(path, false).ok());
  StepReport report;
  report.milliseconds = 400;
  for (size_t written : {0, 0, 3, 3, 3, 6}) {
    log.step(report);
    ASSERT_TRUE(log.write().ok());
    EXPECT_EQ(linesOf(path).size(), written);
  }
}

class ProgressTest : public testing::Test {
protected:
  ProgressTest() : path(folder / "out"), descriptor(open(path.c_str(), O_CREAT | O_RDWR, 0600)) {}
  ~ProgressTest() override { close(descriptor); }

  static StepReport report(int64_t step) {
    StepReport report;
    report.step = step;
    report.loss = 6.81234f;
    report.gradientNorm = 0.912f;
    report.learningRate = 6e-4f;
    report.milliseconds = 0.063;
    report.inputMilliseconds = 0.000252;
    return report;
  }

  TemporaryFolder folder;
  std::string path;
  int descriptor;
};

TEST_F(ProgressTest, PlainLinesAreRare) {
  Progress progress(descriptor, false, 19560, 32);
  // The step is late enough for a line: from here on, the test controls the time.
  auto now = Progress::Clock::now() + std::chrono::hours(1);
  progress.step(report(0), now);
  for (int step = 1; step <= 5000; ++step)
    progress.step(report(step), now += std::chrono::milliseconds(1));
  auto lines = linesOf(path);
  ASSERT_EQ(lines.size(), 1 + 2u); // one in two seconds
  EXPECT_EQ(lines[1], "step  2000/19560  loss 6.8123  norm 0.91  lr 6.0e-04  0.063 ms  508k "
                      "samples/s  input 0.4%");
  progress.print("done");
  EXPECT_EQ(linesOf(path).back(), "done");
}

TEST_F(ProgressTest, QuietIsQuiet) {
  Progress progress(descriptor, true, 100, 32);
  progress.step(report(1), Progress::Clock::now() + std::chrono::hours(1));
  progress.print("done");
  EXPECT_TRUE(readFile(path).empty());
}

TEST(ShortCountTest, FourDigitsAtMost) {
  EXPECT_EQ(shortCount(0), "0");
  EXPECT_EQ(shortCount(9999), "9999");
  EXPECT_EQ(shortCount(10000), "10k");
  EXPECT_EQ(shortCount(507936), "508k");
  EXPECT_EQ(shortCount(12.3e6), "12M");
}

TEST(ProgressTerminalTest, OneLineIsRewritten) {
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(grantpt(master) | unlockpt(master), 0);
  int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  Progress progress(terminal, false, 100, 32);
  StepReport report;
  report.milliseconds = 1;
  report.step = 25;
  progress.step(report, Progress::Clock::now() + std::chrono::seconds(1));
  progress.print("done");
  // The terminal may deliver its bytes in one piece or in several.
  std::string seen;
  for (pollfd ready = {master, POLLIN, 0};
       !seen.ends_with("done\r\n") && poll(&ready, 1, 5000) > 0;) {
    char piece[4096];
    ssize_t count = read(master, piece, sizeof piece);
    ASSERT_GT(count, 0);
    seen.append(piece, size_t(count));
  }
  EXPECT_EQ(seen.find("\r\x1b[32m[##--------]\x1b[0m  25%  1:15 left  step  25/100  loss"), 0u)
      << seen;
  EXPECT_NE(seen.find("\x1b[K\r\x1b[Kdone\r\n"), seen.npos) << seen;
  close(terminal);
  close(master);
}

} // namespace
