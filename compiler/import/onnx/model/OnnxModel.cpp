// Reads an ONNX file and checks the properties of the whole file before its nodes.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/Functions.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "compiler/import/onnx/model/WireFormat.h"
#include "compiler/import/support/FileKind.h"
#include "compiler/import/support/Names.h"
#include "google/protobuf/unknown_field_set.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace gradc;

OnnxModel::OnnxModel(MLIRContext &context, StringRef path)
    : context(context), path(path.str()), location(FileLineColLoc::get(&context, path, 0, 0)),
      proto(std::make_shared<onnx::ModelProto>()) {}

FailureOr<std::unique_ptr<OnnxModel>> OnnxModel::read(MLIRContext &context, StringRef path) {
  std::unique_ptr<OnnxModel> model(new OnnxModel(context, path));
  // Only regular files are read: a device such as /dev/zero never ends, and a pipe may never begin.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return emitError(model->location)
           << "cannot read the ONNX model \"" << path << "\": not a regular file";
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(model->location)
           << "cannot read the ONNX model \"" << path << "\": " << buffer.getError().message();
  model->original = (*buffer)->getBuffer().str();
  if (failed(model->parse()) || failed(model->checkFields()) || failed(model->checkOpset()) ||
      failed(model->makeDense()) || failed(model->inlineCalls()) || failed(model->checkNames()) ||
      failed(model->loadTensors()))
    return failure();
  return model;
}

LogicalResult OnnxModel::parse() {
  if (original.empty())
    return emitError(location) << "expected an ONNX model, found an empty file";
  if (original.size() > INT32_MAX)
    return emitError(location) << "expected a model of at most 2 GiB (protobuf's limit), found "
                               << original.size() << " bytes; keep its weights as external data";
  if (!proto->ParseFromArray(original.data(), int(original.size()))) {
    if (std::string kind = fileKind(original); !kind.empty())
      return emitError(location) << "expected an ONNX model, found " << kind;
    // A truncated model begins with fields that a model has.
    bool begins = false;
    auto broken = walkFields(original, [&](const WireField &field) {
      begins |= onnx::ModelProto::descriptor()->FindFieldByNumber(field.number) != nullptr;
    });
    if (broken && begins)
      return emitError(location) << "the file is truncated or damaged: at " << *broken
                                 << "; export or download it again";
    if (begins)
      return emitError(location)
             << "expected messages nested at most 100 deep, protobuf's limit; the "
                "model's subgraphs are nested deeper, or one of them is damaged";
    return emitError(location) << "expected an ONNX model, found a file of another kind"
                               << (broken ? ": at " + *broken : std::string());
  }
  if (!proto->has_graph() || (proto->graph().node().empty() && proto->graph().output().empty()))
    return emitError(location) << "expected an ONNX model, found a protobuf without a graph";
  return success();
}

/// Finds fields that the schema does not know, and reports their locations.
static void findUnknown(const google::protobuf::Message &message, const std::string &place,
                        SmallVectorImpl<std::string> &found) {
  const google::protobuf::Reflection *reflection = message.GetReflection();
  const google::protobuf::UnknownFieldSet &unknown = reflection->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    found.push_back(llvm::formatv("field {0} at {1}", unknown.field(i).number(), place));
  std::vector<const google::protobuf::FieldDescriptor *> fields;
  reflection->ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor *field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    std::string name = place + "." + field->name();
    if (!field->is_repeated()) {
      findUnknown(reflection->GetMessage(message, field), name, found);
      continue;
    }
    for (int i = 0, n = reflection->FieldSize(message, field); i < n; ++i)
      findUnknown(reflection->GetRepeatedMessage(message, field, i),
                  llvm::formatv("{0}[{1}]", name, i), found);
  }
}

LogicalResult OnnxModel::checkFields() {
  SmallVector<std::string> problems;
  findUnknown(*proto, "model", problems);
  for (std::string &p : problems)
    p += " is not known to this version of gradc, and may change what the model means";
  if (proto->training_info_size())
    problems.push_back(
        "training_info is not supported: training is described in the training spec");
  constexpr size_t shown = 20;
  for (const std::string &p : ArrayRef(problems).take_front(shown))
    emitError(location) << p;
  if (problems.size() > shown)
    emitError(location) << "and " << problems.size() - shown << " more of this kind";
  return success(problems.empty());
}

