// Masks of pruned parameters: which elements become 0, and when.
#ifndef PASSES_TRAINING_PRUNING_H
#define PASSES_TRAINING_PRUNING_H

#include "dialects/grad/Build.h"

namespace gradc {

/// On a parameter that is pruned: its rule, a dictionary as PruneRule::toAttribute makes it.
inline constexpr llvm::StringLiteral pruneName = "grad.prune";
/// The slot with the mask of a pruned parameter: true where an element is kept.
inline constexpr llvm::StringLiteral maskName = "mask";
/// The `grad.slot_rule` of a mask.
constexpr char pruneRule[] = "prune";

/// How a parameter is pruned. The candidates, elements or whole channels, are in groups of equal
/// size. At step t of beginStep to endStep, counted from 1, the share of each group that is masked
/// is sparsity + (initialSparsity - sparsity) ((endStep - t) / (endStep - beginStep))^3.
struct PruneRule {
  double initialSparsity = 0, sparsity = 0;
  int64_t beginStep = 1, endStep = 1;
  int64_t every = 1; ///< steps between renewals of the mask; it is also renewed at endStep
  int64_t dim = -1;  ///< of the logical type: that of channels or groups; -1: all elements compete
  int64_t of = 0;    ///< the size of groups along `dim`; 0: channels compete, by their norms
  /// The blocks of dim 0, each with channels of its own: the groups of a ConvTranspose.
  int64_t blocks = 1;

  /// Reads the attribute of a parameter, or reports what is wrong with it.
  static mlir::FailureOr<PruneRule> parse(mlir::grad::StateOp parameter);
  mlir::DictionaryAttr toAttribute(mlir::Builder &builder) const;

  /// The mask after step `step`. It is renewed if the step proceeds and its number says so; other
  /// steps run nothing else. `value`: the parameter at the beginning of the step. Values are in the
  /// form that entries see.
  mlir::Value renew(mlir::OpBuilder &builder, mlir::grad::StateOp parameter, mlir::Value value,
                    mlir::Value mask, mlir::Value step, mlir::Value proceed) const;

private:
  mlir::grad::Expr isRenewedAt(mlir::grad::Expr step) const;
  mlir::grad::Expr countAt(mlir::grad::Expr step, int64_t size) const;
  mlir::grad::Expr groupScores(mlir::grad::Expr value, mlir::grad::Expr mask) const;
  mlir::grad::Expr spread(mlir::grad::Expr kept, mlir::RankedTensorType type) const;
  llvm::SmallVector<int64_t> dimLast(int64_t rank) const;
  llvm::SmallVector<int64_t> inBlocks(llvm::ArrayRef<int64_t> shape) const;
};

} // namespace gradc

#endif
