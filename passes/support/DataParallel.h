// A training step of which each rank computes its rows of the batch.
#ifndef PASSES_SUPPORT_DATAPARALLEL_H
#define PASSES_SUPPORT_DATAPARALLEL_H

#include "dialects/grad/Grad.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// How a training function says that ranks share its batch: a dictionary, perhaps with `bf16`, how
/// gradients then travel, `synchronize_batch_norm`: the ranks have one set of batch statistics, and
/// `cut`: each rank updates its own part of each parameter.
inline constexpr llvm::StringLiteral ranksName = "grad.ranks";

/// The parts of such a step that know of other ranks. With one rank, none of them changes anything
/// but the order of sums.
class DataParallel {
public:
  /// Null: the function is a step of one rank.
  static std::unique_ptr<DataParallel> of(mlir::func::FuncOp function);

  /// Whether ranks can share the step. From here on what the model requests is of the whole batch.
  mlir::LogicalResult begin();
  /// The loss, result 0, becomes this rank's share of the whole batch's, of which gradients are
  /// taken.
  void shareLoss();
  /// For a loss in several parts: the factor of a numerator, for a denominator that is summed over
  /// the parts; and a numerator, where it counts as the rank's rows do.
  mlir::Value inverseOf(mlir::Value denominator, bool counts);
  mlir::Value whereRows(mlir::OpBuilder &builder, mlir::Value value, mlir::Value rankRows);
  mlir::Value rankRows() const { return rows; }
  /// Whether an op belongs to `begin`, not to the model.
  bool isOwn(mlir::Operation *op) const;
  /// Metrics and what is written to states so far become those of the whole batch.
  void sumResults();
  /// Replaces shares of gradients by the gradients of the whole batch.
  void sumGradients(llvm::MutableArrayRef<mlir::Value> gradients);
  /// The same, of parameters of which each rank updates its own part: only that part of each
  /// gradient, and 0 elsewhere.
  void scatterGradients(llvm::ArrayRef<mlir::Value> parameters,
                        llvm::MutableArrayRef<mlir::Value> gradients);
  /// Whether each rank updates its own part of each parameter.
  bool cutsParameters() const { return isCut; }
  /// Adds up over ranks what each has computed of its parts.
  mlir::Value sum(mlir::Value value);
  /// Replaces the loss's share by the loss of the whole batch.
  void sumLoss();
  /// Whether a number is true on all ranks.
  mlir::Value onAll(mlir::Value condition);

private:
  explicit DataParallel(mlir::func::FuncOp function);
  mlir::Value whereRows(mlir::Value value);
  mlir::Value meanByRows(mlir::Value value);
  mlir::Value shareOf(mlir::Value numerator, mlir::Value denominator);
  void findPortion();

  mlir::func::FuncOp function;
  mlir::Operation *exit;
  mlir::OpBuilder b; ///< behind the body
  bool bf16, isSynchronized, isCut;
  mlir::Value rows;    ///< of this rank
  mlir::Value portion; ///< of all rows, that this rank has
};

} // namespace gradc

#endif
