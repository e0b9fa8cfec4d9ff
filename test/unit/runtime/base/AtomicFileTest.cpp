// Files that are there whole or not at all.
#include "runtime/base/AtomicFile.h"
#include "test/unit/runtime/Files.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

TEST(AtomicFileTest, LeavesNothingWithoutCommit) {
  TemporaryFolder folder;
  std::string path = folder / "file";
  {
    AtomicFile file(path);
    file.write(bytesOf(std::vector<char>(1 << 20, 'x')));
    EXPECT_TRUE(exists(path + ".tmp"));
  }
  EXPECT_FALSE(exists(path + ".tmp"));
  EXPECT_FALSE(exists(path));
  Bytes content = bytesOf(std::vector<char>(1 << 20, 'y'));
  {
    AtomicFile file(path);
    file.write(content);
    EXPECT_TRUE(file.commit().ok());
  }
  EXPECT_FALSE(exists(path + ".tmp"));
  EXPECT_EQ(readFile(path), content);
}

TEST(AtomicFileTest, KeepsThePermissionsOfWhatItReplaces) {
  TemporaryFolder folder;
  std::string path = folder / "file";
  auto modeOf = [](const std::string &file) {
    struct stat there = {};
    EXPECT_EQ(stat(file.c_str(), &there), 0);
    return there.st_mode & 07777;
  };
  for (mode_t mode : {0600, 0640, 0666}) {
    writeFile(path, Bytes(3));
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    AtomicFile file(path);
    file.write(Bytes(5));
    EXPECT_EQ(modeOf(path + ".tmp"), mode);
    EXPECT_TRUE(file.commit().ok());
    EXPECT_EQ(modeOf(path), mode);
    EXPECT_EQ(readFile(path), Bytes(5));
  }
}

TEST(AtomicFileTest, DoesNotWaitForThePipeThatHasItsTemporaryName) {
  TemporaryFolder folder;
  std::string path = folder / "file";
  ASSERT_EQ(mkfifo((path + ".tmp").c_str(), 0600), 0); // nobody reads from it
  AtomicFile file(path);
  file.write(Bytes(3));
  Status status = file.commit();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "cannot write '" + path + "': No such device or address");
}

TEST(AtomicFileTest, WritesTheFileBehindALink) {
  TemporaryFolder folder;
  std::string path = folder / "file", link = folder / "link";
  writeFile(path, Bytes(3));
  ASSERT_EQ(symlink("file", link.c_str()), 0);
  Bytes content = bytesOf(std::vector<char>(10, 'y'));
  AtomicFile file(link);
  file.write(content);
  EXPECT_TRUE(file.commit().ok());
  EXPECT_EQ(readFile(path), content);
  struct stat there;
  ASSERT_EQ(lstat(link.c_str(), &there), 0);
  EXPECT_TRUE(S_ISLNK(there.st_mode));
}

TEST(AtomicFileTest, MakesTheFileBehindLinks) {
  TemporaryFolder folder;
  std::string path = folder / "far/file", link = folder / "link", next = folder / "far/next";
  std::filesystem::create_directory(folder / "far");
  ASSERT_EQ(symlink("far/next", link.c_str()), 0);
  ASSERT_EQ(symlink("../far/file", next.c_str()), 0); // from the folder of the link
  EXPECT_EQ(AtomicFile::behindLinks(link), folder / "far/../far/file");
  Bytes content = bytesOf(std::vector<char>(10, 'y'));
  {
    AtomicFile file(link);
    file.write(content);
    EXPECT_TRUE(exists(path + ".tmp"));
    EXPECT_TRUE(file.commit().ok());
  }
  EXPECT_EQ(readFile(path), content);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_symlink(next));
  // An absolute one.
  std::string other = folder / "other";
  ASSERT_EQ(symlink((path + "2").c_str(), other.c_str()), 0);
  EXPECT_EQ(AtomicFile::behindLinks(other), path + "2");
  // One of a circle becomes the file.
  std::string circle = folder / "circle", back = folder / "back";
  ASSERT_EQ(symlink("back", circle.c_str()), 0);
  ASSERT_EQ(symlink("circle", back.c_str()), 0);
  AtomicFile file(circle);
  file.write(content);
  EXPECT_TRUE(file.commit().ok());
  EXPECT_EQ(readFile(circle), content);
}

/// Trainings side by side export to the same name.
TEST(AtomicFileTest, OneWriterWaitsForTheOther) {
  TemporaryFolder folder;
  std::string path = folder / "file";
  Bytes mine = bytesOf(std::vector<char>(1 << 20, 'x'));
  Bytes others = bytesOf(std::vector<char>(1 << 19, 'y'));
  AtomicFile file(path);
  file.write(mine);
  std::atomic<bool> isWritten = false;
  std::thread other([&] {
    AtomicFile second(path);
    second.write(others);
    EXPECT_TRUE(second.commit().ok()) << second.status().message();
    isWritten = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(isWritten);
  EXPECT_TRUE(file.commit().ok()) << file.status().message();
  other.join();
  EXPECT_EQ(readFile(path), others);
  EXPECT_FALSE(exists(path + ".tmp"));
}

TEST(AtomicFileTest, AFileThatIsBeingWrittenStays) {
  TemporaryFolder folder;
  std::string path = folder / "file";
  Bytes content = bytesOf(std::vector<char>(1 << 20, 'x'));
  AtomicFile file(path);
  file.write(content);
  EXPECT_TRUE(AtomicFile::check(path).ok()); // when another run begins
  AtomicFile impatient(path, /*patience=*/0);
  impatient.write(Bytes(3));
  EXPECT_EQ(impatient.commit().message(),
            "cannot write '" + path +
                "': another run is writing it; wait for its end, or name another file");
  EXPECT_TRUE(file.commit().ok()) << file.status().message();
  EXPECT_EQ(readFile(path), content);
}

TEST(AtomicFileTest, WhatAKilledProcessHasLeftIsReplaced) {
  TemporaryFolder folder;
  std::string path = folder / "file";
  writeFile(path + ".tmp", Bytes(1000));
  AtomicFile file(path);
  file.write(Bytes(5));
  EXPECT_TRUE(file.commit().ok());
  EXPECT_EQ(readFile(path), Bytes(5));
}

TEST(AtomicFileTest, KeepsTheFirstFailure) {
  AtomicFile file("/absent/file");
  file.write(bytesOf(std::vector<char>(10)));
  EXPECT_EQ(file.commit().message(), "cannot write '/absent/file': No such file or directory");
}

} // namespace
