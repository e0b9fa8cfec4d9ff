// Parses a training spec's text and performs all checks that need neither the model nor the data.
#include "dialects/Pch.h"

#include "compiler/import/spec/SpecChecker.h"
#include "compiler/import/spec/UsualNames.h"
#include "compiler/import/support/FileKind.h"
#include "compiler/import/support/Names.h"
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
  StringRef bytes = (*buffer)->getBuffer();
  std::string kind = fileKind(bytes);
  // Text never begins with a control character.
  if (kind.empty() && !isspace(bytes.front()) && iscntrl(bytes.front()))
    kind = "a binary file";
  if (!kind.empty() && kind != "a text file")
    return emitError(FileLineColLoc::get(&context, path, 0, 0))
           << "expected a training spec, found " << kind;
  std::unique_ptr<SpecFile> spec(new SpecFile(context, path));
  if (failed(spec->parse(bytes)))
    return failure();
  return spec;
}

namespace {
/// Reads a spec's text token by token. The parser reports what is wrong with the tokens.
class Tokens : google::protobuf::io::ErrorCollector {
public:
  using Token = google::protobuf::io::Tokenizer::Token;

  explicit Tokens(StringRef text) : stream(text.data(), int(text.size())), tokens(&stream, this) {
    tokens.set_comment_style(google::protobuf::io::Tokenizer::SH_COMMENT_STYLE);
  }
  bool next() { return tokens.Next(); }
  const Token &current() { return tokens.current(); }
  bool opensBlock() { return current().text == "{" || current().text == "<"; }
  bool closesBlock() { return current().text == "}" || current().text == ">"; }

private:
  void AddError(int, int, const std::string &) override {}

  google::protobuf::io::ArrayInputStream stream;
  google::protobuf::io::Tokenizer tokens;
};

/// Turns the parser's messages into diagnostics. The parser reports an unknown field as a warning.
class Collector : public google::protobuf::io::ErrorCollector {
public:
  Collector(MLIRContext &context, StringRef path, StringRef content)
      : context(context), path(path), content(content) {}

