// Helpers to build and to change ops with regions.
#ifndef DIALECTS_GRAD_CONTROL_CONTROL_H
#define DIALECTS_GRAD_CONTROL_CONTROL_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// The trips of a scan that its condition alone ends: as many as a schedule counts.
constexpr int64_t unboundedTrips = std::numeric_limits<int32_t>::max();
/// A scan of more trips has no gradient, because a gradient saves values of each step: even a
/// scalar takes 64 MB. Scans that read stacks are exempt, because these have as many steps already.
constexpr int64_t mostSavedTrips = 1'000'000;

/// The type of a step of a stack, and of a stack of `trips` steps.
RankedTensorType stepType(Type stack);
RankedTensorType stackType(Type step, int64_t trips);

/// The condition at the beginning of the first step; none: only a run knows it. True for a scan
/// without a condition.
std::optional<bool> firstCondition(ScanOp scan);

/// The operands of a scan to be built, in their order.
struct ScanOperands {
  SmallVector<Value> initial, stacks, invariants;
};

/// Builds a scan. `build` gets the region's arguments (carried values, steps and invariants) and
/// returns the yielded values.
ScanOp
buildScan(OpBuilder &builder, Location location, int64_t trips, bool reverse,
          const ScanOperands &operands,
          llvm::function_ref<SmallVector<Value>(OpBuilder &, Block::BlockArgListType)> build);

/// A scan over `operands` whose region is `body`, which has its arguments and ends without a
/// terminator; it yields `yielded`.
ScanOp buildScan(OpBuilder &builder, Location location, int64_t trips, bool reverse,
                 const ScanOperands &operands, std::unique_ptr<Block> body, ValueRange yielded);

/// Makes a value of the enclosing function available in `block`. If `block` is the region of an op,
/// the op gets a new operand and the block a new argument.
Value passInto(Block &block, Value value);

/// The value as a splat; null if it is not a splat.
DenseElementsAttr splatOf(Value value);
/// That splat as a constant of `type` in a region.
Value constantIn(PatternRewriter &rewriter, Block &block, Location location,
                 DenseElementsAttr value, RankedTensorType type);

} // namespace mlir::grad

#endif
