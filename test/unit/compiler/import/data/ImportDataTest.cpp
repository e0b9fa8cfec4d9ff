// The compiler's knowledge of a data set ahead of time: fields and rows, through the whole chain.
#include "dialects/Pch.h"

#include "compiler/import/data/TrainingData.h"
#include "test/unit/compiler/import/TrainingTesting.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace gradc;

namespace {

class ImportDataTest : public TrainingTesting {
protected:
  /// The rows that an epoch visits; -1 if unknown, -2 if there is an error.
  int64_t rows(const Parts &parts) {
    std::string path = specPath();
    std::ofstream(path) << std::string(parts);
    auto spec = SpecFile::read(context, path);
    if (failed(spec) || failed((*spec)->check()))
      return -2;
    auto set = describeData(context, **spec, (*spec)->get().data(), {"data"});
    return failed(set) ? -2 : set->rows;
  }
};

TEST_F(ImportDataTest, DropsTheRemainderWhereItIsAsked) {
  Parts parts;
  parts.batch = "stage { batch { size: 4 drop_remainder: true } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(functions(*imported), (std::vector<std::string>{"train", "forward"}));
}

TEST_F(ImportDataTest, LeavesAbsentDataToTheRun) {
  Parts parts;
  parts.source = "source { npz { path: \"later.npz\" } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_TRUE(said.empty()) << everything();
  EXPECT_EQ(imported->data.front().whyUnknown, "'later.npz' is not there yet");
  EXPECT_EQ(functions(*imported), (std::vector<std::string>{"train", "forward"}));
  EXPECT_FALSE(SpecFile::batchOf(imported->spec->data()).drop_remainder());
  EXPECT_EQ(signature(function(*imported, "train")).find("x f32 [4, 4] data x; labels i64 [4]"),
            0u);
}

/// Maps decide types even if the data are not there yet.
TEST_F(ImportDataTest, AbsentDataHaveTheTypesThatMapsMake) {
  Parts parts;
  parts.source = "source { npz { path: \"later.npz\" } }";
  auto signatureOf = [&](const std::string &stages) {
    parts.map = stages;
    auto imported = training(parts);
    EXPECT_TRUE(succeeded(imported)) << everything();
    return succeeded(imported) ? signature(function(*imported, "train")) : std::string();
  };
  std::string x = "x f32 [4, 4] data x; ";
  std::string oneHot = "stage { map { field: \"labels\" one_hot { classes: 3 } } } ";
  EXPECT_EQ(signatureOf(oneHot).find(x + "labels f32 [4, 3] data labels;"), 0u);
  EXPECT_EQ(signatureOf("stage { map { field: \"labels\" cast: I32 } }")
                .find(x + "labels i32 [4] data labels;"),
            0u);
  EXPECT_EQ(signatureOf(oneHot + "stage { map { field: \"labels\" cast: F64 } }")
                .find(x + "labels f64 [4, 3] data labels;"),
            0u);
  // Scaled labels have the type of the data.
  EXPECT_EQ(signatureOf("stage { map { field: \"labels\" offset: -1 } }")
                .find(x + "labels i64 [4] data labels;"),
            0u);
  std::string ahead = "stage { window { length: 4 ahead { field: \"class\" name: \"labels\" } } }";
  EXPECT_EQ(signatureOf("stage { map { field: \"class\" one_hot { classes: 3 } } } " + ahead)
                .find(x + "labels f32 [4, 3] data labels;"),
            0u);
}

TEST_F(ImportDataTest, AbsentDataOfTypesThatDoNotFit) {
  Parts parts;
  parts.source = "source { npz { path: \"later.npz\" } }";
  parts.map = "stage { map { field: \"x\" cast: I64 } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected field \"x\" of \"later.npz\" to be f32 [4, 4] for graph input \"x\", found "
              "i64 [4, 4]; add stage { map { field: \"x\" cast: F32 } }"});
  said.clear();
  parts.map = "stage { map { field: \"labels\" cast: F32 } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected labels as integers i64 [4] or as a distribution f32 [4, 3] for scores f32 "
              "[4, 3], found field \"labels\", f32 [4]"});
  said.clear();
  parts.map = "stage { map { field: \"labels\" one_hot { classes: 5 } } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"found field \"labels\", f32 [4, 5]"});
}

