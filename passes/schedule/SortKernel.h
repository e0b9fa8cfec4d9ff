// Argsorts that one CPU kernel computes: how, and its scratch memory.
#ifndef PASSES_SCHEDULE_SORTKERNEL_H
#define PASSES_SCHEDULE_SORTKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// Elements are sorted by keys: unsigned numbers in the order of the elements. Few positions are
/// selected: each element that belongs to the first ones so far replaces the last of these. Others
/// are sorted from the last digit of the keys to the first.
struct SortPlan {
  explicit SortPlan(mlir::grad::ArgsortOp op);
  /// Of a kernel that is one argsort; none for other kernels.
  static std::optional<SortPlan> of(mlir::exec::KernelOp kernel);

  int64_t dim;
  bool descending;
  int64_t rows, size, count; ///< rows, elements of each, and how many positions of it are wanted
  int64_t elementBits, keyBits;
  bool selects;
  int64_t digits;      ///< of `digitBits` each
  int64_t leadingBits; ///< of keys that choose candidates before they are sorted; 0: sorts all

  static constexpr int64_t digitBits = 8, digitValues = 1 << digitBits;

  /// The tensors in a thread's scratch memory, each aligned to a cache line. Of a sort: keys and
  /// i32 positions, the same again for the next digit, and i32 counts by digit and its value, or by
  /// the leading bits. Of a selection: i64 numbers, with a key in the high half and a position in
  /// the low one.
  enum Piece { keys, positions, nextKeys, nextPositions, counts, pieces };
  int64_t elementsOf(Piece piece) const;
  int64_t offsetOf(Piece piece) const;
  int64_t selectedElements() const { return llvm::alignTo(count, 8); } // whole vectors
};

} // namespace gradc

#endif
