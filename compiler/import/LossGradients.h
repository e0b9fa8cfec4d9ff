// A training spec's derivatives: values that the loss is made of.
#ifndef COMPILER_IMPORT_LOSSGRADIENTS_H
#define COMPILER_IMPORT_LOSSGRADIENTS_H

#include "compiler/import/onnx/OnnxModel.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// Adds a node to the model for each block `gradients` of a training spec. Its results take the
/// place of graph inputs of their names. The model as a file stays as it is.
mlir::LogicalResult addLossGradients(const SpecFile &spec, OnnxModel &model);

} // namespace gradc

#endif
