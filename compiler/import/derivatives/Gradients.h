// A training spec that asks for gradients instead of training.
#ifndef COMPILER_IMPORT_DERIVATIVES_GRADIENTS_H
#define COMPILER_IMPORT_DERIVATIVES_GRADIENTS_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// Returns a module with one entry, @gradients. It computes the model's outputs, and requests the
/// derivatives that the spec asks for.
mlir::FailureOr<Imported> importGradients(const SpecFile &spec, const OnnxModel &model,
                                          const ImportOptions &options);

} // namespace gradc

#endif
