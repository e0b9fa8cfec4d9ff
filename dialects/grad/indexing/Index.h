// How gather and scatter address an element of their data: shared by types, evaluation and loops.
#ifndef DIALECTS_GRAD_INDEXING_INDEX_H
#define DIALECTS_GRAD_INDEXING_INDEX_H

#include "dialects/grad/Build.h"
#include "dialects/grad/Scalar.h"

namespace mlir::grad {

/// An attribute of a scatter's loops: those whose target an index chooses.
inline constexpr StringLiteral indexedLoops = "grad.indexed_loops";

/// The attributes of gather and scatter. A coordinate is a dim of the picked elements or, where
/// it is negative, an index.
struct IndexedDims {
  ArrayRef<int64_t> dims, indexDims;

  bool isIndex(size_t dim) const { return dims[dim] < 0; }
  /// The indices operand that chooses the element along a dim of the data.
  size_t indexOf(size_t dim) const { return size_t(-1 - dims[dim]); }

  /// The shape of the picked elements: C1, C2 and C3.
  LogicalResult infer(RankedTensorType data, TypeRange indices, SmallVectorImpl<int64_t> &shape,
                      llvm::function_ref<LogicalResult(const Twine &)> fail) const;
  /// The coordinates in the data of the picked element at `at`, negative indices wrapped; false
  /// where one is out of range.
  bool locate(ArrayRef<int64_t> at, ArrayRef<HostTensor> indices, ArrayRef<int64_t> dataShape,
              SmallVectorImpl<int64_t> &coordinates) const;
};

/// How many of a list of indices choose the same one of `size` elements, at most. Indices out of
/// range choose none.
int64_t mostReaders(ArrayRef<int64_t> indices, int64_t size);
/// Whether the gradient of a gather at `count` known indices is gathers, one for each of the
/// readers of an element: they are few, and read little more than the gather did.
bool areReadsCheap(int64_t mostReaders, int64_t size, int64_t count);

/// An index as i64, counted from the front of a dim of `size`.
Scalar wrapIndex(OpBuilder &builder, Location location, Value index, int64_t size);

} // namespace mlir::grad

#endif
