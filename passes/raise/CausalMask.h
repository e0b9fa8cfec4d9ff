// Recognizes causal masks among masks with known values.
#ifndef PASSES_RAISE_CAUSALMASK_H
#define PASSES_RAISE_CAUSALMASK_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// The value of a small computation over constants only; none if it has other inputs or a tensor
/// with too many elements.
std::optional<mlir::grad::HostTensor> evaluateKnown(mlir::Value value);

/// The c for which query t attends exactly to the keys s <= t + c, for a mask [.., queries, keys]
/// of bools, or of numbers that are 0 or low enough to suppress any score. With c = keys - 1 every
/// query attends to all keys. None for other masks.
std::optional<int64_t> causalOffset(const mlir::grad::HostTensor &mask);

/// Caches causal offsets of the masks in a function, because the layers of a model share masks.
class CausalMasks {
public:
  std::optional<int64_t> offsetOf(mlir::Value mask);

private:
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> found;
};

} // namespace gradc

#endif
