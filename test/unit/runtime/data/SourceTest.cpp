// Sources: npz and npy files of every kind, and an error for each invalid one.
#include "runtime/base/Text.h"
#include "runtime/data/image/Pixels.h"
#include "runtime/data/source/NpyHeader.h"
#include "runtime/data/source/ZipArchive.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr const char *plain = R"(source { npz { path: "digits.npz" } }
                                 map { field: "images" cast: F32 } batch { size: 4 })";

class SourceTest : public testing::Test {
protected:
  SourceTest() {
    context.folders = {folder.path};
    context.demands = digitsDemands();
  }
  std::string path() const { return folder / "digits.npz"; }

  /// Compares every field of every row of an epoch with the content of digits().
  void expectDigits(std::string_view data, int64_t rows) {
    auto dataset = build(data, context);
    ASSERT_TRUE(dataset.ok()) << dataset.status().message();
    ASSERT_EQ((*dataset)->rows(), rows);
    auto iterator = (*dataset)->iterate();
    Batch batch = (*dataset)->allocate();
    int64_t row = 0;
    do {
      ASSERT_TRUE(iterator->next(batch).ok());
      auto *images = reinterpret_cast<const float *>(batch.field(0));
      auto *labels = reinterpret_cast<const int64_t *>(batch.field(1));
      for (int64_t i = 0; i < batch.rows; ++i, ++row) {
        for (int64_t pixel = 0; pixel < 4; ++pixel)
          EXPECT_EQ(images[4 * i + pixel], float((4 * row + pixel) % 256));
        EXPECT_EQ(labels[i], row % 10);
      }
    } while (!batch.endsEpoch);
    EXPECT_EQ(row, rows);
  }

  TemporaryFolder folder;
  DataContext context;
};

TEST_F(SourceTest, NpzStored) {
  writeFile(path(), zip(digits(11)));
  expectDigits(plain, 11);
}

TEST_F(SourceTest, NpzDeflatedAndZip64) {
  auto members = digits(1000);
  members[0].deflated = true;
  members[1].zip64 = true;
  writeFile(path(), zip(members));
  expectDigits(plain, 1000);
  for (Member &member : members)
    member.deflated = member.zip64 = true;
  writeFile(path(), zip(members));
  expectDigits(plain, 1000);
}

TEST_F(SourceTest, NpzWithCommentAndUnusedArrays) {
  auto members = digits(11);
  members.push_back({"names.npy", npy("<U3", "(2,)", Bytes(24))});
  Bytes archive = zip(members);
  archive[archive.size() - 2] = std::byte(3);
  archive.resize(archive.size() + 3);
  writeFile(path(), archive);
  expectDigits(plain, 11);
}

TEST_F(SourceTest, NpyFiles) {
  auto members = digits(9);
  writeFile(folder / "a.npy", members[0].content);
  writeFile(folder / "b.npy", members[1].content);
  expectDigits(R"(source { npy { field { name: "images" path: "a.npy" }
                                 field { name: "labels" path: "b.npy" }
                                 field { name: "unused" path: "no-such-file.npy" } } }
                  map { field: "images" cast: F32 } batch { size: 4 })",
               9);
}

/// The number of bytes of mapped files in this process's memory.
size_t residentFileBytes() {
  std::ifstream status("/proc/self/status");
  size_t bytes = 0;
  for (std::string line; std::getline(status, line);)
    for (std::string_view kind : {"RssFile:", "RssShmem:"}) // the second if they lie on a tmpfs
      if (line.starts_with(kind))
        bytes += std::stoull(line.substr(kind.size())) * 1024;
  return bytes;
}

TEST_F(SourceTest, ALargeFileDoesNotStayInMemory) {
  int64_t rows = 6000, pixels = 4096; // 96 MB as f32
  std::vector<float> values(size_t(rows * pixels));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i / size_t(pixels));
  writeFile(folder / "large.npy", npy("<f4", text("(", rows, ", ", pixels, ")"), bytesOf(values)));
  values = {};
  context.demands = {{"images", "x", GRADC_F32, {pixels}}};
  auto dataset = build(R"(source { npy { field { name: "images" path: "large.npy" } } }
                          batch { size: 50 } prefetch: 1)",
                       context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  auto iterator = (*dataset)->iterate();
  Batch batch = (*dataset)->allocate();
  size_t before = residentFileBytes(), most = 0;
  for (int64_t i = 0; i < 2 * rows / 50; ++i) {
    ASSERT_TRUE(iterator->next(batch).ok());
    EXPECT_EQ(reinterpret_cast<const float *>(batch.field(0))[pixels], float(i * 50 % rows + 1));
    most = std::max(most, residentFileBytes());
  }
  // Rows are read, not mapped.
  EXPECT_LT(most, before + (size_t(4) << 20));
  // residentFileBytes counts mapped pages: after reading the whole file without letGo, it is large.
  auto file = MappedFile::open(folder / "large.npy");
  ASSERT_TRUE(file.ok());
  EXPECT_NE(std::ranges::count((*file)->bytes(), std::byte(0)), 0);
  EXPECT_GT(residentFileBytes(), before + (size_t(64) << 20));
}

