// Messages about errors in training specs.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/TrainingTesting.h"

using namespace mlir;
using namespace gradc;

namespace {

class ImportErrorsTest : public TrainingTesting {};

TEST_F(ImportErrorsTest, ReportsEveryUnknownFieldWithItsLine) {
  EXPECT_TRUE(failed(training("modle: \"mlp.onnx\"\n"
                              "optimizer { adam { learning_rat: 1 } }\n"
                              "data { stage { batch { sise: 3 } } }\n")));
  std::string path = modelPath("ReportsEveryUnknownFieldWithItsLine.textproto");
  expectSaid(
      {path + "\":1:6): unknown field \"modle\" in Training; did you mean \"model\"?",
       path + "\":2:32): unknown field \"learning_rat\" in Adam; did you mean \"learning_rate\"?",
       path + "\":3:28): unknown field \"sise\" in Batch; did you mean \"size\"?"});
}

TEST_F(ImportErrorsTest, ReportsSyntaxWithItsLine) {
  EXPECT_TRUE(failed(training("model: \"mlp.onnx\"\nloss {{ }\n")));
  expectSaid({".textproto\":2:7): in the training spec: expected identifier"});
}

TEST_F(ImportErrorsTest, ReportsEverythingThatIsMissing) {
  EXPECT_TRUE(failed(training("epochs: 3\n")));
  expectSaid({"missing model: add model: \"model.onnx\"", "missing loss: add loss {",
              "missing optimizer: add optimizer {", "missing data: add data {"});
}

TEST_F(ImportErrorsTest, ReportsValuesOutOfRange) {
  Parts parts;
  parts.optimizer = "optimizer { adam { learning_rate: -1 beta1: 1 } }";
  parts.batch = "stage { batch { size: 0 } }";
  parts.source = "source { npz { path: \"data.npz\" rows { every: 5 only: 5 } } }";
  parts.rest = "clip { global_norm: 0 } epochs: 0 checkpoint { directory: \"run\" keep: 0 }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected learning_rate above 0 and finite, found -1",
              "expected beta1 from 0 to below 1, found 1",
              "batch { size } is 0, expected 1 or more",
              "rows { only } is 5, expected 0 to 4 (every is 5)",
              "expected global_norm above 0 and finite, found 0",
              "expected epochs above 0, found 0", "expected keep above 0, found 0"});
}

/// Such a model trains in parts of its own batch size. Evaluations have no parts.
TEST_F(ImportErrorsTest, SuggestsMicroBatchesForAModelOfOneBatchSize) {
  Parts parts;
  parts.model = "model: \"mlp-fixed.onnx\"";
  parts.rest = "micro_batches: 2";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"first dim of 2, the batch, found f32 [1, 4]; export the model with a dynamic batch, "
              "or set batch.size, or micro_batches: 4 for parts of that size"});
  said.clear();
  parts.rest = "micro_batches: 4";
  EXPECT_TRUE(succeeded(training(parts))) << everything();

  said.clear();
  parts.rest += evaluation;
  EXPECT_TRUE(failed(training(parts)));
  EXPECT_NE(everything().find("first dim of 5, the batch, found f32 [1, 4]"), std::string::npos);
  EXPECT_EQ(everything().find("micro_batches"), std::string::npos) << everything();
}

TEST_F(ImportErrorsTest, NotesThatOnlyTheLastBatchIsWrong) {
  Parts parts; // of 10 rows, 4 a batch
  parts.model = "model: \"mlp-of-4.onnx\"";
  EXPECT_TRUE(failed(training(parts)));
  const char *const expected =
      "first dim of 2, the batch, found f32 [4, 4]; export the model with a dynamic batch, or set "
      "batch.size\n  note: for the last batch, which has 2 of 4 rows; batch { drop_remainder: true "
      "} leaves it out";
  EXPECT_NE(everything().find(expected), std::string::npos) << everything();
  parts.batch = "stage { batch { size: 4 drop_remainder: true } }";
  EXPECT_TRUE(succeeded(training(parts))) << everything();
}

struct BadJob {
  const char *name;
  void (*change)(Parts &);
  std::vector<StringRef> expected;
};

class BadJobTest : public Importing, public testing::WithParamInterface<BadJob> {};

TEST_P(BadJobTest, IsAnswered) {
  Parts parts;
  GetParam().change(parts);
  std::string path = modelPath(std::string("bad-job-") + GetParam().name + ".textproto");
  std::ofstream(path) << std::string(parts);
  EXPECT_TRUE(failed(importTraining(context, path)));
  expectSaid(GetParam().expected);
}

