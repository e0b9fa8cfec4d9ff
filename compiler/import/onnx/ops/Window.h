// Window attributes, and the order of dims that grad expects; shared by convolutions and pools.
#ifndef COMPILER_IMPORT_ONNX_OPS_WINDOW_H
#define COMPILER_IMPORT_ONNX_OPS_WINDOW_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The window of one node, with one number per spatial dim.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, low, high;
  llvm::StringRef autoPad;

  int64_t rank() const { return kernel.size(); }
  /// The distance from a window's first element to its last, both included.
  int64_t extent(int64_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  bool isSame() const { return autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER"; }
  /// The number of windows over a dim of `size`; 0 if none fits or the dim is empty.
  int64_t positions(int64_t d, int64_t size) const {
    int64_t room = size + low[d] + high[d] - extent(d);
    return size == 0 || room < 0 ? 0 : room / strides[d] + 1;
  }
  /// Splits padding; auto_pad determines the side of an odd element.
  void setPads(int64_t d, int64_t total);
};

/// Checks that there are `count` numbers, each at least `least` and of a sensible size.
mlir::LogicalResult expectNumbers(Node &n, llvm::StringRef name, llvm::ArrayRef<int64_t> values,
                                  size_t count, int64_t least);
/// Reads strides, dilations, pads, and auto_pad; reports every problem. Explicit pads require
/// auto_pad NOTSET; otherwise pads are 0.
mlir::FailureOr<Window> readWindow(Node &n, llvm::ArrayRef<int64_t> kernel);
/// The same, with attribute kernel_shape, which has one number per spatial dim of operand 0.
mlir::FailureOr<Window> readWindow(Node &n);
/// For SAME, sets pads so that there are size / stride windows, rounded up.
void padToSame(Window &window, llvm::ArrayRef<int64_t> sizes);
/// Checks that a window fits in every spatial dim of operand 0.
mlir::LogicalResult expectFits(Node &n, const Window &window);
mlir::grad::WindowAttr windowAttribute(Node &n, const Window &window);

/// Converts [N, C, d...] to [d..., N, C]: windows move over the leading dims, channels are
/// contiguous.
mlir::grad::Expr spatialFirst(mlir::grad::Expr x);
/// Converts [d..., N, C] to [N, C, d...].
mlir::grad::Expr channelsSecond(mlir::grad::Expr x);

/// Imports a node whose operand 0 and result have channels last by `import`, which expects them
/// second.
mlir::LogicalResult importChannelsLast(Node &n, ImportFunction import);
/// The same if the node has channels_last; ONNX Runtime sets it in the models that it optimizes.
template <ImportFunction import> mlir::LogicalResult importByChannels(Node &n) {
  return n.integer("channels_last", 0) ? importChannelsLast(n, import) : import(n);
}

} // namespace gradc

#endif
