// The loop nest of every contraction: a sum of products.
#ifndef DIALECTS_GRAD_MATH_CONTRACTION_H
#define DIALECTS_GRAD_MATH_CONTRACTION_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// Whether a contraction takes factors of these element types. With `wide`, bytes may differ in
/// their signs, and the lhs may have floats beside bytes or signed integers of 16 bits.
bool canMultiply(Type lhs, Type rhs, bool wide);
/// Whether a contraction's sums, or its factors, have different element types.
bool isWide(Operation *contraction);
/// The element type of a sum of products of `element`s; with `wide`, the accumulator type.
Type contractedElement(Type element, bool wide);
/// `value`, which multiplies or replaces a factor of `contraction`, in the factors' type.
Value storeFactor(OpBuilder &builder, Operation *contraction, Value value);

/// A contraction without a window, with `dims` such as "aby,yz->abz".
Value contract(OpBuilder &builder, Location location, Value lhs, Value rhs, const Twine &dims,
               bool wide);

/// One generic that adds products of the two `operands` into a fill of 0, typed as `op`'s result;
/// dims from `parallel` on are reduced. 16-bit floats accumulate in f32 and are rounded by a second
/// generic, unless the result is f32.
SmallVector<Value> contractionLoops(OpBuilder &builder, Operation *op, ValueRange operands,
                                    ArrayRef<AffineMap> maps, int64_t parallel);

} // namespace mlir::grad

#endif
