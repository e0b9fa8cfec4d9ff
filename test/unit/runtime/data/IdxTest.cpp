// idx files: each type, with and without gzip, and an error for each invalid file.
#include "runtime/base/Text.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// An idx file; numbers are big-endian, as the format requires.
template <typename T> Bytes idx(uint8_t code, std::vector<uint32_t> shape, std::vector<T> values) {
  Bytes bytes = {std::byte(0), std::byte(0), std::byte(code), std::byte(shape.size())};
  auto put = [&](auto value) {
    std::byte raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    std::reverse(raw, raw + sizeof value);
    bytes.insert(bytes.end(), raw, raw + sizeof value);
  };
  for (uint32_t size : shape)
    put(size);
  for (T value : values)
    put(value);
  return bytes;
}

class IdxTest : public testing::Test {
protected:
  IdxTest() {
    context.folders = {folder.path};
    context.demands = {{"x", "in", GRADC_F64, {2}, 0}};
  }

  /// The values of x [3, 2] as doubles, or the error.
  Result<std::vector<double>> read(const Bytes &file) {
    writeFile(folder / "x.idx", file);
    auto dataset = build(R"(source { idx { field { name: "x" path: "x.idx" } } }
                            map { field: "x" cast: F64 } batch { size: 3 })",
                         context);
    if (!dataset)
      return dataset.status();
    auto iterator = (*dataset)->iterate();
    Batch batch = (*dataset)->allocate();
    if (Status status = iterator->next(batch); !status.ok())
      return status;
    auto *values = reinterpret_cast<const double *>(batch.field(0));
    return std::vector<double>(values, values + 2 * batch.rows);
  }
  std::string error(const Bytes &file) {
    auto values = read(file);
    return values ? "read" : values.status().message();
  }

  TemporaryFolder folder;
  DataContext context;
};

template <typename T> std::vector<T> someValues() {
  return {T(1), T(-2), T(3), T(100), T(5), T(6)};
}

TEST_F(IdxTest, EveryTypeWithGzipAndWithout) {
  auto expect = [&](const Bytes &file, auto values) {
    std::vector<double> expected(values.begin(), values.end());
    for (const Bytes &bytes : {file, gzip(file)}) {
      auto found = read(bytes);
      ASSERT_TRUE(found.ok()) << found.status().message();
      EXPECT_EQ(*found, expected);
    }
  };
  auto u8 = someValues<uint8_t>();
  expect(idx(0x08, {3, 2}, u8), u8);
  auto i8 = someValues<int8_t>();
  expect(idx(0x09, {3, 2}, i8), i8);
  auto i16 = someValues<int16_t>();
  expect(idx(0x0B, {3, 2}, i16), i16);
  auto i32 = someValues<int32_t>();
  expect(idx(0x0C, {3, 2}, i32), i32);
  auto f32 = someValues<float>();
  expect(idx(0x0D, {3, 2}, f32), f32);
  auto f64 = someValues<double>();
  expect(idx(0x0E, {3, 2}, f64), f64);

  // Two consecutive compressed members form one file.
  Bytes whole = idx(0x08, {3, 2}, u8), first(whole.begin(), whole.begin() + 7),
        second(whole.begin() + 7, whole.end());
  Bytes pieces = gzip(first), rest = gzip(second);
  pieces.insert(pieces.end(), rest.begin(), rest.end());
  auto found = read(pieces);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, std::vector<double>(u8.begin(), u8.end()));
}

