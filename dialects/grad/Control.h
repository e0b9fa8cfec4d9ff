// Ways to build and to change ops with regions.
#ifndef DIALECTS_GRAD_CONTROL_H
#define DIALECTS_GRAD_CONTROL_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// The type of a step of a stack, and of a stack of `trips` steps.
RankedTensorType stepType(Type stack);
RankedTensorType stackType(Type step, int64_t trips);

/// What a scan is made of, in the order of its operands, before it is built.
struct ScanOperands {
  SmallVector<Value> initial, stacks, invariants;
};

/// Builds a scan. `build` gets the region's arguments, of the carried values, steps and invariants,
/// and returns what the region yields.
ScanOp
buildScan(OpBuilder &builder, Location location, int64_t trips, bool reverse,
          const ScanOperands &operands,
          llvm::function_ref<SmallVector<Value>(OpBuilder &, Block::BlockArgListType)> build);

/// A scan over `operands` whose region is `body`, which has its arguments and ends without a
/// terminator; it yields `yielded`.
ScanOp buildScan(OpBuilder &builder, Location location, int64_t trips, bool reverse,
                 const ScanOperands &operands, std::unique_ptr<Block> body, ValueRange yielded);

/// A value of the function around `block` as one of `block`: an argument where that is the region
/// of an op, which gets a new operand.
Value passInto(Block &block, Value value);

/// The splat that every element of `value` is; null: it is none.
DenseElementsAttr splatOf(Value value);
/// That splat as a constant of `type` in a region.
Value constantIn(PatternRewriter &rewriter, Block &block, Location location,
                 DenseElementsAttr value, RankedTensorType type);

} // namespace mlir::grad

#endif
