// Reads, writes and removes the files of tests.
#include "test/unit/runtime/Files.h"

#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gradc::runtime::test;

TemporaryFolder::TemporaryFolder() {
  const char *base = std::getenv("TMPDIR");
  path = std::string(base ? base : "/tmp") + "/gradc-test-XXXXXX";
  if (!mkdtemp(path.data()))
    std::abort();
}

static void removeAll(const std::string &path) {
  if (DIR *folder = opendir(path.c_str())) {
    while (dirent *entry = readdir(folder))
      if (std::string_view name = entry->d_name; name != "." && name != "..")
        removeAll(path + "/" + entry->d_name);
    closedir(folder);
    rmdir(path.c_str());
  } else {
    unlink(path.c_str());
  }
}

TemporaryFolder::~TemporaryFolder() { removeAll(path); }

bool gradc::runtime::test::exists(const std::string &path) {
  return access(path.c_str(), F_OK) == 0;
}

Bytes gradc::runtime::test::readFile(const std::string &path) {
  Bytes bytes;
  FILE *file = std::fopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (!file)
    return bytes;
  std::byte buffer[1 << 16];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, file))
    bytes.insert(bytes.end(), buffer, buffer + count);
  std::fclose(file);
  return bytes;
}

std::vector<std::string> gradc::runtime::test::linesOf(const std::string &path) {
  std::vector<std::string> lines = {""};
  for (std::byte byte : readFile(path))
    if (char(byte) == '\n')
      lines.emplace_back();
    else
      lines.back() += char(byte);
  lines.pop_back();
  return lines;
}

void gradc::runtime::test::writeFile(const std::string &path, const Bytes &bytes) {
  FILE *file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr) << path;
  ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fclose(file);
  chmod(path.c_str(), 0755);
}
