// Indices of elements, for nodes that read or write by index.
#ifndef COMPILER_IMPORT_ONNX_OPS_INDICES_H
#define COMPILER_IMPORT_ONNX_OPS_INDICES_H

#include "compiler/import/onnx/ImportGraph.h"

namespace gradc {

/// The indices along `dim` of operand 0, all in range: known indices are checked here, others by
/// every run.
mlir::FailureOr<mlir::Value> expectIndices(Node &node, mlir::Value indices, int64_t dim);

/// The same of operand 1. Where only a run knows the extent of `dim`, negative indices count from
/// its last element. Indices behind operand 1's own extent are 0, or out of range if elements are
/// written there, which then has no effect.
mlir::FailureOr<mlir::Value> expectIndicesOfRun(Node &node, int64_t dim, bool areWritten);

/// Checks integers from -limit to limit - 1 in the same way. `of` names them in errors.
mlir::LogicalResult expectInRange(Node &node, mlir::Value integers, int64_t limit,
                                  llvm::StringRef of);

/// The same for numbers that do not count from the end: from 0 to limit - 1.
mlir::LogicalResult expectFromFront(Node &node, mlir::grad::Expr integers, int64_t limit,
                                    llvm::StringRef of);

/// Checks that operand 1 has one index along `dim` per element that is read or written: it has the
/// rank of operand 0, and no other dim is longer than in operand 0.
mlir::LogicalResult expectElementIndices(Node &node, int64_t dim);

/// Operand 1 as tuples of indices, one tuple per row of its last dim.
struct IndexTuples {
  llvm::SmallVector<mlir::Value> indices; ///< one tensor for each place that is no dim
  llvm::SmallVector<int64_t> dims;        ///< of operand 0, as grad.gather numbers them
  llvm::SmallVector<int64_t> picked;      ///< the shape of the elements that the tuples choose
};
/// Places that only count along a dim of the tuples are that dim, so that rows which exporters
/// number, as x[arange(n), j] does, stay rows of the batch. The last place is an index in any case
/// if `keepsIndex`.
mlir::FailureOr<IndexTuples> expectTuples(Node &node, int64_t batchDims, bool keepsIndex);

/// For longer lists, comparing all pairs takes minutes.
constexpr int64_t mostCompared = 1 << 17;
/// A CPU sorts as many in 10 ms, with 16 MiB for each thread; a GPU compares their pairs in
/// seconds.
constexpr int64_t mostSorted = 1 << 20;
/// grad.argsort: the positions of the first `count` elements along `dim` in order.
mlir::Value argsort(mlir::grad::Expr x, int64_t dim, int64_t count, bool descending);

/// For each element, the sum of the elements before it along `dim`.
mlir::grad::Expr sumBefore(mlir::grad::Expr x, int64_t dim);

/// Operand 0 as slices along attribute `axis` or, without the attribute, as a list of all elements.
struct AlongAxis {
  mlir::grad::Expr x;
  int64_t dim;
};
mlir::FailureOr<AlongAxis> sliceByAxis(Node &node);

/// The elements of a list that a run keeps, in order.
struct Kept {
  mlir::grad::Expr positions; ///< i64 [most]: their indices in the list, and 0 behind them
  mlir::Value count;          ///< i64 scalar
};
/// `isKept`: bool [n], n > 0, of which a run keeps at most `most`.
Kept keepWhere(mlir::grad::Expr isKept, int64_t most);

/// Whether any (or all) of x (bool) along `dim` are true.
mlir::grad::Expr any(mlir::grad::Expr x, int64_t dim);
mlir::grad::Expr all(mlir::grad::Expr x, int64_t dim);

/// 0, 1, ..., rank - 1.
llvm::SmallVector<int64_t> allDims(int64_t rank);
/// The same, with an index along `dim`.
llvm::SmallVector<int64_t> elementDims(int64_t rank, int64_t dim);
/// x[.., indices[i], ..] along `dim`, for a list of indices in range.
mlir::grad::Expr gatherAlong(mlir::grad::Expr x, int64_t dim, mlir::Value indices);

} // namespace gradc

#endif
