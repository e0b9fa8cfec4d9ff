// Sums of overlapping windows: Col2Im, and transposed convolutions of few channels.
#ifndef COMPILER_IMPORT_ONNX_OPS_WINDOW_FOLD_H
#define COMPILER_IMPORT_ONNX_OPS_WINDOW_FOLD_H

#include "compiler/import/onnx/ops/Window.h"

namespace gradc {

/// The windows of pictures, and their elements: [images * taps, windows], where an image is a
/// channel of a sample.
struct Columns {
  Window window;
  int64_t images;
  llvm::SmallVector<int64_t> positions; ///< of windows, per dim
  llvm::SmallVector<int64_t> picture;

  /// The number of blocks of a window's elements in dim `d`; a block is as long as the stride.
  int64_t blocks(int64_t d) const { return llvm::divideCeil(window.extent(d), window.strides[d]); }
  /// Whether block `b` of a window has a tap. Dilated windows have blocks without one.
  bool hasTap(int64_t d, int64_t b) const {
    int64_t from = b * window.strides[d], to = from + window.strides[d];
    int64_t tap = llvm::alignTo(from, window.dilations[d]);
    return tap < std::min(to, window.extent(d));
  }
};

/// Whether there are few blocks per window, and they hold few zeros beside the taps.
bool hasFewBlocks(const Columns &columns);
/// The sum of all windows [images * taps, windows], each at its place: [images, picture...]. The
/// operand's dims may be divided otherwise.
mlir::grad::Expr fold(Node &n, mlir::grad::Expr x, const Columns &columns);

} // namespace gradc

#endif
