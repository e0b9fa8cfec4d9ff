// Embedding bags, in the form that exporters write.
#ifndef COMPILER_IMPORT_ONNX_OPS_CONTROL_EMBEDDINGBAG_H
#define COMPILER_IMPORT_ONNX_OPS_CONTROL_EMBEDDINGBAG_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// Turns a Loop node of `trips` iterations with this body into embedding bags, one per iteration.
/// Null if the loop has another form or its bags have different sizes.
mlir::FailureOr<mlir::Value> raiseEmbeddingBags(Node &node, const onnx::GraphProto &body,
                                                int64_t trips);

/// Turns a Loop node that PyTorch's newer exporter has written for an embedding bag, and that
/// appends its rows to a sequence, into one reduction. False, and nothing is built, if the node is
/// another one or its bags have different sizes.
bool raiseRecordedEmbeddingBag(Node &node, const onnx::GraphProto &body);

} // namespace gradc

#endif
