// ai.onnx.preview's FlexAttention.
#ifndef COMPILER_IMPORT_ONNX_OPS_ATTENTION_FLEXATTENTION_H
#define COMPILER_IMPORT_ONNX_OPS_ATTENTION_FLEXATTENTION_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

mlir::LogicalResult importFlexAttention(Node &node);

} // namespace gradc

#endif
