// Attributes by which the cutting of states informs memory planning.
#ifndef PASSES_MEMORY_CUTSTATES_H
#define PASSES_MEMORY_CUTSTATES_H

#include "mlir/Support/LLVM.h"

namespace gradc {

/// On a launch of which a rank runs only the units of its own pieces: the symbol of the exec.cut,
/// and the number of units per piece.
inline constexpr llvm::StringLiteral launchCutName = "exec.cut";
inline constexpr llvm::StringLiteral unitsPerPieceName = "exec.units_per_piece";
/// On a scatter or gather: the symbols of its operands' exec.cuts.
inline constexpr llvm::StringLiteral cutsName = "exec.cuts";
/// On a scatter: the numbers of the results that a reader needs whole, with zeros where the rank
/// owns nothing.
inline constexpr llvm::StringLiteral zerosName = "exec.zeros";

} // namespace gradc

#endif
