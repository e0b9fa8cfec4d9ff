// One of ONNX's own test cases: a model, its inputs, and what it computes of them.
#ifndef TEST_UNIT_COMPILER_ONNXCASE_H
#define TEST_UNIT_COMPILER_ONNXCASE_H

#include "compiler/Compiler.h"
#include "compiler/import/onnx/OnnxModel.h"

namespace gradc::test {

enum class Outcome { passed, unsupported, wrong, notCompared };

struct CaseResult {
  Outcome outcome = Outcome::wrong;
  std::string message;
  /// Inputs that the importer bound to constants, because nodes read them as shape or attribute.
  unsigned bound = 0;
  /// Nodes whose results were known at compile time, of how many.
  unsigned folded = 0, nodes = 0;
  /// Launches of compiled kernels; none where all of the results were known.
  unsigned launches = 0;
};

/// Another set of cases, such as those of a newer version of ONNX: GRADC_CASES_FOLDER; null: none.
const char *otherCases();
/// The folders of all cases, sorted: of libonnx-testdata, empty where it is not installed, or of
/// another set.
std::vector<std::string> caseFolders(const char *set = nullptr);

/// The case's model, at the oldest operator set that is read at least.
onnx::ModelProto readCase(const std::string &folder);
/// Its inputs, by name, as far as gradc has their types.
std::map<std::string, mlir::grad::HostTensor>
caseInputs(const std::string &folder, const onnx::ModelProto &model, mlir::MLIRContext &context);
mlir::FailureOr<Imported> importCase(mlir::MLIRContext &context, const onnx::ModelProto &model,
                                     const CompileOptions &options);

/// Compiles the case for this machine, with all inputs left to run time but those that the importer
/// must know, runs it, and compares.
CaseResult runCase(const std::string &folder);

} // namespace gradc::test

#endif
