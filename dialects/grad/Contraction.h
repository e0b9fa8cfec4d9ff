// The loop nest of every contraction: a sum of products.
#ifndef DIALECTS_GRAD_CONTRACTION_H
#define DIALECTS_GRAD_CONTRACTION_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// One generic that adds products of the two `operands` into a fill of 0, typed as `op`'s result;
/// dims from `parallel` on are reduced. 16-bit floats add up in f32 and are rounded by a second
/// generic.
SmallVector<Value> contractionLoops(OpBuilder &builder, Operation *op, ValueRange operands,
                                    ArrayRef<AffineMap> maps, int64_t parallel);

} // namespace mlir::grad

#endif
