// Parses the training spec's text and checks all that needs neither the model nor the data.
#include "dialects/Pch.h"

#include "compiler/import/States.h"
#include "compiler/import/spec/SpecChecker.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
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

/// AUTOTUNE stands for the number 0.
static std::string withoutNames(std::string text) {
  google::protobuf::io::ArrayInputStream stream(text.data(), int(text.size()));
  struct Silent : google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string &) override {} // the parser says it
  } silent;
  google::protobuf::io::Tokenizer tokens(&stream, &silent);
  tokens.set_comment_style(google::protobuf::io::Tokenizer::SH_COMMENT_STYLE);
  SmallVector<size_t> lines = {0};
  for (size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
    lines.push_back(at + 1);
  std::string result = text;
  while (tokens.Next())
    if (const auto &token = tokens.current(); token.text == "AUTOTUNE") {
      size_t at = lines[token.line];
      for (int column = 0; column < token.column; ++at)
        column = text[at] == '\t' ? column / 8 * 8 + 8 : column + 1;
      result.replace(at, 8, "0       ");
    }
  return result;
}

LogicalResult SpecFile::orderStages(spec::Data &data, ArrayRef<Step> place) {
  if (data.chain_size())
    return emitError(at(place)) << "chain is no field for specs: stages run in the order in which "
                                   "they stand";
  struct Stage {
    std::pair<int, int> place;
    const std::string *name;
  };
  std::vector<Stage> stages;
  const auto *type = data.GetDescriptor();
  for (int f = 0; f < type->field_count(); ++f) {
    const auto *field = type->field(f);
    if (!field->message_type() || field->name() == "source")
      continue;
    const auto *reflection = data.GetReflection();
    int count = field->is_repeated() ? reflection->FieldSize(data, field)
                                     : reflection->HasField(data, field);
    for (int i = 0; i < count; ++i) {
      SmallVector<Step> stage(place);
      stage.push_back({field->name().c_str(), field->is_repeated() ? i : -1});
      stages.push_back({placeOf(stage), &field->name()});
    }
  }
  llvm::sort(stages, [](const Stage &a, const Stage &b) { return a.place < b.place; });
  for (const Stage &stage : stages)
    data.add_chain(*stage.name);
  return success();
}

LogicalResult SpecFile::parse(StringRef text) {
  Collector collector(context, path);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.WriteLocationsTo(&places);
  parser.AllowUnknownField(true); // reports them all, and goes on
  bool parsed = parser.ParseFromString(withoutNames(text.str()), &training);
  if (!parsed || collector.failed)
    return failure();
  bool ok = true;
  if (training.has_data())
    ok &= succeeded(orderStages(*training.mutable_data(), {"data"}));
  if (training.evaluation().has_data())
    ok &= succeeded(
        orderStages(*training.mutable_evaluation()->mutable_data(), {"evaluation", "data"}));
  return success(ok);
}

Location SpecFile::at(ArrayRef<Step> steps) const {
  auto [line, column] = placeOf(steps);
  return FileLineColLoc::get(&context, path, line + 1, column + 1);
}

std::pair<int, int> SpecFile::placeOf(ArrayRef<Step> steps) const {
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
  return {line, column};
}

std::string SpecFile::resolve(StringRef name) const {
  SmallString<256> full;
  if (llvm::sys::path::is_absolute(name))
    return name.str();
  full = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(full, name);
  return full.str().str();
}

std::string gradc::optimizerName(const spec::Optimizer &optimizer) {
  const auto *kind = optimizer.GetReflection()->GetOneofFieldDescriptor(
      optimizer, optimizer.GetDescriptor()->oneof_decl(0));
  return kind ? std::string(kind->name()) : std::string();
}

const google::protobuf::Message &gradc::optimizerRule(const spec::Optimizer &optimizer) {
  return optimizer.GetReflection()->GetMessage(
      optimizer, optimizer.GetDescriptor()->FindFieldByName(optimizerName(optimizer)));
}

/// Checks a hyperparameter's range, which follows from its name, not from its optimizer.
static void checkOptimizer(Checker &c, const spec::Optimizer &optimizer) {
  std::string kind = optimizerName(optimizer);
  if (kind.empty())
    return c.require(false, {"optimizer"}, "optimizer",
                     "optimizer { adam { learning_rate: 1e-3 } }");
  const google::protobuf::Message &rule = optimizerRule(optimizer);
  for (int i = 0; i < rule.GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor *field = rule.GetDescriptor()->field(i);
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE)
      continue;
    double value = rule.GetReflection()->GetDouble(rule, field);
    std::string name(field->name());
    auto expect = [&](bool holds, const char *range) {
      c.expect(holds, {"optimizer", kind.c_str(), name.c_str()}, name.c_str(), range, value);
    };
    if (name == "learning_rate" || name == "epsilon")
      expect(value > 0, "above 0");
    else if (name == "l2" || name == "weight_decay")
      expect(value >= 0, "of 0 or more");
    else // a share of what was: momentum, beta, alpha
      expect(value >= 0 && value < 1, "from 0 to below 1");
  }
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
