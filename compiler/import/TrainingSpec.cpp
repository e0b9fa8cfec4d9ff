// Parses the training spec's text and checks all that needs neither the model nor the data.
#include "dialects/Pch.h"

#include "compiler/import/States.h"
#include "compiler/import/TrainingSpec.h"
#include "google/protobuf/io/tokenizer.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace gradc;

FailureOr<std::unique_ptr<SpecFile>> SpecFile::read(MLIRContext &context, StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return emitError(FileLineColLoc::get(&context, path, 0, 0))
           << "cannot read the training spec \"" << path << "\": " << buffer.getError().message();
  std::unique_ptr<SpecFile> spec(new SpecFile(context, path));
  if (failed(spec->parse((*buffer)->getBuffer())) || failed(spec->check()))
    return failure();
  return spec;
}

namespace {
/// Turns the parser's complaints into diagnostics. What it calls a warning is an unknown field.
class Collector : public google::protobuf::io::ErrorCollector {
public:
  Collector(MLIRContext &context, StringRef path) : context(context), path(path) {}

  void AddError(int line, int column, const std::string &message) override {
    StringRef text = message;
    text.consume_back(".");
    report(line, column) << "in the training spec: " << decapitalize(text);
  }
  void AddWarning(int line, int column, const std::string &message) override {
    // Message type "gradc.spec.Training" has no field named "modle".
    SmallVector<StringRef> parts;
    StringRef(message).split(parts, '"');
    const google::protobuf::Descriptor *type =
        parts.size() < 4
            ? nullptr
            : spec::Training::descriptor()->file()->pool()->FindMessageTypeByName(parts[1].str());
    if (!type)
      return AddError(line, column, message);
    std::vector<std::string> fields;
    for (int i = 0; i < type->field_count(); ++i)
      fields.push_back(type->field(i)->name());
    auto error = report(line, column);
    error << "unknown field \"" << parts[3] << "\" in " << type->name();
    if (std::string near = nearest(parts[3], fields); !near.empty())
      error << "; did you mean \"" << near << "\"?";
    else
      error << "; expected one of " << llvm::join(fields, ", ");
  }
  bool failed = false;

private:
  static std::string decapitalize(StringRef text) {
    std::string result = text.str();
    if (text.size() > 1 && !isupper(text[1]))
      result[0] = char(tolower(result[0]));
    return result;
  }
  InFlightDiagnostic report(int line, int column) {
    failed = true;
    return emitError(FileLineColLoc::get(&context, path, line + 1, column + 1));
  }
  MLIRContext &context;
  StringRef path;
};
} // namespace

LogicalResult SpecFile::parse(StringRef text) {
  Collector collector(context, path);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.WriteLocationsTo(&places);
  parser.AllowUnknownField(true); // reports them all, and goes on
  bool parsed = parser.ParseFromString(text.str(), &training);
  return success(parsed && !collector.failed);
}

Location SpecFile::at(ArrayRef<Step> steps) const {
  const google::protobuf::Descriptor *type = spec::Training::descriptor();
  const google::protobuf::TextFormat::ParseInfoTree *tree = &places;
  int line = -1, column = -1;
  for (const Step &step : steps) {
    const google::protobuf::FieldDescriptor *field = type->FindFieldByName(step.name);
    assert(field && "a field of training.proto");
    auto place = tree->GetLocation(field, step.index);
    if (place.line < 0)
      break;
    line = place.line;
    column = place.column;
    type = field->message_type();
    tree = type ? tree->GetTreeForNested(field, step.index) : nullptr;
    if (!tree)
      break;
  }
  return FileLineColLoc::get(&context, path, line + 1, column + 1);
}

std::string SpecFile::resolve(StringRef name) const {
  SmallString<256> full;
  if (llvm::sys::path::is_absolute(name))
    return name.str();
  full = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(full, name);
  return full.str().str();
}

namespace {
/// Says what is wrong and remembers that something was.
struct Checker {
  const SpecFile &file;
  bool ok = true;

