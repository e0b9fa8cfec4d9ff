// Permutes ops through PermuteOpInterface. Pointwise ops have no dims of their own and stay
// unchanged.
#include "passes/graph/Permuted.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/Permute.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

bool gradc::canPermute(Operation *op, ArrayRef<int64_t> permutation) {
  // Scalars have no dims: what permutes takes them as they are.
  if (llvm::any_of(op->getOperands(), [&](Value v) {
        return rankOf(v) != 0 && rankOf(v) != int64_t(permutation.size());
      }))
    return false;
  auto permutes = dyn_cast<PermuteOpInterface>(op);
  return permutes ? permutes.canPermute(permutation) : op->hasTrait<grad::Pointwise>();
}

Operation *gradc::buildPermuted(OpBuilder &b, Operation *op, ValueRange operands,
                                ArrayRef<int64_t> permutation) {
  if (auto permutes = dyn_cast<PermuteOpInterface>(op))
    return permutes.buildPermuted(b, operands, permutation);
  return clonePermuted(b, op, operands, permutation);
}

SmallVector<int64_t> gradc::sortedOrder(ArrayRef<int64_t> numbers) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, numbers.size()));
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return numbers[a] < numbers[b]; });
  return order;
}

SmallVector<int64_t> gradc::restoredOrder(OpResult result, ArrayRef<int64_t> permutation) {
  auto reduction = cast<ReductionOpInterface>(result.getOwner());
  SmallVector<int64_t> kept = otherDims(permutation.size(), reduction.getReducedDims());
  SmallVector<int64_t> order = sortedOrder(permuteDims(kept, permutation));
  if (llvm::is_sorted(order))
    return {};
  return invertPermutationVector(order);
}
