// Recognizes causal masks among masks with known values.
#ifndef PASSES_RAISE_CAUSALMASK_H
#define PASSES_RAISE_CAUSALMASK_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// A key whose score is this number, or has it as a term, has the probability 0 beside a visible
/// one: e^-1e9 is 0 in f32, and stays 0 unless the scores of a query differ by about as much. The
/// -1e4 of older models is no such number, as scores of some thousands occur.
inline constexpr double hidingTerm = -1e9;

/// The causal offsets of the masks in a function, cached because the layers of a model share masks.
class CausalMasks {
public:
  /// The c for which query t attends exactly to the keys s <= t + c, for a mask [.., queries, keys]
  /// of bools, true for visible keys or, with `hidesOnTrue`, for hidden ones, or of numbers that
  /// are 0 or at most `hidingTerm`. With c = keys - 1 every query attends to all keys. None for
  /// other masks, and for those that are not computed from a few constants alone.
  std::optional<int64_t> offsetOf(mlir::Value mask, bool hidesOnTrue);

private:
  /// By the mask, and whether it is true for hidden keys.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, std::optional<int64_t>> found;
};

} // namespace gradc

#endif
