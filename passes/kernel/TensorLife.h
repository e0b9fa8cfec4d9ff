// How long tensors of a block are kept for the kernels that form in it.
#ifndef PASSES_KERNEL_TENSORLIFE_H
#define PASSES_KERNEL_TENSORLIFE_H

#include "dialects/exec/Level.h"
#include "passes/kernel/GroupGraph.h"

namespace gradc {

class TensorLife {
public:
  /// `order`: the number of each op of the block, in program order.
  TensorLife(const GroupGraph &graph, const mlir::exec::KernelLimits &limits,
             const llvm::DenseMap<mlir::Operation *, int64_t> &order)
      : graph(graph), limits(limits), order(order) {}

  /// Finds what the ops of a block depend on, once they are numbered.
  void analyze(mlir::Block &block);
  /// Whether a large tensor that `op` reads would live longer if `op` joined `group`, while the
  /// result of `op` needs a fraction of its memory:
  /// - `group` waits for values computed after the tensor's last other reader, such as the norm of
  ///   the gradients that is added up with a loss; or
  /// - `op` only picks elements, such as the logits of labels, and `group` waits for values that
  ///   come from the tensor, such as the sums of its rows, by a kernel that may overwrite it.
  bool isProlonged(mlir::Operation *op, Group *group) const;

private:
  int64_t lastReader(mlir::Value storage, Group *group) const;
  int64_t lastAwaited(Group *group) const;
  bool mayBeOverwritten(mlir::Value storage, Group *group) const;
  bool awaitsValueOf(mlir::Value storage, Group *group) const;

  const GroupGraph &graph;
  const mlir::exec::KernelLimits &limits;
  const llvm::DenseMap<mlir::Operation *, int64_t> &order;
  /// The last op that computes a tensor among those that an op depends on, itself included; -1:
  /// none.
  llvm::DenseMap<mlir::Operation *, int64_t> ready;
};

} // namespace gradc

#endif
