// Matches kernels to library calls, and describes the geometry of such a call.
#ifndef PASSES_KERNEL_LIBRARYFORM_H
#define PASSES_KERNEL_LIBRARYFORM_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// A tensor as a library sees it: sizes and strides in elements. Dims are [batch, rows, columns] in
/// a matrix product, [picture, channel, y, x] for a convolution's data, and [output channel, input
/// channel, y, x] for its filter.
struct LibraryTensor {
  llvm::SmallVector<int64_t, 4> sizes, strides;
};

/// The rows of the run in a factor that the sum runs over: the factor consists of `pieces` equal
/// pieces that hold all rows, with `row` elements per row. `row` is 0 if no rows are summed.
struct SummedRows {
  int64_t row = 0, pieces = 1;
};

/// The geometry of a call. A convolution slides over [y, x].
struct LibraryGeometry {
  LibraryTensor lhs, rhs, result;
  SummedRows summed[2]; // of lhs and rhs
  llvm::SmallVector<int64_t, 2> low, high, stride, dilation;
};

/// The prefix of a kernel's ops that one call computes: the call, the contraction, and the last op.
/// Null if no library has the kernel's contraction. A call that keeps the input of GELU computes
/// the whole kernel.
struct LibraryPrefix {
  mlir::exec::LibraryAttr call;
  mlir::Operation *contraction = nullptr, *last = nullptr;
};
LibraryPrefix findLibraryPrefix(mlir::exec::KernelOp kernel);

/// The geometry of a kernel's `library` call.
LibraryGeometry libraryGeometry(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
