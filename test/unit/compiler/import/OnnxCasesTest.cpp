// ONNX's own node tests: what the importer accepts must compute what ONNX says.
#include "dialects/Pch.h"

#include "compiler/Interpreter.h"
#include "compiler/import/OnnxModel.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace gradc;
using mlir::grad::HostTensor;

namespace {

constexpr StringRef casesFolder = "/usr/share/libonnx-testdata/data";

std::string readFile(const Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

struct Case {
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs, outputs;
};

/// The tensors NAME_0.pb, NAME_1.pb, ... of a data set.
std::vector<onnx::TensorProto> readTensors(const Twine &prefix) {
  std::vector<onnx::TensorProto> tensors;
  for (int i = 0;; ++i) {
    std::string path = (prefix + Twine(i) + ".pb").str();
    if (!llvm::sys::fs::exists(path))
      return tensors;
    tensors.emplace_back().ParseFromString(readFile(path));
  }
}

FailureOr<HostTensor> toHost(onnx::TensorProto tensor, MLIRContext &context) {
  Location where = UnknownLoc::get(&context);
  Type element = elementType(context, tensor.data_type());
  if (!element || failed(makeRaw(tensor, context, where)))
    return failure();
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  return HostTensor(RankedTensorType::get(shape, element),
                    ArrayRef(tensor.raw_data().data(), tensor.raw_data().size()));
}

std::string compare(const HostTensor &found, const HostTensor &expected) {
  if (found.getType() != expected.getType())
    return "found " + describe(found.getType()) + ", expected " + describe(expected.getType());
  bool coarse = found.getElementType().isF16() || found.getElementType().isBF16();
  double relative = coarse ? 1e-2 : 1e-4;
  for (int64_t i = 0; i < found.size(); ++i) {
    double a = found.getFloat(i), b = expected.getFloat(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b)
      continue;
    if (!(std::abs(a - b) <= relative * std::abs(b) + 1e-6))
      return llvm::formatv("element {0}: found {1:e}, expected {2:e}", i, a, b);
  }
  return "";
}

enum class Outcome { passed, unsupported, wrong, notCompared };

/// Cases that ask for something else than gradc means to do.
bool isExcluded(StringRef name) {
  // Dropout is the identity outside of training entries, whatever training_mode says; and the
  // expected windows were computed with 3.1415 for pi.
  return (name.starts_with("test_training_dropout") && !name.contains("zero_ratio")) ||
         name.contains("window");
}

/// Imports the case with its inputs from `firstConstant` on made initializers, and runs it.
Outcome tryCase(const Case &test, size_t firstConstant, std::string &message) {
  MLIRContext context;
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    said += diagnostic.str() + "\n";
    return success();
  });
  onnx::ModelProto model = test.model;
  // Ops that have not changed since are tested in the oldest version that is read.
  for (onnx::OperatorSetIdProto &set : *model.mutable_opset_import())
    set.set_version(std::max<int64_t>(set.version(), 7));
  auto &inputs = *model.mutable_graph()->mutable_input();
  for (size_t i = firstConstant; i < test.inputs.size() && i < size_t(inputs.size()); ++i) {
    onnx::TensorProto &initializer = *model.mutable_graph()->add_initializer();
    initializer = test.inputs[i];
    initializer.set_name(inputs.Get(int(i)).name());
  }
  SmallString<128> path;
  int file;
  if (llvm::sys::fs::createTemporaryFile("gradc-case", "onnx", file, path))
    return Outcome::wrong;
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << model.SerializeAsString();
  FailureOr<Imported> imported = importModel(context, path);
  llvm::sys::fs::remove(path);
  if (failed(imported)) {
    message = said;
    // Whoever gets no model must be told why.
    return said.empty() ? Outcome::wrong : Outcome::unsupported;
  }
  auto forward = imported->module->lookupSymbol<func::FuncOp>("forward");
  std::vector<HostTensor> arguments;
  for (size_t i = 0; i < std::min(firstConstant, test.inputs.size()); ++i) {
    FailureOr<HostTensor> host = toHost(test.inputs[i], context);
    if (failed(host))
      return Outcome::unsupported;
    arguments.push_back(*host);
  }
  // Random ops ask for a seed; unused inputs are no arguments.
  if (arguments.size() != forward.getNumArguments())
    return Outcome::notCompared;
  for (auto [argument, type] : llvm::zip(arguments, forward.getArgumentTypes()))
    if (argument.getType() != type) {
      message = "the case's input is not of the model's type";
      return Outcome::notCompared;
    }
  Interpreter interpreter(*imported->module);
  SmallVector<HostTensor> results = interpreter.run(forward, arguments);
  for (auto [i, result] : llvm::enumerate(results)) {
    FailureOr<HostTensor> expected = toHost(test.outputs[i], context);
    if (failed(expected))
      return Outcome::unsupported;
    if (result.getElementType().isBF16() && expected->getElementType().isInteger(16))
      expected = HostTensor(result.getType(), expected->bytes()); // stored as bit patterns
    message = compare(result, *expected);
    if (!message.empty())
      return Outcome::wrong;
  }
  return Outcome::passed;
}

TEST(OnnxCases, ComputeWhatOnnxSays) {
  if (!llvm::sys::fs::exists(casesFolder))
    GTEST_SKIP() << "libonnx-testdata is not installed";
  std::map<Outcome, int> count;
  std::vector<std::string> cases;
  for (StringRef group : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator i(casesFolder + "/" + group, error), end;
         i != end && !error; i.increment(error))
      cases.push_back(i->path());
  }
  for (StringRef folder : cases) {
    std::string name = llvm::sys::path::filename(folder).str();
    Case test;
    test.model.ParseFromString(readFile(folder + "/model.onnx"));
    test.inputs = readTensors(folder + "/test_data_set_0/input_");
    test.outputs = readTensors(folder + "/test_data_set_0/output_");
    // Shapes and axes come as inputs in many cases: what does not import so is tried with more and
    // more of the inputs known at compile time.
    Outcome outcome = Outcome::unsupported;
    std::string message;
    for (size_t known = 0; known <= test.inputs.size() && outcome == Outcome::unsupported;
         ++known) {
      std::string said;
      outcome = tryCase(test, test.inputs.size() - known, said);
      if (known == 0 || outcome != Outcome::unsupported)
        message = said;
    }
    if (isExcluded(name) && outcome == Outcome::wrong)
      outcome = Outcome::notCompared;
    ++count[outcome];
    EXPECT_NE(outcome, Outcome::wrong) << name << ": " << message;
    if (getenv("GRADC_CASES") && outcome != Outcome::passed)
      llvm::errs() << name
                   << (outcome == Outcome::unsupported ? " unsupported: " : " not compared: ")
                   << message << "\n";
  }
  llvm::outs() << count[Outcome::passed] << " passed, " << count[Outcome::unsupported]
               << " unsupported, " << count[Outcome::notCompared] << " not compared, "
               << count[Outcome::wrong] << " wrong\n";
  // What is known to work keeps working.
  EXPECT_GE(count[Outcome::passed], 700);
}

} // namespace
