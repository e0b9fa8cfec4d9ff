// Casts between a value and its 16 bits in memory.
#ifndef PASSES_GRAPH_STORAGECASTS_H
#define PASSES_GRAPH_STORAGECASTS_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// The 16-bit value that `v` is read from; null if there is none.
inline Value storedOf(Value v) {
  auto cast = v.getDefiningOp<CastOp>();
  return cast && cast.getStorage() && cast.isCheapToRepeat() ? cast.getOperand() : Value();
}

/// The rounding of a value that `up` widens back to the value's own type; null if there is none.
inline CastOp roundingOf(CastOp up) {
  Value stored = storedOf(up);
  auto down = stored ? stored.getDefiningOp<CastOp>() : CastOp();
  bool isPair = down && down.getStorage() && down.getOperand().getType() == up.getType();
  return isPair ? down : CastOp();
}

} // namespace mlir::grad

#endif
