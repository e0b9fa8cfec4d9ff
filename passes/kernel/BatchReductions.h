// Reductions over the batch of a product, which the product's kernel computes as well.
#ifndef PASSES_KERNEL_BATCHREDUCTIONS_H
#define PASSES_KERNEL_BATCHREDUCTIONS_H

#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// A contraction whose result only `op` reads; null: there is none.
mlir::Operation *contractionBefore(mlir::Operation *op);

/// Reductions over all of the batch of a product of floats with a batch of codes, such as the
/// blocks of a quantized weight: of the product itself, or of what is computed from it element by
/// element and read by nothing else.
class BatchReductions {
public:
  void analyze(mlir::Block &block, const mlir::exec::KernelLimits &limits);

  /// The product that belongs in the kernel of such a reduction; null for other ops.
  mlir::Operation *productOf(mlir::Operation *reduction) const {
    return products.lookup(reduction);
  }

private:
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> products; ///< by their reductions
};

} // namespace gradc

#endif
