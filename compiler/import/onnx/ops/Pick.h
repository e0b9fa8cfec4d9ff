// Ops that only move elements to places known at compile time, shared by Gather, Pad, Resize, and
// others.
#ifndef COMPILER_IMPORT_ONNX_OPS_PICK_H
#define COMPILER_IMPORT_ONNX_OPS_PICK_H

#include "dialects/grad/Build.h"

namespace gradc {

constexpr int64_t maxPieces = 64;
/// result[..., i, ...] = x[..., indices[i], ...] along `dim`, as slices, broadcasts, and
/// concatenations. Null if that takes more than `maxPieces` pieces, or `mostSlices` different
/// slices. `indices` are in range.
mlir::Value pick(mlir::grad::Expr x, int64_t dim, llvm::ArrayRef<int64_t> indices,
                 int64_t mostSlices = maxPieces);
/// The most slices that pick among `size` elements in less time than a gather, with their
/// gradients: that of a slice is a pad of that size, and a gather's reads each reader of an
/// element.
int64_t mostSlicesWithGradient(llvm::ArrayRef<int64_t> indices, int64_t size);
/// The maximum length of index lists.
constexpr int64_t maxIndices = 1 << 24;

/// x surrounded by `low` and `high` elements of `value`; one number per dim.
mlir::grad::Expr padAround(mlir::grad::Expr x, llvm::ArrayRef<int64_t> low,
                           llvm::ArrayRef<int64_t> high, double value = 0);

} // namespace gradc

#endif
