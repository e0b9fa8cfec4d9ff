// What reductions share with ops that reduce on the way: result types, and how maxima and minima
// compare in loops.
#ifndef DIALECTS_GRAD_REDUCTION_H
#define DIALECTS_GRAD_REDUCTION_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// Appends the type of `operand` without `dims`. Errors: dims that are unsorted, repeated or out of
/// range; unless `empty`, a dim of size 0.
LogicalResult inferReduced(std::optional<Location> location, Value operand, ArrayRef<int64_t> dims,
                           bool empty, SmallVectorImpl<Type> &types);

/// The least (greatest, if `greatest`) value of a type: where a maximum (minimum) starts.
TypedAttr extreme(OpBuilder &builder, Type type, bool greatest, bool isUnsigned);

/// Is `x` strictly beyond `best`? With floats a NaN is, unless `best` is one already.
Value isBeyond(OpBuilder &builder, Location location, Value x, Value best, bool maximum,
               bool isUnsigned);

} // namespace mlir::grad

#endif