  void AddError(int line, int column, const std::string &message) override {
    StringRef text = message;
    text.consume_back(".");
    if (text.ends_with("got: AUTOTUNE")) {
      report(line, column) << "expected a number, found AUTOTUNE; leave the field out: what is not "
                              "given is found by measuring";
      return;
    }
    if (text.contains("another member of oneof")) {
      report(line, column) << "in the training spec: " << decapitalize(text)
                           << "; a block like this holds one of them";
      return;
    }
    if (text.consume_back(", got: ")) {
      report(line, column) << "in the training spec: " << decapitalize(text)
                           << ", found the end of the file; a block is not closed";
      return;
    }
    // Example: Unknown enumeration value of "FP8" for field "precision"
    SmallVector<StringRef> parts;
    text.split(parts, '"');
    if (parts.size() == 5 && text.starts_with("Unknown enumeration value"))
      return addUnknownValue(line, column, parts[1], parts[3]);
    report(line, column) << "in the training spec: " << decapitalize(text);
  }
  void AddWarning(int line, int column, const std::string &message) override {
    // Example: Message type "gradc.spec.Training" has no field named "modle".
    SmallVector<StringRef> parts;
    StringRef(message).split(parts, '"');
    const google::protobuf::Descriptor *type =
        parts.size() < 4
            ? nullptr
            : spec::Training::descriptor()->file()->pool()->FindMessageTypeByName(parts[1].str());
    if (!type)
      return AddError(line, column, message);
    // Older specs had such blocks, whose stages stood next to each other.
    bool isData = type == spec::Data::descriptor();
    std::vector<std::string> fields = namesIn(type), stages = namesIn(spec::Stage::descriptor());
    auto error = report(line, column);
    if (isData && llvm::is_contained(stages, parts[3])) {
      error << parts[3]
            << " is a stage, and each stage stands in a block of its own: write stage { "
            << parts[3] << " { ... } }";
      return;
    }
    error << "unknown field \"" << parts[3] << "\" in " << type->name();
    std::string stage = isData ? nearest(parts[3], stages) : "";
    std::string near = fieldOfUsualName(parts[3], fields);
    if (near.empty())
      near = nearest(parts[3], fields);
    if (!near.empty())
      error << "; did you mean \"" << near << "\"?";
    else if (!stage.empty())
      error << "; did you mean stage { " << stage << " { ... } }?";
    else
      error << "; expected one of " << llvm::join(fields, ", ");
  }
  InFlightDiagnostic report(int line, int column) {
    failed = true;
    return emitError(FileLineColLoc::get(&context, path, line + 1, column + 1));
  }
  bool failed = false;

private:
  void addUnknownValue(int line, int column, StringRef value, StringRef ofField) {
    const google::protobuf::Descriptor *type = blockAround(line, column);
    auto *field = type ? type->FindFieldByName(ofField.str()) : nullptr;
    std::tie(line, column) = before(line, column, value);
    auto error = report(line, column);
    error << "unknown value \"" << value << "\" of \"" << ofField << "\"";
    if (field && field->enum_type())
      error << "; expected one of " << llvm::join(namesIn(field->enum_type()), ", ");
  }
  /// The message of the innermost block that is open in front of a place of the tokenizer; null if
  /// it is in no known field.
  const google::protobuf::Descriptor *blockAround(int line, int column) const {
    struct Block {
      std::string name; // of its field
      const google::protobuf::Descriptor *type;
    };
    SmallVector<Block> blocks = {{"", spec::Training::descriptor()}};
    std::string name; // the last one, which a block belongs to
    for (Tokens tokens(content); tokens.next();) {
      const Tokens::Token &token = tokens.current();
      if (std::pair(token.line, token.column) >= std::pair(line, column))
        break;
      if (token.type == google::protobuf::io::Tokenizer::TYPE_IDENTIFIER)
        name = token.text;
      if (tokens.opensBlock()) {
        auto *type = blocks.back().type;
        auto *field = type ? type->FindFieldByName(name) : nullptr;
        blocks.push_back({name, field ? field->message_type() : nullptr});
      } else if (tokens.closesBlock() && blocks.size() > 1) {
        name = blocks.pop_back_val().name; // the next block may be of the same field: [{}, {}]
      }
    }
    return blocks.back().type;
  }
  static std::vector<std::string> namesIn(const google::protobuf::Descriptor *type) {
    std::vector<std::string> names;
    for (int i = 0; i < type->field_count(); ++i)
      names.push_back(type->field(i)->name());
    return names;
  }
  static std::vector<std::string> namesIn(const google::protobuf::EnumDescriptor *type) {
    std::vector<std::string> names;
    for (int i = 0; i < type->value_count(); ++i)
      names.push_back(type->value(i)->name());
    return names;
  }
  /// Where `token` stands last before a place. The parser reports an unknown value at the token
  /// behind it. Returns the place itself if there is none.
  std::pair<int, int> before(int line, int column, StringRef token) const {
    SmallVector<StringRef> lines;
    content.split(lines, '\n');
    for (int at = std::min(line, int(lines.size()) - 1); at >= 0; --at) {
      StringRef part = at == line ? lines[at].take_front(column) : lines[at];
      if (size_t found = part.rfind(token); found != StringRef::npos)
        return {at, int(found)};
    }
    return {line, column};
  }
  static std::string decapitalize(StringRef text) {
    std::string result = text.str();
    if (text.size() > 1 && !isupper(text[1]))
      result[0] = char(tolower(result[0]));
    return result;
  }
  MLIRContext &context;
  StringRef path, content;
};
} // namespace

/// The first position where blocks nest deeper than in any valid spec, deep enough to overflow the
/// parser's stack; nullopt if there is none.
static std::optional<std::pair<int, int>> tooDeep(StringRef text) {
  constexpr int deepest = 64;
  int depth = 0;
  for (Tokens tokens(text); tokens.next();) {
    StringRef token = tokens.current().text;
    depth += (tokens.opensBlock() || token == "[") - (tokens.closesBlock() || token == "]");
    if (depth > deepest)
      return std::pair(tokens.current().line, tokens.current().column);
  }
  return std::nullopt;
}

LogicalResult SpecFile::parse(StringRef text) {
  text.consume_front("\xef\xbb\xbf"); // the byte order mark that some editors write
  Collector collector(context, path, text);
  if (auto place = tooDeep(text)) {
    collector.report(place->first, place->second) << "expected blocks nested at most 64 deep";
    return failure();
  }
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.WriteLocationsTo(&places);
  parser.AllowUnknownField(true); // reports all unknown fields and continues
  return success(parser.ParseFromString(text.str(), &training) && !collector.failed);
}

Location SpecFile::at(ArrayRef<Step> steps) const {
  auto [line, column] = find(steps).first;
  return at(line, column);
}

Location SpecFile::at(int line, int column) const {
  return FileLineColLoc::get(&context, path, line + 1, column + 1);
}

const SpecTree::Places *SpecFile::placesIn(ArrayRef<Step> steps) const {
  return find(steps).second;
}

