// What a transposition of an op's tensors does to its attributes. It names ops because each numbers
// dims in attributes of its own.
#include "passes/support/Permuted.h"

#include "dialects/grad/Build.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;

static bool isReduction(Operation *op) {
  return isa<ReduceSumOp, ReduceProdOp, ReduceMaxOp, ReduceMinOp, ReduceMeanOp, ArgmaxOp>(op);
}

static SmallVector<int64_t> reducedDims(Operation *op) {
  return TypeSwitch<Operation *, SmallVector<int64_t>>(op)
      .Case<ReduceSumOp, ReduceProdOp, ReduceMaxOp, ReduceMinOp, ReduceMeanOp, NormalizeOp>(
          [](auto reduction) { return SmallVector<int64_t>(reduction.getDims()); })
      .Case([](ArgmaxOp argmax) { return SmallVector<int64_t>{int64_t(argmax.getDim())}; })
      .Default([](Operation *) { return SmallVector<int64_t>(); });
}

/// Leading dims that a permutation has to leave alone, because windows slide over them; none for
/// other ops.
static int64_t spatialDims(Operation *op) {
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<WindowSumOp, WindowMaxOp, WindowGatherOp, WindowScatterOp>(
          [](auto pool) { return pool.getWindow().getRank(); })
      .Default([](Operation *) { return 0; });
}

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

bool gradc::canPermute(Operation *op, ArrayRef<int64_t> permutation) {
  bool known = op->hasTrait<grad::Pointwise>() || isReduction(op) ||
               isa<NormalizeOp, SoftmaxOp, LogSoftmaxOp, ConcatenateOp, SliceOp, PadOp, WindowSumOp,
                   WindowMaxOp, WindowGatherOp, WindowScatterOp>(op);
  if (isReduction(op) && reducedDims(op).empty())
    return false; // its result would be moved
  if (!known || llvm::any_of(op->getOperands(), [&](Value operand) {
        return rankOf(operand) != int64_t(permutation.size());
      }))
    return false;
  return llvm::equal(permutation.take_front(spatialDims(op)),
                     llvm::seq<int64_t>(0, spatialDims(op)));
}

bool gradc::isMovedResult(OpResult result) {
  return !isReduction(result.getOwner()) &&
         !(isa<NormalizeOp>(result.getOwner()) && result.getResultNumber() > 0);
}

SmallVector<int64_t> gradc::permuteDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse = invertPermutationVector(permutation);
  return llvm::map_to_vector(dims, [&](int64_t d) { return inverse[d]; });
}

SmallVector<int64_t> gradc::sortedOrder(ArrayRef<int64_t> numbers) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, numbers.size()));
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return numbers[a] < numbers[b]; });
  return order;
}

SmallVector<int64_t> gradc::restoredOrder(OpResult result, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> kept = otherDims(permutation.size(), reducedDims(result.getOwner()));
  SmallVector<int64_t> order = sortedOrder(permuteDims(kept, permutation));
  if (llvm::is_sorted(order))
    return {};
  return invertPermutationVector(order);
}

Operation *gradc::buildPermuted(OpBuilder &b, Operation *op, ValueRange operands,
                                ArrayRef<int64_t> permutation) {
  Location loc = op->getLoc();
  auto permuted = [&](ArrayRef<int64_t> numbers) { return applyPermutation(numbers, permutation); };
  auto dims = [&] {
    SmallVector<int64_t> moved = permuteDims(reducedDims(op), permutation);
    llvm::sort(moved);
    return moved;
  };
  auto dim = [&](int64_t d) { return permuteDims(d, permutation)[0]; };
  return TypeSwitch<Operation *, Operation *>(op)
      .Case<ReduceSumOp, ReduceProdOp, ReduceMaxOp, ReduceMinOp, ReduceMeanOp>(
          [&](auto reduction) { return decltype(reduction)::create(b, loc, operands[0], dims()); })
      .Case([&](ArgmaxOp argmax) {
        return ArgmaxOp::create(b, loc, operands[0], dim(argmax.getDim()));
      })
      .Case([&](NormalizeOp normalize) {
        return NormalizeOp::create(b, loc, operands[0], dims(), normalize.getEpsilon());
      })
      .Case<SoftmaxOp, LogSoftmaxOp>([&](auto softmax) {
        return decltype(softmax)::create(b, loc, operands[0], dim(softmax.getDim()));
      })
      .Case([&](ConcatenateOp concatenate) {
        return ConcatenateOp::create(b, loc, operands, dim(concatenate.getDim()));
      })
      .Case([&](SliceOp slice) {
        return SliceOp::create(b, loc, operands[0], permuted(slice.getStarts()),
                               permuted(slice.getSizes()), permuted(slice.getStrides()));
      })
      .Case([&](PadOp pad) {
        return PadOp::create(b, loc, operands[0], permuted(pad.getLow()), permuted(pad.getHigh()),
                             permuted(pad.getInterior()), pad.getValue());
      })
      .Default([&](Operation *) {
        IRMapping mapping;
        mapping.map(op->getOperands(), operands);
        Operation *clone = b.clone(*op, mapping);
        for (Value result : clone->getResults()) {
          auto type = cast<RankedTensorType>(result.getType());
          result.setType(type.clone(permuted(type.getShape())));
        }
        return clone;
      });
}
