// Indices of elements, as nodes that read and nodes that write by index have them.
#ifndef COMPILER_IMPORT_INDICES_H
#define COMPILER_IMPORT_INDICES_H

#include "compiler/import/onnx/ImportGraph.h"

namespace gradc {

/// The indices along `dim` of operand 0, which are in range: checked here where they are known, and
/// by every run where they are not.
mlir::FailureOr<mlir::Value> expectIndices(Node &node, mlir::Value indices, int64_t dim);

/// Integers from -limit to limit - 1, checked in the same way. `of` names what they are.
mlir::LogicalResult expectInRange(Node &node, mlir::Value integers, int64_t limit,
                                  llvm::StringRef of);

/// Operand 1 has one index along `dim` for each element that is read or written: the rank of
/// operand 0, and no other dim longer than there.
mlir::LogicalResult expectElementIndices(Node &node, int64_t dim);

/// Operand 1 as tuples of indices, one a row of its last dim.
struct IndexTuples {
  llvm::SmallVector<mlir::Value> indices; ///< one tensor for each place in the tuples
  llvm::SmallVector<int64_t> dims;        ///< of operand 0, as grad.gather numbers them
};
mlir::FailureOr<IndexTuples> expectTuples(Node &node, int64_t batchDims);

/// Of longer lists, comparing all pairs takes minutes.
constexpr int64_t mostSorted = 1 << 17;
/// For each element along `dim` the number (i32) of those that come before it. NaN counts as the
/// largest number; of equal ones the first comes first.
mlir::grad::Expr placeInOrder(mlir::grad::Expr x, int64_t dim, bool largestFirst);

/// For each element the sum of those before it along `dim`, which has elements.
mlir::grad::Expr sumBefore(mlir::grad::Expr x, int64_t dim);

/// Operand 0 as slices along a dim: its attribute `axis` or, without one, a list of all elements.
struct AlongAxis {
  mlir::grad::Expr x;
  int64_t dim;
};
mlir::FailureOr<AlongAxis> sliceByAxis(Node &node);

/// The elements of a list that a run keeps, in their order.
struct Kept {
  mlir::grad::Expr positions; ///< i64 [most]: their indices in the list, and 0 behind them
  mlir::Value count;          ///< i64 scalar
};
/// `isKept`: bool [n], n > 0, of which no run keeps more than `most`.
Kept keepWhere(mlir::grad::Expr isKept, int64_t most);

/// Whether any, or all, of x (bool) along `dim` are true.
mlir::grad::Expr any(mlir::grad::Expr x, int64_t dim);
mlir::grad::Expr all(mlir::grad::Expr x, int64_t dim);

/// 0, 1, ..., rank - 1.
llvm::SmallVector<int64_t> allDims(int64_t rank);
/// The same with an index along `dim`.
llvm::SmallVector<int64_t> elementDims(int64_t rank, int64_t dim);

} // namespace gradc

#endif
