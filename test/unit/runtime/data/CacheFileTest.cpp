// The file of a cache stage, where it cannot be written or is damaged.
#include "runtime/data/stage/CacheFile.h"
#include "runtime/data/Provenance.h"
#include "runtime/data/source/MappedFile.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// 100 rows of zeros. Counts those that are made.
class Zeros : public Table {
public:
  explicit Zeros(int64_t bytes) : zeros(size_t(bytes)), field{"x", GRADC_U8, {bytes}} {}

  std::span<const Field> fields() const override { return {&field, 1}; }
  int64_t rows() const override { return 100; }
  void order(uint64_t, std::vector<int64_t> &rows) const override {
    rows.resize(100);
    std::iota(rows.begin(), rows.end(), 0);
  }
  Result<Value> view(size_t, RowRef, Scratch &) const override {
    ++made;
    return Value{zeros.data(), field.shape, zeros.size()};
  }
  std::string origin() const override { return "zeros"; }

  mutable int made = 0;

private:
  Bytes zeros;
  Field field;
};

// Rows may take long to make, so the first bytes that do not fit end the work.
TEST(CacheFileTest, AFullDiskEndsItAtOnce) {
  TemporaryFolder folder;
  DataContext context;
  context.folders = {folder.path};
  auto table = std::make_shared<Zeros>(1 << 18);
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit little = {1 << 20, before.rlim_max}; // bytes per file: four rows
  setrlimit(RLIMIT_FSIZE, &little);
  auto cache = openCacheFile(table, "rows.cache", context);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(cache.status().message(),
            "cannot write '" + folder / "rows.cache" + "': File too large");
  EXPECT_LE(table->made, 6);
  EXPECT_NE(access((folder / "rows.cache").c_str(), F_OK), 0);
  EXPECT_NE(access((folder / "rows.cache.tmp").c_str(), F_OK), 0);
}

/// Reads zeros from a file, as if another program truncated it after some rows.
class CutOff final : public Zeros {
public:
  explicit CutOff(const std::string &path) : Zeros(64), file(*MappedFile::open(path)) {}

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    if (row.row == 50)
      EXPECT_TRUE(MappedFile::outliveFault(file->bytes().data()));
    return Zeros::view(field, row, scratch);
  }

private:
  std::shared_ptr<const MappedFile> file;
};

/// Makes a cache of such rows. Ends the process, for which the file stays cut off, with the
/// message.
[[noreturn]] void cacheCutOff(const TemporaryFolder &folder) {
  DataContext context;
  context.folders = {folder.path};
  auto cache = openCacheFile(std::make_shared<CutOff>(folder / "rows.bin"), "rows.cache", context);
  std::fputs(cache.status().message().c_str(), stderr);
  _exit(cache.ok());
}

// A later run would go on with them although the file is whole again.
TEST(CacheFileTest, ZerosOfAFileThatWasCutOffAreNotKept) {
  TemporaryFolder folder;
  writeFile(folder / "rows.bin", Bytes(6400));
  EXPECT_EXIT(cacheCutOff(folder), testing::ExitedWithCode(0),
              "data file '.*/rows.bin' became shorter while it was read");
  EXPECT_NE(access((folder / "rows.cache").c_str(), F_OK), 0);
  EXPECT_NE(access((folder / "rows.cache.tmp").c_str(), F_OK), 0);
}

/// Another run makes the file of other data meanwhile: here, what this one knows of its data
/// changes.
class Changing final : public Zeros {
public:
  explicit Changing(std::shared_ptr<Provenance> provenance)
      : Zeros(64), provenance(std::move(provenance)) {}

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    provenance->addContent({});
    return Zeros::view(field, row, scratch);
  }

private:
  std::shared_ptr<Provenance> provenance;
};

TEST(CacheFileTest, AFileThatAnotherRunMakesOfOtherDataIsRefused) {
  TemporaryFolder folder;
  DataContext context;
  context.folders = {folder.path};
  context.provenance = std::make_shared<Provenance>();
  auto cache = openCacheFile(std::make_shared<Changing>(context.provenance), "rows.cache", context);
  EXPECT_EQ(cache.status().message(),
            "cache '" + (folder / "rows.cache") +
                "' has been made of other data by another run; name another file");
}

// Its values lie outside of the checksum, which is of their places.
TEST(CacheFileTest, AValueThatIsNoneOfItsFieldIsDamage) {
  TemporaryFolder folder;
  DataContext context;
  context.folders = {folder.path};
  auto table = std::make_shared<Zeros>(64);
  std::string path = folder / "rows.cache";
  ASSERT_TRUE(openCacheFile(table, "rows.cache", context).ok());
  const Bytes whole = readFile(path);
  auto viewed = [&](size_t at, int64_t number) {
    Bytes bytes = whole;
    std::memcpy(bytes.data() + at, &number, sizeof number);
    writeFile(path, bytes);
    auto cache = openCacheFile(table, "rows.cache", context);
    EXPECT_TRUE(cache.ok()) << cache.status().message();
    Scratch scratch;
    return (*cache)->view(0, {0, 0}, scratch).status().message();
  };
  const std::string damage = "cache '" + path + "' is damaged at byte 0";
  constexpr size_t bytes = 0, rank = 8, dim = 16; // of the first value
  EXPECT_EQ(viewed(bytes, 64), "");
  EXPECT_EQ(viewed(bytes, 32), damage);
  EXPECT_EQ(viewed(rank, 0), damage);
  EXPECT_EQ(viewed(rank, 2), damage);
  EXPECT_EQ(viewed(dim, 32), damage);
  EXPECT_EQ(viewed(dim, -1), damage);
}

} // namespace
