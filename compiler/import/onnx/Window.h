// Shared by convolutions and pools: their window attributes, and the order of dims that grad
// wants.
#ifndef COMPILER_IMPORT_WINDOW_H
#define COMPILER_IMPORT_WINDOW_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The window of one node, a number a spatial dim.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, low, high;
  llvm::StringRef autoPad;

  int64_t rank() const { return kernel.size(); }
  /// From a window's first element to its last.
  int64_t extent(int64_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  bool isSame() const { return autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER"; }
  /// Windows over a dim of `size`; 0 where none fits or there is nothing.
  int64_t positions(int64_t d, int64_t size) const {
    int64_t room = size + low[d] + high[d] - extent(d);
    return size == 0 || room < 0 ? 0 : room / strides[d] + 1;
  }
  /// Splits padding so that the odd one stands where auto_pad says.
  void setPads(int64_t d, int64_t total);
};

/// Checks `count` numbers of at least `least` (and of a sensible size).
mlir::LogicalResult expectNumbers(Node &n, llvm::StringRef name, llvm::ArrayRef<int64_t> values,
                                  size_t count, int64_t least);
/// Reads strides, dilations, pads and auto_pad; every problem is said. Explicit pads only with
/// auto_pad NOTSET, else 0.
mlir::FailureOr<Window> readWindow(Node &n, llvm::ArrayRef<int64_t> kernel);
/// The same with the attribute kernel_shape, of as many dims as operand 0 has spatial ones.
mlir::FailureOr<Window> readWindow(Node &n);
/// SAME: pads such that there are size / stride windows, rounded up.
void padToSame(Window &window, llvm::ArrayRef<int64_t> sizes);
/// Checks that a window fits in every spatial dim of operand 0.
mlir::LogicalResult expectFits(Node &n, const Window &window);
mlir::grad::WindowAttr windowAttribute(Node &n, const Window &window);

/// [N, C, d...] as [d..., N, C]: windows move over the leading dims, channels lie together.
mlir::grad::Expr spatialFirst(mlir::grad::Expr x);
/// [d..., N, C] as [N, C, d...].
mlir::grad::Expr channelsSecond(mlir::grad::Expr x);

} // namespace gradc

#endif
