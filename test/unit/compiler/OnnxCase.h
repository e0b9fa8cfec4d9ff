// One of ONNX's own test cases: a model, its inputs, and what it computes of them.
#ifndef TEST_UNIT_COMPILER_ONNXCASE_H
#define TEST_UNIT_COMPILER_ONNXCASE_H

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

/// The folders of all cases of libonnx-testdata, sorted; empty where it is not installed.
std::vector<std::string> caseFolders();

/// Compiles the case for this machine, with all inputs left to run time but those that the importer
/// must know, runs it, and compares.
CaseResult runCase(const std::string &folder);

} // namespace gradc::test

#endif
