// Tensors that are written as codes, zero points and scales: (code - zero point) * scale.
#ifndef PASSES_RAISE_DEQUANTIZED_H
#define PASSES_RAISE_DEQUANTIZED_H

#include "dialects/grad/Build.h"

namespace gradc {

/// A number of each index along a dim of the tensor, or, without a dim, one for all of it.
struct Spread {
  mlir::Value value; ///< a vector or a scalar; null: there is none
  std::optional<int64_t> dim;

  explicit operator bool() const { return bool(value); }
};

/// What a tensor is computed from. Codes have its shape.
struct Dequantized {
  mlir::Value codes; ///< of 8 bits
  Spread zero;       ///< in i32
  Spread scale;      ///< null: the tensor has 32-bit integers, code - zero point
};

/// A matrix with a number of each for every block of one of its dims.
struct DequantizedBlocks {
  mlir::Value codes;  ///< of 8 bits, or of 16 once known zero points are subtracted
  int64_t dim, block; ///< the dim, and its elements in a block
  mlir::Value scale;  ///< f32; along `dim`, one element for each block
  mlir::Value zero;   ///< the same in i32 or f32, or one number; null: there is none
};

/// Recognizes such a tensor, also reshaped and transposed; the codes are moved alike, by ops built
/// at `builder`. Nothing is built if it is none.
std::optional<Dequantized> findDequantized(mlir::OpBuilder &builder, mlir::Value value);

/// Recognizes such a matrix, also transposed, whose codes, scales and zero points are then moved
/// alike.
std::optional<DequantizedBlocks> findDequantizedBlocks(mlir::OpBuilder &builder, mlir::Value value);

/// The value reshaped and transposed as `moves` do, the last of which comes first.
mlir::Value moved(mlir::grad::Expr value, llvm::ArrayRef<mlir::Operation *> moves);

/// By how much each dim of a tensor grows.
struct Padding {
  explicit Padding(int64_t rank) : low(rank, 0), high(rank, 0) {}
  llvm::SmallVector<int64_t> low, high;
};

/// The codes between copies of a number. Computed ones are padded before they are transposed: as
/// exporters order pictures, their rows are long, and those of few channels are short.
mlir::Value padded(mlir::grad::Expr codes, const Padding &by, int64_t number);

} // namespace gradc

#endif
