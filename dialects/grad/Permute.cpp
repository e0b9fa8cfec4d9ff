// Renumbering of dims under transpositions.
#include "dialects/grad/Permute.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;

SmallVector<int64_t> grad::permuteDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse = invertPermutationVector(permutation);
  return llvm::map_to_vector(dims, [&](int64_t d) { return inverse[d]; });
}

int64_t grad::permuteDim(int64_t dim, ArrayRef<int64_t> permutation) {
  return permuteDims(dim, permutation)[0];
}

SmallVector<int64_t> grad::permuteSet(ArrayRef<int64_t> dims, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> moved = permuteDims(dims, permutation);
  llvm::sort(moved);
  return moved;
}

bool grad::keepsLeading(ArrayRef<int64_t> permutation, int64_t count) {
  return llvm::equal(permutation.take_front(count), llvm::seq<int64_t>(0, count));
}

Operation *grad::clonePermuted(OpBuilder &b, Operation *op, ValueRange operands,
                               ArrayRef<int64_t> permutation) {
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  Operation *clone = b.clone(*op, mapping);
  for (Value result : clone->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    result.setType(type.clone(applyPermutation(type.getShape(), permutation)));
  }
  return clone;
}
