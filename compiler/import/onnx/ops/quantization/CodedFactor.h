// Factors of products whose elements are codes of a few bits.
#ifndef COMPILER_IMPORT_ONNX_OPS_QUANTIZATION_CODEDFACTOR_H
#define COMPILER_IMPORT_ONNX_OPS_QUANTIZATION_CODEDFACTOR_H

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "llvm/Support/MathExtras.h"

namespace gradc {

/// How a node's codes are stored, in rows.
struct Coding {
  int64_t bits, block;
  const NarrowType *narrow = nullptr; ///< of codes that are elements; null if bytes hold them

  /// Bytes hold codes without signs, which represent the number this much below. Codes that are
  /// elements represent themselves.
  int64_t half() const { return narrow ? 0 : int64_t(1) << (bits - 1); }
  int64_t blocks(int64_t columns) const { return llvm::divideCeil(columns, block); }
  /// In the graph, where an element of a narrow type takes a byte.
  int64_t bytes(int64_t codes) const { return narrow ? codes : llvm::divideCeil(codes * bits, 8); }
};

/// Checks attribute block_size, the number of codes that share a scale.
mlir::LogicalResult expectBlock(Node &n, int64_t block);

/// The constant of operand `i`, bytes that hold codes. Its shape may be another one than the
/// operand's.
mlir::FailureOr<mlir::grad::HostTensor> knownBytes(Node &n, unsigned i);

/// Operand `i`, one float for each block of a row. Initializers train only if `trainable` names
/// them.
mlir::FailureOr<mlir::grad::Expr> perBlock(Node &n, unsigned i, llvm::ArrayRef<int64_t> shape);

/// Checks an attribute with the bits of a code.
mlir::LogicalResult expectBits(Node &n, int64_t bits);
/// The codes of operand `i` less `half`, one per element: the first `shape.back()` of each row. A
/// row of the operand holds `stored` codes, the first of a byte in its lowest bits.
mlir::FailureOr<mlir::grad::Expr> unpack(Node &n, unsigned i, const Coding &coding,
                                         llvm::ArrayRef<int64_t> shape, int64_t stored);
/// The zero points of blocks relative to `half`: as codes are stored, or as floats. Null if the
/// node has none.
mlir::FailureOr<std::optional<mlir::grad::Expr>>
zeroPoints(Node &n, unsigned i, const Coding &coding, llvm::ArrayRef<int64_t> shape);
/// (code - zero point) * scale, in f32. Blocks lie along the last dim.
mlir::grad::Expr dequantize(mlir::grad::Expr codes, mlir::grad::Expr scales,
                            std::optional<mlir::grad::Expr> zeros, int64_t block);

/// Attributes N and K, the rows and columns of B in A B'.
struct CodedFactor {
  int64_t columns, steps;
};

mlir::FailureOr<CodedFactor> readFactor(Node &n);
/// Operand 0 times the transposed weight, in operand 0's type.
mlir::grad::Expr multiplyByRows(Node &n, mlir::grad::Expr weight);

} // namespace gradc

#endif
