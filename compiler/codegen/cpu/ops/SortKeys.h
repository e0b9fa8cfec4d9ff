// The row of a tensor that a kernel sorts, and the keys of its elements: what Selection.cpp and
// RadixSort.cpp share, and their entries.
#ifndef COMPILER_CODEGEN_CPU_OPS_SORTKEYS_H
#define COMPILER_CODEGEN_CPU_OPS_SORTKEYS_H

#include "compiler/codegen/cpu/ops/OneOp.h"
#include "passes/schedule/SortKernel.h"

namespace gradc::cpu {

/// Integers and their arithmetic. A constant beside a vector is in each of its lanes.
class SortArithmetic {
public:
  explicit SortArithmetic(tile::LoopNest &nest) : nest(nest), b(nest.builder) {}

  mlir::Value constant(int64_t value, mlir::Type type);
  mlir::Value constant(const llvm::APInt &value, mlir::Type type);
  template <typename Op> mlir::Value apply(mlir::Value x, mlir::Value y) {
    return Op::create(b, nest.location, x, y);
  }
  template <typename Op> mlir::Value apply(mlir::Value x, int64_t y) {
    return apply<Op>(x, constant(y, x.getType()));
  }
  mlir::Value compare(mlir::arith::CmpIPredicate how, mlir::Value x, mlir::Value y);
  mlir::Value choose(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// Zero-extends to elements of that type.
  mlir::Value extend(mlir::Value x, mlir::Type element);
  mlir::Value toI64(mlir::Value x) { return extend(x, b.getI64Type()); }

  tile::LoopNest &nest;
  mlir::OpBuilder &b;
};

/// One row along the sorted dim of the operand, whose positions the result's row gets.
class SortRow : public SortArithmetic {
public:
  explicit SortRow(OneOp &op);

  /// Goes to the row at these coordinates, of which that along the sorted dim is not used.
  void moveTo(llvm::ArrayRef<tile::LinearExpr> coordinates) {
    row.assign(coordinates.begin(), coordinates.end());
  }
  /// The key of element `i`: an unsigned number in the order of the elements, in which NaN is the
  /// largest number and -0 equals 0.
  mlir::Value keyAt(const tile::LinearExpr &i);
  /// The keys of a vector of elements from `i` on; only if the row's elements are adjacent.
  mlir::Value keysAt(const tile::LinearExpr &i);
  bool isAdjacent() const;
  /// Whether elements that are last of all may be put behind the others without a sort: -infinity
  /// in descending order, which masked elements have, if all positions are wanted.
  bool putsMaskedLast() const;
  /// Whether a key is that of -infinity in descending order.
  mlir::Value isMasked(mlir::Value key);
  /// Stores a position (i64) at place `i` of the result; 0 if the run has no more than `i`
  /// elements.
  void store(const tile::LinearExpr &i, mlir::Value position);

  const SortPlan plan;
  mlir::Value size, count; ///< of this run
  mlir::Type keyType;
  mlir::Value scratch;

private:
  tile::Point at(const tile::LinearExpr &i) const;
  mlir::Value keyOf(mlir::Value bits);

  bool mayLack; ///< whether a run may have fewer elements than wanted positions
  mlir::Type element;
  const tile::Memory &operand, &result;
  std::vector<tile::LinearExpr> row;
};

/// Emits the selection of a row's first positions, or their sort by digits.
void emitSelection(SortRow &row);
void emitRadixSort(SortRow &row);

} // namespace gradc::cpu

#endif
