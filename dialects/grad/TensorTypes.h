// The types of values that are tensors.
#ifndef DIALECTS_GRAD_TENSORTYPES_H
#define DIALECTS_GRAD_TENSORTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace mlir::grad {

inline RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }
inline ArrayRef<int64_t> shapeOf(Value tensor) { return typeOf(tensor).getShape(); }

} // namespace mlir::grad

#endif
