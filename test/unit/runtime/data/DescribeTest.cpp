// The description of a data block without reading its rows.
#include "DataTesting.h"
#include "runtime/base/Text.h"
#include "runtime/include/gradc/data.h"

#include <algorithm>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// Everything that a description reports.
struct Told {
  std::string shape;                 ///< "images u8 [2, 2], labels i64 []: 60"
  std::vector<std::string> problems; ///< "rows: rows { every } is 0, ...": value and message
  std::string why;
  const gradc_artifact_value *values = nullptr;
  const char *strings = nullptr;
  std::string before; ///< what a model stage was given
  bool makesField = true;
  std::vector<std::string> used;  ///< the fields that the job may use; empty: any
  std::vector<std::string> steps; ///< "images u8 [2, 2]: cast f32"
};

template <typename T> std::string listText(const T *values, int64_t count) {
  std::string out;
  for (int64_t i = 0; i < count; ++i)
    out += text(' ', values[i]);
  return out;
}

std::string stepText(const gradc_data_field &before, const gradc_data_step &step) {
  std::string out = text(before.name, ' ', findDataType(before.dtype)->name, ' ',
                         shapeText({before.shape, before.rank}), ": ");
  switch (step.op) {
  case GRADC_DATA_CAST:
    return text(out, "cast ", findDataType(step.dtype)->name);
  case GRADC_DATA_SCALE:
    return text(out, "scale", listText(step.factors, step.count), " +",
                listText(step.offsets, step.count), " along ", step.axis);
  case GRADC_DATA_STANDARDIZE:
    return text(out, step.key, ", ", step.count, " along ", step.axis);
  case GRADC_DATA_ONE_HOT:
    return text(out, "one_hot ", step.count);
  case GRADC_DATA_TRANSPOSE:
    return text(out, "transpose", listText(step.indices, step.count));
  case GRADC_DATA_PICK:
    return text(out, "pick", listText(step.indices, step.count), " along ", step.axis);
  case GRADC_DATA_WEIGH:
    return text(out, "weigh", listText(step.weights, step.count * before.shape[step.axis]),
                " along ", step.axis);
  case GRADC_DATA_ROUND:
    return out + "round";
  case GRADC_DATA_RANDOM:
    return out + "random";
  case GRADC_DATA_OTHER:
    return out + "other";
  }
  return out;
}

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
    told.used = used;
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
        static const gradc_data_field field = {"images", GRADC_F32, 1, shape, 0, 0};
        *made = {&field, 1};
        return int(told.makesField);
      };
    listener.step = [](void *self, uint32_t, const gradc_data_field *before,
                       const gradc_data_step *step) {
      static_cast<Told *>(self)->steps.push_back(stepText(*before, *step));
    };
    listener.described = [](void *self, const gradc_data_shape *shape) {
      static_cast<Told *>(self)->shape = shapeOf(*shape);
      static_cast<Told *>(self)->why = shape->why_unknown;
    };
    if (!used.empty())
      listener.uses = [](void *self, const char *name) {
        return int(std::ranges::count(static_cast<Told *>(self)->used, name));
      };
    uint32_t count = gradc_data_describe(told.values, told.strings, folder.path.c_str(), &listener);
    EXPECT_EQ(count, told.problems.size());
    return told;
  }

  TemporaryFolder folder;
  std::vector<std::string> used;
  const std::string source = "source { npz { path: \"digits.npz\" } } ",
                    batch = "batch { size: 8 }";
};

TEST_F(DescribeTest, WidensFieldsToWindows) {
  using Lines = std::vector<std::string>;
  Told told =
      describe(source + R"(window { length: 3 ahead { field: "images" name: "next" } } )" + batch);
  EXPECT_EQ(told.shape, "images u8 [3, 2, 2], labels i64 [3], next u8 [2, 2]: 57");
  EXPECT_EQ(told.steps, (Lines{"images u8 [2, 2]: other", "labels i64 []: other"}));
  EXPECT_EQ(told.problems, Lines{});
  told = describe(
      source + R"(window { length: 0 stride: 0 ahead { field: "image" name: "next" } } )" + batch);
  EXPECT_EQ(told.problems, Lines{"ahead: no field 'image' in 'digits.npz'; it has 'images' and "
                                 "'labels'; did you mean 'images'?"});
  told = describe(source + "window { length: 0 stride: 0 } " + batch);
  EXPECT_EQ(told.problems,
            (Lines{"window: window { length } is 0, expected 1 or more: add length: 48",
                   "window: window { stride } is 0, expected 1 or more"}));
  told = describe(
      R"(source { npz { path: "later.npz" } } window { length: 3 ahead { field: "x" name: "y" } } )" +
      batch);
  EXPECT_EQ(told.shape, "?: -1");
  EXPECT_EQ(told.problems, Lines{});
  // No window reaches from one file into another.
  told = describe(
      R"(source { npz { path: "digits.npz" path: "digits.npz" } } window { length: 3 } )" + batch);
  EXPECT_EQ(told.shape, "images u8 [3, 2, 2], labels i64 [3]: -1");
  EXPECT_EQ(told.why, "how many windows each file has is known when they are read");
  EXPECT_EQ(told.problems, Lines{});
}

