// What the compiler knows of a data set ahead of time: fields and rows, through the chain.
#include "dialects/Pch.h"

#include "TrainingTesting.h"
#include "compiler/import/data/TrainingData.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace gradc;

namespace {

class ImportDataTest : public TrainingTesting {
protected:
  /// Rows that an epoch visits, -1 where that is not known; -2 where something is wrong.
  int64_t rows(const Parts &parts) {
    std::string path = specPath();
    std::ofstream(path) << std::string(parts);
    auto spec = SpecFile::read(context, path);
    if (failed(spec))
      return -2;
    auto set = describeData(context, **spec, (*spec)->get().data(), {"data"});
    return failed(set) ? -2 : set->rows;
  }
};

TEST_F(ImportDataTest, DropsTheRemainderWhereItIsAsked) {
  Parts parts;
  parts.batch = "batch { size: 4 drop_remainder: true }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(functions(*imported), (std::vector<std::string>{"train", "forward"}));
}

TEST_F(ImportDataTest, LeavesAbsentDataToTheRun) {
  Parts parts;
  parts.source = "source { npz { path: \"later.npz\" } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  expectSaid({"\"later.npz\" is not there yet"});
  EXPECT_EQ(functions(*imported), (std::vector<std::string>{"train", "forward"}));
  EXPECT_TRUE(imported->spec->data().batch().drop_remainder());
  EXPECT_EQ(signature(function(*imported, "train")).find("x f32 [4, 4] data x; labels i64 [4]"),
            0u);
}

TEST_F(ImportDataTest, ReadsEveryKindOfFile) {
  Parts parts;
  parts.map = "map { field: \"labels\" cast: I64 }";
  for (StringRef source :
       {"npz { path: \"deflated.npz\" }",
        "npy { field { name: \"x\" path: \"x.npy\" } field { name: \"labels\" path: "
        "\"labels.npy\" } }",
        "csv { path: \"table.csv\" field { name: \"x\" column: \"p*\" } field { column: "
        "\"labels\" dtype: I64 } }",
        "idx { field { name: \"x\" path: \"x.idx.gz\" } field { name: \"labels\" path: "
        "\"labels.idx\" } }"}) {
    parts.source = ("source { " + source + " }").str();
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    EXPECT_EQ(functions(*imported), (std::vector<std::string>{"train", "train.tail", "forward"}));
  }
}

/// What maps make of pictures is known before anything is read.
TEST_F(ImportDataTest, FollowsPicturesThroughTheirSteps) {
  Parts parts;
  parts.source = "source { tfrecord { path: \"later.tfrecord\" feature { name: \"image/encoded\" "
                 "field: \"x\" } feature { name: \"labels\" type: INT64 } } }";
  parts.map =
      "map { field: \"x\" decode { channels: 1 } } map { field: \"x\" resize { shorter: 9 } } "
      "map { field: \"x\" random_crop { height: 4 width: 4 padding: 1 } } "
      "map { field: \"x\" flip {} } map { field: \"x\" color_jitter { hue: 0.1 } } "
      "map { field: \"x\" crop { height: 4 width: 1 } } "
      "map { field: \"x\" normalize { mean: 0.5 } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected field \"x\" of \"later.tfrecord\" to be f32 [4, 4] for graph input \"x\", "
              "found f32 [4, 1, 4, 1]"});
}

/// Headers of TFRecords: the length and its checksum.
const std::string lengthOf3("\3\0\0\0\0\0\0\0\xb0\x99I\x0e", 12);
const std::string lengthOf0("\0\0\0\0\0\0\0\0)\x03\x98\x07", 12);

TEST_F(ImportDataTest, CountsPicturesAndRecords) {
  std::string folder = modelPath("counted");
  for (StringRef name : {"a", "b", "b/deep"})
    ASSERT_FALSE(llvm::sys::fs::create_directories(folder + "/" + name));
  for (StringRef name : {"a/1.jpg", "a/2.PNG", "a/3.txt", "a/.4.jpg", "b/deep/5.jpeg", "6.jpg"})
    std::ofstream(folder + "/" + name.str()) << "x";
  std::ofstream(modelPath("list.txt")) << "# two\na/1.jpg 0\n\nb/deep/5.jpeg 2\n";
  // Records of 3 and 0 bytes, and one that is cut off.
  std::ofstream(modelPath("counted.tfrecord"))
      << lengthOf3 << "abccccc" << lengthOf0 << "cccc" << "rest";
  Parts parts;
  parts.model = "model: \"pictures.onnx\"";
  parts.map = "map { field: \"x\" decode {} } map { field: \"x\" resize { height: 2 width: 2 } } "
              "map { field: \"x\" normalize {} }";
  for (auto [source, batch] :
       {std::pair("folder { path: \"counted\" image: \"x\" label: \"labels\" }", 3),
        {"folder { path: \"counted\" list: \"list.txt\" image: \"x\" label: \"labels\" }", 2},
        {"tfrecord { path: \"counted.tfrecord\" feature { name: \"x\" } feature { name: "
         "\"labels\" type: INT64 } }",
         3}}) {
    parts.source = std::string("source { ") + source + " }";
    for (bool fits : {true, false}) {
      parts.batch = "batch { drop_remainder: true size: " + std::to_string(batch + !fits) + " }";
      said.clear();
      EXPECT_EQ(succeeded(training(parts)), fits) << source << everything();
    }
  }
}

