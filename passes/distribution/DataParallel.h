// Data-parallel training steps: each rank computes its own rows of the batch.
#ifndef PASSES_DISTRIBUTION_DATAPARALLEL_H
#define PASSES_DISTRIBUTION_DATAPARALLEL_H

#include "dialects/grad/Grad.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// Builds the parts of such a step that involve other ranks. With one rank they change nothing but
/// the order of sums.
class DataParallel {
public:
  /// Null: the function is a step of one rank.
  static std::unique_ptr<DataParallel> of(mlir::func::FuncOp function);

  /// Fails if ranks cannot share the step. Makes the model's gradient requests refer to the whole
  /// batch.
  mlir::LogicalResult begin();
  /// Replaces the loss, result 0, by this rank's share of the whole batch's loss; gradients are of
  /// that share.
  void shareLoss();
  /// For a loss in several parts: the factor of a numerator, for a denominator that is summed over
  /// the parts; and a numerator, where it counts as the rank's rows do.
  mlir::Value inverseOf(mlir::Value numerator, mlir::Value denominator, bool counts);
  mlir::Value whereRows(mlir::OpBuilder &builder, mlir::Value value, mlir::Value rankRows);
  mlir::Value rankRows() const { return rows; }
  /// Whether an op belongs to `begin`, not to the model.
  bool isOwn(mlir::Operation *op) const;
  /// Extends metrics, and the values written to states so far, to the whole batch.
  void sumResults();
  /// Replaces shares of gradients by the gradients of the whole batch.
  void sumGradients(llvm::MutableArrayRef<mlir::Value> gradients);
  /// The same for parameters of which each rank updates its own part: the rank gets only that part
  /// of each gradient, and 0 elsewhere. Fails for parameters of 16 bits.
  mlir::LogicalResult scatterGradients(llvm::ArrayRef<mlir::Value> parameters,
                                       llvm::MutableArrayRef<mlir::Value> gradients);
  /// Whether each rank updates its own part of each parameter.
  bool cutsParameters() const { return isCut; }
  /// Sums a value over ranks that each rank has computed from its own parts.
  mlir::Value sum(mlir::Value value);
  /// Replaces the loss's share by the loss of the whole batch.
  void sumLoss();
  /// Whether a condition holds on all ranks.
  mlir::Value onAll(mlir::Value condition);

private:
  explicit DataParallel(mlir::func::FuncOp function);
  mlir::Value whereRows(mlir::Value value);
  mlir::Value meanByRows(mlir::Value value);
  mlir::Value shareOf(mlir::Value numerator, mlir::Value denominator);
  void findPortion();

  mlir::func::FuncOp function;
  mlir::Operation *exit;
  mlir::OpBuilder b; ///< inserts at the end of the body
  bool bf16, isSynchronized, isCut;
  mlir::Value rows;                 ///< number of this rank's rows
  mlir::Value portion;              ///< fraction of all rows that this rank has
  llvm::DenseSet<mlir::Value> sums; ///< terms of the loss that are sums over rows
};

} // namespace gradc

#endif
