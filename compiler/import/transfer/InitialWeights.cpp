// Assigns the tensors of a safetensors file to initializers, and reports every mismatch.
#include "dialects/Pch.h"

#include "compiler/import/support/Names.h"
#include "compiler/import/support/Safetensors.h"
#include "compiler/import/transfer/InitialValues.h"
#include "dialects/grad/CastElements.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// Reads one file into a model.
class WeightsReader {
public:
  WeightsReader(const SpecFile &spec, const OnnxModel &model, const ResizedParameters &resized,
                InitialValues &values)
      : spec(spec), model(model), resized(resized), values(values),
        block(spec.get().initial_weights()) {}

  LogicalResult read(llvm::function_ref<bool(StringRef)> isOptional);

private:
  LogicalResult open();
  LogicalResult rename();
  LogicalResult take(const SafetensorsEntry &entry, const std::string &name);
  LogicalResult checkTies();
  LogicalResult findMissing(llvm::function_ref<bool(StringRef)> isOptional);
  bool select(ArrayRef<std::string> patterns, const char *field, StringRef kind,
              std::vector<std::string> names, llvm::StringSet<> &matches);
  InFlightDiagnostic error(const char *field) {
    return emitError(spec.at({"initial_weights", field}));
  }

  const SpecFile &spec;
  const OnnxModel &model;
  const ResizedParameters &resized;
  InitialValues &values;
  const spec::InitialWeights &block;
  std::unique_ptr<llvm::MemoryBuffer> file;
  std::vector<SafetensorsEntry> entries;
  std::vector<std::string> renamed; ///< one an entry
  llvm::StringSet<> transposed, ignored;
  std::map<std::string, HostTensor> tied; ///< values of initializers that are another's alias
};
} // namespace

static Type typeNamed(MLIRContext &context, StringRef dtype) {
  Builder b(&context);
  return llvm::StringSwitch<Type>(dtype)
      .Case("F16", b.getF16Type())
      .Case("BF16", b.getBF16Type())
      .Case("F32", b.getF32Type())
      .Case("F64", b.getF64Type())
      .Case("I32", b.getI32Type())
      .Case("I64", b.getI64Type())
      .Case("BOOL", b.getI1Type())
      .Default(nullptr);
}

static HostTensor transpose(const HostTensor &matrix) {
  int64_t rows = matrix.getShape()[0], columns = matrix.getShape()[1];
  HostTensor result(matrix.getType().clone({columns, rows}));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result.setFloat(j * rows + i, matrix.getFloat(i * columns + j));
  return result;
}