TEST_F(DescribeTest, TellsWhatMapsDo) {
  // Labels 0 to 9, images u8 [2, 2].
  using Lines = std::vector<std::string>;
  EXPECT_EQ(describe(source + R"(map { field: "images" cast: F32 scale: 0.5 }
      map { field: "images" transpose { order: 1 order: 0 } } map { field: "images" standardize { axis: 0 } }
      map { field: "labels" one_hot { classes: 10 } } )" +
                     batch)
                .steps,
            (Lines{"images u8 [2, 2]: cast f32", "images u8 [2, 2]: scale 0.5 + -0 along 0",
                   "images f32 [2, 2]: transpose 1 0", "images f32 [2, 2]: cast f64",
                   "images f32 [2, 2]: standardize images, 2 along 0",
                   "images f32 [2, 2]: cast f32", "labels i64 []: one_hot 10"}));
  EXPECT_EQ(
      describe(source + R"(map { field: "images" pad { shape: 3 shape: 2 } } )" + batch).steps,
      Lines{"images u8 [2, 2]: other"});

  writeFile(folder / "p.npy", npy("|u1", "(8, 2, 4, 1)", bytesOf(std::vector<uint8_t>(64))));
  auto picture = [&](std::string_view maps) {
    return describe(text(R"(source { npy { field { name: "p" path: "p.npy" } } } )", maps, batch))
        .steps;
  };
  EXPECT_EQ(picture(R"(map { field: "p" crop { height: 2 width: 2 } } map { field: "p" flip { } }
      map { field: "p" resize { height: 1 width: 2 round: true } } )"),
            (Lines{"p u8 [2, 4, 1]: pick 1 2 along 1", "p u8 [2, 2, 1]: random",
                   "p u8 [2, 2, 1]: cast f32", "p u8 [2, 2, 1]: weigh 0.5 0.5 along 0",
                   "p u8 [2, 2, 1]: weigh 1 0 0 1 along 1", "p u8 [2, 2, 1]: round"}));
  EXPECT_EQ(
      picture(
          R"(map { field: "p" flip { horizontal: 1 } } map { field: "p" normalize { max: 2 mean: 1 } } )"),
      (Lines{"p u8 [2, 4, 1]: pick 3 2 1 0 along 1", "p u8 [2, 4, 1]: cast f32",
             "p u8 [2, 4, 1]: scale 0.5 + -1 along 2", "p u8 [2, 4, 1]: cast f32",
             "p u8 [2, 4, 1]: transpose 2 0 1"}));
  EXPECT_EQ(
      describe(R"(source { npz { path: "later.npz" } } map { field: "x" cast: F32 } )" + batch)
          .steps,
      Lines{"x f32 []: other"});
  // A random map that changes a picture's size cannot be omitted.
  EXPECT_EQ(picture(R"(map { field: "p" random_crop { height: 2 width: 2 } } )"),
            Lines{"p u8 [2, 4, 1]: other"});
  EXPECT_EQ(picture(R"(map { field: "p" random_crop { height: 2 width: 4 padding: 1 } } )"),
            Lines{"p u8 [2, 4, 1]: random"});
}

TEST_F(DescribeTest, TellsWhatMapsOfSeveralFieldsDo) {
  using Lines = std::vector<std::string>;
  const std::string both = R"(map { field: "images" field: "labels" cast: F32 } )";
  Told told = describe(source + both + batch);
  EXPECT_EQ(told.shape, "images f32 [2, 2], labels f32 []: 60");
  EXPECT_EQ(told.steps,
            (Lines{"images u8 [2, 2]: cast f32", "images u8 [2, 2]: scale 1 + -0 along 0",
                   "labels i64 []: cast f32", "labels i64 []: scale 1 + -0 along 0"}));
  EXPECT_EQ(told.problems, Lines{});
  EXPECT_EQ(describe(R"(source { npz { path: "later.npz" } } )" + both + batch).steps,
            (Lines{"images f32 []: other", "labels f32 []: other"}));
  EXPECT_EQ(
      describe(source + R"(map { field: "images" field: "label" cast: F32 } )" + batch).problems,
      Lines{"map: no field 'label' in 'digits.npz'; it has 'images' and 'labels'; did you "
            "mean 'labels'?"});
}

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

