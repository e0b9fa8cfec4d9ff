// Helpers of ops that move elements: copying generics and byte copies.
#ifndef DIALECTS_GRAD_MOVEMENT_H
#define DIALECTS_GRAD_MOVEMENT_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// One generic that copies `operand`, read through `input`, into `result`, written through
/// `output`. Without elements to copy, it may be `result` itself.
Value copyLoops(OpBuilder &builder, Location loc, Value operand, Value result, AffineMap input,
                AffineMap output);

/// A generic over the space of the op's result that reads `operand` at `input`.
SmallVector<Value> gatherLoops(OpBuilder &builder, Operation *op, Value operand,
                               ArrayRef<AffineExpr> input);

/// Position of index `dim` of a part with `size` elements in a dim of `wholeSize`. linalg takes a
/// plain dim for the whole, so a part that starts at 0 uses `d mod wholeSize`, which equals d.
AffineExpr placePart(AffineExpr dim, int64_t size, int64_t wholeSize, int64_t offset,
                     int64_t stride = 1);

/// to[target] = from[source], at row-major positions.
void copyElement(const HostTensor &from, int64_t source, HostTensor &to, int64_t target);

bool isFloatTensor(Type type);

/// Whether each element of the op's result is one of its only operand.
bool movesElements(Operation *op);

} // namespace mlir::grad

#endif
