// Derivatives in a training spec: values that losses are built from.
#ifndef COMPILER_IMPORT_DERIVATIVES_LOSSGRADIENTS_H
#define COMPILER_IMPORT_DERIVATIVES_LOSSGRADIENTS_H

#include "compiler/import/onnx/model/OnnxModel.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// Adds a node to the model for each block `gradients` of a training spec. Its results replace the
/// graph inputs of the same names. The model's file stays unchanged.
mlir::LogicalResult addLossGradients(const SpecFile &spec, OnnxModel &model);

} // namespace gradc

#endif
