// Functions that a model defines itself.
#ifndef COMPILER_IMPORT_ONNX_MODEL_FUNCTIONS_H
#define COMPILER_IMPORT_ONNX_MODEL_FUNCTIONS_H

#include "compiler/import/onnx/model/onnx.pb.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"

namespace gradc {

/// Replaces each call of a model's function by the function's nodes, and removes the functions.
/// `opset` is the model's; errors are reported at the call, within the file.
mlir::LogicalResult inlineFunctions(onnx::ModelProto &model, int64_t opset, mlir::Location file);

} // namespace gradc

#endif
