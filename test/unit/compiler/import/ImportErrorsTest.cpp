// The messages about wrong training specs.
#include "dialects/Pch.h"

#include "TrainingTesting.h"

using namespace mlir;
using namespace gradc;

namespace {

class ImportErrorsTest : public TrainingTesting {};

TEST_F(ImportErrorsTest, ReportsEveryUnknownFieldWithItsLine) {
  EXPECT_TRUE(failed(training("modle: \"mlp.onnx\"\n"
                              "optimizer { adam { learning_rat: 1 } }\n"
                              "data { batch { sise: 3 } }\n")));
  std::string path = modelPath("ReportsEveryUnknownFieldWithItsLine.textproto");
  expectSaid(
      {path + "\":1:6): unknown field \"modle\" in Training; did you mean \"model\"?",
       path + "\":2:32): unknown field \"learning_rat\" in Adam; did you mean \"learning_rate\"?",
       path + "\":3:20): unknown field \"sise\" in Batch; did you mean \"size\"?"});
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
  parts.batch = "batch { size: 0 }";
  parts.source = "source { npz { path: \"data.npz\" rows { every: 5 only: 5 } } }";
  parts.rest = "clip { global_norm: 0 } epochs: 0 checkpoint { directory: \"run\" keep: 0 }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected learning_rate above 0, found -1",
              "expected beta1 from 0 to below 1, found 1", "expected batch.size above 0, found 0",
              "expected only and except from 0 to below every, found 5",
              "expected global_norm above 0, found 0", "expected epochs above 0, found 0",
              "expected keep above 0, found 0"});
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
    {"feed",
     [](Parts &p) { p.feed = "feed { input: \"y\" field: \"x\" }"; },
     {"graph input \"y\" is not in the model; did you mean \"x\"?"}},
    {"field",
     [](Parts &p) { p.feed = "feed { input: \"x\" field: \"images\" }"; },
     {"no field \"images\" in \"data.npz\"; it has labels, x"}},
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
     [](Parts &p) { p.map = "map { field: \"y\" cast: F32 }"; },
     {"no field \"y\" in \"data.npz\"; it has labels, x"}},
    {"doubles",
     [](Parts &p) { p.source = "source { npz { path: \"doubles.npz\" } }"; },
     {"expected field \"x\" of \"doubles.npz\" to be f32 [4, 4] for graph input \"x\", found f64 "
      "[4, "
      "4]; add map { field: \"x\" cast: F32 }"}},
    {"narrow",
     [](Parts &p) { p.source = "source { npz { path: \"narrow.npz\" } }"; },
     {"to be f32 [4, 4] for graph input \"x\", found f32 [4, 3]"}},
    {"uneven",
     [](Parts &p) { p.source = "source { npz { path: \"uneven.npz\" } }"; },
     {"array \"x\" of \"uneven.npz\" has 10 rows, \"labels\" has 9"}},
    {"fortran",
     [](Parts &p) { p.source = "source { npz { path: \"fortran.npz\" } }"; },
     {"array \"x\" of \"fortran.npz\" is in Fortran order"}},
    {"endian",
     [](Parts &p) { p.source = "source { npz { path: \"big-endian.npz\" } }"; },
     {"array \"x\" of \"big-endian.npz\" has dtype >f4, which is not supported"}},
    {"truncated",
     [](Parts &p) { p.source = "source { npz { path: \"truncated.npz\" } }"; },
     {"expected a zip archive, found no directory (truncated?)"}},
    {"empty",
     [](Parts &p) { p.source = "source { npz { path: \"empty.npz\" } }"; },
     {"the data set is empty: none of the 0 rows of \"empty.npz\" is selected"}},
    {"csv-columns",
     [](Parts &p) {
       p.source = "source { csv { path: \"table.csv\" field { name: \"x\" column: \"p0\" column: "
                  "\"p9\" }\nfield { column: \"label\" } field { name: \"y\" column: \"p*\" } } }";
     },
     {"no column \"p9\" in \"table.csv\"; did you mean \"p0\"?",
      "no column \"label\" in \"table.csv\"; did you mean \"labels\"?",
      "column \"p0\" is in field \"x\" and again in \"y\", expected one"}},
    {"csv-twice",
     [](Parts &p) {
       p.source = "source { csv { path: \"twice.csv\" field { name: \"x\" column: \"p0\" } } }";
     },
     {"\"twice.csv\" has two columns \"p0\""}},
    {"csv-shape",
     [](Parts &p) {
       p.source =
           "source { csv { path: \"table.csv\" field { name: \"x\" column: \"p*\" shape: 3 } "
           "field { column: \"labels\" dtype: I64 } } }";
     },
     {"field \"x\" has 4 columns, but its shape asks for 3"}},
    {"csv-dtype",
     [](Parts &p) {
       p.source =
           "source { csv { path: \"table.csv\" field { name: \"x\" column: \"p*\" dtype: F64 "
           "} field { column: \"labels\" dtype: I64 } } }";
     },
     {"expected field \"x\" of \"table.csv\" to be f32 [4, 4] for graph input \"x\", found f64 [4, "
      "4]; "
      "add map { field: \"x\" cast: F32 }"}},
    {"csv-spec",
     [](Parts &p) {
       p.source = "source { csv { delimiter: \"e\" field { name: \"x\" shape: 0 } field { column: "
                  "\"y\" dtype: I32 missing: 0.5 } } }";
     },
     {"missing path: add path: \"data.csv\"",
      "expected delimiter to be one character that is no part of a number, found e",
      "missing column: add column: \"age\"", "expected shape of dims above 0, found 0",
      "expected missing to be a 32-bit integer, found 0.5"}},
    {"idx",
     [](Parts &p) { p.source = "source { idx { field { name: \"x\" path: \"short.idx\" } } }"; },
     {"expected 10 bytes of data, found 9"}},
    {"selection",
     [](Parts &p) { p.source = "source { npz { path: \"data.npz\" rows { begin: 10 } } }"; },
     {"the data set is empty: none of the 10 rows of \"data.npz\" is selected"}},
    {"no-picture",
     [](Parts &p) { p.map = "map { field: \"x\" flip {} }"; },
     {"expected pictures [height, width, channels] of u8 or f32, found 'f32' [4]"}},
    {"no-file",
     [](Parts &p) { p.map = "map { field: \"x\" decode {} }"; },
     {"expected files for decode, bytes of any number, found 'f32' of 1 dims"}},
    {"picture-steps",
     [](Parts &p) {
       p.map = "map { field: \"x\" decode { channels: 2 min_height: 5 } } "
               "map { field: \"x\" resize { height: 3 shorter: 2 } } "
               "map { field: \"x\" crop { width: 40000 height: 1 } } "
               "map { field: \"x\" random_crop { height: 1 width: 1 padding: -1 } } "
               "map { field: \"x\" flip { horizontal: 2 } } "
               "map { field: \"x\" color_jitter { hue: 1 } } "
               "map { field: \"x\" normalize { deviation: 0 } }";
     },
     {"expected channels of 1, 3 or 4, found 2",
      "expected decode with min_height and min_width, found one of them",
      "expected resize with height and width, or with shorter, found both",
      "expected width from 1 to 32768, found 40000", "expected padding from 0 to 32768, found -1",
      "expected horizontal and vertical from 0 to 1, found 2",
      "expected hue from 0 to 0.5, found 1", "expected deviation above 0, found 0"}},
    {"no-folder",
     [](Parts &p) { p.source = "source { folder { list: \"list.txt\" } }"; },
     {"missing path"}},
    {"records",
     [](Parts &p) {
       p.source = "source { tfrecord { path: \"a\" feature { name: \"x\" shape: 0 } "
                  "feature { name: \"y\" field: \"x\" } feature { type: FLOAT } } }";
     },
     {"expected shape of dims above 0, found 0", "field \"x\" is declared twice", "missing name"}},
    {"one-batch",
     [](Parts &p) { p.batch = "batch { size: 11 drop_remainder: true }"; },
     {"expected at least one batch of 11 rows, \"data.npz\" has 10"}},
    {"label-shape",
     [](Parts &p) { p.source = "source { npz { path: \"odd-labels.npz\" } }"; },
     {"found field \"labels\", i64 [4, 2]"}},
    {"batch",
     [](Parts &p) { p.model = "model: \"mlp-fixed.onnx\""; },
     {"expected graph input \"x\" to have a first dim of 4, the batch, found f32 [1, 4]"}},
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
