// Row selection, map, shuffle, feed, and the order of stages.
#include "test/unit/runtime/data/DataTesting.h"

#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class TransformTest : public testing::Test {
protected:
  TransformTest() {
    context.folders = {folder.path};
    context.demands = digitsDemands();
    writeFile(path(), zip(digits(60)));
  }
  std::string path() const { return folder / "digits.npz"; }

  static std::string spec(std::string_view rows, std::string_view stages) {
    return "source { npz { path: \"digits.npz\" " + std::string(rows) + " } } " +
           std::string(stages);
  }

  /// The numbers of the rows of `epochs` epochs, identified by their first pixels.
  std::vector<int64_t> order(std::string_view rows, std::string_view stages, int epochs = 1) {
    auto dataset = build(spec(rows, "map { field: \"images\" cast: F32 } " + std::string(stages) +
                                        " batch { size: 7 }"),
                         context);
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    std::vector<int64_t> numbers;
    if (!dataset)
      return numbers;
    auto iterator = (*dataset)->iterate();
    Batch batch = (*dataset)->allocate();
    while (epochs) {
      EXPECT_TRUE(iterator->next(batch).ok());
      for (float pixel : firstPixels(batch))
        numbers.push_back(int64_t(pixel) / 4);
      epochs -= batch.endsEpoch;
    }
    return numbers;
  }

  TemporaryFolder folder;
  DataContext context;
};

TEST_F(TransformTest, Rows) {
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(order("rows { begin: 3 end: 6 }", ""), (Numbers{3, 4, 5}));
  EXPECT_EQ(order("rows { begin: 57 end: 1000 }", ""), (Numbers{57, 58, 59}));
  EXPECT_EQ(order("rows { every: 20 only: 3 }", ""), (Numbers{3, 23, 43}));
  EXPECT_EQ(order("rows { end: 7 every: 3 except: 0 }", ""), (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(order("rows { begin: 50 every: 3 only: 0 }", ""), (Numbers{51, 54, 57}));
  EXPECT_EQ(order("rows { end: 3 every: 9223372036854775807 only: 1 }", ""), (Numbers{1}));
  EXPECT_EQ(order("rows { end: 3 every: 9223372036854775807 except: 1 }", ""), (Numbers{0, 2}));
  EXPECT_EQ(buildError(spec("rows { begin: 60 }", ""), context),
            "the data set is empty: rows selects none of the 60 rows of '" + path() + "'");
  EXPECT_EQ(buildError(spec("rows { every: 0 }", ""), context),
            "rows { every } is 0, expected 1 or more");
  EXPECT_EQ(buildError(spec("rows { every: 3 only: 3 }", ""), context),
            "rows { only } is 3, expected 0 to 2 (every is 3)");
  EXPECT_EQ(buildError(spec("rows { every: 3 except: -1 }", ""), context),
            "rows { except } is -1, expected 0 to 2 (every is 3)");
}

TEST_F(TransformTest, ShuffleVisitsEveryRowOnceAndDiffersByEpochAndSeed) {
  for (const char *shuffle : {"shuffle { }", "shuffle { buffer: 2048 }", "shuffle { buffer: 5 }"}) {
    context.seed = 7;
    auto two = order("", shuffle, 2);
    ASSERT_EQ(two.size(), 120u);
    std::vector<int64_t> first(two.begin(), two.begin() + 60), second(two.begin() + 60, two.end());
    std::vector<int64_t> all(60);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_TRUE(std::is_permutation(first.begin(), first.end(), all.begin()));
    EXPECT_TRUE(std::is_permutation(second.begin(), second.end(), all.begin()));
    EXPECT_NE(first, all);
    EXPECT_NE(first, second);
    EXPECT_EQ(order("", shuffle, 2), two);
    context.seed = 8;
    EXPECT_NE(order("", shuffle), first);
  }
}

TEST_F(TransformTest, ShuffleBufferReachesOnlySoFarAhead) {
  auto numbers = order("", "shuffle { buffer: 5 }");
  ASSERT_EQ(numbers.size(), 60u);
  EXPECT_EQ(std::set<int64_t>(numbers.begin(), numbers.end()).size(), 60u);
  EXPECT_FALSE(std::ranges::is_sorted(numbers));
  bool reachesAsFar = false;
  for (size_t place = 0; place < numbers.size(); ++place) {
    EXPECT_LE(numbers[place], int64_t(place) + 4);
    reachesAsFar |= numbers[place] == int64_t(place) + 4;
  }
  EXPECT_TRUE(reachesAsFar);
  EXPECT_EQ(buildError(spec("", "shuffle { buffer: -1 }"), context),
            "shuffle { buffer } is -1, expected 0 (all) or more");
}

TEST_F(TransformTest, ShuffleIsUniform) {
  // The places of row 0 over many epochs: about 20 times at each of 60 places in 1200 epochs.
  std::vector<int> places(60);
  auto numbers = order("", "shuffle { }", 1200);
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] == 0)
      ++places[i % 60];
  double chiSquare = 0;
  for (int count : places)
    chiSquare += (count - 20) * (count - 20) / 20.0;
  EXPECT_LT(chiSquare, 100); // 59 degrees of freedom: beyond 100 less than once in a thousand
}

