// Elements of pictures between their pixels, at positions computed at run time.
#ifndef COMPILER_IMPORT_SAMPLING_H
#define COMPILER_IMPORT_SAMPLING_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The pixels around a position along one dim, as i64, and their weights; none where there is one
/// pixel that counts as it is.
struct PixelTaps {
  llvm::SmallVector<mlir::grad::Expr> pixels, weights;
};

/// Reads between the pixels of `data`: the dims where `dims` is negative, numbered as grad.gather
/// does. Positions have one shape, whose dims are `indexDims` of the result.
struct Sampler {
  mlir::grad::Expr data;
  llvm::SmallVector<int64_t> dims, indexDims;
  bool mayBeOutside;

  /// The data at one pixel, times its weight if it has one; 0 outside, whatever the weight is.
  mlir::grad::Expr pixel(llvm::ArrayRef<mlir::grad::Expr> indices,
                         std::optional<mlir::grad::Expr> weight) const;
  /// The weighted sum over all combinations of taps; one entry for each index of the data.
  mlir::grad::Expr sum(llvm::ArrayRef<PixelTaps> taps) const;
};

/// The type to compute positions and weighted sums in: f32 for 16-bit floats.
mlir::Type wideFloat(mlir::Type element);
mlir::grad::Expr floorOf(mlir::grad::Expr x);
/// The two pixels beside each position.
PixelTaps linearTaps(mlir::grad::Expr position);

} // namespace gradc

#endif