TEST_F(ImportDataTest, NamesTheRecordWhoseLengthIsDamaged) {
  std::string damaged = lengthOf3;
  damaged[0] = 2;
  std::ofstream(modelPath("sound.tfrecord")) << lengthOf3 << "abccccc";
  std::ofstream(modelPath("damaged.tfrecord"))
      << lengthOf3 << "abccccc" << lengthOf0 << "cccc" << damaged << "abccccc";
  Parts parts;
  parts.source = "source { tfrecord { path: \"sound.tfrecord\" path: \"damaged.tfrecord\" "
                 "feature { name: \"x\" } feature { name: \"labels\" type: INT64 } } }";
  EXPECT_EQ(rows(parts), -2);
  expectSaid({"damaged.tfrecord\": record 2 has a damaged header: the checksum of its length "
              "differs"});
  // The run passes over it.
  parts.map = "on_error: SKIP";
  EXPECT_EQ(rows(parts), -1) << everything();
}

TEST_F(ImportDataTest, CountsRowsThroughTheChain) {
  Parts parts;
  for (auto [stages, expected] : std::initializer_list<std::pair<const char *, int64_t>>{
           {"", 10},
           {"take { rows: 4 }", 4},
           {"skip { rows: 7 }", 3},
           {"repeat { times: 3 }", 30},
           {"shard { count: 4 index: 1 }", 3},
           {"shard { count: 4 index: 3 }", 2},
           {"repeat { times: 2 } take { rows: 15 }", 15},
           {"take { rows: 15 } repeat { times: 2 }", 20},
           {"filter { field: \"labels\" }", -1},
           {"on_error: SKIP", -1}}) {
    parts.map = stages;
    EXPECT_EQ(rows(parts), expected) << stages << everything();
  }
  parts.map = "";
  parts.source = "source { npz { path: \"data.npz\" path: \"deflated.npz\" } }";
  EXPECT_EQ(rows(parts), 20) << everything();
}

TEST_F(ImportDataTest, StagesKeepTheirOrderAndAUTOTUNEIsANumber) {
  Parts parts;
  parts.map = "shuffle { } # not AUTOTUNE\n\tparallelism:\tAUTOTUNE map { field: \"x\" scale: 2 } "
              "shuffle { buffer: 3 }";
  parts.batch = "batch { size: 4 } prefetch { depth: AUTOTUNE }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  const spec::Data &data = imported->spec->data();
  EXPECT_EQ(std::vector<std::string>(data.chain().begin(), data.chain().end()),
            (std::vector<std::string>{"shuffle", "map", "shuffle", "batch", "prefetch"}));
  EXPECT_TRUE(data.has_parallelism());
  EXPECT_EQ(data.parallelism(), 0);
}

TEST_F(ImportDataTest, SkippedRowsLeaveNoSmallerLastBatch) {
  Parts parts;
  parts.map = "on_error: SKIP";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  expectSaid(
      {"rows that cannot be read are skipped, so the size of the last batch is not known: an "
       "incomplete one is dropped"});
}

TEST_F(ImportDataTest, SaysWhatIsWrongInTheChain) {
  Parts parts;
  parts.map = "take { rows: 0 } repeat { } shard { count: 2 index: 2 } parallelism: -1 "
              "prefetch { } map { field: \"x\" cast: F32 one_hot { } } filter { }";
  parts.batch = "batch { size: 4 } shuffle { }";
  EXPECT_EQ(rows(parts), -2);
  expectSaid({"expected rows above 0, found 0", "expected times above 0, found 0",
              "expected index from 0 to below count, found 2",
              "expected parallelism from 0 (AUTOTUNE) to 1024, found -1",
              "prefetch stands before batch, expected it behind",
              "shuffle stands behind batch, expected it before",
              "or with one other thing to do, found both", "expected classes above 0, found 0",
              "missing field: add field: \"label\""});
}

TEST_F(ImportDataTest, SaysWhichFieldsAMapCannotTake) {
  Parts parts;
  parts.map =
      "map { field: \"x\" one_hot { classes: 3 } } map { field: \"x\" transpose { order: 1 } } "
      "map { field: \"x\" pad { shape: [1, 2] } } map { field: \"x\" standardize { axis: 1 } }";
  EXPECT_EQ(rows(parts), -2);
  expectSaid({"expected integers for one_hot, found 'f32'",
              "expected order to have each of the 1 dims of a row once, from 0, found 1",
              "expected pad to a shape of 1 dims, found 2", "expected axis from -1 to 0, found 1"});
}

TEST_F(ImportDataTest, TokensAreKnownWithoutTheirFile) {
  Parts parts;
  parts.source =
      "source { tokens { path: \"later.bin\" window: 4 input: \"x\" target: \"labels\" } }";
  parts.map = "map { field: \"x\" cast: F32 } map { field: \"labels\" cast: I64 }";
  EXPECT_EQ(rows(parts), -1) << everything();
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  expectSaid({"\"later.bin\" is not there yet"});
}

} // namespace
