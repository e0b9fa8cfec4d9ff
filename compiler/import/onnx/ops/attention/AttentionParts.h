// Building blocks shared by the importers of all attention ops.
#ifndef COMPILER_IMPORT_ONNX_OPS_ATTENTION_ATTENTIONPARTS_H
#define COMPILER_IMPORT_ONNX_OPS_ATTENTION_ATTENTIONPARTS_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// Operands as [batch, heads, positions, size]; past keys and values precede the current ones.
struct Heads {
  mlir::grad::Expr query, key, value;
  int64_t past;

  /// The number of query heads that share a key head.
  int64_t group() const { return query.shape()[1] / key.shape()[1]; }
  llvm::SmallVector<int64_t> scoresShape() const {
    return {query.shape()[0], query.shape()[1], query.shape()[2], key.shape()[2]};
  }
};
mlir::LogicalResult expectHeadShapes(Node &node, const Heads &heads);

/// [batch, positions, heads * size] as [batch, heads, positions, size].
mlir::grad::Expr splitHeads(mlir::grad::Expr x, int64_t heads);
mlir::grad::Expr mergeHeads(mlir::grad::Expr x);
/// Checks that `heads` divides dim 2 of an operand.
mlir::LogicalResult expectHeads(Node &node, unsigned operand, int64_t heads);

/// Checks past keys and past values (operands `first` and `first + 1`) against the current ones.
/// The number of past positions; 0 without these operands.
mlir::FailureOr<int64_t> expectPast(Node &node, unsigned first, const Heads &heads);
/// Checks them, and prepends them to the current ones.
mlir::LogicalResult prependPast(Node &node, unsigned first, Heads &heads);

/// One product per head. The query rows of heads that share keys are adjacent, so a single product
/// serves them all.
mlir::grad::Expr multiply(Node &node, const Heads &heads, mlir::grad::Expr lhs,
                          mlir::grad::Expr rhs, bool transposeRhs);

/// How scores of keys become weights.
struct Weighing {
  double scale = 1, cap = 0;              ///< a cap of 0 is none
  mlir::Type precision;                   ///< of the softmax
  llvm::SmallVector<mlir::Value, 2> seen; ///< bools that broadcast to scores: which keys are seen
  mlir::Value added;                      ///< to scores, to which it broadcasts; may be null
  mlir::Value sink;                       ///< a score for each head, of no key; may be null
  bool mayBeEmpty = false;                ///< whether a query may see no key
};
/// The scores after each step, and the weights.
struct Weighed {
  mlir::grad::Expr product, capped, masked, weights;
};
Weighed weigh(Node &node, const Heads &heads, const Weighing &how);

/// The softmax over keys; 0 for a query that sees no key.
mlir::grad::Expr softmaxOverKeys(Node &node, mlir::grad::Expr scores, bool mayBeEmpty);

/// The element type that attribute softmax_precision asks for.
mlir::FailureOr<mlir::Type> softmaxType(Node &node, mlir::Type otherwise);

} // namespace gradc

#endif
