// Vectors of partial results, one per row, whose lanes are combined for many rows together.
#ifndef COMPILER_CODEGEN_TILE_ROWLANES_H
#define COMPILER_CODEGEN_TILE_ROWLANES_H

#include "compiler/codegen/tile/LoopNest.h"

namespace gradc::tile {

/// Two rows' vectors become one with half as many lanes of each, and so on: a row of many takes a
/// fraction of the instructions of one alone. A row's lanes are always combined in the same order:
/// halves, lower lanes first.
class RowLanes {
public:
  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

  RowLanes(LoopNest &nest, Combine combine) : nest(nest), combine(combine) {}

  /// Adds the next row's vector.
  void add(mlir::Value vector);
  /// The result of each row, a scalar.
  llvm::SmallVector<mlir::Value> results();

private:
  /// Rows that share a vector, each in as many adjacent lanes as fit.
  struct Rows {
    mlir::Value vector;
    llvm::SmallVector<int64_t> first; ///< lane of each row
  };

  /// The lanes that each of the rows has in their vector.
  int64_t lanesOf(const Rows &rows) const { return nest.lanes / int64_t(rows.first.size()); }
  Rows merge(const Rows &a, const Rows &b);
  /// Leaves one lane to each row, and no other lanes.
  void fold(Rows &rows);
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int64_t> order);

  LoopNest &nest;
  Combine combine;
  llvm::SmallVector<Rows> parts; ///< of fewer and fewer rows
};

} // namespace gradc::tile

#endif
