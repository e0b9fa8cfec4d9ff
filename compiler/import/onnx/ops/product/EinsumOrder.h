// The order in which the product of several tensors with named dims takes the fewest operations.
#ifndef COMPILER_IMPORT_ONNX_OPS_PRODUCT_EINSUMORDER_H
#define COMPILER_IMPORT_ONNX_OPS_PRODUCT_EINSUMORDER_H

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"

namespace gradc {

/// Factors of a product. Their dims are numbered, and those that `result` lacks are summed.
struct EinsumFactors {
  llvm::SmallVector<llvm::SmallBitVector> factors;
  llvm::SmallBitVector result;
  llvm::SmallVector<int64_t> sizes; ///< of the dims
};

/// Pairs to multiply, first to last. The product of pair i is factor `factors.size() + i` of later
/// pairs. A dim is summed as soon as no other factor has it. Of orders that take equally many
/// multiplications the first is chosen, which is that from left to right if it is among them.
llvm::SmallVector<std::pair<unsigned, unsigned>> einsumOrder(const EinsumFactors &of);

} // namespace gradc

#endif