TEST_F(SourceTest, RowsOfALargeFileInAnyOrder) {
  int64_t rows = 400, pixels = 1500; // 2.4 MB of two files, in rows of 6 KB, and of 4 bytes
  std::vector<float> values(size_t(rows * pixels));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i);
  std::vector<Member> members = {
      {"images.npy", npy("<f4", text("(", rows, ", ", pixels, ")"), bytesOf(values))}};
  values.resize(size_t(rows));
  members.push_back({"labels.npy", npy("<f4", text("(", rows, ",)"), bytesOf(values))});
  writeFile(path(), zip(members));
  context.demands = {{"images", "x", GRADC_F32, {pixels}}, {"labels", "y", GRADC_F32, {}}};
  for (std::string_view shuffle : {"", "shuffle { }", "shuffle { chunk: 7 }"}) {
    auto dataset = build(
        text(R"(source { npz { path: "digits.npz" } } )", shuffle, " batch { size: 16 }"), context);
    ASSERT_TRUE(dataset.ok()) << dataset.status().message();
    auto iterator = (*dataset)->iterate();
    Batch batch = (*dataset)->allocate();
    std::vector<bool> seen(size_t(rows), false);
    do {
      ASSERT_TRUE(iterator->next(batch).ok());
      for (int64_t i = 0; i < batch.rows; ++i) {
        float row = reinterpret_cast<const float *>(batch.field(1))[i];
        seen[size_t(row)] = true;
        for (int64_t p = 0; p < pixels; ++p)
          ASSERT_EQ(reinterpret_cast<const float *>(batch.field(0))[i * pixels + p],
                    row * float(pixels) + float(p));
      }
    } while (!batch.endsEpoch);
    EXPECT_EQ(std::ranges::count(seen, true), rows);
  }
}

