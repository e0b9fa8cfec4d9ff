// Keeps kernels from mixing ops of different turns of a pipeline's stage.
#ifndef PASSES_KERNEL_TURNEDGES_H
#define PASSES_KERNEL_TURNEDGES_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// A stage sends what one turn computes before it has what a later turn receives. No operand says
/// so, and a kernel of ops of both turns would wait for a value that never arrives. During the life
/// of this object after `add`, receives read what earlier turns send, so that such a kernel is a
/// cycle. Blocks without transfers stay as they are.
class TurnEdges {
public:
  /// Moves ops behind all that earlier turns compute and send.
  explicit TurnEdges(mlir::Block &block);
  ~TurnEdges();
  TurnEdges(const TurnEdges &) = delete;
  void add();

private:
  mlir::Block &block;
  bool isConsistent = true; ///< else ordering the launches reports it
  llvm::SmallVector<mlir::grad::ReceiveOp> readers;
  /// One for each turn that receives: it reads what is sent since the one before it.
  llvm::SmallVector<mlir::grad::ReceiveOp> turns;
};

} // namespace gradc

#endif
