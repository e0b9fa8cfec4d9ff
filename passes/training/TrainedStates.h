// Attributes that select which states a training function updates, and how.
#ifndef PASSES_TRAINING_TRAINEDSTATES_H
#define PASSES_TRAINING_TRAINEDSTATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// On a training function: the symbols of the parameters that it trains; by default all.
inline constexpr llvm::StringLiteral trainsName = "grad.trains";
/// On a parameter that only some steps train: the symbol of the state that counts these steps.
inline constexpr llvm::StringLiteral stepsName = "grad.steps";

/// On a parameter with its group's learning rate: the "grad.field" of the functions' argument.
inline constexpr llvm::StringLiteral rateName = "grad.rate";
/// On a parameter of which a step updates only the rows that it reads: what slots and decays do
/// elsewhere in the table is left out.
inline constexpr llvm::StringLiteral lazyName = "grad.lazy";
/// On a training function that updates nothing: the parameters whose gradients it returns.
inline constexpr llvm::StringLiteral watchName = "grad.watch";

/// On a slot: the kind of optimizer that keeps it, by which checkpoints tell slots of one name
/// apart: "adam", "keras momentum". On a statistic that no layer of the model has: what adds it,
/// "quantize".
inline constexpr llvm::StringLiteral slotRuleName = "grad.slot_rule";
/// On a slot that ranks divide like its parameter: the parameter's symbol.
inline constexpr llvm::StringLiteral cutName = "grad.cut";
/// On a parameter whose rule needs the whole tensor: one rank updates all of it.
inline constexpr llvm::StringLiteral wholeName = "grad.whole";

inline bool isTrainedBy(mlir::func::FuncOp function, mlir::FlatSymbolRefAttr state) {
  auto trains = function->getAttrOfType<mlir::ArrayAttr>(trainsName);
  return !trains || llvm::is_contained(trains, state);
}

} // namespace gradc

#endif
