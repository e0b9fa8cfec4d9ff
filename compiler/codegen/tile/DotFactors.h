// Factors of dot products in registers: words of two 16-bit floats, four 8-bit integers or eight
// 4-bit ones.
#ifndef COMPILER_CODEGEN_TILE_DOTFACTORS_H
#define COMPILER_CODEGEN_TILE_DOTFACTORS_H

#include "compiler/codegen/tile/LoopNest.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace gradc::tile {

enum class DotKind {
  floats,   ///< bf16 times bf16, summed in f32
  integers, ///< unsigned times signed bytes, summed in 32 bits
  codes     ///< f32 times signed integers, of four bits where they are stored, summed in f32
};

/// The kind of sum that the op computes, if it is one of these.
std::optional<DotKind> dotKind(mlir::linalg::GenericOp op);
/// Whether vectors of the kernel are as long as those of the level's instructions.
bool hasDots(const LoopNest &nest, DotKind kind);
/// The steps of a word.
int64_t stepsOf(DotKind kind);

/// A word in each lane: in the instruction's format, or as two vectors if the level lacks the
/// instruction.
struct DotFactor {
  DotFactor() = default;
  DotFactor(LoopNest &nest, mlir::Value words, DotKind kind, bool isLhs);

  mlir::Value words, first, second;
};

/// Element `i` of each word of eight signed integers, as f32.
mlir::Value floatOfCode(LoopNest &nest, mlir::Value words, int64_t i);

/// acc + the products of all elements of the words.
mlir::Value dot(LoopNest &nest, DotKind kind, mlir::Value acc, const DotFactor &row,
                const DotFactor &column);

} // namespace gradc::tile

#endif