TEST_F(ImportDataTest, ReadsEveryKindOfFile) {
  Parts parts;
  parts.map = "stage { map { field: \"labels\" cast: I64 } }";
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

/// The effect of maps on pictures is known before anything is read.
TEST_F(ImportDataTest, FollowsPicturesThroughTheirSteps) {
  Parts parts;
  parts.source = "source { tfrecord { path: \"later.tfrecord\" feature { name: \"image/encoded\" "
                 "field: \"x\" } feature { name: \"labels\" type: INT64 } } }";
  parts.map = "stage { map { field: \"x\" decode { channels: 1 } } } stage { map { field: \"x\" "
              "resize { shorter: 9 } } } "
              "stage { map { field: \"x\" random_crop { height: 4 width: 4 padding: 1 } } } "
              "stage { map { field: \"x\" flip {} } } stage { map { field: \"x\" color_jitter { "
              "hue: 0.1 } } } "
              "stage { map { field: \"x\" crop { height: 4 width: 1 } } } "
              "stage { map { field: \"x\" normalize { mean: 0.5 } } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected field \"x\" of \"later.tfrecord\" to be f32 [4, 4] for graph input \"x\", "
              "found f32 [4, 1, 4, 1]"});
}

/// Pictures of varying size are resized by the caller; the remaining maps are exported before the
/// model.
TEST_F(ImportDataTest, ExportsWhatFollowsVaryingSizes) {
  Parts parts;
  parts.model = "model: \"pictures.onnx\"";
  parts.source = "source { tfrecord { path: \"later.tfrecord\" feature { name: \"x\" } feature { "
                 "name: \"labels\" type: INT64 } } }";
  parts.map = "stage { map { field: \"x\" decode {} } } stage { map { field: \"x\" resize { "
              "height: 2 width: 2 } } } stage { map { field: \"x\" flip {} } } "
              "stage { map { field: \"x\" normalize { mean: 0.5 } } }";
  parts.rest = "export { onnx: \"out.onnx\" preprocessing: true }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(signature(function(*imported, "train")),
            "x f32 [4, 3, 2, 2] data x; labels i64 [4] data labels; learning_rate f32 [] "
            "learning_rate -; step f32 [] step -");
  EXPECT_EQ(signature(function(*imported, "forward")), "x_raw f32 [4, 2, 2, 3] data x");
  EXPECT_EQ(imported->exportedInputs, "x_raw takes field 'x' after decode { }, resize { height: 2 "
                                      "width: 2 }, without flip { }");
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
  // Records of 3 and 0 bytes.
  std::ofstream(modelPath("counted.tfrecord")) << lengthOf3 << "abccccc" << lengthOf0 << "cccc";
  Parts parts;
  parts.model = "model: \"pictures.onnx\"";
  parts.map = "stage { map { field: \"x\" decode {} } } stage { map { field: \"x\" resize { "
              "height: 2 width: 2 } } } "
              "stage { map { field: \"x\" normalize {} } }";
  for (auto [source, batch] :
       {std::pair("folder { path: \"counted\" image: \"x\" label: \"labels\" }", 3),
        {"folder { path: \"counted\" list: \"list.txt\" image: \"x\" label: \"labels\" }", 2},
        {"tfrecord { path: \"counted.tfrecord\" feature { name: \"x\" } feature { name: "
         "\"labels\" type: INT64 } }",
         2}}) {
    parts.source = std::string("source { ") + source + " }";
    for (bool fits : {true, false}) {
      parts.batch =
          "stage { batch { drop_remainder: true size: " + std::to_string(batch + !fits) + " } }";
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
  expectSaid({"damaged.tfrecord' has a damaged header: the checksum of its length differs"});
  std::ofstream(modelPath("damaged.tfrecord")) << lengthOf3 << "abccccc" << "rest";
  said.clear();
  EXPECT_EQ(rows(parts), -2);
  expectSaid({"damaged.tfrecord' is cut off: expected a header of 12 bytes, found 4"});
  // The run skips it.
  parts.map = "on_error: SKIP";
  EXPECT_EQ(rows(parts), -1) << everything();
}

TEST_F(ImportDataTest, CountsRowsThroughTheChain) {
  Parts parts;
  for (auto [stages, expected] : std::initializer_list<std::pair<const char *, int64_t>>{
           {"", 10},
           {"stage { take { rows: 4 } }", 4},
           {"stage { skip { rows: 7 } }", 3},
           {"stage { repeat { times: 3 } }", 30},
           {"stage { shard { count: 4 index: 1 } }", 3},
           {"stage { shard { count: 4 index: 3 } }", 2},
           {"stage { repeat { times: 2 } } stage { take { rows: 15 } }", 15},
           {"stage { take { rows: 15 } } stage { repeat { times: 2 } }", 20},
           {"stage { filter { field: \"labels\" } }", -1},
           {"on_error: SKIP", -1}}) {
    parts.map = stages;
    EXPECT_EQ(rows(parts), expected) << stages << everything();
  }
  parts.map = "";
  parts.source = "source { npz { path: \"data.npz\" path: \"deflated.npz\" } }";
  EXPECT_EQ(rows(parts), 20) << everything();
}

TEST_F(ImportDataTest, StagesKeepTheirOrder) {
  Parts parts;
  parts.map = "stage { shuffle { } } parallelism: 2 stage { map { field: \"x\" scale: 2 } } "
              "stage { shuffle { buffer: 3 } }";
  parts.batch = "stage { batch { size: 4 } } stage { prefetch { } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  // The tree contains the values as the runtime reads them, and no defaults.
  SpecTree tree(imported->spec->data(), "data", /*text=*/nullptr);
  std::vector<std::string> names;
  for (uint32_t i = tree.values[0].first_child; i != GRADC_NONE; i = tree.values[i].next_sibling)
    names.push_back(tree.strings.data() + tree.values[i].name);
  EXPECT_EQ(names, (std::vector<std::string>{"source", "shuffle", "map", "shuffle", "batch",
                                             "prefetch", "parallelism"}));
}

TEST_F(ImportDataTest, SaysHowToRewriteOldSpecs) {
  EXPECT_TRUE(failed(training("data {\n  source {}\n  shuffle {}\n  batch { size: 4 }\n"
                              "  stage { prefetch { depth: 1 } }\n  mapp {}\n}\n")));
  expectSaid(
      {":3:11): shuffle is a stage, and each stage stands in a block of its own: write stage "
       "{ shuffle { ... } }",
       ":4:9): batch is a stage",
       ":6:8): unknown field \"mapp\" in Data; did you mean "
       "stage { map { ... } }?"});
  Parts parts;
  said.clear();
  parts.batch = "stage { batch { size: 4 } prefetch {} }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"a block like this holds one of them"});
  said.clear();
  parts.batch = "stage { batch { size: 4 } } stage { prefetch { depth: AUTOTUNE } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected a number, found AUTOTUNE; leave the field out"});
  said.clear();
  parts.batch = "stage { batch { size: 4 } } stage {}";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"missing the stage's kind: add map { ... }"});
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
  parts.map = "stage { take { rows: 0 } } stage { repeat { } } stage { shard { count: 2 index: 2 } "
              "} parallelism: -1 "
              "stage { prefetch { } } stage { map { field: \"x\" cast: F32 one_hot { } } } "
              "stage { map { field: \"x\" one_hot { } } } stage { filter { } }";
  parts.batch = "stage { batch { size: 4 } } stage { shuffle { } }";
  EXPECT_EQ(rows(parts), -2);
  expectSaid({"take { rows } is 0, expected 1 or more", "repeat { times } is 0, expected 1 or more",
              "shard { index } is 2, expected 0 to 1 (count is 2)",
              "data { parallelism } is -1, expected 0 (found by measuring) to 1024",
              "data stage 'prefetch' comes before batch", "data stage 'shuffle' comes after batch",
              "beside another thing to do, expected one of them: write two map stages",
              "one_hot { classes } is 0, expected 1 to", "filter has no field: add field: "});
}

