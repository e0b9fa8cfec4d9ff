// TFRecord files and examples, written by hand.
#include "runtime/data/source/TfRecord.h"
#include "runtime/data/source/Crc32c.h"
#include "runtime/data/source/Example.h"
#include "test/unit/runtime/data/Records.h"
#include "test/unit/runtime/data/image/References.h"

#include <gtest/gtest.h>
#include <limits>
#include <string>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

Bytes bytesOfText(std::string_view text) {
  auto raw = reinterpret_cast<const std::byte *>(text.data());
  return {raw, raw + text.size()};
}
std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

TEST(TfRecordTest, Checksum) {
  // The check value in the catalogue of checksums, and vectors of RFC 3720.
  EXPECT_EQ(crc32c(bytesOfText("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(Bytes(32)), 0x8a9136aau);
  EXPECT_EQ(crc32c(Bytes(32, std::byte(0xff))), 0x62a8ab43u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(TfRecordTest, ReadsRecordsInTheirOrder) {
  Bytes file = tfRecords({bytesOfText("first"), {}, bytesOfText("the third")});
  auto offsets = indexTfRecords(file);
  ASSERT_EQ(offsets, (std::vector<uint64_t>{0, 21, 37}));
  EXPECT_EQ(textOf(*readTfRecord(file, 0)), "first");
  EXPECT_EQ(textOf(*readTfRecord(file, 21)), "");
  EXPECT_EQ(textOf(*readTfRecord(file, 37)), "the third");
  EXPECT_TRUE(indexTfRecords({}).empty());
}

TEST(TfRecordTest, DamagedDataIsThatRecordsError) {
  Bytes file = tfRecords({bytesOfText("first"), bytesOfText("second")});
  file[13] ^= std::byte(1);
  ASSERT_EQ(indexTfRecords(file).size(), 2u);
  EXPECT_EQ(readTfRecord(file, 0).status().message(),
            "is damaged: the checksum of its data differs");
  EXPECT_TRUE(readTfRecord(file, 21).ok());
}

TEST(TfRecordTest, DamagedHeaderEndsTheFile) {
  Bytes file = tfRecords({bytesOfText("first"), bytesOfText("second"), bytesOfText("third")});
  file[21] ^= std::byte(1);
  auto offsets = indexTfRecords(file);
  ASSERT_EQ(offsets, (std::vector<uint64_t>{0, 21}));
  EXPECT_EQ(readTfRecord(file, 21).status().message(),
            "has a damaged header: the checksum of its length differs");
}

TEST(TfRecordTest, CutOffAnywhereIsAnErrorOfTheLastRecord) {
  Bytes file = tfRecords({bytesOfText("first"), bytesOfText("second")});
  for (size_t length = 22; length < file.size(); ++length) {
    std::span cut(file.data(), length);
    ASSERT_EQ(indexTfRecords(cut).size(), 2u);
    EXPECT_TRUE(readTfRecord(cut, 0).ok());
    EXPECT_TRUE(readTfRecord(cut, 21).status().message().starts_with("is cut off: expected "));
  }
  EXPECT_EQ(readTfRecord(std::span(file.data(), 25), 21).status().message(),
            "is cut off: expected a header of 12 bytes, found 4");
  EXPECT_EQ(readTfRecord(std::span(file.data(), 40), 21).status().message(),
            "is cut off: expected 6 bytes and a checksum, found 7 bytes");
}

class ExampleTest : public testing::Test {
protected:
  Bytes example = encodeExample({{"image", bytesFeature({bytesOfText("pixels")})},
                                 {"box", floatsFeature({1.5f, -2, 3})},
                                 {"label", integersFeature({-7})},
                                 {"nothing", {}}});
  ExampleFeature feature(std::string_view name) {
    auto found = findFeature(example, name);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found ? *found : ExampleFeature();
  }
};

TEST_F(ExampleTest, ReadsEachKind) {
  EXPECT_EQ(textOf(*readBytes(feature("image"))), "pixels");
  std::vector<float> floats(3);
  EXPECT_TRUE(readFloats(feature("box"), floats).ok());
  EXPECT_EQ(floats, (std::vector<float>{1.5f, -2, 3}));
  std::vector<int64_t> integers(1);
  EXPECT_TRUE(readIntegers(feature("label"), integers).ok());
  EXPECT_EQ(integers, (std::vector<int64_t>{-7}));
}

TEST_F(ExampleTest, NumbersNeedNotBePacked) {
  example = encodeExample({{"box", floatsFeature({1, 2}, /*packed=*/false)},
                           {"label", integersFeature({3, -4, int64_t(1) << 62},
                                                     /*packed=*/false)}});
  std::vector<float> floats(2);
  EXPECT_TRUE(readFloats(feature("box"), floats).ok());
  EXPECT_EQ(floats, (std::vector<float>{1, 2}));
  std::vector<int64_t> integers(3);
  EXPECT_TRUE(readIntegers(feature("label"), integers).ok());
  EXPECT_EQ(integers, (std::vector<int64_t>{3, -4, int64_t(1) << 62}));
}

TEST_F(ExampleTest, ReadsWhatTensorFlowWrites) {
  auto file = References::get().bytes("tfrecord");
  auto offsets = indexTfRecords(file);
  ASSERT_EQ(offsets.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    auto record = readTfRecord(file, offsets[i]);
    ASSERT_TRUE(record.ok());
    example.assign(record->begin(), record->end());
    EXPECT_EQ(textOf(*readBytes(feature("image"))), "pixels " + std::to_string(i));
    std::vector<float> floats(3);
    EXPECT_TRUE(readFloats(feature("box"), floats).ok());
    EXPECT_EQ(floats, (std::vector<float>{float(i) + 0.5f, -2, 1e30f}));
    std::vector<int64_t> integers(2);
    EXPECT_TRUE(readIntegers(feature("label"), integers).ok());
    EXPECT_EQ(integers, (std::vector<int64_t>{int64_t(i) - 1, int64_t(1) << 40}));
  }
}

TEST_F(ExampleTest, SaysWhatIsWrong) {
  std::vector<float> floats(2);
  EXPECT_EQ(findFeature(example, "lable").status().message(), "has no feature 'lable'");
  EXPECT_EQ(readFloats(feature("box"), floats).message(), "has 3 values, expected 2");
  EXPECT_EQ(readFloats(feature("label"), floats).message(),
            "is a list of int64, expected a list of floats");
  EXPECT_EQ(readBytes(feature("nothing")).status().message(), "is empty, expected a list of bytes");
  example = encodeExample({{"image", bytesFeature({{}, {}})}});
  EXPECT_EQ(readBytes(feature("image")).status().message(), "has 2 values, expected 1");
}

TEST_F(ExampleTest, DamagedEncodingsAreErrors) {
  for (size_t length = 1; length < example.size(); ++length)
    EXPECT_FALSE(findFeature(std::span(example.data(), length), "label").ok()) << length;
  EXPECT_EQ(findFeature(std::span(example.data(), 7), "label").status().message(),
            "is no tf.train.Example: its encoding is damaged");
  EXPECT_EQ(findFeature(Bytes(20, std::byte(0xff)), "label").status().message(),
            "is no tf.train.Example: its encoding is damaged");
}

} // namespace