  InFlightDiagnostic error(ArrayRef<SpecFile::Step> place) {
    ok = false;
    return emitError(file.at(place));
  }
  template <typename T>
  void expect(bool holds, ArrayRef<SpecFile::Step> place, StringRef field, StringRef expected,
              T found) {
    if (!holds)
      error(place) << "expected " << field << " " << expected << ", found "
                   << llvm::formatv("{0}", found).str();
  }
  void require(bool given, ArrayRef<SpecFile::Step> place, StringRef field, StringRef example) {
    if (!given)
      error(place) << "missing " << field << ": add " << example;
  }
};
} // namespace

static void checkOptimizer(Checker &c, const spec::Optimizer &o) {
  auto rate = [&](const char *kind, double value) {
    c.expect(value > 0, {"optimizer", kind, "learning_rate"}, "learning_rate", "above 0", value);
  };
  auto decay = [&](const char *kind, const char *field, double value) {
    c.expect(value >= 0, {"optimizer", kind, field}, field, "of 0 or more", value);
  };
  auto moment = [&](const char *kind, const char *field, double value) {
    c.expect(value >= 0 && value < 1, {"optimizer", kind, field}, field, "from 0 to below 1",
             value);
  };
  auto adam = [&](const char *kind, const auto &a) {
    rate(kind, a.learning_rate());
    moment(kind, "beta1", a.beta1());
    moment(kind, "beta2", a.beta2());
    c.expect(a.epsilon() > 0, {"optimizer", kind, "epsilon"}, "epsilon", "above 0", a.epsilon());
  };
  switch (o.kind_case()) {
  case spec::Optimizer::kSgd:
    rate("sgd", o.sgd().learning_rate());
    return decay("sgd", "l2", o.sgd().l2());
  case spec::Optimizer::kMomentum:
    rate("momentum", o.momentum().learning_rate());
    moment("momentum", "momentum", o.momentum().momentum());
    return decay("momentum", "l2", o.momentum().l2());
  case spec::Optimizer::kAdam:
    adam("adam", o.adam());
    return decay("adam", "l2", o.adam().l2());
  case spec::Optimizer::kAdamw:
    adam("adamw", o.adamw());
    return decay("adamw", "weight_decay", o.adamw().weight_decay());
  case spec::Optimizer::KIND_NOT_SET:
    return c.require(false, {"optimizer"}, "optimizer",
                     "optimizer { adam { learning_rate: 1e-3 } }");
  }
}

static void checkPair(Checker &c, ArrayRef<SpecFile::Step> place, StringRef what, StringRef first,
                      const std::string &a, StringRef second, const std::string &b) {
  if (a.empty() || b.empty())
    c.error(place) << what << " wants " << first << " and " << second << ", found "
                   << (a.empty() ? b.empty() ? "neither" : "no " + first.str()
                                 : "no " + second.str());
}

static void checkLoss(Checker &c, const spec::Loss &loss) {
  switch (loss.kind_case()) {
  case spec::Loss::kSoftmaxCrossEntropy:
    return checkPair(c, {"loss", "softmax_cross_entropy"}, "softmax_cross_entropy", "logits",
                     loss.softmax_cross_entropy().logits(), "labels",
                     loss.softmax_cross_entropy().labels());
  case spec::Loss::kBinaryCrossEntropy:
    return checkPair(c, {"loss", "binary_cross_entropy"}, "binary_cross_entropy", "logits",
                     loss.binary_cross_entropy().logits(), "targets",
                     loss.binary_cross_entropy().targets());
  case spec::Loss::kMeanSquaredError:
    return checkPair(c, {"loss", "mean_squared_error"}, "mean_squared_error", "predictions",
                     loss.mean_squared_error().predictions(), "targets",
                     loss.mean_squared_error().targets());
  case spec::Loss::kScalar:
    return c.require(!loss.scalar().empty(), {"loss", "scalar"}, "the output's name",
                     "scalar: \"loss\"");
  case spec::Loss::KIND_NOT_SET:
    return c.require(false, {"loss"}, "loss",
                     "loss { softmax_cross_entropy { logits: \"logits\" labels: \"labels\" } }");
  }
}

