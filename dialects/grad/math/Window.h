// Windows of convolutions and pools: result shapes, loops over taps, and dilated and padded
// operands.
#ifndef DIALECTS_GRAD_MATH_WINDOW_H
#define DIALECTS_GRAD_MATH_WINDOW_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// Appends the number of windows over each leading dim of `operand` to `shape`. Errors: fewer dims
/// than the window has, or a dim in which no window fits.
LogicalResult inferWindows(std::optional<Location> location, RankedTensorType operand,
                           WindowAttr window, SmallVectorImpl<int64_t> &shape);

/// Calls `body(tap, element)` for the taps of the window at `position` (its leading indices) that
/// fall on an element of leading dims `shape`, in row-major order: the tap's row-major number and
/// the element's leading dims.
void forEachTap(WindowAttr window, ArrayRef<int64_t> shape, ArrayRef<int64_t> position,
                llvm::function_ref<void(int64_t tap, ArrayRef<int64_t> element)> body);

/// The type of a tap's number: i8 for up to 127 taps, else i32.
IntegerType tapNumberType(WindowAttr window);

/// Whether some element of leading dims `shape` is read by more than one pair of a window and a
/// tap.
bool overlaps(WindowAttr window, ArrayRef<int64_t> shape);

/// Whether each window has a tap on an operand of leading dims `shape`.
bool allReach(WindowAttr window, ArrayRef<int64_t> shape);

/// Number of pairs of a window and a tap that falls on an element, over all windows.
int64_t countTaps(WindowAttr window, ArrayRef<int64_t> shape);

/// The operand dilated and padded, with the first element of `nothing` in gaps and padding; the
/// operand itself if the window needs neither. Elements to be cropped are still included.
Value spreadOut(OpBuilder &builder, Location location, Value operand, WindowAttr window,
                const HostTensor &nothing);

/// The position of a window's tap in that operand, for each dim: window * stride + tap * dilation +
/// cropped elements, in dims of the loop nest from `windows` and from `taps` on. Taps count
/// upwards, `reversed` or not.
SmallVector<AffineExpr> tapPositions(Builder &builder, WindowAttr window, int64_t windows,
                                     int64_t taps);

} // namespace mlir::grad

#endif
