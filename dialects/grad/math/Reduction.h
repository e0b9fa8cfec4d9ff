// Helpers shared by reductions and ops that contain one: result types, and comparisons of maxima
// and minima in loops.
#ifndef DIALECTS_GRAD_MATH_REDUCTION_H
#define DIALECTS_GRAD_MATH_REDUCTION_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// Appends the type of `operand` without `dims`. Errors: dims that are unsorted, repeated or out of
/// range and, unless `empty`, a dim of size 0.
LogicalResult inferReduced(std::optional<Location> location, Value operand, ArrayRef<int64_t> dims,
                           bool empty, SmallVectorImpl<Type> &types);

/// The lowest (`greatest`: highest) value of a type, which a maximum (minimum) starts from.
TypedAttr extreme(OpBuilder &builder, Type type, bool greatest, bool isUnsigned);

/// Whether `x` exceeds `best` strictly. A float NaN does, unless `best` is already NaN.
Value isBeyond(OpBuilder &builder, Location location, Value x, Value best, bool maximum,
               bool isUnsigned);
/// The greater one (else: the less). A float NaN wins; of two zeros, `best` stays.
Value extremeOf(OpBuilder &builder, Location location, Value x, Value best, bool maximum,
                bool isUnsigned);
/// Whether an element of `x` exceeds another.
bool isBeyond(const HostTensor &x, int64_t candidate, int64_t best);

} // namespace mlir::grad

#endif