LogicalResult OnnxModel::checkOpset() {
  bool hasVersion = false;
  for (const onnx::OperatorSetIdProto &set : proto->opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx") {
      opsetVersion = set.version();
      hasVersion = true;
    }
  if (proto->opset_import().empty())
    return emitError(location)
           << "expected an ONNX model, found a protobuf without an operator set "
              "(opset_import)";
  // The model only uses other domains; its nodes are reported one by one.
  if (!hasVersion)
    opsetVersion = newestOpset;
  if (opsetVersion < oldestOpset || opsetVersion > newestOpset)
    return emitError(location) << "expected an operator set from " << oldestOpset << " to "
                               << newestOpset << ", found " << opsetVersion
                               << "; convert the model with onnx.version_converter";
  return success();
}

std::string OnnxModel::describeOpset(StringRef domain) const {
  if (domain.empty() || domain == "ai.onnx")
    return "opset " + std::to_string(opsetVersion);
  for (const onnx::OperatorSetIdProto &set : proto->opset_import())
    if (set.domain() == domain)
      return ("opset " + Twine(set.version()) + " of " + domain).str();
  return ("opset of " + domain + " not stated").str();
}

/// Exports contain no functions either, because nodes are rewritten individually.
LogicalResult OnnxModel::inlineCalls() {
  if (proto->functions().empty())
    return success();
  LogicalResult inlined = inlineFunctions(*proto, opsetVersion, location);
  original = proto->SerializeAsString();
  return inlined;
}

LogicalResult OnnxModel::checkNames() {
  llvm::StringMap<std::string> owner;
  bool ok = true;
  auto claim = [&](StringRef name, std::string by, Location where) {
    auto [entry, fresh] = owner.try_emplace(name, by);
    if (!fresh) {
      emitError(where) << "duplicate name \"" << name << "\": " << by << " has it, and so has "
                       << (by == entry->second ? "another one" : entry->second);
      ok = false;
    }
  };
  llvm::StringSet<> named;
  for (const onnx::TensorProto &t : graph().initializer()) {
    if (t.name().empty()) {
      emitError(location) << "found an initializer without a name";
      ok = false;
      continue;
    }
    claim(t.name(), "an initializer", nameLoc(t.name()));
    named.insert(t.name());
  }
  for (const onnx::ValueInfoProto &v : graph().input())
    if (!named.contains(v.name())) // up to IR version 3, initializers are also inputs
      claim(v.name(), "a graph input", nameLoc(v.name()));
  for (const onnx::NodeProto &n : graph().node())
    for (const std::string &output : n.output())
      if (!output.empty())
        claim(output, "an output of node \"" + n.name() + "\" (" + n.op_type() + ")", nodeLoc(n));
  for (const onnx::ValueInfoProto &v : graph().output())
    if (!owner.contains(v.name())) {
      emitError(nameLoc(v.name())) << "graph output \"" << v.name() << "\" is computed by no node";
      ok = false;
    }
  return success(ok);
}

LogicalResult OnnxModel::loadTensors() {
  onnx::GraphProto &graph = *proto->mutable_graph();
  bool ok = true, isRaw = true;
  size_t bytes = 0;
  auto load = [&](onnx::TensorProto &tensor, Location where) {
    bool raw = tensor.has_raw_data() && tensor.data_location() == 0;
    if (failed(inlineExternalData(tensor, path, where, &files)) ||
        failed(makeRaw(tensor, context, where)))
      ok = false;
    isRaw &= raw;
    bytes += tensor.raw_data().size();
  };
  for (onnx::TensorProto &t : *graph.mutable_initializer()) {
    load(t, nameLoc(t.name()));
    initializers[t.name()] = &t;
  }
  auto loadNode = [&](auto &self, onnx::NodeProto &n) -> void {
    for (onnx::AttributeProto &a : *n.mutable_attribute()) {
      if (a.has_t())
        load(*a.mutable_t(), nodeLoc(n));
      if (!a.has_g())
        continue;
      for (onnx::TensorProto &t : *a.mutable_g()->mutable_initializer())
        load(t, nameLoc(t.name()));
      for (onnx::NodeProto &inner : *a.mutable_g()->mutable_node())
        self(self, inner);
    }
  };
  for (onnx::NodeProto &n : *graph.mutable_node())
    loadNode(loadNode, n);
  staysApart = original.size() + bytes > mostBytes;
  if (!isRaw && !staysApart)
    original.clear();
  return success(ok);
}

