// Tensors of strings: bytes with one more dim, and zeros after each string's end.
#ifndef COMPILER_IMPORT_ONNX_TEXT_H
#define COMPILER_IMPORT_ONNX_TEXT_H

#include "compiler/import/onnx/model/OnnxModel.h"

namespace gradc {

/// For example "string [4]", for the type of its bytes.
std::string describeText(mlir::RankedTensorType type);

/// The strings as bytes (u8), each as long as the longest string and at least 1. A string that
/// contains a zero byte is an error.
mlir::FailureOr<mlir::grad::HostTensor> textOf(const onnx::TensorProto &tensor,
                                               mlir::MLIRContext &context, mlir::Location where);
mlir::grad::HostTensor textOf(llvm::ArrayRef<std::string> strings, llvm::ArrayRef<int64_t> shape,
                              mlir::MLIRContext &context);
/// The number of bytes of the longest string.
int64_t longestText(const mlir::grad::HostTensor &text);
/// The same strings with `bytes` bytes each, which must be at least the longest string's.
mlir::grad::HostTensor withBytes(const mlir::grad::HostTensor &text, int64_t bytes);

} // namespace gradc

#endif