static void checkRows(Checker &c, ArrayRef<SpecFile::Step> place, const spec::Rows &rows) {
  if (rows.has_only() && rows.has_except())
    c.error(place) << "expected rows with only or except, found both";
  if (!rows.has_every() && (rows.has_only() || rows.has_except()))
    c.error(place) << "missing every: rows with only or except want every: 5";
  if (rows.has_every()) {
    c.expect(rows.every() > 0, place, "every", "above 0", rows.every());
    int64_t picked = rows.has_only() ? rows.only() : rows.except();
    c.expect(picked >= 0 && picked < std::max<int64_t>(rows.every(), 1), place, "only and except",
             "from 0 to below every", picked);
  }
  if (rows.has_begin() || rows.has_end())
    c.expect(rows.begin() >= 0 && (!rows.has_end() || rows.begin() < rows.end()), place, "begin",
             "from 0 to below end", rows.begin());
}

static void checkCsv(Checker &c, ArrayRef<SpecFile::Step> place, const spec::Csv &csv) {
  c.require(!csv.path().empty(), place, "path", "path: \"data.csv\"");
  c.require(csv.field_size(), place, "field", "field { name: \"x\" column: \"pixel*\" }");
  StringRef delimiter = csv.delimiter();
  c.expect(delimiter.size() == 1 && !StringRef("+-.\"\r\n").contains(delimiter[0]) &&
               !llvm::isAlnum(delimiter[0]),
           place, "delimiter", "to be one character that is no part of a number", delimiter);
  for (auto [i, field] : llvm::enumerate(csv.field())) {
    SmallVector<SpecFile::Step> at(place);
    at.push_back({"field", int(i)});
    c.require(field.column_size(), at, "column", "column: \"age\"");
    bool isInteger = field.dtype() == spec::I32 || field.dtype() == spec::I64;
    double missing = field.missing();
    c.expect(!isInteger || (std::trunc(missing) == missing && std::abs(missing) < 0x1p31), at,
             "missing", "to be a 32-bit integer", missing);
    for (int64_t dim : field.shape())
      c.expect(dim > 0 && dim <= int64_t(1) << 20, at, "shape", "of dims above 0", dim);
  }
}

LogicalResult SpecFile::checkData(const spec::Data &data, ArrayRef<Step> place) const {
  Checker c{*this};
  auto inside = [&](std::initializer_list<Step> steps) {
    SmallVector<Step> all(place);
    all.append(steps);
    return all;
  };
  switch (data.source().kind_case()) {
  case spec::Source::kNpz:
    c.require(!data.source().npz().path().empty(), inside({"source", "npz"}), "path",
              "path: \"data.npz\"");
    checkRows(c, inside({"source", "npz", "rows"}), data.source().npz().rows());
    break;
  case spec::Source::kNpy:
    c.require(data.source().npy().field_size(), inside({"source", "npy"}), "field",
              "field { name: \"images\" path: \"images.npy\" }");
    for (auto [i, field] : llvm::enumerate(data.source().npy().field()))
      checkPair(c, inside({"source", "npy", {"field", int(i)}}), "a field of npy", "name",
                field.name(), "path", field.path());
    checkRows(c, inside({"source", "npy", "rows"}), data.source().npy().rows());
    break;
  case spec::Source::kIdx:
    c.require(data.source().idx().field_size(), inside({"source", "idx"}), "field",
              "field { name: \"images\" path: \"train-images-idx3-ubyte.gz\" }");
    for (auto [i, field] : llvm::enumerate(data.source().idx().field()))
      checkPair(c, inside({"source", "idx", {"field", int(i)}}), "a field of idx", "name",
                field.name(), "path", field.path());
    checkRows(c, inside({"source", "idx", "rows"}), data.source().idx().rows());
    break;
  case spec::Source::kCsv: {
    auto csv = inside({"source", "csv"});
    checkCsv(c, csv, data.source().csv());
    csv.push_back("rows");
    checkRows(c, csv, data.source().csv().rows());
    break;
  }
  case spec::Source::KIND_NOT_SET:
    c.require(false, place, "source", "source { npz { path: \"data.npz\" } }");
  }
  for (auto [i, map] : llvm::enumerate(data.map())) {
    c.require(!map.field().empty(), inside({{"map", int(i)}}), "field", "field: \"images\"");
    c.expect(std::isfinite(map.scale()) && std::isfinite(map.offset()), inside({{"map", int(i)}}),
             "scale and offset", "to be finite", map.scale());
  }
  if (data.has_shuffle())
    c.expect(data.shuffle().buffer() >= 0, inside({"shuffle", "buffer"}), "buffer", "of 0 or more",
             data.shuffle().buffer());
  if (!data.batch().has_size())
    c.require(false, inside({"batch"}), "batch.size", "batch { size: 32 }");
  else
    c.expect(data.batch().size() > 0, inside({"batch", "size"}), "batch.size", "above 0",
             data.batch().size());
  if (data.has_prefetch())
    c.expect(data.prefetch().depth() > 0, inside({"prefetch", "depth"}), "depth", "above 0",
             data.prefetch().depth());
  return success(c.ok);
}

