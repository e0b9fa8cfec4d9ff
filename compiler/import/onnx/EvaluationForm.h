// The model as evaluation computes it: what others run of a trained model.
#ifndef COMPILER_IMPORT_EVALUATIONFORM_H
#define COMPILER_IMPORT_EVALUATIONFORM_H

#include "compiler/import/onnx/onnx.pb.h"

#include <string>

namespace gradc {

/// Takes what only training does out of a graph: BatchNormalization gets training_mode = 0 and its
/// one output, Dropout loses its training_mode operand. A BatchNormalization whose new statistics
/// are read computes with the batch in evaluation, too, and stays. Returns whether anything
/// changed.
bool makeEvaluationForm(onnx::GraphProto &graph);

/// The same of a serialized model, whose nodes are those of `graph`. Without a change the bytes
/// come back as they are.
std::string evaluationForm(std::string model, const onnx::GraphProto &graph);

} // namespace gradc

#endif
