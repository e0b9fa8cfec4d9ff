// Embedding bags, as exporters write them.
#ifndef COMPILER_IMPORT_EMBEDDINGBAG_H
#define COMPILER_IMPORT_EMBEDDINGBAG_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The value of a Loop node of `trips` iterations, one a bag of embeddings, with this body; null
/// unless it is one, and all bags are of the same size.
mlir::FailureOr<mlir::Value> raiseEmbeddingBags(Node &node, const onnx::GraphProto &body,
                                                int64_t trips);

} // namespace gradc

#endif
