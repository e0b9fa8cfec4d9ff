// Sequences and optionals by name. At the boundary of an entry, each tensor of a sequence is a
// separate port. The import options determine the length of a sequence and the presence of an
// optional.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/SequencePorts.h"
#include "compiler/import/onnx/model/Narrow.h"

using namespace mlir;
using namespace gradc;

const SmallVector<Value> *EntryImport::findSequence(StringRef name) const {
  for (const Scope *at = scope; at && &at->block == &scope->block; at = at->outer)
    if (auto found = at->sequences.find(name); found != at->sequences.end())
      return &found->second;
  return nullptr;
}

void EntryImport::setSequence(StringRef name, ArrayRef<Value> tensors) {
  scope->sequences[name] = SmallVector<Value>(tensors);
}

bool EntryImport::isAbsent(StringRef name) const {
  for (const Scope *at = scope; at; at = at->outer)
    if (at->absent.contains(name))
      return true;
    else if (at->values.contains(name) || at->sequences.contains(name))
      return false;
  return false;
}

std::string gradc::elementName(StringRef sequence, int64_t i) {
  return (sequence + "." + Twine(i)).str();
}

/// The number of tensors in the sequence of that name; nullopt if the options do not tell.
static std::optional<int64_t> sequenceLength(const ImportOptions &options,
                                             const std::string &name) {
  auto has = [&](const std::string &name) {
    return options.inputs.count(name) || options.shapes.count(name);
  };
  if (auto shape = options.shapes.find(name); shape != options.shapes.end())
    return shape->second.size() == 1 && shape->second[0] >= 0 && shape->second[0] <= maxTensors
               ? std::optional(shape->second[0])
               : std::nullopt;
  int64_t length = 0;
  while (length < maxTensors && has(elementName(name, length)))
    ++length;
  return length ? std::optional(length) : std::nullopt;
}

/// The type of a sequence, or of the sequence in an optional; null for other types.
static const onnx::TypeProto::Sequence *sequenceType(const onnx::TypeProto &type) {
  const onnx::TypeProto &held = type.has_optional_type() ? type.optional_type().elem_type() : type;
  return held.has_sequence_type() ? &held.sequence_type() : nullptr;
}

std::vector<std::string> gradc::elementNames(const OnnxModel &model, const ImportOptions &options) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    if (sequenceType(input.type()))
      for (int64_t i = 0, n = sequenceLength(options, input.name()).value_or(0); i < n; ++i)
        names.push_back(elementName(input.name(), i));
  return names;
}

/// An optional that no option names is absent.
LogicalResult EntryImport::bindGraphInput(const onnx::ValueInfoProto &input, BindInput bindInput) {
  const std::string &name = input.name();
  bool isOptional = input.type().has_optional_type();
  bool isGiven =
      options.inputs.count(name) || options.shapes.count(name) || sequenceLength(options, name);
  if (isOptional && !isGiven) {
    scope->values[name] = Value();
    setAbsent(name);
    return success();
  }
  onnx::ValueInfoProto tensor = input;
  const onnx::TypeProto::Sequence *sequence = sequenceType(input.type());
  if (!sequence) {
    if (isOptional)
      *tensor.mutable_type() = input.type().optional_type().elem_type();
    return success(bool(scope->values[name] = bindInput(tensor)));
  }
  *tensor.mutable_type() = sequence->elem_type();
  int32_t element = tensor.type().tensor_type().elem_type();
  if (gradc::findNarrow(element) || isString(element))
    return emitError(model.nameLoc(name)) << "graph input \"" << name << "\" is a sequence of "
                                          << dataTypeName(element) << ", which is not supported";
  std::optional<int64_t> length = sequenceLength(options, name);
  if (!length)
    return emitError(model.nameLoc(name))
           << "graph input \"" << name
           << "\" is a sequence: expected to be told of how many tensors"
           << ", at most " << maxTensors << ", by --shape " << name
           << "=2 or by an --input or --shape for "
           << "each: " << elementName(name, 0) << ", " << elementName(name, 1) << " and so on";
  SmallVector<Value> tensors;
  for (int64_t i = 0; i < *length; ++i) {
    tensor.set_name(elementName(name, i));
    Value value = bindInput(tensor);
    if (!value)
      return failure();
    tensors.push_back(value);
  }
  scope->values[name] = Value();
  setSequence(name, tensors);
  return success();
}
