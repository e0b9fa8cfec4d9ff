// Tensors of strings: bytes with one more dim, zeros behind each string's end.
#ifndef COMPILER_IMPORT_TEXT_H
#define COMPILER_IMPORT_TEXT_H

#include "compiler/import/onnx/OnnxModel.h"

namespace gradc {

/// "string [4]", of the bytes' type.
std::string describeText(mlir::RankedTensorType type);

/// The strings as bytes (u8), their longest and at least one each; an error where one has a zero.
mlir::FailureOr<mlir::grad::HostTensor> textOf(const onnx::TensorProto &tensor,
                                               mlir::MLIRContext &context, mlir::Location where);
mlir::grad::HostTensor textOf(llvm::ArrayRef<std::string> strings, llvm::ArrayRef<int64_t> shape,
                              mlir::MLIRContext &context);
/// The bytes of the longest string.
int64_t longestText(const mlir::grad::HostTensor &text);
/// The same strings with `bytes` each, as many as the longest at least.
mlir::grad::HostTensor withBytes(const mlir::grad::HostTensor &text, int64_t bytes);

} // namespace gradc

#endif