TEST_F(ImportDataTest, SaysWhichFieldsAMapCannotTake) {
  Parts parts;
  parts.map = "stage { map { field: \"x\" one_hot { classes: 3 } } } stage { map { field: \"x\" "
              "transpose { order: 1 } } } "
              "stage { map { field: \"x\" pad { shape: [1, 2] } } } stage { map { field: \"x\" "
              "standardize { axis: 1 } } }";
  EXPECT_EQ(rows(parts), -2);
  expectSaid({"one_hot of field 'x' expects integers, found f32",
              "transpose { order } is [1], expected each of the 1 dims of field 'x' once, from 0",
              "pad { shape } is [1, 2], expected 1 dim above 0 for field 'x' of shape [4]",
              "standardize { axis } is 1, expected -1 to 0"});
}

TEST_F(ImportDataTest, TokensAreKnownWithoutTheirFile) {
  Parts parts;
  parts.source =
      "source { tokens { path: \"later.bin\" window: 4 input: \"x\" target: \"labels\" } }";
  parts.map =
      "stage { map { field: \"x\" cast: F32 } } stage { map { field: \"labels\" cast: I64 } }";
  EXPECT_EQ(rows(parts), -1) << everything();
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(imported->data.front().whyUnknown, "'later.bin' is not there yet");
}

} // namespace
