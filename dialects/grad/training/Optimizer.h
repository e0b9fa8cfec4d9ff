// The common part of optimizers' rules: operands by name, and leaving everything as it was.
#ifndef DIALECTS_GRAD_TRAINING_OPTIMIZER_H
#define DIALECTS_GRAD_TRAINING_OPTIMIZER_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// An attribute of numbers as a double.
inline double real(const APFloat &hyperparameter) { return hyperparameter.convertToDouble(); }

/// One element of what an update takes. The rule changes `parameter` and `slots`; a slot of one
/// number is the same for each element.
struct UpdateElement {
  double parameter; ///< after the decoupled decay
  double gradient;  ///< with l2
  SmallVector<double> slots;
  double rate, step;
  double momentum; ///< the last scalar, of a rule that is `cycled`
};
/// Evaluates an elementwise update.
void evaluateUpdate(Operation *op, ArrayRef<HostTensor> operands,
                    MutableArrayRef<HostTensor> results,
                    llvm::function_ref<void(UpdateElement &)> rule);

/// The operands of an update, as whole tensors.
struct UpdateTensors {
  std::vector<double> parameter;
  std::vector<double> gradient; ///< with l2
  SmallVector<std::vector<double>> slots;
  double rate, step, momentum;
  double kept; ///< of the parameter, after the decoupled decay: a factor
};
/// Evaluates an update that looks at whole tensors.
void evaluateWholeUpdate(Operation *op, ArrayRef<HostTensor> operands,
                         MutableArrayRef<HostTensor> results,
                         llvm::function_ref<void(UpdateTensors &)> rule);

/// The operands of an update, as operands of formulas.
struct UpdateExprs {
  Expr parameter;
  Expr gradient; ///< with l2
  Expr decayed;  ///< the parameter after the decoupled decay
  SmallVector<Expr> slots;
  SmallVector<Expr> scalars; ///< the rate, then the step, then the momentum
  Expr rate() const { return scalars[0]; }
  Expr step() const { return scalars[1]; }
  Expr momentum() const { return scalars.back(); }
  /// A scalar as a tensor of the parameter's type.
  Expr spread(Expr scalar) const {
    return scalar.cast(parameter.element()).broadcastScalar(parameter.type());
  }
};
/// Decomposes an update. `rule` returns the new parameter and the new slots.
SmallVector<Value> decomposeUpdate(OpBuilder &builder, Operation *op,
                                   llvm::function_ref<SmallVector<Expr>(const UpdateExprs &)> rule);

/// Whether every step shrinks the parameter, by `l2` or by `weight_decay`.
bool hasDecay(DictionaryAttr hyperparameters);

/// 1 - base^step, exact at small steps.
double biasCorrection(double step, double base);
Expr biasCorrection(Expr step, double base);
Expr biasCorrection(Expr step, Expr base);

} // namespace mlir::grad

#endif
