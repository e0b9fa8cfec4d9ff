// The meaning of a trained model's outputs, derived from its losses.
#ifndef COMPILER_IMPORT_OBJECTIVE_PREDICTIONS_H
#define COMPILER_IMPORT_OBJECTIVE_PREDICTIONS_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/model/onnx.pb.h"

namespace gradc {

/// One prediction per graph output that a loss takes as class scores.
std::vector<Prediction> describePredictions(const spec::Training &training,
                                            const onnx::GraphProto &graph);

} // namespace gradc

#endif