std::pair<std::pair<int, int>, const SpecTree::Places *>
SpecFile::find(ArrayRef<Step> steps) const {
  const google::protobuf::Descriptor *type = spec::Training::descriptor();
  const SpecTree::Places *tree = &places;
  std::pair<int, int> at = {-1, -1};
  for (const Step &step : steps) {
    const google::protobuf::FieldDescriptor *field = type->FindFieldByName(step.name);
    assert(field && "a field of training.proto");
    auto place = tree->GetLocation(field, step.index);
    if (place.line < 0)
      return {at, nullptr};
    at = {place.line, place.column};
    type = field->message_type();
    tree = type ? tree->GetTreeForNested(field, step.index) : nullptr;
    if (!tree)
      break;
  }
  return {at, tree};
}

SmallVector<DataBlock> gradc::dataBlocks(const spec::Training &training) {
  SmallVector<DataBlock> blocks;
  if (training.has_data())
    blocks.push_back({&training.data(), {"data"}, GRADC_TRAIN_ENTRY});
  if (!training.has_evaluation())
    return blocks;
  blocks.push_back({&training.evaluation().data(), {"evaluation", "data"}, GRADC_EVALUATE_ENTRY});
  for (auto [i, set] : llvm::enumerate(training.evaluation().set()))
    blocks.push_back(
        {&set.data(), {"evaluation", {"set", int(i)}, "data"}, GRADC_EVALUATE_PREFIX + set.name()});
  return blocks;
}

SmallVector<spec::Data *> gradc::editDataBlocks(spec::Training &training) {
  SmallVector<spec::Data *> blocks;
  if (training.has_data())
    blocks.push_back(training.mutable_data());
  if (!training.has_evaluation())
    return blocks;
  blocks.push_back(training.mutable_evaluation()->mutable_data());
  for (spec::EvaluationSet &set : *training.mutable_evaluation()->mutable_set())
    blocks.push_back(set.mutable_data());
  return blocks;
}

const spec::Batch &SpecFile::batchOf(const spec::Data &data) {
  auto stage = llvm::find_if(data.stage(), [](const spec::Stage &s) { return s.has_batch(); });
  return stage == data.stage().end() ? spec::Batch::default_instance() : stage->batch();
}

std::string SpecFile::resolve(StringRef name) const {
  SmallString<256> full;
  if (llvm::sys::path::is_absolute(name))
    return name.str();
  full = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(full, name);
  return full.str().str();
}

LogicalResult SpecFile::check() const {
  Checker c{*this};
  c.require(!training.model().empty(), {"model"}, "model", "model: \"model.onnx\"");
  if (training.gradients_size() && !training.loss_size() && !training.train_size()) {
    checkGradients(c, training);
    return success(c.ok);
  }
  checkLossGradients(c, training);
  if (training.has_chunk())
    c.error({"chunk"}) << "chunk belongs to gradients { ... }; the rows of a training step are "
                          "those of stage { batch { size: 32 } }";
  for (auto [i, feed] : llvm::enumerate(training.feed()))
    checkPair(c, {{"feed", int(i)}}, "feed", "input", feed.input(), "field", feed.field());
  checkSteps(c, training);
  checkRegularizers(c, training);
  checkPruning(c, training);
  checkMetrics(c, training);
  checkSchedule(c, training);
  checkEvaluations(c, training);
  checkTransfer(c, training);
  c.require(training.has_data(), {"data"}, "data",
            "data { source { npz { path: \"data.npz\" } } stage { batch { size: 32 } } }");
  const spec::Evaluation &evaluation = training.evaluation();
  c.expect(!evaluation.has_every_epochs() || evaluation.every_epochs() > 0,
           {"evaluation", "every_epochs"}, "every_epochs", "above 0", evaluation.every_epochs());
  for (const DataBlock &block : dataBlocks(training)) {
    for (auto [i, stage] : llvm::enumerate(block.data->stage())) {
      SmallVector<Step> place = block.place;
      place.push_back({"stage", int(i)});
      c.require(stage.kind_case() != spec::Stage::KIND_NOT_SET, place, "the stage's kind",
                "map { ... }, shuffle {} or batch { size: 32 }");
    }
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
  // --checkpoint and --export give an export a place, too, if the spec says more than that.
  const spec::Export &output = training.export_();
  bool isPlaced = !output.has_onnx() && (training.has_checkpoint() || output.has_preprocessing() ||
                                         output.has_external_data());
  if (training.has_export_())
    c.require(!output.onnx().empty() || isPlaced, {"export"}, "onnx", "onnx: \"trained.onnx\"");
  for (auto [i, tie] : llvm::enumerate(training.tie()))
    checkPair(c, {{"tie", int(i)}}, "tie", "a", tie.a(), "b", tie.b());
  return success(c.ok);
}
