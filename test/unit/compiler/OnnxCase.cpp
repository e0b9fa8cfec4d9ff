// Reads a case, compiles its model in memory, and runs the artifact through the runtime.
#include "test/unit/compiler/OnnxCase.h"

#include "dialects/Pch.h"

#include "compiler/Compiler.h"
#include "compiler/Session.h"
#include "compiler/import/onnx/Text.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "compiler/import/onnx/model/WireFormat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::test;
using mlir::grad::HostTensor;

const char *gradc::test::otherCases() { return getenv("GRADC_CASES_FOLDER"); }

std::vector<std::string> gradc::test::caseFolders(const char *set) {
  std::string root = set ? set : "/usr/share/libonnx-testdata/data";
  std::vector<std::string> folders;
  for (StringRef group : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator i(root + "/" + group.str(), error), end;
         i != end && !error; i.increment(error))
      folders.push_back(i->path());
  }
  llvm::sort(folders);
  return folders;
}

static std::string readFile(const Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// The tensors of a graph input or output: a single one, those of a sequence (SequenceProto), or
/// those of an optional (OptionalProto).
static std::vector<onnx::TensorProto> parseTensors(StringRef bytes, const onnx::TypeProto &type) {
  std::vector<onnx::TensorProto> tensors;
  auto add = [&](StringRef tensor) { tensors.emplace_back().ParseFromString(tensor.str()); };
  // The fields tensor_values, tensor_value and sequence_value of onnx-data.proto.
  if (type.has_sequence_type()) {
    walkFields(bytes, [&](const WireField &field) {
      if (field.number == 3)
        add(field.payload);
    });
  } else if (type.has_optional_type()) {
    const onnx::TypeProto &held = type.optional_type().elem_type();
    walkFields(bytes, [&](const WireField &field) {
      if (field.number == (held.has_sequence_type() ? 5 : 3))
        llvm::append_range(tensors, parseTensors(field.payload, held));
    });
  } else {
    add(bytes);
  }
  return tensors;
}

/// The files PREFIX0.pb, PREFIX1.pb, ... of a data set.
static std::vector<std::string> readFiles(const Twine &prefix) {
  std::vector<std::string> files;
  for (int i = 0;; ++i) {
    std::string path = (prefix + Twine(i) + ".pb").str();
    if (!llvm::sys::fs::exists(path))
      return files;
    files.push_back(readFile(path));
  }
}

static bool holdsSequence(const onnx::TypeProto &type) {
  return type.has_sequence_type() ||
         (type.has_optional_type() && type.optional_type().elem_type().has_sequence_type());
}

static std::optional<HostTensor> toHost(onnx::TensorProto tensor, MLIRContext &context) {
  if (isString(tensor.data_type())) {
    auto text = textOf(tensor, context, UnknownLoc::get(&context));
    return succeeded(text) ? std::optional<HostTensor>(*text) : std::nullopt;
  }
  Type element = fileElementType(context, tensor.data_type());
  if (!element || failed(makeRaw(tensor, context, UnknownLoc::get(&context))))
    return std::nullopt;
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  auto type = RankedTensorType::get(shape, element);
  ArrayRef<char> raw(tensor.raw_data().data(), tensor.raw_data().size());
  if (const NarrowType *narrow = findNarrow(tensor.data_type()))
    return HostTensor(type, unpacked(raw, *narrow, type.getNumElements()));
  return HostTensor(type, raw);
}

onnx::ModelProto gradc::test::readCase(const std::string &folder) {
  onnx::ModelProto model;
  model.ParseFromString(readFile(folder + "/model.onnx"));
  // Ops that have not changed since are tested in the oldest supported opset.
  for (onnx::OperatorSetIdProto &set : *model.mutable_opset_import())
    set.set_version(std::max<int64_t>(set.version(), oldestOpset));
  return model;
}

std::map<std::string, HostTensor> gradc::test::caseInputs(const std::string &folder,
                                                          const onnx::ModelProto &model,
                                                          MLIRContext &context) {
  std::map<std::string, HostTensor> given;
  auto files = readFiles(folder + "/test_data_set_0/input_");
  for (auto [input, file] : llvm::zip(model.graph().input(), files)) {
    auto tensors = parseTensors(file, input.type());
    if (holdsSequence(input.type())) {
      for (auto [i, tensor] : llvm::enumerate(tensors))
        if (auto host = toHost(tensor, context))
          given[input.name() + "." + std::to_string(i)] = *host;
      continue;
    }
    if (tensors.empty()) // an optional without an element
      continue;
    onnx::TensorProto tensor = tensors.front();
    // Some cases give another shape for an input of which only the type matters.
    bool fits = input.type().has_optional_type() ||
                input.type().tensor_type().shape().dim_size() == tensor.dims_size();
    if (auto host = fits ? toHost(tensor, context) : std::nullopt)
      given[input.name()] = *host;
  }
  return given;
}

FailureOr<Imported> gradc::test::importCase(MLIRContext &context, const onnx::ModelProto &model,
                                            const CompileOptions &options) {
  SmallString<128> path;
  int file;
  if (auto error = llvm::sys::fs::createTemporaryFile("gradc-case", "onnx", file, path))
    return emitError(UnknownLoc::get(&context)) << "no temporary file: " << error.message();
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << model.SerializeAsString();
  CompileOptions own = options;
  // A sequence without tensors has no input that shows its length.
  for (const onnx::ValueInfoProto &input : model.graph().input())
    if (input.type().has_sequence_type() && !options.inputs.count(input.name() + ".0"))
      own.shapes[input.name()] = {0};
  FailureOr<Imported> imported = importFile(context, path, own);
  llvm::sys::fs::remove(path);
  return imported;
}

namespace {

/// numpy has no bf16: the files contain the bits of such a tensor.
HostTensor fromBits(const HostTensor &tensor, RankedTensorType type) {
  bool isBits = type.getElementType().isBF16() && tensor.getElementType().isInteger(16);
  return isBits ? HostTensor(type.clone(tensor.getShape()), tensor.bytes()) : tensor;
}

/// At most the tolerance of ONNX's own runner, 1e-3 relative and 1e-7; 16-bit floats round more.
double relativeTolerance(Type element, StringRef name) {
  // The expected results are written with four digits.
  bool isRounded = name.starts_with("test_roialign_aligned") || name == "test_gridsample_bicubic";
  return element.isBF16() ? 2e-2 : element.isF16() ? 2e-3 : isRounded ? 1e-3 : 1e-4;
}

std::string compare(const HostTensor &found, const HostTensor &expected, StringRef name) {
  if (found.getType() != expected.getType())
    return "found " + describe(found.getType()) + ", expected " + describe(expected.getType());
  double relative = relativeTolerance(found.getElementType(), name), largest = 1;
  for (int64_t i = 0; i < expected.size(); ++i) // the terms of a sum that is 0 may be large
    if (std::isfinite(expected.getFloat(i)))
      largest = std::max(largest, std::abs(expected.getFloat(i)));
  for (int64_t i = 0; i < found.size(); ++i) {
    double a = found.getFloat(i), b = expected.getFloat(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b)
      continue;
    if (!(std::abs(a - b) <= relative * std::abs(b) + 1e-7 * largest))
      return llvm::formatv("element {0}: found {1:e}, expected {2:e}", i, a, b);
  }
  return "";
}

/// Why gradc does not intend to support a case; empty for all others.
StringRef excludedBecause(StringRef name) {
  if (name.starts_with("test_training_dropout") && !name.contains("zero_ratio"))
    return "dropout is the identity outside of training entries, whatever training_mode says";
  if (name == "test_averagepool_2d_ceil_last_window_starts_on_pad")
    return "the expected result is rounded to four digits";
  if (name == "test_adam_multiple")
    return "the expected result was computed with an epsilon that the model does not have";
  if (name.contains("nwindow") || name.contains("gwindow")) // Blackman, Hann, Hamming
    return "the expected window was computed with 3.1415 for pi";
  return "";
}

class CaseRun {
public:
  explicit CaseRun(const std::string &folder) : folder(folder) {}
  CaseResult run();

private:
  bool import();
  void compileAndCompare();
  void compareOutputs(ArrayRef<HostTensor> results);
  CaseResult &end(Outcome outcome, const Twine &message) {
    result.outcome = outcome;
    result.message = message.str();
    return result;
  }

  std::string folder;
  std::unique_ptr<MLIRContext> context = createContext();
  onnx::ModelProto model;
  CompileOptions options;
  std::optional<Imported> imported;
  std::string said;
  CaseResult result;
};

/// Returns false if the importer refuses the model, after checking that it gave a reason.
bool CaseRun::import() {
  model = readCase(folder);
  options.inputs = caseInputs(folder, model, *context);
  FailureOr<Imported> read = importCase(*context, model, options);
  if (failed(read)) {
    end(said.empty() ? Outcome::wrong : Outcome::unsupported, said);
    return false;
  }
  imported = std::move(*read);
  result.bound = imported->boundInputs.size();
  result.folded = imported->foldedNodes.size();
  result.nodes = model.graph().node_size();
  return true;
}

void CaseRun::compileAndCompare() {
  auto program = planProgram(std::move(*imported), options);
  FailureOr<std::string> artifact = failure();
  if (succeeded(program)) {
    (*program->levels.front()).walk([&](exec::DispatchOp) { ++result.launches; });
    artifact = compileProgram(*program, /*directory=*/"", options);
  }
  if (failed(artifact))
    return (void)end(Outcome::wrong, "does not compile: " + said);
  auto session = CompiledSession::open(std::move(*artifact));
  if (!session)
    return (void)end(Outcome::wrong, llvm::toString(session.takeError()));
  auto entry = (*session)->find("forward");
  if (!entry)
    return (void)end(Outcome::wrong, llvm::toString(entry.takeError()));
  std::vector<HostTensor> inputs;
  for (const Port &port : (*session)->inputs(*context, *entry)) {
    auto given = options.inputs.find(port.name);
    if (given == options.inputs.end())
      return (void)end(Outcome::notCompared, port.role == GRADC_ROLE_DATA
                                                 ? "the case's data has no " + port.name
                                                 : port.name + " is drawn at random");
    HostTensor value = fromBits(given->second, port.type);
    if (port.isText)
      value = withBytes(value, port.type.getShape().back());
    if (value.getType() != port.type)
      return (void)end(Outcome::wrong, "the case's input " + port.name + " is " +
                                           describe(value.getType()) + ", the model's " +
                                           describe(port.type));
    inputs.push_back(value);
  }
  auto results = (*session)->run(*context, *entry, inputs);
  if (!results)
    return (void)end(Outcome::wrong, llvm::toString(results.takeError()));
  std::vector<Port> ports = (*session)->outputs(*context, *entry);
  cutToExtents(ports, *results);
  compareOutputs(*results);
}

void CaseRun::compareOutputs(ArrayRef<HostTensor> results) {
  std::vector<onnx::TensorProto> outputs;
  auto files = readFiles(folder + "/test_data_set_0/output_");
  for (auto [output, file] : llvm::zip(model.graph().output(), files))
    llvm::append_range(outputs, parseTensors(file, output.type()));
  if (outputs.size() != results.size())
    return (void)end(Outcome::wrong, "found " + Twine(results.size()) + " outputs, expected " +
                                         Twine(outputs.size()));
  for (auto [tensor, found] : llvm::zip(outputs, results)) {
    auto expected = toHost(tensor, *context);
    if (!expected)
      return (void)end(Outcome::wrong, "the expected output has another type");
    if (isString(tensor.data_type()))
      expected = withBytes(*expected, found.getShape().back());
    std::string difference =
        compare(found, fromBits(*expected, found.getType()), llvm::sys::path::filename(folder));
    if (!difference.empty())
      return (void)end(Outcome::wrong, difference);
  }
  end(Outcome::passed, "");
}

CaseResult CaseRun::run() {
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    said += (said.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  if (import())
    compileAndCompare();
  StringRef reason = excludedBecause(llvm::sys::path::filename(folder));
  if (!reason.empty() && result.outcome == Outcome::wrong)
    end(Outcome::notCompared, reason);
  return result;
}

} // namespace

CaseResult gradc::test::runCase(const std::string &folder) { return CaseRun(folder).run(); }
