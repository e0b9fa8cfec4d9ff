// The model as evaluation computes it, for other programs that run a trained model.
#ifndef COMPILER_IMPORT_ONNX_MODEL_EVALUATIONFORM_H
#define COMPILER_IMPORT_ONNX_MODEL_EVALUATIONFORM_H

#include "compiler/import/onnx/model/onnx.pb.h"

#include <string>

namespace gradc {

/// Removes training from a graph: BatchNormalization gets training_mode = 0 and a single output,
/// and Dropout loses its training_mode operand. A BatchNormalization whose new statistics are read
/// uses the batch in evaluation as well, and stays. Returns whether anything changed.
bool makeEvaluationForm(onnx::GraphProto &graph);

/// The same for a serialized model with the nodes of `graph`. Returns the bytes unchanged if
/// nothing changes.
std::string evaluationForm(std::string model, const onnx::GraphProto &graph);

} // namespace gradc

#endif