LogicalResult WeightsReader::open() {
  auto buffer = llvm::MemoryBuffer::getFile(spec.resolve(block.path()), /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return error("path") << "cannot read the weights \"" << block.path()
                         << "\": " << buffer.getError().message();
  file = std::move(*buffer);
  auto found = readSafetensors(file->getBuffer());
  if (!found)
    return error("path") << "\"" << block.path() << "\" is " << llvm::toString(found.takeError());
  entries = std::move(*found);
  return success();
}

bool WeightsReader::select(ArrayRef<std::string> patterns, const char *field, StringRef kind,
                           std::vector<std::string> names, llvm::StringSet<> &matches) {
  PatternScope scope{field, kind, std::move(names)};
  return succeeded(collectMatching(
      patterns, scope, [&](int i) { return spec.at({"initial_weights", {field, i}}); }, matches));
}

/// Renames each entry to its name in the model.
LogicalResult WeightsReader::rename() {
  bool ok = true, strips = false;
  std::vector<bool> applies(block.rename_size());
  for (const SafetensorsEntry &entry : entries) {
    StringRef name = entry.name;
    strips |= name.consume_front(block.strip_prefix());
    std::string result = name.str();
    for (auto [i, rule] : llvm::enumerate(block.rename()))
      if (name.starts_with(rule.from())) {
        result = rule.to() + name.drop_front(rule.from().size()).str();
        applies[i] = true;
        break;
      }
    renamed.push_back(result);
  }
  auto unused = [&](ArrayRef<SpecFile::Step> place, StringRef beginning) {
    emitError(spec.at(place)) << "no tensor of \"" << block.path() << "\" has a name that begins "
                              << "with \"" << beginning << "\"";
    ok = false;
  };
  if (block.has_strip_prefix() && !strips)
    unused({"initial_weights", "strip_prefix"}, block.strip_prefix());
  for (auto [i, rule] : llvm::enumerate(block.rename()))
    if (!applies[i])
      unused({"initial_weights", {"rename", int(i)}}, rule.from());
  return success(ok);
}

/// Takes the values of an entry for the initializer `name`, an alias or one of the model's own.
LogicalResult WeightsReader::take(const SafetensorsEntry &entry, const std::string &name) {
  OnnxModel::Tied target = model.tiedTo(name);
  const onnx::TensorProto &initializer = *model.initializer(target.initializer);
  MLIRContext &context = *model.fileLoc().getContext();
  FailureOr<RankedTensorType> type = model.type(initializer, spec.at({"initial_weights"}));
  Type element = typeNamed(context, entry.dtype);
  if (failed(type))
    return failure();
  bool isFloat = isa<FloatType>(type->getElementType());
  if (!element || (isFloat ? !isa<FloatType>(element) : element != type->getElementType()))
    return error("path") << "expected tensor \"" << entry.name << "\" of \"" << block.path()
                         << "\" to hold " << (isFloat ? "floats" : describe(type->getElementType()))
                         << ", as initializer \"" << name << "\" does, found " << entry.dtype;
  bool turns = transposed.contains(name) != target.transposed;
  SmallVector<int64_t> expected(type->getShape()), found(entry.shape.begin(), entry.shape.end());
  SmallVector<int64_t> reversed(llvm::reverse(expected));
  auto old = resized.find(name);
  if (old != resized.end() && found == ArrayRef<int64_t>(old->second) && found != expected)
    return success();
  auto fileType = RankedTensorType::get(found, element);
  if (found != (turns && expected.size() == 2 ? reversed : expected)) {
    auto error = this->error("path")
                 << "expected tensor \"" << entry.name << "\" of \"" << block.path() << "\" to be "
                 << describe(RankedTensorType::get(turns ? reversed : expected, element))
                 << ", as initializer \"" << name << "\" is" << (turns ? " transposed" : "")
                 << ", found " << describe(fileType);
    if (found == (turns ? expected : reversed) && found.size() == 2)
      error << (turns ? "" : "; if it is the transpose, add transpose: \"" + name + "\"");
    return error;
  }
  if (int64_t(entry.bytes.size()) != bytesOf(fileType))
    return error("path") << "tensor \"" << entry.name << "\" of \"" << block.path() << "\" has "
                         << entry.bytes.size() << " bytes, expected " << bytesOf(fileType)
                         << " for " << describe(fileType);
  HostTensor value(fileType, {entry.bytes.data(), entry.bytes.size()});
  if (element != type->getElementType())
    value = castElements(value, type->getElementType());
  if (turns && expected.size() == 2)
    value = transpose(value);
  auto &place = target.initializer == name ? values : tied;
  if (!place.try_emplace(name, value).second)
    return error("path") << "two tensors of \"" << block.path() << "\" are initializer \"" << name
                         << "\", the second is \"" << entry.name << "\"";
  return success();
}

/// A tied initializer may get its values under either name; both must agree.
LogicalResult WeightsReader::checkTies() {
  bool ok = true;
  for (auto &[alias, value] : tied) {
    std::string name = model.tiedTo(alias).initializer.str();
    auto [known, isNew] = values.try_emplace(name, value);
    if (isNew || known->second.bytes() == value.bytes())
      continue;
    error("path") << "\"" << name << "\" and \"" << alias << "\" are tied, and \"" << block.path()
                  << "\" has different values for them";
    ok = false;
  }
  return success(ok);
}

LogicalResult WeightsReader::findMissing(llvm::function_ref<bool(StringRef)> isOptional) {
  llvm::StringSet<> allowed;
  std::vector<std::string> allow(block.allow_missing().begin(), block.allow_missing().end());
  if (!select(allow, "allow_missing", "initializer", model.initializerNames(), allowed))
    return failure();
  std::vector<std::string> missing;
  for (const onnx::TensorProto &tensor : model.graph().initializer()) {
    const std::string &name = tensor.name();
    Type element = elementType(*model.fileLoc().getContext(), tensor.data_type());
    if (tensor.dims_size() && isa_and_nonnull<FloatType>(element) && !values.contains(name) &&
        !resized.contains(name) && !allowed.contains(name) && !isOptional(name))
      missing.push_back(name);
  }
  if (missing.empty())
    return success();
  return error("path") << "\"" << block.path() << "\" has no values for " << listed(missing)
                       << "; allow_missing: \"" << missing.front()
                       << "\" leaves an initializer as it is in the model";
}

LogicalResult WeightsReader::read(llvm::function_ref<bool(StringRef)> isOptional) {
  if (failed(open()) || failed(rename()))
    return failure();
  std::vector<std::string> turned(block.transpose().begin(), block.transpose().end()),
      ignore(block.ignore().begin(), block.ignore().end()), names, superfluous;
  for (const SafetensorsEntry &entry : entries)
    names.push_back(entry.name);
  bool ok = select(turned, "transpose", "initializer", model.initializerNames(), transposed);
  ok &= select(ignore, "ignore", "tensor of the file", names, ignored);
  for (auto [entry, name] : llvm::zip_equal(entries, renamed)) {
    if (ignored.contains(entry.name))
      continue;
    if (model.initializer(model.tiedTo(name).initializer))
      ok &= succeeded(take(entry, name));
    else if (!StringRef(name).ends_with("num_batches_tracked"))
      superfluous.push_back(entry.name);
  }
  if (!superfluous.empty()) {
    error("path") << "the model has no initializers for " << listed(superfluous) << " of \""
                  << block.path() << "\"; rename what has another name there, ignore: \""
                  << superfluous.front() << "\" leaves a tensor out";
    ok = false;
  }
  ok &= succeeded(checkTies());
  return success(ok && succeeded(findMissing(isOptional)));
}

LogicalResult gradc::readInitialWeights(const SpecFile &spec, const OnnxModel &model,
                                        const ResizedParameters &resized,
                                        llvm::function_ref<bool(StringRef)> isOptional,
                                        InitialValues &values) {
  if (!spec.get().has_initial_weights())
    return success();
  return WeightsReader(spec, model, resized, values).read(isOptional);
}