TEST_F(SourceTest, MoreFilesThanStayOpen) {
  std::string fields;
  std::vector<float> values(size_t(1) << 18);
  context.demands = {};
  for (int i = 0; i < 70; ++i) {
    std::ranges::fill(values, float(i));
    writeFile(folder / text("f", i, ".npy"), npy("<f4", "(131072, 2)", bytesOf(values)));
    fields += text("field { name: \"f", i, "\" path: \"f", i, ".npy\" } ");
    context.demands.push_back({text("f", i), text("x", i), GRADC_F32, {2}});
  }
  auto dataset = build(text("source { npy { ", fields, "} } batch { size: 1024 }"), context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  auto iterator = (*dataset)->iterate();
  Batch batch = (*dataset)->allocate();
  ASSERT_TRUE(iterator->next(batch).ok());
  for (int i = 0; i < 70; ++i)
    EXPECT_EQ(reinterpret_cast<const float *>(batch.field(size_t(i)))[2047], float(i));
}

TEST_F(SourceTest, SecondFolderAndAbsolutePath) {
  writeFile(path(), zip(digits(5)));
  context.folders = {folder / "absent", folder.path};
  expectDigits(plain, 5);
  context.folders = {};
  expectDigits("source { npz { path: \"" + path() +
                   "\" } } map { field: \"images\" cast: F32 } batch { size: 4 }",
               5);
}

TEST_F(SourceTest, MissingFile) {
  EXPECT_EQ(buildError(plain, context),
            "cannot find data file 'digits.npz', tried '" + path() + "'");
  EXPECT_EQ(buildError("source { npz { path: \"/no/file.npz\" } }", context),
            "cannot read '/no/file.npz': No such file or directory");
  EXPECT_EQ(buildError("source { npz { path: \"/\" } }", context),
            "cannot read '/': not a regular file");
  EXPECT_EQ(buildError("source { npz { } }", context), "the data source has no path");
}

TEST_F(SourceTest, MissingArray) {
  auto members = digits(5);
  members[0].name = "pictures.npy";
  writeFile(path(), zip(members));
  EXPECT_EQ(buildError(plain, context), "model input 'x' is fed from field 'images', but '" +
                                            path() + "' has 'pictures' and 'labels'");
  EXPECT_EQ(buildError(R"(source { npy { } } batch { size: 4 })", context),
            "model input 'x' is fed from field 'images', but the npy source has no arrays");
}

TEST_F(SourceTest, DifferentRows) {
  auto members = digits(5);
  members[1] = digits(6)[1];
  writeFile(path(), zip(members));
  EXPECT_EQ(buildError(plain, context), "fields of '" + path() +
                                            "' differ in their rows: 'images' has 5, 'labels' "
                                            "has 6");
}

TEST_F(SourceTest, EmptyDataSet) {
  writeFile(path(), zip(digits(0)));
  EXPECT_EQ(buildError(plain, context), "the data set is empty: '" + path() + "' has no rows");
}

TEST_F(SourceTest, NpyHeaders) {
  std::string what = "field 'labels' of '" + path() + "' ";
  auto error = [&](const Bytes &labels) {
    auto members = digits(2);
    members[1].content = labels;
    writeFile(path(), zip(members));
    std::string message = buildError(plain, context);
    EXPECT_EQ(message.substr(0, what.size()), what);
    return message.substr(std::min(message.size(), what.size()));
  };
  Bytes data(16);
  for (std::string_view type : {"<c8", ">c8", "=i8", "i8", ">"})
    EXPECT_EQ(error(npy(type, "(2,)", data)),
              text("has element type '", type, "', expected integers, floats or bool"));
  EXPECT_EQ(error(npy(">i8", "(3,)", data)), "is truncated: expected 152 bytes, found 144");
  EXPECT_EQ(error(npy("<i8", "()", data)), "is a single number, expected an array of rows");
  EXPECT_EQ(error(npy("<i8", "(3,)", data)), "is truncated: expected 152 bytes, found 144");
  EXPECT_EQ(error(npy("<i8", "(4611686018427387904, 4)", data)),
            "has shape [4611686018427387904, 4], which is too big");
  EXPECT_EQ(error(npy("<i8", "(-2,)", data)), "has a malformed .npy header");
  EXPECT_EQ(error(npy("<i8", "(2", data)), "has a malformed .npy header");
  EXPECT_EQ(error(npy("<i8", "(2,)", data, "Maybe")), "has a malformed .npy header");
  EXPECT_EQ(error(bytesOf(std::vector<char>{'P', 'K'})), "is not a .npy array");
  Bytes array = npy("<i8", "(2,)", data);
  EXPECT_EQ(error(Bytes(array.begin(), array.begin() + 9)),
            "is truncated: expected 12 bytes, found 9");
  EXPECT_EQ(error(Bytes(array.begin(), array.begin() + 40)),
            "is truncated: expected 128 bytes, found 40");
  array[6] = std::byte(9);
  EXPECT_EQ(error(array), "has .npy version 9, expected 1, 2 or 3");
  std::string structured = "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (2,), }";
  Bytes header = npy("<i8", "(2,)", data);
  std::memcpy(header.data() + 10, structured.data(), structured.size());
  EXPECT_EQ(error(header), "has element type '[('a', '<i8')]', expected integers, floats or bool");
}

/// Arrays of two or more dims, in all orders of bytes and dims.
TEST_F(SourceTest, NpyInOtherOrders) {
  auto members = digits(6);
  std::vector<int64_t> labels = {0, 1, 2, 3, 4, 5};
  for (int64_t &label : labels)
    label = __builtin_bswap64(label);
  std::vector<uint8_t> images(24);
  for (int row = 0; row < 6; ++row)
    for (int pixel = 0; pixel < 4; ++pixel) // of [row, y, x]: the row is the fastest
      images[size_t(row + 6 * (pixel / 2) + 12 * (pixel % 2))] = uint8_t(4 * row + pixel);
  members[0].content = npy("|u1", "(6, 2, 2)", bytesOf(images), "True");
  members[1].content = npy(">i8", "(6,)", bytesOf(labels));
  writeFile(path(), zip(members));
  expectDigits(plain, 6);
}

TEST_F(SourceTest, DamagedMembers) {
  for (bool deflated : {false, true}) {
    auto members = digits(100);
    members[0].deflated = deflated;
    Bytes archive = zip(members);
    archive[30 + 10 + (deflated ? 60 : 200)] ^= std::byte(0x55);
    writeFile(path(), archive);
    std::string message = buildError(plain, context);
    EXPECT_NE(message.find("'images.npy' in '" + path() + "' is damaged: "), message.npos)
        << message;
  }
}

TEST_F(SourceTest, WhatDoesNotFitIntoMemoryIsAnError) {
  if (!MemoryLimit::works)
    GTEST_SKIP();
  auto members = digits(1 << 16);
  members[0].deflated = true;
  std::mt19937 random(1); // bytes that stay as large as they are
  std::generate(members[0].content.begin() + 128, members[0].content.end(),
                [&] { return std::byte(random()); });
  Bytes archive = zip(members);
  constexpr std::string_view entry = "PK\x01\x02";
  auto raw = reinterpret_cast<const char *>(archive.data());
  size_t at = std::string_view(raw, archive.size()).rfind(entry); // of labels.npy
  at = std::string_view(raw, at).rfind(entry);
  uint32_t claimed = 200 << 20;
  std::memcpy(archive.data() + at + 24, &claimed, sizeof claimed);
  writeFile(path(), archive);
  MemoryLimit limit(size_t(64) << 20);
  EXPECT_EQ(buildError(plain, context),
            text("cannot allocate ", claimed, " bytes for 'images.npy' in '", path(),
                 "', which is compressed; stored members are mapped"));

  // A row that is too large.
  ScratchSlot slot;
  EXPECT_EQ(slot.tryReserve(claimed).status().message(),
            text("takes ", claimed, " bytes of memory, which there are not"));
  ASSERT_TRUE(slot.tryReserve(100).ok());
  Field field = {"x", GRADC_F32, {Field::varying}};
  EXPECT_FALSE(Output(field, slot).room({claimed}).ok());
  Picture picture;
  EXPECT_EQ(picture.room(1 << 14, 1 << 14, 3).status().message(),
            "has more pixels than there is memory for");
  EXPECT_TRUE(picture.room(1, 1, 3).ok());
}

/// Whether both arrays of the archive can be read.
bool readsAll(const Bytes &archive) {
  auto members = listZip(archive, "archive");
  if (!members || members->size() != 2)
    return false;
  for (const ZipMember &member : *members) {
    auto content = readZip(archive, member, "archive");
    if (!content || !parseNpy(content->bytes, "array"))
      return false;
  }
  return true;
}

TEST(ZipTest, TruncatedAnywhereIsAnError) {
  auto members = digits(20);
  members[0].deflated = members[1].zip64 = true;
  Bytes archive = zip(members);
  EXPECT_TRUE(readsAll(archive));
  for (size_t length = 0; length < archive.size(); ++length)
    EXPECT_FALSE(readsAll(Bytes(archive.begin(), archive.begin() + ptrdiff_t(length)))) << length;
}

TEST(ZipTest, FlippedBytesOfTheContentAreAnErrorAndNoneCrashes) {
  auto members = digits(20);
  members[0].deflated = members[1].zip64 = true;
  Bytes archive = zip(members);
  size_t unnoticed = 0;
  for (size_t at = 0; at < archive.size(); ++at)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      Bytes flipped = archive;
      flipped[at] ^= std::byte(flip);
      unnoticed += readsAll(flipped);
    }
  // Names, dates, and versions of the archive have no checksum.
  EXPECT_LT(unnoticed, 3 * 250u);
}

TEST_F(SourceTest, NotAnArchive) {
  writeFile(path(), bytesOf(std::vector<char>(100, 'x')));
  EXPECT_EQ(buildError(plain, context),
            "'" + path() + "' is not a zip archive or is truncated: no end record");
}

TEST_F(SourceTest, EncryptedOrOtherwiseCompressed) {
  Bytes archive = zip(digits(3));
  auto directory = [&](size_t offset) -> std::byte & {
    for (size_t at = 0;; ++at)
      if (std::memcmp(archive.data() + at, "PK\x01\x02", 4) == 0)
        return archive[at + offset];
  };
  directory(8) = std::byte(1);
  writeFile(path(), archive);
  EXPECT_EQ(buildError(plain, context), "'images.npy' in '" + path() + "' is encrypted");
  directory(8) = std::byte(0);
  directory(10) = std::byte(12);
  writeFile(path(), archive);
  EXPECT_EQ(buildError(plain, context),
            "'images.npy' in '" + path() +
                "' has compression method 12, expected stored (0) or deflated (8)");
}

} // namespace
