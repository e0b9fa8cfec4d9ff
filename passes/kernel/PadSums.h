// Pads that are added to each other, which one kernel computes from slices of what lies in memory.
#ifndef PASSES_KERNEL_PADSUMS_H
#define PASSES_KERNEL_PADSUMS_H

#include "passes/kernel/GroupGraph.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace gradc {

class PadSums {
public:
  explicit PadSums(const GroupGraph &graph) : graph(graph) {}

  /// Finds what a block computes from pads.
  void analyze(mlir::Block &block);
  /// Whether `op` is a pad whose elements lie side by side, and `group` only adds up pads or
  /// combines them element by element in other ways. If the group had operands that are no pads,
  /// one might be a contraction, and the group belong in its kernel.
  bool isTerm(mlir::Operation *op, const Group *group) const;
  /// Whether a pad in `group` reads the result of `op`.
  bool isPadded(mlir::Operation *op, const Group *group) const;
  /// Whether a pad that reads the result of `op` in its kernel takes no longer than a pad that
  /// reads the result from memory: a slice of vectors side by side, which nothing else reads.
  static bool isPlainSlice(mlir::Operation *op);
  static bool isPad(mlir::Operation *op);

private:
  bool isMadeOfPads(mlir::Operation *op) const;

  const GroupGraph &graph;
  llvm::SmallPtrSet<mlir::Operation *, 8> made; ///< of what one op reads
};

} // namespace gradc

#endif
