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
  /// Whether `op` is a pad, and `group` only adds pads, or combines them element by element in
  /// other ways. With other operands, the group might belong in a contraction's kernel.
  bool isTerm(mlir::Operation *op, const Group *group) const;
  /// Whether a pad in `group` reads the result of `op`.
  bool isPadded(mlir::Operation *op, const Group *group) const;
  /// Whether a pad reads the result of `op` as well as it reads memory.
  static bool isPlainSlice(mlir::Operation *op);
  /// Whether `group` has a pad.
  static bool hasPads(const Group *group);

private:
  bool isMadeOfPads(mlir::Operation *op) const;

  const GroupGraph &graph;
  llvm::SmallPtrSet<mlir::Operation *, 8> made; ///< of what one op reads
};

} // namespace gradc

#endif
