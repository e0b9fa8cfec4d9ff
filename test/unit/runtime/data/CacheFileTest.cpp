// The file of a cache stage, where it cannot be written.
#include "runtime/data/stage/CacheFile.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <csignal>
#include <numeric>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// Large rows of zeros. Counts those that are made.
class LargeRows final : public Table {
public:
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
  Bytes zeros = Bytes(1 << 18);
  Field field = {"x", GRADC_U8, {1 << 18}};
};

// Rows may take long to make, so the first bytes that do not fit end the work.
TEST(CacheFileTest, AFullDiskEndsItAtOnce) {
  TemporaryFolder folder;
  DataContext context;
  context.folders = {folder.path};
  auto table = std::make_shared<LargeRows>();
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

} // namespace
