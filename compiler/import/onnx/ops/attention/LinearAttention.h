// Attention that represents its past by one matrix per head.
#ifndef COMPILER_IMPORT_ONNX_OPS_ATTENTION_LINEARATTENTION_H
#define COMPILER_IMPORT_ONNX_OPS_ATTENTION_LINEARATTENTION_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

mlir::LogicalResult importLinearAttention(Node &n);

} // namespace gradc

#endif
