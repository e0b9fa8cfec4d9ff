// The folder that a run takes, and the newest folder, if some have been removed.
#include "runtime/train/checkpoint/RunFolder.h"
#include "test/unit/runtime/train/TrainModel.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

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

/// Archived runs, and those of colleagues.
TEST_F(RunFolderTest, EarlierRunsMayBeReadOnly) {
  // Another user looks, since root may write everywhere. That user may have no right to enter the
  // folders above, so the process is inside before it becomes that user.
  auto nextOfOther = [&] {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_t other = fork();
    if (other == 0) {
      bool isOther = chdir(folder.path.c_str()) == 0 &&
                     (geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
      auto run = newRun("run");
      std::string found = !isOther ? "still root" : run.ok() ? *run : run.status().message();
      _exit(write(ends[1], found.data(), found.size()) < 0);
    }
    close(ends[1]);
    char found[4096];
    ssize_t size = read(ends[0], found, sizeof found);
    close(ends[0]);
    EXPECT_EQ(wait(other), 0);
    return std::string(found, size_t(std::max<ssize_t>(size, 0)));
  };
  if (nextOfOther() == "still root")
    GTEST_SKIP() << "root cannot become another user here";
  using std::filesystem::perms;
  constexpr perms all = perms::owner_read | perms::group_read | perms::others_read,
                  readable = all | perms::owner_exec | perms::group_exec | perms::others_exec;
  std::filesystem::permissions(folder.path, readable | perms::owner_write);
  add("run", "step-1.ckpt");
  add("run-2", "step-1.ckpt");
  add("run-3", ".lock");
  for (const char *run : {"run", "run-2", "run-3"})
    std::filesystem::permissions(named(run), readable);
  EXPECT_EQ(nextOfOther(), "run-4") << "run-3 is empty, but closed";

  // A run in progress keeps others out even so.
  std::filesystem::permissions(named("run-2"), readable | perms::owner_write);
  CheckpointFolder second(named("run-2"));
  ASSERT_TRUE(second.lock().ok());
  std::filesystem::permissions(named("run-2/.lock"), all);
  std::filesystem::permissions(named("run-2"), readable);
  EXPECT_EQ(nextOfOther(), "folder 'run-2' belongs to a training under way, process " +
                               std::to_string(getpid()) +
                               ": wait for its end, or name another folder with --checkpoint");
  for (const char *run : {"run", "run-2", "run-3"})
    std::filesystem::permissions(named(run), perms::owner_all);
}

TEST_F(RunFolderTest, OtherNamesAreNoRuns) {
  for (const char *other : {"run-1", "run-02", "run-x", "run-2b", "runs"})
    add(other, "step-1.ckpt");
  EXPECT_EQ(next(), named("run"));
}

} // namespace
