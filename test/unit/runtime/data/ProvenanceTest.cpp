// A cache file over data that change, and under other stages than those that made it.
#include "runtime/data/Provenance.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <filesystem>
#include <sys/stat.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class ProvenanceTest : public testing::Test {
protected:
  ProvenanceTest() {
    context.folders = {folder.path};
    context.demands = digitsDemands();
    write("digits.npz", 60, 0);
  }

  /// Writes an archive whose last pixel is `pixel`. A time of change `age` seconds ago: the clock
  /// of files may not have moved on between two of them.
  void write(const std::string &name, int64_t rows, int pixel, int age = 0) {
    auto members = digits(rows);
    members[0].content.back() = std::byte(pixel);
    writeFile(folder / name, zip(members));
    auto now = std::filesystem::last_write_time(folder.path);
    std::filesystem::last_write_time(folder / name, now - std::chrono::seconds(age));
  }

  static std::string data(std::string_view before = {}, std::string_view path = "digits.npz") {
    return "source { npz { path: \"" + std::string(path) + "\" } } " + std::string(before) +
           " cache { path: \"rows.cache\" } map { field: \"images\" cast: F32 } batch { size: 100 "
           "}";
  }

  /// The last pixel of all rows, and the number of the cache's file: another one if it was written.
  std::pair<float, ino_t> read(const std::string &data) {
    auto pixels = firstBatch<float>(data, context);
    struct stat file = {};
    EXPECT_EQ(stat((folder / "rows.cache").c_str(), &file), 0);
    return {pixels.empty() ? -1 : pixels.back(), file.st_ino};
  }

  TemporaryFolder folder;
  DataContext context;
};

TEST_F(ProvenanceTest, AFileOfOtherDataIsMadeAgain) {
  auto made = read(data());
  EXPECT_EQ(made.first, 0);
  EXPECT_EQ(read(data()), made);

  // The same size and another time of change, then another number of rows.
  write("digits.npz", 60, 7, 100);
  context.saysWaits = true;
  testing::internal::CaptureStderr();
  auto again = read(data());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "the data of cache '" + (folder / "rows.cache") + "' have changed: it is made again\n");
  EXPECT_EQ(again.first, 7);
  EXPECT_NE(again.second, made.second);
  EXPECT_EQ(read(data()), again);
  write("digits.npz", 61, 8, 100);
  EXPECT_EQ(read(data()).first, 8);
}

// Training and evaluation over two files would make it in turns, at every start.
TEST_F(ProvenanceTest, AFileIsOfOneDataBlockOfARun) {
  write("others.npz", 60, 7, 100);
  {
    auto training = build(data(), context);
    ASSERT_TRUE(training.ok()) << training.status().message();
    EXPECT_EQ(buildError(data("", "others.npz"), context),
              "cache '" + (folder / "rows.cache") +
                  "' is read for other data by this process; name another file");
    EXPECT_EQ(buildError(data(), context), "built"); // such as the evaluation of the training rows
  }
  EXPECT_EQ(read(data("", "others.npz")).first, 7);
}

TEST_F(ProvenanceTest, DataMayMove) {
  auto made = read(data());
  ASSERT_EQ(rename((folder / "digits.npz").c_str(), (folder / "moved.npz").c_str()), 0);
  EXPECT_EQ(read(data("", "moved.npz")), made);
}

TEST_F(ProvenanceTest, EachOfSeveralFilesCounts) {
  write("part-a.npz", 3, 1, 100);
  write("part-b.npz", 4, 2, 100);
  const std::string parts = data("", "part-*.npz");
  auto made = read(parts);
  EXPECT_EQ(made.first, 2);
  EXPECT_EQ(read(parts), made);
  write("part-a.npz", 3, 1, 200);
  EXPECT_NE(read(parts).second, made.second);
  write("part-c.npz", 5, 3, 100);
  EXPECT_EQ(read(parts).first, 3);
}

TEST_F(ProvenanceTest, AFileOfOtherStagesIsRefused) {
  auto made = read(data());
  const std::string refused =
      "cache '" + (folder / "rows.cache") +
      "' was made by another source or other stages than those before it now; delete it, and it "
      "is made again, or name another file";
  EXPECT_EQ(buildError(data("shuffle { }"), context), refused);
  EXPECT_EQ(buildError(data("map { field: \"labels\" cast: I64 }"), context), refused);
  // Whose data may have changed, too.
  write("digits.npz", 60, 7, 100);
  EXPECT_EQ(buildError(data("shuffle { }"), context), refused);
  EXPECT_NE(read(data()).second, made.second);
}

TEST_F(ProvenanceTest, ArraysInMemoryCountByTheirContent) {
  Bytes images = bytesOf(std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<int64_t> labels = {0, 1};
  auto *numbers = reinterpret_cast<const std::byte *>(labels.data());
  context.arrays = {{.field = {"images", GRADC_U8, {2, 2}}, .rows = 2, .data = images.data()},
                    {.field = {"labels", GRADC_I64, {}}, .rows = 2, .data = numbers}};
  auto made = read(data());
  EXPECT_EQ(made.first, 8);
  EXPECT_EQ(read(data()), made);
  images.back() = std::byte(9);
  EXPECT_EQ(read(data()).first, 9);
}

TEST_F(ProvenanceTest, PartsDoNotRunTogether) {
  auto hash = [](std::initializer_list<std::string_view> parts) {
    Provenance provenance;
    for (std::string_view part : parts)
      provenance.addContent(std::as_bytes(std::span(part)));
    return provenance.data();
  };
  EXPECT_EQ(hash({"ab", "c"}), hash({"ab", "c"}));
  EXPECT_NE(hash({"ab", "c"}), hash({"a", "bc"}));
  EXPECT_NE(hash({"ab"}), hash({"ab", ""}));
}

} // namespace