TEST_F(TransformTest, MapCastsScalesAndShifts) {
  auto dataset = build(spec("", "map { field: \"images\" cast: F32 scale: 0.0625 offset: -1.5 } "
                                "batch { size: 60 }"),
                       context);
  ASSERT_TRUE(dataset.ok());
  Batch batch = (*dataset)->allocate();
  ASSERT_TRUE((*dataset)->iterate()->next(batch).ok());
  auto *images = reinterpret_cast<const float *>(batch.field(0));
  for (int i = 0; i < 240; ++i)
    EXPECT_EQ(images[i], float(i) * 0.0625f - 1.5f);
}

TEST_F(TransformTest, MapsOfOneFieldFollowEachOther) {
  auto dataset = build(spec("", "map { field: \"images\" cast: I32 offset: 1 } "
                                "map { field: \"images\" cast: F32 scale: 0.5 } batch { size: 3 }"),
                       context);
  ASSERT_TRUE(dataset.ok());
  Batch batch = (*dataset)->allocate();
  ASSERT_TRUE((*dataset)->iterate()->next(batch).ok());
  EXPECT_EQ(firstPixels(batch), (std::vector<float>{0.5, 2.5, 4.5}));
}

TEST_F(TransformTest, MapErrors) {
  EXPECT_EQ(buildError(spec("", "map { field: \"image\" }"), context),
            "map names field 'image', expected one that feeds the model: 'images' and 'labels'");
  EXPECT_EQ(buildError(spec("", "map { field: \"images\" cast: F8 }"), context),
            "map of field 'images' casts to 'F8', expected F32, F64, I32 or I64");
  EXPECT_EQ(buildError(spec("", "map { field: \"images\" scale: 2 }"), context),
            "map of field 'images' cannot compute in u8, expected a cast to F32, F64, I32 or I64");
  EXPECT_EQ(buildError(spec("", "map { field: \"images\" cast: I32 scale: 0.5 }"), context),
            "map of field 'images' has scale 0.5, expected a 32-bit integer for a field of type "
            "i32; add cast: F32 to compute in floats, and a map behind it that casts back");
}

TEST_F(TransformTest, ValueThatAnIntegerCannotHold) {
  auto members = digits(5);
  members[1].content = npy("<i8", "(5,)", bytesOf(std::vector<int64_t>{1, 2, 3, 5000000000, 4}));
  writeFile(path(), zip(members));
  context.demands[1].dtype = GRADC_I32;
  EXPECT_EQ(batchError(spec("", "map { field: \"images\" cast: F32 } "
                                "map { field: \"labels\" cast: I32 } batch { size: 5 }"),
                       context),
            "row 3 (from 0) of '" + path() + "': field 'labels' is 5e+09, which does not fit i32");
}

TEST_F(TransformTest, FeedErrors) {
  EXPECT_EQ(buildError(spec("", "batch { size: 4 }"), context),
            "field 'images' of '" + path() +
                "' has type u8, but model input 'x' expects f32 (add stage { map { field: "
                "\"images\" cast: F32 } })");
  context.demands[0].shape = {4};
  EXPECT_EQ(buildError(spec("", "map { field: \"images\" cast: F32 } batch { size: 4 }"), context),
            "field 'images' of '" + path() +
                "' has rows of shape [2, 2], but model input 'x' expects [4]");
}

