// In a kernel of its own, the product writes a matrix for each block of codes, and the reduction
// reads them all again. For one row and blocks of 32, these take as many bytes as a quarter of the
// codes.
#include "passes/kernel/BatchReductions.h"

#include "passes/entry/NodeOrder.h"
#include "passes/kernel/BlockWalks.h"
#include "passes/kernel/Clusters.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Whether the codes are a state, which is stored in the panels that the kernel reads from end to
/// end. Others are read across their rows, which takes longer than their results do unless these
/// are larger.
static bool paysToReduce(ContractionOpInterface product) {
  Value codes = product->getOperand(1);
  return isa_and_nonnull<ReadOp>(storageRoot(codes).getDefiningOp()) ||
         bytesOf(product->getResult(0)) > bytesOf(codes);
}

/// Whether the product multiplies floats by codes, of 8 or 16 bits, with vectors along its columns.
static bool hasCodes(ContractionOpInterface product, const ContractionLetters &letters) {
  return !letters.window && !letters.result.empty() && letters.isColumn(letters.result.back()) &&
         isa<FloatType>(getElementTypeOrSelf(product->getOperand(0))) &&
         isa<IntegerType>(getElementTypeOrSelf(product->getOperand(1))) &&
         getElementTypeOrSelf(product->getResult(0)).isF32();
}

/// The reduction over all of the product's batch, and nothing else; null: there is none.
static Operation *reductionOf(ContractionOpInterface product, const exec::KernelLimits &limits) {
  ContractionLetters letters = product.getLetters();
  if (!hasCodes(product, letters) || !paysToReduce(product) || walksBlocks(product, limits))
    return nullptr;
  Operation *reader = product;
  do {
    if (!reader->hasOneUse())
      return nullptr;
    reader = *reader->user_begin();
  } while (loopKind(reader) == LoopKind::elementwise);
  auto reduction = dyn_cast<ReductionOpInterface>(reader);
  SmallVector<int64_t> batch;
  for (auto [d, letter] : llvm::enumerate(letters.result))
    if (letters.isBatch(letter))
      batch.push_back(int64_t(d));
  return reduction && loopKind(reader) == LoopKind::reduction && !batch.empty() &&
                 reduction.getReducedDims() == batch
             ? reader
             : nullptr;
}

Operation *gradc::contractionBefore(Operation *op) {
  for (Value v : op->getOperands())
    if (Operation *producer = v.getDefiningOp();
        producer && loopKind(producer) == LoopKind::contraction && v.hasOneUse())
      return producer;
  return nullptr;
}

void BatchReductions::analyze(Block &block, const exec::KernelLimits &limits) {
  if (!limits.reducesBatches)
    return;
  for (auto product : block.getOps<ContractionOpInterface>())
    if (Operation *reduction = reductionOf(product, limits))
      products.try_emplace(reduction, product);
}
