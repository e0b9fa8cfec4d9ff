// Masks whose values are known, and hide the keys behind a query.
#ifndef PASSES_CAUSALMASK_H
#define PASSES_CAUSALMASK_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// The value of a small computation over constants alone; nothing if it has other inputs or a
/// tensor of too many elements.
std::optional<mlir::grad::HostTensor> evaluateKnown(mlir::Value value);

/// The c for which query t sees the keys s <= t + c and no others, of a mask [.., queries, keys]:
/// bools, or numbers that are 0 or so low that no score counts beside them. With c = keys - 1 all
/// is seen. Nothing for other masks.
std::optional<int64_t> causalOffset(const mlir::grad::HostTensor &mask);

/// The same of masks in a function, each looked at once: the layers of a model share theirs.
class CausalMasks {
public:
  std::optional<int64_t> offsetOf(mlir::Value mask);

private:
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> found;
};

} // namespace gradc

#endif
