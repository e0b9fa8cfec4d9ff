// The folder that a run takes, and the newest folder, if some have been removed.
#include "runtime/train/RunFolder.h"
#include "test/unit/runtime/train/TrainModel.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class RunFolderTest : public TrainTest {
protected:
  void add(const std::string &run, const std::string &file) {
    std::filesystem::create_directories(folder.path + "/" + run);
    if (!file.empty())
      std::ofstream(folder.path + "/" + run + "/" + file) << "checkpoint";
  }
  std::string named(const std::string &run) const { return folder.path + "/" + run; }
  std::string next() const {
    auto run = newRun(named("run"));
    return run ? *run : run.status().message();
  }
  std::string newest() const { return newestRun(named("run"), *artifact).folder; }
};

TEST_F(RunFolderTest, FoldersAreCounted) {
  EXPECT_EQ(next(), named("run"));
  EXPECT_EQ(newest(), named("run"));
  add("run", "");
  EXPECT_EQ(next(), named("run")) << "it is empty";
  add("run", "step-1.ckpt");
  EXPECT_EQ(next(), named("run-2"));
  add("run-2", "step-1.ckpt");
  EXPECT_EQ(next(), named("run-3"));
  EXPECT_EQ(newest(), named("run-2"));
  EXPECT_EQ(runOf(named("run"), named("run-2/step-1.ckpt")), named("run-2"));
}

TEST_F(RunFolderTest, RemovedRunsAreNotTakenAgain) {
  add("run-3", "step-1.ckpt");
  EXPECT_EQ(next(), named("run-4"));
  EXPECT_EQ(newest(), named("run-3"));
  EXPECT_EQ(runOf(named("run"), named("run-3/step-1.ckpt")), named("run-3"));
}

TEST_F(RunFolderTest, TheBestOfARunThatWasKilledIsKept) {
  add("run", "best.ckpt");
  EXPECT_EQ(next(), named("run-2"));
  EXPECT_EQ(newest(), named("run"));
}

TEST_F(RunFolderTest, OtherNamesAreNoRuns) {
  for (const char *other : {"run-1", "run-02", "run-x", "run-2b", "runs"})
    add(other, "step-1.ckpt");
  EXPECT_EQ(next(), named("run"));
}

} // namespace
