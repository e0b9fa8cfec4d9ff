// Elements at indices that are known at compile time, as ops that only move: what Gather, Pad and
// Resize share.
#ifndef COMPILER_IMPORT_PICK_H
#define COMPILER_IMPORT_PICK_H

#include "dialects/grad/Build.h"

namespace gradc {

/// result[..., i, ...] = x[..., indices[i], ...] along `dim`, as slices, broadcasts and
/// concatenations. Null where that takes more than `maxPieces` slices. `indices` are in range.
mlir::Value pick(mlir::grad::Expr x, int64_t dim, llvm::ArrayRef<int64_t> indices);
constexpr int64_t maxPieces = 64;
/// Lists of indices longer than this are not made.
constexpr int64_t maxIndices = 1 << 24;
/// The slices that `indices` take one after the other: runs of equal stride.
int64_t countRuns(llvm::ArrayRef<int64_t> indices);

} // namespace gradc

#endif
