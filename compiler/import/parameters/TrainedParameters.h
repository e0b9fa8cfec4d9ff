// The parameters that match a list of patterns in the spec.
#ifndef COMPILER_IMPORT_PARAMETERS_TRAINEDPARAMETERS_H
#define COMPILER_IMPORT_PARAMETERS_TRAINEDPARAMETERS_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/States.h"
#include "compiler/import/spec/StepSpec.h"

namespace gradc {

/// The states of trained parameters that match any pattern of the block, each once; all states if
/// the block has no patterns. Reports a pattern that matches none, and fails. `block`: the block of
/// the spec that has a field `pattern`.
mlir::FailureOr<llvm::SetVector<llvm::StringRef>>
trainedParameters(const Imported &imported, const States &states, const SpecFile &spec,
                  SpecFile::Step block,
                  const google::protobuf::RepeatedPtrField<std::string> &patterns);

} // namespace gradc

#endif