/// Labels have the type that was assumed when the job was compiled without data.
TEST_F(TransformTest, LabelsOfAnotherType) {
  std::string maps = "map { field: \"images\" cast: F32 } ", batch = "batch { size: 4 }";
  context.demands[1] = {"labels", "labels", GRADC_I32, {}};
  EXPECT_EQ(buildError(spec("", maps + batch), context),
            "field 'labels' of '" + path() +
                "' has type i64, but model input 'labels' expects i32 (compile again with these "
                "data, or add stage { map { field: \"labels\" cast: I32 } })");
  context.demands[1] = {"labels", "labels", GRADC_U8, {}};
  EXPECT_EQ(buildError(spec("", maps + batch), context),
            "field 'labels' of '" + path() +
                "' has type i64, but model input 'labels' expects u8 (compile again with these "
                "data)");
  context.demands[1] = {"labels", "labels", GRADC_F32, {10}};
  std::string oneHot = "map { field: \"labels\" one_hot { classes: 12 } } ";
  EXPECT_EQ(buildError(spec("", maps + oneHot + batch), context),
            "field 'labels' of '" + path() +
                "' has rows of shape [12], but model input 'labels' expects [10] (compile again "
                "with these data)");
}

TEST_F(TransformTest, LabelOutOfRange) {
  for (int64_t label : {int64_t(10), int64_t(-1)}) {
    auto members = digits(20);
    std::vector<int64_t> labels(20);
    labels[17] = label;
    members[1].content = npy("<i8", "(20,)", bytesOf(labels));
    writeFile(path(), zip(members));
    auto dataset =
        build(spec("", "map { field: \"images\" cast: F32 } batch { size: 8 }"), context);
    ASSERT_TRUE(dataset.ok());
    auto iterator = (*dataset)->iterate();
    Batch batch = (*dataset)->allocate();
    EXPECT_TRUE(iterator->next(batch).ok());
    EXPECT_TRUE(iterator->next(batch).ok());
    EXPECT_EQ(iterator->next(batch).message(), "label " + std::to_string(label) +
                                                   " in row 17 (from 0) of '" + path() +
                                                   "', field 'labels', expected 0 to 9");
  }
}

/// A message has the number that the file has, where maps have made another one of it.
TEST_F(TransformTest, LabelOutOfRangeAfterMaps) {
  auto members = digits(20);
  members[1].content = npy("<i8", "(20,)", bytesOf(std::vector<int64_t>(20, 12)));
  writeFile(path(), zip(members));
  EXPECT_EQ(batchError(spec("", "map { field: \"images\" cast: F32 } map { field: \"labels\" "
                                "offset: -1 } repeat { times: 2 } batch { size: 8 }"),
                       context),
            "label 11 (12 in the data) in row 0 (from 0) of '" + path() +
                "', field 'labels', expected 0 to 9");
}

TEST_F(TransformTest, StandardizeNamesTheRowOfAnInfinity) {
  auto members = digits(5);
  std::vector<float> images(20, 0.5f);
  images[13] = -INFINITY;
  members[0].content = npy("<f4", "(5, 2, 2)", bytesOf(images));
  writeFile(path(), zip(members));
  EXPECT_EQ(
      buildError(spec("", "map { field: \"images\" standardize { } } batch { size: 5 }"), context),
      "standardize of field 'images' finds -inf in row 3 (from 0) of '" + path() +
          "', expected finite numbers");
}

