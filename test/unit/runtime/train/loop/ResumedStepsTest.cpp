// The steps of a resumed run, and the length of the run that their rates go by.
#include "test/unit/runtime/data/DataTesting.h"
#include "test/unit/runtime/train/TrainModel.h"

#include <utility>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class ResumedStepsTest : public TrainTest {
protected:
  /// Rows 3 to 7 have labels of no class, so the first batch of 8 ends behind row 12.
  ResumedStepsTest() {
    std::vector<int64_t> labels(60);
    for (size_t row = 0; row < labels.size(); ++row)
      labels[row] = row >= 3 && row < 8 ? 10 : int64_t(row % 10);
    std::vector<Member> members = digits(60);
    members[1].content = npy("<i8", "(60,)", bytesOf(labels));
    writeFile(folder / "bad.npz", zip(members));
  }
  /// Two epochs over the first rows of that file in their order.
  void makeWith(int64_t rows) {
    std::string job = digitsJob;
    auto replace = [&](std::string_view old, std::string_view with) {
      job.replace(job.find(old), old.size(), with);
    };
    replace("source { npz { path: \"digits.npz\" rows { end: 43 }",
            "on_error: SKIP source { npz { path: \"bad.npz\" rows { end: " + std::to_string(rows) +
                " }");
    replace("shuffle { }", "");
    replace("epochs: 4", "epochs: 2");
    make({.job = job + " schedule { cosine { } } export { best: false }"});
  }
};

TEST_F(ResumedStepsTest, BehindSkippedRowsTheyAreThoseOfTheWholeRun) {
  // 45 rows are five batches, with and without the bad ones; 43 are five, the good ones four.
  for (auto [rows, steps] : {std::pair(45, 10), std::pair(43, 8)}) {
    makeWith(rows);
    TrainOptions options;
    options.exportPath = folder / "whole.onnx";
    auto whole = train(options);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    ASSERT_EQ(whole->steps, steps);
    for (int64_t stop = 1; stop < steps; ++stop) {
      TrainOptions run;
      run.checkpoint = folder / ("run" + std::to_string(rows) + "-" + std::to_string(stop));
      run.onStep = [&](const StepReport &report) { return report.step < stop; };
      ASSERT_TRUE(train(run).ok());
      run.onStep = nullptr;
      run.resume = "latest";
      run.exportPath = folder / "resumed.onnx";
      auto rest = train(run);
      ASSERT_TRUE(rest.ok()) << rest.status().message();
      EXPECT_EQ(rest->losses, std::vector<float>(whole->losses.begin() + stop, whole->losses.end()))
          << rows << ' ' << stop;
      EXPECT_EQ(readFile(run.exportPath), readFile(options.exportPath)) << rows << ' ' << stop;
    }
  }
}

TEST_F(ResumedStepsTest, OtherDataOfAsManyBatchesAreRefused) {
  // 45 rows leave out 5, 40 rows none.
  for (auto [before, now] : {std::pair(45, 46), std::pair(40, 44)}) {
    makeWith(before);
    TrainOptions options;
    options.checkpoint = folder / ("of" + std::to_string(before));
    options.steps = 3;
    ASSERT_TRUE(train(options).ok());
    makeWith(now);
    options.resume = "latest";
    options.steps = 4;
    EXPECT_EQ(train(options).status().message(),
              "cannot resume: the checkpoint was written with " + std::to_string(before) +
                  " training rows, the data now gives " + std::to_string(now));
  }
}

} // namespace
