// Messages about the input: the warning and its advice, and skipped rows.
#include "runtime/train/report/InputWatch.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;

namespace {

InputReport report() {
  InputReport report;
  report.workers = 2;
  report.prefetches = true;
  report.depth = 4;
  report.bytes = size_t(30) << 20;
  report.budget = size_t(256) << 20;
  report.stages = {{"source npz", 0.1, 1000}, {"decode 'image'", 0.8, 1000}, {"cache", 0.1, 1000}};
  return report;
}

TEST(InputWatchTest, TheWarningNamesTheDearestStage) {
  EXPECT_EQ(
      inputWarning(report(), 0.43),
      "steps wait 43% of their time for input; decode 'image' takes 80% of its work (800 us a "
      "row, 2 threads, 4 batches ahead, 30.0 of 256 MB): put stage { cache { } } behind it where "
      "nothing random comes before, do its work once before training, or give the run more "
      "CPUs");
  EXPECT_EQ(inputWarning(report(), 0.03), "");
  EXPECT_EQ(inputWarning(InputReport(), 0.9), "");
}

TEST(InputWatchTest, TimesHaveAUnitThatFits) {
  for (auto [seconds, shown] : {std::pair(0.0004, "(400 us a row"),
                                {0.0009994, "(999 us a row"},
                                {0.0009996, "(1 ms a row"},
                                {0.0098312, "(9.83 ms a row"}}) {
    InputReport found = report();
    found.stages[1].seconds = 1000 * seconds;
    EXPECT_NE(inputWarning(found, 0.5).find(shown), std::string::npos) << inputWarning(found, 0.5);
  }
}

TEST(InputWatchTest, TheAdviceFitsTheCase) {
  auto advises = [](const InputReport &report, std::string_view what) {
    return inputWarning(report, 0.5).find(what) != std::string::npos;
  };
  InputReport found = report();
  found.workers = 0;
  found.prefetches = false;
  EXPECT_TRUE(advises(found, ": add stage { prefetch { } } behind batch"));
  found = report();
  found.bytes = size_t(250) << 20;
  EXPECT_TRUE(advises(found, ": raise memory_mb"));
  found = report();
  found.stages[0].seconds = 2;
  EXPECT_TRUE(advises(found, "source npz takes 69%"));
  EXPECT_TRUE(advises(found, ": put stage { cache { } } behind the source"));
  found = report();
  found.stages[1].name = "mix";
  EXPECT_TRUE(advises(found, ": give the run more CPUs"));
}

/// Returns the reports that it was given.
class Told final : public Iterator {
public:
  Status next(Batch &) override { return {}; }
  Position position() const override { return {}; }
  Status restore(Position) override { return {}; }
  InputReport report() override { return told; }
  InputReport told;
};

/// Steps that wait half of their time, with `changing` more batches ahead at each step; returns the
/// messages printed meanwhile.
std::string saidIn(int steps, Told &iterator, InputWatch &watch, double milliseconds,
                   int changing = 0) {
  StepReport step;
  step.milliseconds = milliseconds;
  step.inputMilliseconds = milliseconds / 2;
  testing::internal::CaptureStderr();
  for (int i = 0; i < steps; ++i) {
    iterator.told.depth += changing;
    watch.step(step, Batch(), iterator);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(InputWatchTest, WarnsOnceItHasSettled) {
  Log log;
  Progress progress(1, /*quiet=*/true, 100, 1);
  InputWatch watch(log, progress);
  Told iterator;
  iterator.told = report();
  // The second step checks, and finds new threads.
  EXPECT_EQ(saidIn(3, iterator, watch, 600), "");
  std::string said = saidIn(40, iterator, watch, 600);
  EXPECT_EQ(said.find("warning: steps wait 50% of their time for input; decode 'image'"), 0u);
  EXPECT_EQ(said.find('\n'), said.size() - 1);
}

TEST(InputWatchTest, SkippedRowsAreCountedAndTheFirstOnesShown) {
  Log log;
  Progress progress(1, /*quiet=*/false, 100, 1);
  InputWatch watch(log, progress);
  Told iterator;
  Batch batch;
  batch.skipped = 7;
  for (int i = 0; i < 7; ++i)
    batch.complaints.push_back("row " + std::to_string(i) + " is bad");
  testing::internal::CaptureStdout();
  watch.step({}, batch, iterator);
  watch.finish(1, iterator);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "skipped: row 0 is bad\nskipped: row 1 is bad\nskipped: row 2 is bad\n"
            "skipped: row 3 is bad\nskipped: row 4 is bad\n"
            "input: steps waited 0.0% of their time; batches are made by the step's own thread; 7 "
            "rows skipped\n");
}

TEST(InputWatchTest, WarnsThoughThreadsAndBatchesKeepChanging) {
  Log log;
  Progress progress(1, /*quiet=*/true, 100, 1);
  InputWatch watch(log, progress);
  Told iterator;
  iterator.told = report();
  EXPECT_EQ(saidIn(6, iterator, watch, 600, 1), "");
  EXPECT_NE(saidIn(2, iterator, watch, 600, 1).find("decode 'image' takes 80%"), std::string::npos);
}

TEST(InputWatchTest, AShortRunIsJudgedAtItsEnd) {
  for (double milliseconds : {40.0, 1.0}) {
    Log log;
    Progress progress(1, /*quiet=*/true, 100, 1);
    InputWatch watch(log, progress);
    Told iterator;
    iterator.told = report();
    EXPECT_EQ(saidIn(10, iterator, watch, milliseconds), "");
    testing::internal::CaptureStderr();
    watch.finish(10, iterator);
    bool warned = testing::internal::GetCapturedStderr().find("decode 'image' takes 80%") !=
                  std::string::npos;
    EXPECT_EQ(warned, milliseconds > 10); // so short that no message is due
  }
}

} // namespace
