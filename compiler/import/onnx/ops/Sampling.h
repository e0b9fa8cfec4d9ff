// Pictures read between their pixels, at positions computed at run time.
#ifndef COMPILER_IMPORT_ONNX_OPS_SAMPLING_H
#define COMPILER_IMPORT_ONNX_OPS_SAMPLING_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The pixels around a position along one dim, as i64, and their weights. Weights are empty for a
/// single unweighted pixel.
struct PixelTaps {
  llvm::SmallVector<mlir::grad::Expr> pixels, weights;
};

/// Reads `data` between pixels, in the dims that are negative in `dims`, numbered as in
/// grad.gather. All positions have one shape, whose dims are `indexDims` of the result.
struct Sampler {
  mlir::grad::Expr data;
  llvm::SmallVector<int64_t> dims, indexDims;
  bool mayBeOutside;

  /// The data at one pixel, times its weight if there is one; 0 outside, for any weight.
  mlir::grad::Expr pixel(llvm::ArrayRef<mlir::grad::Expr> indices,
                         std::optional<mlir::grad::Expr> weight) const;
  /// The weighted sum over all combinations of taps; one entry per index of the data.
  mlir::grad::Expr sum(llvm::ArrayRef<PixelTaps> taps) const;
};

/// The type for positions and weighted sums: f32 for 16-bit floats.
mlir::Type wideFloat(mlir::Type element);
mlir::grad::Expr floorOf(mlir::grad::Expr x);
/// The two pixels next to each position.
PixelTaps linearTaps(mlir::grad::Expr position);

} // namespace gradc

#endif
