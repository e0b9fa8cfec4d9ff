// The meaning of a trained model's outputs, as its losses tell it.
#ifndef COMPILER_IMPORT_PREDICTIONS_H
#define COMPILER_IMPORT_PREDICTIONS_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/onnx.pb.h"

namespace gradc {

/// One for each graph output that a loss takes as scores of classes.
std::vector<Prediction> describePredictions(const spec::Training &training,
                                            const onnx::GraphProto &graph);

} // namespace gradc

#endif