TEST_F(DescribeTest, PassesOverLinesThatAreSkipped) {
  std::string_view table = "a,b\n1,\"2\"x\n3,4\n";
  auto raw = reinterpret_cast<const std::byte *>(table.data());
  writeFile(folder / "t.csv", Bytes(raw, raw + table.size()));
  std::string csv = "source { csv { path: \"t.csv\" field { column: \"a\" } } } " + batch;
  EXPECT_EQ(describe(csv).problems,
            std::vector<std::string>{"csv: " + (folder / "t.csv") +
                                     ":2:6: expected a delimiter or the line's end behind a "
                                     "closing quote, found 'x'"});
  EXPECT_EQ(describe(csv + " on_error: SKIP").problems, std::vector<std::string>());
}

TEST_F(DescribeTest, TellsAllProblemsAtTheirValues) {
  EXPECT_EQ(
      describe(R"(source { npz { path: "digits.npz" rows { every: 0 } } }
      map { field: "image" cast: F32 } map { field: "images" resize { shorter: 0 } }
      map { field: "images" pad { shape: 4 } } skip { rows: 60 } shard { count: 2 index: 2 }
      parallelism: -1 batch { size: 0 } prefetch { depth: -1 })")
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
          "shard: shard { index } is 2, expected 0 to 1 (count is 2)",
          "size: batch { size } is 0, expected 1 or more",
          "depth: prefetch { depth } is -1, expected 0 (found by measuring) to 1024"}));
  EXPECT_EQ(describe("").problems,
            (std::vector<std::string>{
                "training: data has no source: add source { npz { path: \"data.npz\" } }",
                "training: data has no batch stage: add stage { batch { size: 32 } }"}));
  EXPECT_EQ(describe(source + "batch { size: 0 } prefetch { }").problems,
            std::vector<std::string>{"size: batch { size } is 0, expected 1 or more"});
  std::string chosen = "shuffle { } take { rows: 9 } filter { field: \"labels\" } " + batch;
  for (const std::string &from : {source, std::string("source { npz { path: \"later.npz\" } } ")})
    EXPECT_EQ(describe(from + chosen).problems,
              std::vector<std::string>{"filter: filter comes after a take, skip or shard behind "
                                       "shuffle, which chooses other rows in each epoch: put it "
                                       "before that stage"});
  // Blocks are also checked without their data.
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

TEST_F(DescribeTest, ChecksMixedFields) {
  using Lines = std::vector<std::string>;
  const std::string floats = source + R"(map { field: "images" cast: F32 }
    map { field: "labels" one_hot { classes: 10 } } )" +
                             batch;
  auto mix = [](const std::string &field, const std::string &ways) {
    return text(" mix { field: \"", field, "\" label: \"labels\" ", ways, " } ");
  };
  Told told = describe(floats + mix("images", "mixup { } cutmix { }"));
  EXPECT_EQ(told.shape, "images f32 [2, 2], labels f32 [10]: 60");
  EXPECT_EQ(told.problems, Lines{});
  EXPECT_EQ(
      describe(floats + mix("image", "mixup { }")).problems,
      Lines{"mix: no field 'image' in 'digits.npz'; it has 'images' and 'labels'; did you mean "
            "'images'?"});
  EXPECT_EQ(describe(floats + mix("images", "mixup { alpha: 0 } cutmix { alpha: -2 }")).problems,
            (Lines{"alpha: mixup { alpha } is 0, expected a finite number above 0",
                   "alpha: cutmix { alpha } is -2, expected a finite number above 0"}));
  EXPECT_EQ(describe(source + batch + mix("images", "mixup { }")).problems,
            Lines{"mix: mix expects f32 in field 'images', found u8 (add stage { map { field: "
                  "\"images\" cast: F32 } } before batch)"});
  // A block is also checked where fields are not known yet.
  const std::string later = "source { npz { path: \"later.npz\" } } ";
  EXPECT_EQ(describe(later + batch + mix("x", "cutmix { } probability: 2")).problems,
            Lines{"probability: mix { probability } is 2, expected 0 to 1"});
  EXPECT_EQ(describe(later + batch + mix("x", "cutmix { }")).problems, Lines{});
  EXPECT_EQ(describe(later + R"(map { field: "x" pad { shape: 9 } }
                                batch { size: 8 bucket { length: 4 } })" +
                     mix("x", "mixup { }"))
                .problems,
            Lines{"mix: mix comes after batch { bucket }, expected batches of one length"});
  EXPECT_EQ(
      describe(floats + mix("images", "mixup { }") + "map { model { file: \"m.onnx\" } }", true)
          .problems,
      Lines{"map: map by a model comes after mix, expected before it"});
}