const BadJob badJobs[] = {
    {"model",
     [](Parts &p) { p.model = "model: \"nowhere.onnx\""; },
     {"cannot read the ONNX model"}},
    {"names",
     [](Parts &p) {
       p.rest =
           "freeze: \"fc1.wieght\"\ntrainable: \"conv*\"\ntie { a: \"fc1.bias\" b: \"fc3.bias\" }";
     },
     {"freeze: no initializer matches \"fc1.wieght\"; did you mean \"fc1.weight\"?",
      "trainable: no initializer matches \"conv*\"",
      "initializer \"fc3.bias\" is not in the model; did you mean \"fc1.bias\"?"}},
    {"untied",
     [](Parts &p) {
       p.model = "model: \"tied.onnx\"";
       p.rest = "tie { a: \"decoder\" b: \"other\" }";
     },
     {"\"decoder\" and \"other\" hold different values"}},
    {"tied",
     [](Parts &p) {
       p.model = "model: \"tied.onnx\"";
       p.rest = "tie { a: \"encoder\" b: \"decoder\" transpose: true }\n"
                "tie { a: \"decoder\" b: \"other\" }";
     },
     {"initializer \"decoder\" is tied to \"encoder\", transposed, already: name \"encoder\" "
      "instead"}},
    {"feed",
     [](Parts &p) { p.feed = "feed { input: \"y\" field: \"x\" }"; },
     {"graph input \"y\" is not in the model; did you mean \"x\"?"}},
    {"field",
     [](Parts &p) { p.feed = "feed { input: \"x\" field: \"images\" }"; },
     {"no field \"images\" in \"data.npz\"; it has labels, x"}},
    {"evaluationField",
     [](Parts &p) {
       p.rest =
           "evaluation { data { source { npz { path: \"images.npz\" } } stage { batch { size: 5 "
           "} } } }";
     },
     {"no field \"x\" in \"images.npz\", the data of the evaluation; it has image, labels"}},
    {"logits",
     [](Parts &p) {
       p.loss = "loss { softmax_cross_entropy { logits: \"logit\" labels: \"labels\" } }";
     },
     {"output \"logit\" is not in the model; did you mean \"logits\"?"}},
    {"labels",
     [](Parts &p) {
       p.loss = "loss { softmax_cross_entropy { logits: \"logits\" labels: \"label\" } }";
     },
     {"no field \"label\" in \"data.npz\"; it has labels, x"}},
    {"mapped",
     [](Parts &p) { p.map = "stage { map { field: \"y\" cast: F32 } }"; },
     {"no field 'y' in 'data.npz'; it has 'labels' and 'x'"}},
    {"doubles",
     [](Parts &p) { p.source = "source { npz { path: \"doubles.npz\" } }"; },
     {"expected field \"x\" of \"doubles.npz\" to be f32 [4, 4] for graph input \"x\", found f64 "
      "[4, "
      "4]; add stage { map { field: \"x\" cast: F32 } }"}},
    {"narrow",
     [](Parts &p) { p.source = "source { npz { path: \"narrow.npz\" } }"; },
     {"to be f32 [4, 4] for graph input \"x\", found f32 [4, 3]"}},
    {"uneven",
     [](Parts &p) { p.source = "source { npz { path: \"uneven.npz\" } }"; },
     {"uneven.npz' differ in their rows: 'labels' has 9, 'x' has 10"}},
    {"truncated",
     [](Parts &p) { p.source = "source { npz { path: \"truncated.npz\" } }"; },
     {"truncated.npz' is not a zip archive or is truncated: no end record"}},
    {"empty",
     [](Parts &p) { p.source = "source { npz { path: \"empty.npz\" } }"; },
     {"empty.npz' has no rows"}},
    {"csv-columns",
     [](Parts &p) {
       p.source = "source { csv { path: \"table.csv\" field { name: \"x\" column: \"p0\" column: "
                  "\"p9\" }\nfield { column: \"label\" } field { name: \"y\" column: \"p*\" } } }";
     },
     {"no column 'p9' for field 'x', did you mean 'p0'?",
      "no column 'label' for field 'label', did you mean 'labels'?",
      "column 'p0' is in field 'x' and again in 'y', expected one"}},
    {"csv-twice",
     [](Parts &p) {
       p.source = "source { csv { path: \"twice.csv\" field { name: \"x\" column: \"p0\" } } }";
     },
     {"twice.csv:1:1: two columns have the name 'p0'"}},
    {"csv-shape",
     [](Parts &p) {
       p.source =
           "source { csv { path: \"table.csv\" field { name: \"x\" column: \"p*\" shape: 3 } "
           "field { column: \"labels\" dtype: I64 } } }";
     },
     {"field 'x' has 4 columns, but shape [3] asks for 3"}},
    {"csv-dtype",
     [](Parts &p) {
       p.source =
           "source { csv { path: \"table.csv\" field { name: \"x\" column: \"p*\" dtype: F64 "
           "} field { column: \"labels\" dtype: I64 } } }";
     },
     {"expected field \"x\" of \"table.csv\" to be f32 [4, 4] for graph input \"x\", found f64 [4, "
      "4]; "
      "add stage { map { field: \"x\" cast: F32 } }"}},
    {"csv-spec",
     [](Parts &p) {
       p.source = "source { csv { delimiter: \"e\" field { name: \"x\" shape: 0 } field { column: "
                  "\"y\" dtype: I32 missing: 0.5 } } }";
     },
     {"csv has no path: add path: \"data.csv\"",
      "csv { delimiter } is 'e', expected one character that is no part of a number",
      "csv field 'x' names no column: add column: \"age\"",
      "csv field 'x' has shape [0], expected dims of 1 or more",
      "csv field 'y' has missing 0.5, expected a 32-bit integer"}},
    {"idx",
     [](Parts &p) { p.source = "source { idx { field { name: \"x\" path: \"short.idx\" } } }"; },
     {"expected 10 bytes of data for shape [10], found 9"}},
    {"selection",
     [](Parts &p) { p.source = "source { npz { path: \"data.npz\" rows { begin: 10 } } }"; },
     {"the data set is empty: rows selects none of the 10 rows of '"}},
    {"no-picture",
     [](Parts &p) { p.map = "stage { map { field: \"x\" flip {} } }"; },
     {"flip of field 'x' expects pictures [height, width, channels] of type u8 or f32 with 1 to "
      "4 channels, found f32 [4]"}},
    {"no-file",
     [](Parts &p) { p.map = "stage { map { field: \"x\" decode {} } }"; },
     {"decode of field 'x' expects files, u8 [varying], found f32 [4]"}},
    {"picture-steps",
     [](Parts &p) {
       p.map = "stage { map { field: \"x\" decode { channels: 2 } } } "
               "stage { map { field: \"x\" decode { min_height: 5 } } } "
               "stage { map { field: \"x\" resize { height: 3 shorter: 2 } } } "
               "stage { map { field: \"x\" crop { width: 40000 height: 1 } } } "
               "stage { map { field: \"x\" random_crop { height: 1 width: 1 padding: -1 } } } "
               "stage { map { field: \"x\" random_resized_crop { height: 1 width: 1 least_area: 2 "
               "} } } "
               "stage { map { field: \"x\" flip { horizontal: 2 } } } "
               "stage { map { field: \"x\" color_jitter { hue: 1 } } } "
               "stage { map { field: \"x\" normalize { deviation: 0 } } }";
     },
     {"decode { channels } is 2, expected 1, 3 or 4",
      "decode has min_height or min_width, expected both or none",
      "resize has shorter and height or width, expected one or the other",
      "crop { width } is 40000, expected 1 to 32768",
      "random_crop { padding } is -1, expected 0 to 32768",
      "random_resized_crop has least_area 2 and most_area 1, expected shares above 0 and up to 1",
      "flip has probability 2, expected 0 to 1", "color_jitter { hue } is 1, expected 0 to 0.5",
      "deviation 0, expected finite numbers, max and deviation above 0"}},
    {"no-folder",
     [](Parts &p) { p.source = "source { folder { list: \"list.txt\" } }"; },
     {"folder has no path: add path: \"pictures\""}},
    {"records",
     [](Parts &p) {
       p.source = "source { tfrecord { path: \"a\" feature { name: \"x\" shape: 0 } "
                  "feature { name: \"y\" field: \"x\" } feature { type: FLOAT } } }";
     },
     {"tfrecord feature 'x' has shape [0], expected dims of 1 or more",
      "field 'x' is declared twice", "tfrecord feature '' has no name: add name: "}},
    {"one-batch",
     [](Parts &p) { p.batch = "stage { batch { size: 11 drop_remainder: true } }"; },
     {"expected at least one batch of 11 rows, \"data.npz\" has 10"}},
    {"label-shape",
     [](Parts &p) { p.source = "source { npz { path: \"odd-labels.npz\" } }"; },
     {"found field \"labels\", i64 [4, 2]"}},
    {"batch",
     [](Parts &p) { p.model = "model: \"mlp-fixed.onnx\""; },
     {"expected graph input \"x\" to have a first dim of 4, the batch, found f32 [1, 4]; export "
      "the model with a dynamic batch, or set batch.size, or micro_batches: 4 for parts of that "
      "size"}},
    {"frozen",
     [](Parts &p) { p.rest = "freeze: \"*\""; },
     {"nothing trains: no initializer is a parameter"}},
    {"scalar",
     [](Parts &p) { p.loss = "loss { scalar: \"logits\" }"; },
     {"expected a scalar loss, found \"logits\", f32 [4, 3]"}},
};

INSTANTIATE_TEST_SUITE_P(, BadJobTest, testing::ValuesIn(badJobs), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