Location OnnxModel::nameLoc(StringRef name) const {
  return NameLoc::get(StringAttr::get(&context, name), location);
}

Location OnnxModel::nodeLoc(const onnx::NodeProto &node) const {
  if (!node.name().empty())
    return nameLoc(node.name());
  return nameLoc(node.op_type() + (node.output_size() ? ":" + node.output(0) : std::string()));
}

const onnx::TensorProto *OnnxModel::initializer(StringRef name) const {
  return initializers.lookup(name);
}

StringRef OnnxModel::batchSymbol() const {
  for (const onnx::ValueInfoProto &input : graph().input())
    if (!initializer(input.name()) && input.type().tensor_type().shape().dim_size())
      if (StringRef symbol = input.type().tensor_type().shape().dim(0).dim_param(); !symbol.empty())
        return symbol;
  return {};
}

bool OnnxModel::hasFixedBatch() const {
  return llvm::any_of(graph().input(), [this](const onnx::ValueInfoProto &input) {
    const onnx::TensorShapeProto &shape = input.type().tensor_type().shape();
    return !initializer(input.name()) && shape.dim_size() && shape.dim(0).has_dim_value();
  });
}

std::vector<std::string> OnnxModel::inputNames() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &input : graph().input())
    if (!initializer(input.name()))
      names.push_back(input.name());
  return names;
}

std::vector<std::string> OnnxModel::outputNames() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &output : graph().output())
    names.push_back(output.name());
  return names;
}

llvm::StringSet<> OnnxModel::computedNames() const {
  llvm::StringSet<> names;
  for (const onnx::NodeProto &node : graph().node())
    for (const std::string &name : node.output())
      names.insert(name);
  return names;
}

std::vector<std::string> OnnxModel::initializerNames() const {
  std::vector<std::string> names;
  for (const onnx::TensorProto &tensor : graph().initializer())
    names.push_back(tensor.name());
  return names;
}

LogicalResult OnnxModel::expectInitializer(StringRef name, Location where) const {
  if (initializer(name))
    return success();
  if (!ties.contains(name))
    return unknownName(where, "initializer", name, initializerNames());
  Tied tied = tiedTo(name);
  return emitError(where) << "initializer \"" << name << "\" is tied to \"" << tied.initializer
                          << "\"" << (tied.transposed ? ", transposed," : "") << " already: name \""
                          << tied.initializer << "\" instead";
}

std::vector<InitializerRange> gradc::initializerRanges(StringRef modelBytes) {
  constexpr uint32_t modelGraph = onnx::ModelProto::kGraphFieldNumber,
                     graphInitializer = onnx::GraphProto::kInitializerFieldNumber,
                     tensorName = onnx::TensorProto::kNameFieldNumber,
                     tensorRaw = onnx::TensorProto::kRawDataFieldNumber;
  std::vector<InitializerRange> ranges;
  walkFields(modelBytes, [&](const WireField &graph) {
    if (graph.number != modelGraph)
      return;
    walkFields(graph.payload, [&](const WireField &initializer) {
      if (initializer.number != graphInitializer)
        return;
      InitializerRange range{};
      walkFields(initializer.payload, [&](const WireField &field) {
        if (field.number == tensorName)
          range.state = field.payload.str();
        if (field.number == tensorRaw) {
          range.offset = field.payload.data() - modelBytes.data();
          range.bytes = field.payload.size();
        }
      });
      if (range.bytes)
        ranges.push_back(std::move(range));
    });
  });
  return ranges;
}
