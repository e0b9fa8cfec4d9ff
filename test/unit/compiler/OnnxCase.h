// One of ONNX's own test cases: a model, its inputs, and the expected outputs.
#ifndef TEST_UNIT_COMPILER_ONNXCASE_H
#define TEST_UNIT_COMPILER_ONNXCASE_H

#include "compiler/Compiler.h"
#include "compiler/import/onnx/model/OnnxModel.h"

namespace gradc::test {

enum class Outcome { passed, unsupported, wrong, notCompared };

struct CaseResult {
  Outcome outcome = Outcome::wrong;
  std::string message;
  /// Inputs that the importer bound to constants, because nodes read them as shapes or attributes.
  unsigned bound = 0;
  /// The number of nodes whose results were known at compile time, and of all nodes.
  unsigned folded = 0, nodes = 0;
  /// The number of launches of compiled kernels; 0 if all results were known.
  unsigned launches = 0;
};

/// Another set of cases, such as those of a newer version of ONNX: GRADC_CASES_FOLDER; null if
/// there is none.
const char *otherCases();
/// The folders of all cases, sorted: those of libonnx-testdata (empty if it is not installed), or
/// those of another set.
std::vector<std::string> caseFolders(const char *set = nullptr);

/// The case's model, in the oldest supported opset or newer.
onnx::ModelProto readCase(const std::string &folder);
/// The case's inputs by name, if gradc supports their types.
std::map<std::string, mlir::grad::HostTensor>
caseInputs(const std::string &folder, const onnx::ModelProto &model, mlir::MLIRContext &context);
mlir::FailureOr<Imported> importCase(mlir::MLIRContext &context, const onnx::ModelProto &model,
                                     const CompileOptions &options);

/// Compiles the case for this machine, runs it, and compares the results. Inputs are passed at run
/// time, except those that the importer must know.
CaseResult runCase(const std::string &folder);

} // namespace gradc::test

#endif
