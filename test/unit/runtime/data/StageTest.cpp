// Stages that change the order, filter, cache, interleave files and tokens, and the map kinds.
#include "test/unit/runtime/data/DataTesting.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <future>
#include <numeric>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

using Numbers = std::vector<int64_t>;

class StageTest : public testing::Test {
protected:
  StageTest() {
    context.folders = {folder.path};
    context.demands = digitsDemands();
    context.seed = 5;
    writeFile(folder / "digits.npz", zip(digits(60)));
  }

  static std::string spec(std::string_view stages) {
    return "source { npz { path: \"digits.npz\" } } " + std::string(stages);
  }

  /// The rows of several epochs, identified by their first pixels, which are 4 * row.
  Numbers order(std::string_view data, int epochs = 1) {
    auto dataset = build(
        std::string(data) + " map { field: \"images\" cast: F32 } batch { size: 7 }", context);
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    Numbers numbers;
    if (!dataset)
      return numbers;
    auto iterator = (*dataset)->iterate();
    Batch batch = (*dataset)->allocate();
    while (epochs) {
      Status status = iterator->next(batch);
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok())
        return numbers;
      for (float pixel : firstPixels(batch))
        numbers.push_back(int64_t(pixel) / 4);
      epochs -= batch.endsEpoch;
    }
    return numbers;
  }

  std::string error(std::string_view stages) {
    return buildError(
        spec(std::string(stages) + " map { field: \"images\" cast: F32 } batch { size: 7 }"),
        context);
  }

  /// The float field of data whose batches have one row.
  std::vector<float> firstRow(std::string_view data) { return firstBatch<float>(data, context); }

  TemporaryFolder folder;
  DataContext context;
};