LogicalResult SpecFile::check() const {
  Checker c{*this};
  c.require(!training.model().empty(), {"model"}, "model", "model: \"model.onnx\"");
  for (auto [i, feed] : llvm::enumerate(training.feed()))
    checkPair(c, {{"feed", int(i)}}, "feed", "input", feed.input(), "field", feed.field());
  checkLoss(c, training.loss());
  for (auto [i, metric] : llvm::enumerate(training.metric())) {
    if (metric.has_accuracy())
      checkPair(c, {{"metric", int(i)}, "accuracy"}, "accuracy", "logits",
                metric.accuracy().logits(), "labels", metric.accuracy().labels());
    else
      c.require(false, {{"metric", int(i)}}, "the metric's kind", "accuracy { ... }");
  }
  checkOptimizer(c, training.optimizer());
  if (training.has_clip())
    c.expect(training.clip().global_norm() > 0, {"clip", "global_norm"}, "global_norm", "above 0",
             training.clip().global_norm());
  if (!training.has_data())
    c.require(false, {"data"}, "data",
              "data { source { npz { path: \"data.npz\" } } batch { size: 32 } }");
  else
    c.ok &= succeeded(checkData(training.data(), {"data"}));
  if (training.has_evaluation()) {
    c.expect(training.evaluation().every_epochs() > 0, {"evaluation", "every_epochs"},
             "every_epochs", "above 0", training.evaluation().every_epochs());
    c.ok &= succeeded(checkData(training.evaluation().data(), {"evaluation", "data"}));
  }
  if (training.has_epochs())
    c.expect(training.epochs() > 0, {"epochs"}, "epochs", "above 0", training.epochs());
  if (training.has_steps())
    c.expect(training.steps() > 0, {"steps"}, "steps", "above 0", training.steps());
  if (training.has_checkpoint()) {
    const spec::Checkpoint &checkpoint = training.checkpoint();
    c.require(!checkpoint.directory().empty(), {"checkpoint"}, "directory", "directory: \"run\"");
    for (auto [name, given, value] :
         {std::tuple("every_epochs", checkpoint.has_every_epochs(), checkpoint.every_epochs()),
          std::tuple("every_steps", checkpoint.has_every_steps(), checkpoint.every_steps()),
          std::tuple("keep", checkpoint.has_keep(), checkpoint.keep())})
      c.expect(!given || value > 0, {"checkpoint", name}, name, "above 0", value);
  }
  if (training.has_export_())
    c.require(!training.export_().onnx().empty(), {"export"}, "onnx", "onnx: \"trained.onnx\"");
  for (auto [i, tie] : llvm::enumerate(training.tie()))
    checkPair(c, {{"tie", int(i)}}, "tie", "a", tie.a(), "b", tie.b());
  return success(c.ok);
}