TEST_F(IdxTest, Errors) {
  std::string what = "field 'x' of '" + (folder / "x.idx") + "' ";
  auto u8 = someValues<uint8_t>();
  EXPECT_EQ(error({}), what + "is not an idx file: expected it to begin with two zero bytes");
  EXPECT_EQ(error(gzip(bytesOf(std::vector<char>{'a', 'b', 'c', 'd'}))),
            what + "is not an idx file: expected it to begin with two zero bytes");
  EXPECT_EQ(error(idx(0x0A, {3, 2}, u8)),
            what + "has element type 10, expected 8 (u8), 9 (i8), 11 (i16), 12 (i32), 13 (f32) or "
                   "14 (f64)");
  EXPECT_EQ(error(idx(0x08, {}, u8)), what + "is a single number, expected an array of rows");
  Bytes cut = idx(0x08, {3, 2}, u8);
  cut.resize(9);
  EXPECT_EQ(error(cut), what + "is truncated: expected a header of 12 bytes, found 9");
  u8.pop_back();
  Bytes shorter = idx(0x08, {3, 2}, u8);
  std::string size = what + "is truncated or damaged: expected 6 bytes of data for shape [3, 2], ";
  EXPECT_EQ(error(shorter), size + "found 5");
  EXPECT_EQ(error(gzip(shorter)), size + "its gzip file inflates to something else");
  EXPECT_EQ(error(idx(0x08, {3, 2}, std::vector<uint8_t>(7))), size + "found 7");
  Bytes damaged = gzip(idx(0x08, {3, 2}, someValues<uint8_t>()));
  damaged[damaged.size() - 6] ^= std::byte(1); // the checksum
  EXPECT_EQ(error(damaged), what + "is a damaged gzip file");
  damaged.resize(12);
  EXPECT_EQ(error(damaged), what + "is a damaged gzip file");
  uint32_t huge = 0xffffffff;
  EXPECT_EQ(error(idx(0x0E, {huge, huge, huge}, u8)),
            what + "has an impossible shape [4294967295, 4294967295]");
  EXPECT_EQ(error(gzip(idx(0x08, {huge, 2}, u8))).find(what + "is truncated or damaged"), 0u);
  EXPECT_EQ(error(idx(0x08, {0, 2}, std::vector<uint8_t>())),
            "the data set is empty: '" + (folder / "x.idx") + "' has no rows");
}

TEST_F(IdxTest, AnArrayThatDoesNotFitIntoMemoryIsAnError) {
  if (!MemoryLimit::works)
    GTEST_SKIP();
  std::string what = "field 'x' of '" + (folder / "x.idx") + "', which is ";
  std::mt19937 random(1);
  std::vector<uint8_t> values(size_t(1) << 18);
  std::ranges::generate(values, [&] { return uint8_t(random()); });
  uint32_t claimed = 200 << 20;
  {
    Bytes file = gzip(idx(0x08, {claimed}, values));
    MemoryLimit limit(size_t(64) << 20);
    EXPECT_EQ(error(file), text("cannot allocate ", claimed + 8, " bytes for ", what,
                                "compressed; plain files are mapped"));
  }
  writeFile(folder / "x.idx", idx<int16_t>(0x0B, {claimed / 2}, {}));
  ASSERT_EQ(truncate((folder / "x.idx").c_str(), claimed + 8), 0);
  MemoryLimit limit(size_t(300) << 20); // enough to map the file, not for another copy
  EXPECT_EQ(buildError(R"(source { idx { field { name: "x" path: "x.idx" } } })", context),
            text("cannot allocate ", claimed, " bytes for ", what,
                 "not in the order of this machine's bytes"));
}

/// For any bytes, the result is an array or an error.
TEST_F(IdxTest, AnyBytesAreAnArrayOrAnError) {
  Bytes good = idx(0x0B, {3, 2}, someValues<int16_t>());
  std::mt19937 random(7);
  for (const Bytes &file : {good, gzip(good)}) {
    for (size_t size = 0; size < file.size(); ++size)
      EXPECT_FALSE(read(Bytes(file.begin(), file.begin() + ptrdiff_t(size))).ok()) << size;
    for (int round = 0; round < 200; ++round) {
      Bytes changed = file;
      for (int change = int(random() % 3); change >= 0; --change)
        changed[random() % changed.size()] = std::byte(random());
      auto values = read(changed);
      if (!values)
        EXPECT_FALSE(values.status().message().empty());
      else
        EXPECT_EQ(values->size(), 6u);
    }
  }
}

} // namespace