TEST_F(TransformTest, StageErrors) {
  std::string cast = "map { field: \"images\" cast: F32 } ";
  EXPECT_EQ(buildError("batch { size: 4 }", context),
            "data { source } names no source, expected npz, npy, csv, idx, tokens, folder or "
            "tfrecord");
  EXPECT_EQ(buildError("source { tar { } }", context),
            "data source 'tar' is unknown to this runtime");
  EXPECT_EQ(buildError(spec("", cast), context), "data has no batch stage");
  EXPECT_EQ(buildError(spec("", "interleave { }"), context),
            "data stage 'interleave' is unknown to this runtime");
  EXPECT_EQ(buildError(spec("", cast + "batch { size: 4 } shuffle { }"), context),
            "data stage 'shuffle' comes after batch");
  EXPECT_EQ(buildError(spec("", cast + "prefetch { }"), context),
            "data stage 'prefetch' comes before batch");
  EXPECT_EQ(buildError(spec("", cast + "batch { size: 0 }"), context),
            "batch { size } is 0, expected 1 or more");
  EXPECT_EQ(buildError(spec("", cast + "batch { size: 61 drop_remainder: true }"), context),
            "'" + path() + "' gives 60 rows, expected at least one batch of 61");
  EXPECT_EQ(buildError(spec("", cast + "batch { size: 4 } prefetch { depth: 1025 }"), context),
            "prefetch { depth } is 1025, expected 0 (found by measuring) to 1024");
}

template <typename From, typename To>
To convertOne(From value, gradc_dtype from, gradc_dtype to, double scale = 1,
              double offset = -0.0) {
  To result;
  // One byte off any alignment.
  alignas(8) std::byte in[16];
  std::memcpy(in + 1, &value, sizeof value);
  EXPECT_EQ(
      findConverter(from, to)(in + 1, reinterpret_cast<std::byte *>(&result), 1, scale, offset),
      1u);
  return result;
}

TEST(ConvertTest, HalfBitPatterns) {
  auto half = [](uint16_t bits) { return convertOne<uint16_t, float>(bits, GRADC_F16, GRADC_F32); };
  EXPECT_EQ(half(0x3c00), 1.0f);
  EXPECT_EQ(half(0xc000), -2.0f);
  EXPECT_EQ(half(0x7bff), 65504.0f);
  EXPECT_EQ(half(0x0001), 0x1p-24f);
  EXPECT_EQ(half(0x83ff), -0x1.ff8p-15f);
  EXPECT_EQ(half(0x7c00), INFINITY);
  EXPECT_TRUE(std::isnan(half(0x7e00)));
  EXPECT_TRUE(std::signbit(half(0x8000)));
}

TEST(ConvertTest, KeepsWhatNeedsNoArithmetic) {
  EXPECT_TRUE(std::signbit(convertOne<float, float>(-0.0f, GRADC_F32, GRADC_F32)));
  EXPECT_EQ((convertOne<int64_t, int64_t>(INT64_MIN, GRADC_I64, GRADC_I64)), INT64_MIN);
  EXPECT_EQ((convertOne<uint8_t, float>(200, GRADC_BOOL, GRADC_F32)), 1.0f);
  EXPECT_EQ((convertOne<uint64_t, double>(1ull << 63, GRADC_U64, GRADC_F64)), 0x1p63);
}

TEST(ConvertTest, ReportsWhatAnIntegerCannotHold) {
  auto firstBad = [](auto value, gradc_dtype from, gradc_dtype to) {
    std::byte out[8];
    return findConverter(from, to)(reinterpret_cast<const std::byte *>(&value), out, 1, 1, -0.0) ==
           0;
  };
  EXPECT_TRUE(firstBad(NAN, GRADC_F32, GRADC_I32));
  EXPECT_TRUE(firstBad(0x1p31f, GRADC_F32, GRADC_I32));
  EXPECT_FALSE(firstBad(-0x1p31f, GRADC_F32, GRADC_I32));
  EXPECT_TRUE(firstBad(0x1p63, GRADC_F64, GRADC_I64));
  EXPECT_TRUE(firstBad(uint32_t(1) << 31, GRADC_U32, GRADC_I32));
  EXPECT_TRUE(firstBad(uint64_t(1) << 63, GRADC_U64, GRADC_I64));
  EXPECT_FALSE(firstBad(int64_t(INT32_MIN), GRADC_I64, GRADC_I32));
  EXPECT_TRUE(firstBad(int64_t(INT32_MIN) - 1, GRADC_I64, GRADC_I32));
  EXPECT_EQ(findConverter(GRADC_BF16, GRADC_F32), nullptr);
}

} // namespace
