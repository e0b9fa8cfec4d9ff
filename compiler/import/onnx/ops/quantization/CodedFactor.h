// Factors of products whose elements are codes of a few bits.
#ifndef COMPILER_IMPORT_ONNX_OPS_QUANTIZATION_CODEDFACTOR_H
#define COMPILER_IMPORT_ONNX_OPS_QUANTIZATION_CODEDFACTOR_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// Checks attribute block_size, the number of codes that share a scale.
mlir::LogicalResult expectBlock(Node &n, int64_t block);

/// The constant of operand `i`, bytes that hold codes.
mlir::FailureOr<mlir::grad::HostTensor> knownBytes(Node &n, unsigned i);

/// Operand `i`, one float for each block of a row.
mlir::FailureOr<mlir::grad::Expr> perBlock(Node &n, unsigned i, llvm::ArrayRef<int64_t> shape);

/// Attributes N and K, the rows and columns of B in A B'.
struct CodedFactor {
  int64_t columns, steps;
};

mlir::FailureOr<CodedFactor> readFactor(Node &n);
/// Operand 0 times the transposed weight, in operand 0's type.
mlir::grad::Expr multiplyByRows(Node &n, mlir::grad::Expr weight);

} // namespace gradc

#endif
