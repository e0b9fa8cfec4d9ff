// The parameters that a list of patterns in the spec means.
#ifndef COMPILER_IMPORT_TRAINEDPARAMETERS_H
#define COMPILER_IMPORT_TRAINEDPARAMETERS_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/States.h"
#include "compiler/import/spec/StepSpec.h"

namespace gradc {

/// The states of parameters that train and match one of the block's patterns (none: all), each
/// once. Fails (said) for a pattern that matches none. `block`: the one of the spec that has a
/// field `pattern`.
mlir::FailureOr<llvm::SetVector<llvm::StringRef>>
trainedParameters(const Imported &imported, const States &states, const SpecFile &spec,
                  SpecFile::Step block,
                  const google::protobuf::RepeatedPtrField<std::string> &patterns);

} // namespace gradc

#endif
