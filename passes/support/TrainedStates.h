// Which states a training function updates, of those that its loss reaches.
#ifndef PASSES_TRAINEDSTATES_H
#define PASSES_TRAINEDSTATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// Of a training function: the symbols of the parameters that it trains. Without it all.
inline constexpr llvm::StringLiteral trainsName = "grad.trains";
/// Of a parameter that not every step trains: the symbol of the state that counts those that do.
inline constexpr llvm::StringLiteral stepsName = "grad.steps";

/// Of a parameter whose learning rate is that of its group: the "grad.field" of the functions'
/// argument.
inline constexpr llvm::StringLiteral rateName = "grad.rate";
/// Of a training function that updates nothing: the parameters whose gradients it returns.
inline constexpr llvm::StringLiteral watchName = "grad.watch";

/// Of a slot that ranks divide as they do its parameter: the parameter's symbol.
inline constexpr llvm::StringLiteral cutName = "grad.cut";
/// Of a parameter whose rule takes the whole tensor: one rank updates all of it.
inline constexpr llvm::StringLiteral wholeName = "grad.whole";

inline bool isTrainedBy(mlir::func::FuncOp function, mlir::FlatSymbolRefAttr state) {
  auto trains = function->getAttrOfType<mlir::ArrayAttr>(trainsName);
  return !trains || llvm::is_contained(trains, state);
}

} // namespace gradc

#endif
