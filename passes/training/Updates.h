// Optimizer updates of parameters: the rule of each parameter, and its slots as states.
#ifndef PASSES_TRAINING_UPDATES_H
#define PASSES_TRAINING_UPDATES_H

#include "passes/training/Pruning.h"

#include "mlir/IR/SymbolTable.h"

namespace gradc {

struct RowGradient;

/// The content of `grad.optimizer`: the name of an update op, and its attributes.
struct UpdateRule {
  mlir::OperationName op;
  mlir::DictionaryAttr hyperparameters;

  /// Parses the attribute of `at`, a function or a state.
  static mlir::FailureOr<UpdateRule> parse(mlir::Operation *at);
  const mlir::grad::UpdateOpInterface::Concept &rule() const {
    return *op.getInterface<mlir::grad::UpdateOpInterface>();
  }
};

/// Builds the updates of one training function. The rule of a parameter is its state's
/// `grad.optimizer` if there is one, otherwise the function's.
class Updates {
public:
  /// `isCut`: each rank updates its own part of each parameter from the matching part of the
  /// gradient.
  Updates(mlir::func::FuncOp function, UpdateRule rule, bool isCut)
      : function(function), rule(rule), isCut(isCut),
        module(function->getParentOfType<mlir::ModuleOp>()), symbols(module) {}

  /// Makes the gradient 0 where the parameter is masked, if it is pruned.
  mlir::LogicalResult maskGradient(mlir::OpBuilder &b, mlir::grad::ReadOp parameter,
                                   mlir::Value &gradient);
  /// Builds the update of `parameter` and its slots, predicated on `proceed`. With `rows` the
  /// gradient is that of these rows, and only they are updated.
  mlir::LogicalResult build(mlir::OpBuilder &b, mlir::grad::ReadOp parameter, mlir::Value gradient,
                            mlir::Value proceed, const RowGradient *rows);
  /// The parameter's own rule, or else the function's.
  mlir::FailureOr<UpdateRule> ruleOf(mlir::grad::StateOp owner) const;
  /// The function's arguments for the scalars of `rule`, in the rule's order.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> findScalars(const UpdateRule &rule);
  const UpdateRule &common() const { return rule; }

private:
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> scalarsOf(mlir::OpBuilder &b,
                                                            mlir::grad::StateOp owner,
                                                            const UpdateRule &own,
                                                            mlir::Value proceed);
  mlir::FailureOr<mlir::Value> rateOf(mlir::StringAttr group);
  mlir::FailureOr<mlir::Value> countStep(mlir::OpBuilder &b, mlir::FlatSymbolRefAttr counter,
                                         mlir::Value proceed);
  mlir::FailureOr<mlir::Value> stepOf(mlir::OpBuilder &b, mlir::grad::StateOp owner,
                                      mlir::Value proceed);
  mlir::FailureOr<mlir::Value> prune(mlir::OpBuilder &b, mlir::grad::ReadOp parameter,
                                     mlir::Value updated, mlir::Value proceed);
  mlir::FailureOr<mlir::grad::ReadOp> slot(mlir::OpBuilder &b, mlir::grad::ReadOp parameter,
                                           const mlir::grad::UpdateSlot &slot, llvm::StringRef rule,
                                           bool isOrdered);

  mlir::func::FuncOp function;
  UpdateRule rule;
  bool isCut;
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Attribute, mlir::Value> counted; ///< by counter: steps including this one
  struct Mask {
    PruneRule rule;
    mlir::grad::ReadOp read;
  };
  llvm::DenseMap<mlir::Value, Mask> masks; ///< of the parameters that are pruned
};

} // namespace gradc

#endif