TEST_F(DescribeTest, ASamplerSaysHowManyRowsThereAre) {
  EXPECT_EQ(describe(source + "sampler { by_class: \"labels\" } " + batch).shape,
            "images u8 [2, 2], labels i64 []: 60");
  EXPECT_EQ(describe(source +
                     "filter { field: \"labels\" } sampler { weight: \"labels\" rows: 100 } " +
                     batch)
                .shape,
            "images u8 [2, 2], labels i64 []: 100");
  Told told =
      describe(source + "filter { field: \"labels\" } sampler { weight: \"labels\" } " + batch);
  EXPECT_EQ(told.shape, "images u8 [2, 2], labels i64 []: -1");
  EXPECT_EQ(told.why, "how many rows filter keeps is known when they are read");
  told =
      describe("source { npz { path: \"later.npz\" } } sampler { weight: \"w\" rows: 7 } " + batch);
  EXPECT_EQ(told.shape, "?: 7");
  EXPECT_EQ(describe(source + "sampler { weight: \"label\" } " + batch).problems,
            std::vector<std::string>{"sampler: no field 'label' in 'digits.npz'; it has 'images' "
                                     "and 'labels'; did you mean 'labels'?"});
}

TEST_F(DescribeTest, TellsRaggedRowsAndWhatPaddingMakes) {
  writeFile(folder / "r.npz", zip({{"ends.npy", npy("<i8", "(3,)", bytesOf<int64_t>({0, 1, 2}))},
                                   {"t.npy", npy("<i8", "(2,)", bytesOf<int64_t>({5, 6}))}}));
  std::string ragged =
      "source { npz { path: \"r.npz\" ragged { field: \"t\" offsets: \"ends\" } } } ";
  EXPECT_EQ(describe(ragged + batch).shape, "t i64 [?]: 2");
  EXPECT_EQ(
      describe(ragged + "map { field: \"t\" pad { shape: 4 mask: \"m\" length: \"n\" } } " + batch)
          .shape,
      "t i64 [4], m f32 [4], n i64 []: 2");
  EXPECT_EQ(
      describe("source { npz { path: \"r.npz\" ragged { field: \"x\" offsets: \"ends\" } } } " +
               batch)
          .problems,
      std::vector<std::string>{"ragged: ragged has field 'x' and offsets 'ends', expected two "
                               "fields of '" +
                               (folder / "r.npz") + "', which has 'ends' and 't'"});
}

TEST_F(DescribeTest, LeavesOutArraysThatNoJobUses) {
  auto two = npy("<i8", "(2,)", bytesOf<int64_t>({5, 6}));
  writeFile(folder / "more.npz",
            zip({{"other.npy", npy("<i8", "(3,)", bytesOf<int64_t>({1, 2, 3}))},
                 {"text.npy", npy("<U1", "(2,)", bytesOf<int32_t>({'a', 'b'}))},
                 {"version.npy", npy("<i8", "()", bytesOf<int64_t>({1}))},
                 {"x.npy", two},
                 {"y.npy", two}}));
  std::string data = "source { npz { path: \"more.npz\" } } " + batch, file = folder / "more.npz";
  std::string wrong = "npz: field 'text' of '" + file +
                      "' has element type '<U1', expected integers, floats or bool";
  used = {"x"}; // y might be one by mistake, so messages list it
  EXPECT_EQ(describe(data).shape, "x i64 [], y i64 []: 2");
  used = {"text", "x"};
  EXPECT_EQ(describe(data).problems, std::vector{wrong});
  used = {"other", "x"};
  EXPECT_EQ(describe(data).problems,
            std::vector<std::string>{"npz: fields of '" + file +
                                     "' differ in their rows: 'other' has 3, 'x' has 2"});
  used = {}; // any
  EXPECT_EQ(describe(data).problems.size(), 2u);
  EXPECT_EQ(describe(data).problems.front(), wrong);
}

} // namespace
