// What a graph says about the values that it computes.
#ifndef COMPILER_IMPORT_TRANSFER_GRAPHVALUES_H
#define COMPILER_IMPORT_TRANSFER_GRAPHVALUES_H

#include "compiler/import/transfer/GraphUses.h"

namespace gradc {

/// Whether a value is made of zeros, of a Constant node or a scalar, as exporters write the bias of
/// a layer that has none. Other initializers may be a bias that begins at 0.
bool isZero(const GraphUses &uses, std::string value);

/// Whether a value is of f32, as far as the graph says without types of its own. Nodes that move or
/// combine values follow their first operand.
bool isFloat(const GraphUses &uses, const onnx::GraphProto &graph, std::string value);

} // namespace gradc

#endif
