// What is known of a data block without reading its rows.
#include "DataTesting.h"
#include "runtime/base/Text.h"
#include "runtime/include/gradc/data.h"

#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// All that a description tells.
struct Told {
  std::string shape;                 ///< "images u8 [2, 2], labels i64 []: 60"
  std::vector<std::string> problems; ///< "rows: rows { every } is 0, ...": value and message
  std::string why;
  const gradc_artifact_value *values = nullptr;
  const char *strings = nullptr;
  std::string before; ///< what a model stage was given
  bool makesField = true;
};

std::string shapeOf(const gradc_data_shape &shape) {
  std::string out = shape.knows_fields ? "" : "?";
  for (uint32_t i = 0; i < shape.field_count; ++i) {
    const gradc_data_field &field = shape.fields[i];
    out += text(i ? ", " : "", field.name, ' ', findDataType(field.dtype)->name, ' ',
                shapeText({field.shape, field.rank}));
  }
  return out + text(": ", shape.rows);
}

class DescribeTest : public testing::Test {
protected:
  DescribeTest() { writeFile(folder / "digits.npz", zip(digits(60))); }

  Told describe(std::string_view data, bool hasModels = false, bool makesField = true) {
    JobText job(data);
    Told told;
    told.values = job.tree();
    told.strings = job.text();
    told.makesField = makesField;
    gradc_data_listener listener = {};
    listener.self = &told;
    listener.problem = [](void *self, uint32_t value, const char *message) {
      auto &told = *static_cast<Told *>(self);
      told.problems.push_back(
          text(told.strings + told.values[value].name, ": ", std::string(message)));
    };
    if (hasModels)
      listener.model = [](void *self, uint32_t map, const gradc_data_shape *before,
                          gradc_data_made *made) {
        auto &told = *static_cast<Told *>(self);
        told.before = text(told.strings + told.values[map].name, " of ", before->batch, " behind ",
                           shapeOf(*before));
        static const int64_t shape[] = {7};
        static const gradc_data_field field = {"images", GRADC_F32, 1, shape};
        *made = {&field, 1};
        return int(told.makesField);
      };
    listener.described = [](void *self, const gradc_data_shape *shape) {
      static_cast<Told *>(self)->shape = shapeOf(*shape);
      static_cast<Told *>(self)->why = shape->why_unknown;
    };
    uint32_t count = gradc_data_describe(told.values, told.strings, folder.path.c_str(), &listener);
    EXPECT_EQ(count, told.problems.size());
    return told;
  }

  TemporaryFolder folder;
  const std::string source = "source { npz { path: \"digits.npz\" } } ",
                    batch = "batch { size: 8 }";
};

TEST_F(DescribeTest, FollowsFieldsAndRows) {
  Told told = describe(source + R"(map { field: "images" cast: F32 } map { field: "labels" one_hot
      { classes: 10 } } shuffle { } take { rows: 41 } repeat { times: 2 } cache { path: "kept" } )" +
                       batch + " prefetch { }");
  EXPECT_EQ(told.problems, std::vector<std::string>());
  EXPECT_EQ(told.shape, "images f32 [2, 2], labels f32 [10]: 82");
  EXPECT_NE(access((folder / "kept").c_str(), F_OK), 0) << "a cache's file was made";
  for (auto [rows, expected] : {std::pair("every: 7 only: 3", 9),
                                {"every: 7 except: 3", 51},
                                {"begin: 50", 10},
                                {"begin: 5 end: 20 every: 2 only: 1", 8}})
    EXPECT_EQ(
        describe(text("source { npz { path: \"digits.npz\" rows { ", rows, " } } } ", batch)).shape,
        text("images u8 [2, 2], labels i64 []: ", expected));
}

TEST_F(DescribeTest, SaysWhatItCannotKnow) {
  Told told = describe("source { npz { path: \"later.npz\" } } " + batch);
  EXPECT_EQ(told.shape, "?: -1");
  EXPECT_EQ(told.why, "'later.npz' is not there yet");
  EXPECT_EQ(
      describe(source + "filter { field: \"labels\" most: 3 } take { rows: 70 } " + batch).shape,
      "images u8 [2, 2], labels i64 []: -1");
  EXPECT_EQ(describe(source + batch + " on_error: SKIP").why,
            "rows that cannot be read are skipped");
}

TEST_F(DescribeTest, TellsAllProblemsAtTheirValues) {
  EXPECT_EQ(
      describe(R"(source { npz { path: "digits.npz" rows { every: 0 } } }
      map { field: "image" cast: F32 } map { field: "images" resize { shorter: 0 } }
      map { field: "images" pad { shape: 4 } } skip { rows: 60 } parallelism: -1 batch { size: 0 }
      shard { count: 2 index: 2 } prefetch { depth: -1 })")
          .problems,
      (std::vector<std::string>{
          "parallelism: data { parallelism } is -1, expected 0 (found by measuring) to 1024",
          "rows: rows { every } is 0, expected 1 or more",
          "map: no field 'image' in 'digits.npz'; it has 'images' and 'labels'; did you mean "
          "'images'?",
          "map: resize { shorter } is 0, expected 1 to 32768",
          "map: pad { shape } is [4], expected 2 dims above 0 for field 'images' of shape [2, 2]",
          text("skip: the data set is empty: skip leaves none of the 60 rows of '",
               folder / "digits.npz", "'"),
          "size: batch { size } is 0, expected 1 or more",
          "shard: shard { index } is 2, expected 0 to 1 (count is 2)",
          "depth: prefetch { depth } is -1, expected 0 (found by measuring) to 1024"}));
  EXPECT_EQ(describe("").problems,
            (std::vector<std::string>{
                "training: data has no source: add source { npz { path: \"data.npz\" } }",
                "training: data has no batch stage: add stage { batch { size: 32 } }"}));
  // Blocks are checked without their data, too.
  EXPECT_EQ(describe(R"(source { npz { path: "later.npz" } } map { field: "x" flip { vertical: 2 } }
                        map { field: "x" normalize { deviation: 0 } } )" +
                     batch)
                .problems.size(),
            2u);
}

TEST_F(DescribeTest, AsksWhatModelsMake) {
  std::string model = "map { model { file: \"m.onnx\" } } ";
  Told told = describe(source + model + batch, true);
  EXPECT_EQ(told.before, "map of 0 behind images u8 [2, 2], labels i64 []: 60");
  EXPECT_EQ(told.shape, "labels i64 [], images f32 [7]: 60");
  EXPECT_EQ(describe(source + batch + model, true).before,
            "map of 8 behind images u8 [2, 2], labels i64 []: 60");
  EXPECT_EQ(describe(source + model + batch, true, /*makesField=*/false).shape, "?: 60");
  EXPECT_EQ(describe(source + model + batch, false).shape, "?: 60");
}

} // namespace
