// What the cut of states tells the memory plan.
#ifndef PASSES_CUTSTATES_H
#define PASSES_CUTSTATES_H

#include "mlir/Support/LLVM.h"

namespace gradc {

/// Of a launch of which a rank runs the units of its own pieces alone: the symbol of the exec.cut,
/// and how many units a piece has.
inline constexpr llvm::StringLiteral launchCutName = "exec.cut";
inline constexpr llvm::StringLiteral unitsPerPieceName = "exec.units_per_piece";
/// Of a scatter or gather: the symbols of its operands' exec.cuts.
inline constexpr llvm::StringLiteral cutsName = "exec.cuts";
/// Of a scatter: somebody reads all of a result, who expects zeros where a rank owns nothing.
inline constexpr llvm::StringLiteral zerosName = "exec.zeros";

} // namespace gradc

#endif