Numbers sequence(int64_t begin, int64_t end) {
  Numbers numbers(size_t(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

TEST_F(StageTest, TakeAndSkip) {
  EXPECT_EQ(order(spec("take { rows: 9 }")), sequence(0, 9));
  EXPECT_EQ(order(spec("skip { rows: 50 }")), sequence(50, 60));
  EXPECT_EQ(order(spec("skip { rows: 10 } take { rows: 5 }")), sequence(10, 15));
  EXPECT_EQ(order(spec("take { rows: 100 }")), sequence(0, 60));
  // Before shuffle, the rows are the same in each epoch; after it, they differ.
  Numbers before = order(spec("take { rows: 9 } shuffle { }"), 2),
          behind = order(spec("shuffle { } take { rows: 9 }"), 2);
  std::sort(before.begin(), before.end());
  for (size_t i = 0; i < 18; ++i)
    EXPECT_EQ(before[i], int64_t(i / 2));
  EXPECT_NE(Numbers(behind.begin(), behind.begin() + 9), Numbers(behind.begin() + 9, behind.end()));
  EXPECT_EQ(error("take { rows: 0 }"), "take { rows } is 0, expected 1 or more");
  EXPECT_EQ(error("skip { rows: 60 }"),
            "the data set is empty: skip leaves none of the 60 rows of '" +
                (folder / "digits.npz") + "'");
}

TEST_F(StageTest, RepeatVisitsAllRowsInEachPass) {
  Numbers twice = order(spec("shuffle { } repeat { times: 2 }"));
  Numbers epochs = order(spec("shuffle { }"), 2);
  EXPECT_EQ(twice, epochs); // a pass is an epoch of the stages before it
  EXPECT_EQ(error("repeat { times: 0 }"), "repeat { times } is 0, expected 1 or more");
}

TEST_F(StageTest, ShardsAreDisjointAndComplete) {
  for (const char *chain : {"shuffle { } shard { count: 7 index: ", "shard { count: 7 index: "}) {
    Numbers all;
    for (int index = 0; index < 7; ++index) {
      Numbers shard = order(spec(chain + std::to_string(index) + " }"));
      EXPECT_EQ(shard.size(), index < 4 ? 9u : 8u);
      all.insert(all.end(), shard.begin(), shard.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, sequence(0, 60));
  }
  EXPECT_EQ(order(spec("shard { count: 9223372036854775807 index: 5 }")), (Numbers{5}));
  EXPECT_EQ(error("shard { count: 2 index: 2 }"),
            "shard { index } is 2, expected 0 to 1 (count is 2)");
  EXPECT_EQ(error("take { rows: 2 } shard { count: 3 index: 2 }"),
            "the data set is empty: shard 2 of 3 has none of the 2 rows of '" +
                (folder / "digits.npz") + "'");
}

TEST_F(StageTest, FilterKeepsRowsByAField) {
  Numbers kept = order(spec("filter { field: \"labels\" least: 3 most: 4 }"));
  EXPECT_EQ(kept.size(), 12u);
  for (int64_t row : kept)
    EXPECT_TRUE(row % 10 == 3 || row % 10 == 4);
  EXPECT_EQ(order(spec("filter { field: \"labels\" only: 1 only: 2 except: 2 } take { rows: 2 }")),
            (Numbers{1, 11}));
  // It may read fields that the model does not use.
  context.demands.pop_back();
  EXPECT_EQ(order(spec("filter { field: \"labels\" only: 9 } take { rows: 2 }")), (Numbers{9, 19}));
  EXPECT_EQ(error("filter { field: \"labels\" least: 10 }"),
            "the data set is empty: filter keeps none of the 60 rows of '" +
                (folder / "digits.npz") + "'");
  // A choice of rows that changes from epoch to epoch cannot be filtered, but what is filtered can
  // be chosen from.
  std::string filter = "filter { field: \"labels\" most: 4 } ", take = "take { rows: 20 } ";
  for (std::string_view choice : {"take { rows: 20 }", "skip { rows: 20 }", "shard { count: 2 }"})
    EXPECT_EQ(
        error("shuffle { } " + std::string(choice) + " cache { } " + filter),
        "filter comes after a take, skip or shard behind shuffle, which chooses other rows in "
        "each epoch: put it before that stage");
  for (const std::string &chain :
       {filter + "shuffle { } " + take, "shuffle { } " + filter + take}) {
    Numbers epochs = order(spec(chain), 8);
    EXPECT_EQ(epochs.size(), 8 * 20u);
    for (int64_t row : epochs)
      EXPECT_LE(row % 10, 4);
  }
  EXPECT_EQ(order(spec(take + "shuffle { } " + filter), 8).size(), 8 * 10u);
  EXPECT_EQ(error("filter { field: \"images\" }"),
            "filter reads field 'images' of type u8 and shape [2, 2], expected one number a row");
  EXPECT_NE(error("filter { field: \"label\" }").find("filter reads field 'label', but '"),
            std::string::npos);
}

TEST_F(StageTest, CachesGiveTheSameRows) {
  Numbers expected = order(spec("shuffle { }"), 3);
  EXPECT_EQ(order(spec("cache { } shuffle { }"), 3), expected);
  for (int run = 0; run < 2; ++run) // made, then used
    EXPECT_EQ(order(spec("cache { path: \"rows.cache\" } shuffle { }"), 3), expected);
  struct stat made;
  ASSERT_EQ(stat((folder / "rows.cache").c_str(), &made), 0);
  EXPECT_NE(
      error("take { rows: 5 } map { field: \"labels\" cast: I64 } map { field: \"images\" one_hot "
            "{ classes: 256 } } cache { path: \"rows.cache\" }")
          .find("rows.cache' holds 60 rows of 2 fields, expected 60 rows of the 2 fields"),
      std::string::npos);
  writeFile(folder / "rows.cache", Bytes(100));
  EXPECT_EQ(error("cache { path: \"rows.cache\" }"),
            "cache '" + (folder / "rows.cache") +
                "' is not a complete cache file of this version; delete it, and it is made again");
}

TEST_F(StageTest, ACacheFileIsWrittenByOneProcessAtATime) {
  std::string cached = spec("cache { path: \"rows.cache\" } "), path = folder / "rows.cache";
  auto wait = [](const auto &training, int milliseconds) {
    return training.wait_for(std::chrono::milliseconds(milliseconds)) == std::future_status::ready;
  };
  // 1. While another process writes the file, trainings wait; here, for one that is killed.
  writeFile(path + ".tmp", Bytes(100000));
  int writer = open((path + ".tmp").c_str(), O_RDWR);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  auto train = [&] { return order(cached); };
  auto one = std::async(std::launch::async, train), other = std::async(std::launch::async, train);
  EXPECT_FALSE(wait(one, 200));
  EXPECT_FALSE(wait(other, 0));
  close(writer);
  EXPECT_EQ(one.get(), sequence(0, 60));
  EXPECT_EQ(other.get(), sequence(0, 60));
  EXPECT_NE(access((path + ".tmp").c_str(), F_OK), 0);

  // 2. What it has written by then is used.
  ASSERT_EQ(rename(path.c_str(), (path + ".tmp").c_str()), 0);
  writer = open((path + ".tmp").c_str(), O_RDWR);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  struct stat written, used;
  ASSERT_EQ(fstat(writer, &written), 0);
  auto third = std::async(std::launch::async, train);
  EXPECT_FALSE(wait(third, 200));
  ASSERT_EQ(rename((path + ".tmp").c_str(), path.c_str()), 0);
  close(writer);
  EXPECT_EQ(third.get(), sequence(0, 60));
  ASSERT_EQ(stat(path.c_str(), &used), 0);
  EXPECT_EQ(used.st_ino, written.st_ino);
  EXPECT_NE(access((path + ".tmp").c_str(), F_OK), 0);

  // 3. Behind a link, the lock is that of the file, which is made there.
  std::string far = folder / "far.cache";
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(symlink("far.cache", path.c_str()), 0);
  writer = open((far + ".tmp").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  auto fourth = std::async(std::launch::async, train);
  EXPECT_FALSE(wait(fourth, 200));
  close(writer);
  EXPECT_EQ(fourth.get(), sequence(0, 60));
  EXPECT_EQ(access(far.c_str(), F_OK), 0);
  for (const std::string &temporary : {path + ".tmp", far + ".tmp"})
    EXPECT_NE(access(temporary.c_str(), F_OK), 0) << temporary;
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(rename(far.c_str(), path.c_str()), 0);

  // 4. A whole file needs no lock.
  ASSERT_EQ(mkdir((path + ".tmp").c_str(), 0777), 0);
  EXPECT_EQ(order(cached), sequence(0, 60));
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_EQ(error("cache { path: \"rows.cache\" }"), "cannot write '" + path + "': Is a directory");
}

TEST_F(StageTest, ASignalEndsTheWaitForACacheFile) {
  std::string cached = spec("cache { path: \"rows.cache\" } "), path = folder / "rows.cache";
  std::atomic<int> interrupt{0};
  context.interrupt = &interrupt;
  auto train = [&] {
    return build(cached + " map { field: \"images\" cast: F32 } batch { size: 7 }", context)
        .status();
  };
  int writer = open((path + ".tmp").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  auto waiting = std::async(std::launch::async, train);
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  interrupt = SIGINT;
  Status stopped = waiting.get();
  EXPECT_EQ(int(stopped.code()), 128 + SIGINT);
  EXPECT_EQ(stopped.message(), "stopped before the first step, waiting for another process to "
                               "write cache '" +
                                   path + "'");
  close(writer);

  // The process that writes it stops between two rows, and leaves no file behind.
  EXPECT_EQ(train().message(), "stopped before the first step, writing cache '" + path + "'");
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  EXPECT_NE(access((path + ".tmp").c_str(), F_OK), 0);
}

TEST_F(StageTest, SeveralFilesTakeTurns) {
  writeFile(folder / "part-b.npz", zip(digits(3)));
  writeFile(folder / "part-a.npz", zip(digits(5)));
  EXPECT_EQ(order("source { npz { path: \"part-*.npz\" } }"), (Numbers{0, 0, 1, 1, 2, 2, 3, 4}));
  EXPECT_EQ(order("source { npz { path: \"part-b.npz\" path: \"part-a.npz\" interleave: 2 } }"),
            (Numbers{0, 1, 0, 1, 2, 2, 3, 4}));
  EXPECT_NE(buildError("source { npz { path: \"none-*.npz\" } }", context)
                .find("no data file matches 'none-*.npz', tried '"),
            std::string::npos);
  // A star in a folder's name is itself.
  TemporaryFolder elsewhere;
  std::string odd = folder / "a[1]*\\?";
  ASSERT_EQ(mkdir(odd.c_str(), 0777), 0);
  writeFile(odd + "/part-c.npz", zip(digits(2)));
  context.folders = {elsewhere.path, odd};
  EXPECT_EQ(order("source { npz { path: \"part-*.npz\" } }"), (Numbers{0, 1}));
  EXPECT_NE(buildError("source { npz { path: \"none-*.npz\" } }", context)
                .find(" and '" + odd + "/none-*.npz'"),
            std::string::npos);
  context.folders = {folder.path};
  auto other = digits(3);
  other[0].content = npy("|u1", "(3, 4)", Bytes(12));
  writeFile(folder / "part-c.npz", zip(other));
  EXPECT_NE(buildError("source { npz { path: \"part-*.npz\" } }", context)
                .find("part-c.npz' has images u8 [4], labels i64 [], expected the fields of"),
            std::string::npos);
}

class TokensTest : public StageTest {
protected:
  TokensTest() {
    context.demands = {{"input", "x", GRADC_U8, {4}, 0}, {"target", "y", GRADC_U8, {}, 0}};
    Bytes bytes;
    for (int i = 0; i < 11; ++i)
      bytes.push_back(std::byte(100 + i));
    writeFile(folder / "text.bin", bytes);
  }
};

TEST_F(TokensTest, WindowsAndWhatComesBehind) {
  auto dataset = build(
      "source { tokens { path: \"text.bin\" window: 4 stride: 3 } } batch { size: 3 }", context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  Batch batch = (*dataset)->allocate();
  ASSERT_TRUE((*dataset)->iterate()->next(batch).ok());
  EXPECT_EQ((*dataset)->rows(), 3); // a fourth would begin at 9 and end at 13
  std::string inputs, targets;
  for (int i = 0; i < 12; ++i)
    inputs += char(batch.field(0)[i]);
  for (int i = 0; i < 3; ++i)
    targets += char(batch.field(1)[i]);
  EXPECT_EQ(inputs, "defgghijjklm");
  EXPECT_EQ(targets, "hkn");
}

TEST_F(TokensTest, ATargetForEachToken) {
  context.demands = {{"a", "x", GRADC_U16, {2}, 0}, {"b", "y", GRADC_U16, {2}, 0}};
  writeFile(folder / "wide.bin", bytesOf(std::vector<uint16_t>{1, 2, 3, 4, 5}));
  auto dataset = build("source { tokens { path: \"wide.bin\" dtype: U16 window: 2 input: \"a\" "
                       "target: \"b\" target_each: true } } batch { size: 2 }",
                       context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  Batch batch = (*dataset)->allocate();
  ASSERT_TRUE((*dataset)->iterate()->next(batch).ok());
  auto *a = reinterpret_cast<const uint16_t *>(batch.field(0)),
       *b = reinterpret_cast<const uint16_t *>(batch.field(1));
  EXPECT_EQ(std::vector<uint16_t>(a, a + 4), (std::vector<uint16_t>{1, 2, 3, 4}));
  EXPECT_EQ(std::vector<uint16_t>(b, b + 4), (std::vector<uint16_t>{2, 3, 4, 5}));
}

TEST_F(TokensTest, Errors) {
  EXPECT_EQ(buildError("source { tokens { path: \"text.bin\" window: 11 } }", context),
            "the data set is empty: '" + (folder / "text.bin") +
                "' has 11 tokens, expected at least 12: a window and the token behind it");
  EXPECT_EQ(buildError("source { tokens { path: \"text.bin\" window: 2 dtype: U16 } }", context),
            "'" + (folder / "text.bin") + "' has 11 bytes, expected whole tokens of 2");
  context.demands[1].field = "label";
  EXPECT_EQ(buildError("source { tokens { path: \"text.bin\" window: 4 } }", context),
            "model input 'y' is fed from field 'label', but the tokens source has 'input' and "
            "'target'");
}

TEST_F(StageTest, OneHot) {
  context.demands = {{"labels", "y", GRADC_F32, {5}, 0}};
  std::string skip = "skip { rows: 3 } ";
  EXPECT_EQ(
      firstRow(spec(skip + "map { field: \"labels\" one_hot { classes: 5 } } batch { size: 1 }")),
      (std::vector<float>{0, 0, 0, 1, 0}));
  EXPECT_EQ(batchError(spec("map { field: \"labels\" one_hot { classes: 5 } } batch { size: 6 }"),
                       context),
            "row 5 (from 0) of '" + (folder / "digits.npz") +
                "': field 'labels' is label 5, expected 0 to 4 for one_hot");
}

TEST_F(StageTest, Transpose) {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0f);
  writeFile(folder / "cube.npz", zip({{"c.npy", npy("<f4", "(1, 2, 3, 4)", bytesOf(values))}}));
  context.demands = {{"c", "x", GRADC_F32, {4, 2, 3}, 0}};
  auto row =
      firstRow("source { npz { path: \"cube.npz\" } } map { field: \"c\" transpose { order: 2 "
               "order: 0 order: 1 } } batch { size: 1 }");
  for (size_t a = 0; a < 4; ++a)
    for (size_t b = 0; b < 2; ++b)
      for (size_t c = 0; c < 3; ++c)
        EXPECT_EQ(row[a * 6 + b * 3 + c], values[b * 12 + c * 4 + a]);
  EXPECT_EQ(
      buildError("source { npz { path: \"cube.npz\" } } map { field: \"c\" transpose { order: 1 "
                 "order: 1 order: 0 } }",
                 context),
      "transpose { order } is [1, 1, 0], expected each of the 3 dims of field 'c' once, from "
      "0");
}

TEST_F(StageTest, Pad) {
  std::vector<float> values = {1, 2, 3, 4};
  writeFile(folder / "small.npz", zip({{"s.npy", npy("<f4", "(1, 2, 2)", bytesOf(values))}}));
  context.demands = {{"s", "x", GRADC_F32, {2, 3}, 0}};
  std::string source = "source { npz { path: \"small.npz\" } } map { field: \"s\" pad { ";
  EXPECT_EQ(firstRow(source + "shape: 2 shape: 3 value: 9 } } batch { size: 1 }"),
            (std::vector<float>{1, 2, 9, 3, 4, 9}));
  context.demands[0].shape = {1, 3};
  EXPECT_EQ(firstRow(source + "shape: 1 shape: 3 truncate: true } } batch { size: 1 }"),
            (std::vector<float>{1, 2, 0}));
  EXPECT_EQ(batchError(source + "shape: 1 shape: 3 } } batch { size: 1 }", context),
            "row 0 (from 0) of '" + (folder / "small.npz") +
                "': field 's' has shape [2, 2], expected at most [1, 3] (pad { truncate: true } "
                "cuts it off)");
}

TEST_F(StageTest, StandardizeFindsTheTrainingRowsStatistics) {
  std::vector<float> values = {1, 10, 2, 30, 3, 50, 100, 1000};
  writeFile(folder / "table.npz", zip({{"x.npy", npy("<f4", "(4, 2)", bytesOf(values))}}));
  context.demands = {{"x", "x", GRADC_F32, {2}, 0}};
  context.state = std::make_shared<DataState>();
  std::string rows = "source { npz { path: \"table.npz\" rows { end: 3 } } } ",
              all = "source { npz { path: \"table.npz\" rows { begin: 3 } } } ",
              map = "map { field: \"x\" standardize { epsilon: 0 } } batch { size: 1 }";
  auto row = firstRow(rows + map);
  float deviation = std::sqrt(2.0f / 3);
  EXPECT_NEAR(row[0], -1 / deviation, 1e-6);
  EXPECT_NEAR(row[1], -1 / deviation, 1e-6);
  EXPECT_EQ(context.state->at("standardize x").front(), 2);
  // Another data set of the same run uses the training's statistics.
  row = firstRow(all + map);
  EXPECT_NEAR(row[0], 98 / deviation, 1e-3);
  EXPECT_NEAR(row[1], 970.0f / 20 / deviation, 1e-3);
  // A second standardize of the field has its own statistics.
  std::string twice = "map { field: \"x\" standardize { epsilon: 0 } } map { field: \"x\" scale: 2 "
                      "offset: 5 } " +
                      map;
  row = firstRow(rows + twice);
  EXPECT_NEAR(row[0], -1 / deviation, 1e-6);
  EXPECT_NEAR(row[1], -1 / deviation, 1e-6);
  EXPECT_NEAR(context.state->at("again standardize x").front(), 5, 1e-6);
  EXPECT_NEAR(firstRow(all + twice)[0], 98 / deviation, 1e-3);
  values[2] = NAN;
  writeFile(folder / "table.npz", zip({{"x.npy", npy("<f4", "(4, 2)", bytesOf(values))}}));
  context.state = nullptr;
  EXPECT_NE(buildError(rows + map, context).find("finds nan in row 1 (from 0) of"),
            std::string::npos);
}

} // namespace
