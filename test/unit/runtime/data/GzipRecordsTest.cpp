// TFRecord files that are compressed with gzip.
#include "test/unit/runtime/data/DataTesting.h"
#include "test/unit/runtime/data/Records.h"

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class GzipRecordsTest : public testing::Test {
protected:
  GzipRecordsTest() {
    context.folders = {folder.path};
    context.demands = {{"x", "in", GRADC_F32, {}, 0}};
  }

  static Bytes example(float x) { return encodeExample({{"x", floatsFeature({x})}}); }
  static std::string data(std::string_view path) {
    return "source { tfrecord { path: \"" + std::string(path) +
           "\" feature { name: \"x\" type: FLOAT } } } batch { size: 3 }";
  }

  TemporaryFolder folder;
  DataContext context;
  const Bytes file = tfRecords({example(1), example(2), example(3)});
};

TEST_F(GzipRecordsTest, AreReadLikePlainOnes) {
  const std::vector<float> expected = {1, 2, 3};
  writeFile(folder / "plain.tfrecord", file);
  writeFile(folder / "packed.tfrecord", gzip(file));
  EXPECT_EQ(firstBatch<float>(data("plain.tfrecord"), context), expected);
  EXPECT_EQ(firstBatch<float>(data("packed.tfrecord"), context), expected);
  // Of several files, some may be compressed.
  EXPECT_EQ(firstBatch<float>(data("p*.tfrecord"), context), (std::vector<float>{1, 1, 2}));
}

// gzip's first two bytes are those of a length.
TEST_F(GzipRecordsTest, ALengthMayBeginLikeAGzipFile) {
  Bytes number = floatsFeature({5});
  for (size_t filler = 0x8b1f - 64; filler < 0x8b1f; ++filler) {
    Bytes record = encodeExample({{"x", number}, {"y", bytesFeature({Bytes(filler)})}});
    if (record.size() != 0x8b1f)
      continue;
    writeFile(folder / "long.tfrecord", tfRecords({record, record, record}));
    EXPECT_EQ(firstBatch<float>(data("long.tfrecord"), context), (std::vector<float>{5, 5, 5}));
    return;
  }
  FAIL() << "no record of this length";
}

TEST_F(GzipRecordsTest, DamageIsNamed) {
  const std::string path = folder / "packed.tfrecord";
  Bytes packed = gzip(file);
  packed.resize(packed.size() - 12);
  writeFile(path, packed);
  EXPECT_EQ(buildError(data("packed.tfrecord"), context),
            "'" + path + "' is a damaged gzip file, or larger than this machine's memory");
  Bytes damaged = file;
  damaged[14] ^= std::byte(1);
  writeFile(path, gzip(damaged));
  EXPECT_EQ(batchError(data("packed.tfrecord"), context),
            "record 0 of '" + path + "' is damaged: the checksum of its data differs");
  writeFile(path, gzip({}));
  EXPECT_EQ(buildError(data("packed.tfrecord"), context),
            "the data set is empty: '" + path + "' has no records");
}

} // namespace
