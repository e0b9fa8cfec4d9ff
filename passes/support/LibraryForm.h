// Whether a kernel is one call of a library, and that call's geometry.
#ifndef PASSES_LIBRARYFORM_H
#define PASSES_LIBRARYFORM_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// A tensor as a library sees it: sizes and strides in elements. Of a matrix product [batch, rows,
/// columns]; of a convolution's data [picture, channel, y, x], of its filter [output, input
/// channel, y, x].
struct LibraryTensor {
  llvm::SmallVector<int64_t, 4> sizes, strides;
};

/// The rows of the run in a factor that are summed over: `pieces` equal pieces of it hold them all,
/// `row` elements each. A `row` of 0: none are.
struct SummedRows {
  int64_t row = 0, pieces = 1;
};

/// The numbers of a call. A convolution slides over [y, x].
struct LibraryGeometry {
  LibraryTensor lhs, rhs, result;
  SummedRows summed[2]; // of lhs and rhs
  llvm::SmallVector<int64_t, 2> low, high, stride, dilation;
};

/// How far one call gets with a kernel's ops: the call, what it contracts, and its last op. Null
/// where no library has the kernel's contraction. A call that keeps what GELU is applied to is all
/// of the kernel.
struct LibraryPrefix {
  mlir::exec::LibraryAttr call;
  mlir::Operation *contraction = nullptr, *last = nullptr;
};
LibraryPrefix findLibraryPrefix(mlir::exec::KernelOp kernel);

/// The geometry of a kernel's `library` call.
LibraryGeometry libraryGeometry(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
