// Blocks of a long sum stay in cache while tiles of results add them up in memory.
#include "passes/kernel/BlockWalks.h"

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"

using namespace mlir;
using namespace mlir::grad;

/// Whether an op that is in a kernel computes all that the kernel returns. Others need whole sums:
/// a product of f16 forms a kernel with what follows it, before its sums become f32.
static bool isAllOfKernel(Operation *op) {
  auto kernel = dyn_cast_or_null<exec::KernelOp>(op->getParentOp());
  return !kernel || llvm::equal(kernel.getYielded(), op->getResults());
}

bool gradc::walksBlocks(Operation *op, const exec::KernelLimits &limits) {
  auto contraction = dyn_cast<ContractionOpInterface>(op);
  if (!contraction || !isa<Float32Type, Float64Type>(typeOf(op->getResult(0)).getElementType()))
    return op->hasTrait<grad::OwnKernel>();
  ContractionLetters letters = contraction.getLetters();
  auto isSummed = [&](char letter) { return letters.isSummed(letter); };
  int64_t terms = cast<CostOpInterface>(op).getFlops() / 2;
  int64_t elements = typeOf(op->getResult(0)).getNumElements();
  if (letters.lhs.empty() || terms == 0 || isSummed(letters.lhs.back()) ||
      (!letters.window && llvm::none_of(letters.lhs, isSummed)))
    return false;
  return terms >= elements * (letters.window ? limits.minBlockedSum : limits.minBlockedProduct) &&
         isAllOfKernel(op);
}
