// Restricts the evaluation of expensive sums to sampled elements.
#ifndef DIALECTS_GRAD_MATH_SAMPLING_H
#define DIALECTS_GRAD_MATH_SAMPLING_H

#include "llvm/ADT/BitVector.h"

namespace mlir::grad {

/// During its lifetime, contractions and reductions that this thread evaluates compute only the
/// `wanted` elements of their first result. Null: all.
class SamplingScope {
public:
  explicit SamplingScope(const llvm::BitVector *wanted) : outer(current) { current = wanted; }
  ~SamplingScope() { current = outer; }
  SamplingScope(const SamplingScope &) = delete;
  SamplingScope &operator=(const SamplingScope &) = delete;

  static bool wants(int64_t element) { return !current || (*current)[unsigned(element)]; }

private:
  static inline thread_local const llvm::BitVector *current = nullptr;
  const llvm::BitVector *outer;
};

} // namespace mlir::grad

#endif
