// Merges leading dims of a kernel's tensors that all its ops walk alike.
#ifndef PASSES_KERNEL_MERGEDDIMS_H
#define PASSES_KERNEL_MERGEDDIMS_H

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// Leading dims of certain sizes, such as 8x128, as one dim of their product, 1024. A tensor that
/// begins with dims of these sizes is spread.
class MergedDims {
public:
  /// With `keepsRank`, dims of 1 take the place of those that disappear.
  MergedDims(mlir::ArrayRef<int64_t> sizes, bool keepsRank);

  bool isSpread(mlir::Type type) const;
  mlir::RankedTensorType merged(mlir::Type type) const;

  /// Whether the op, which is no contraction, keeps its meaning if spread values are merged.
  bool keepsMeaning(mlir::Operation *op) const;
  /// Whether a kernel's ops do, but for its contraction, of which only the rhs is checked: it must
  /// not be spread.
  bool keepsMeaning(mlir::exec::KernelOp kernel, mlir::Operation *contraction) const;
  /// Merges the dims of a value, if it is spread.
  void retype(mlir::Value value) const;
  /// Merges the dims of an op's results, whose operands have merged dims.
  void retype(mlir::Operation *op) const;
  /// Merges the dims of all values of such a kernel.
  void retype(mlir::exec::KernelOp kernel) const;
  /// Lets a launch read and write views with merged dims.
  void relaunch(mlir::exec::LaunchOp launch) const;

private:
  int64_t count() const { return int64_t(sizes.size()); }
  /// How a broadcast's operand has the leading dims: all of them, none, or otherwise (null).
  std::optional<bool> repeatsSpread(mlir::grad::BroadcastOp broadcast) const;

  mlir::SmallVector<int64_t> sizes;
  bool keepsRank;
};

/// Sets an operand to a view of it, and erases views that are then unused.
void viewOperand(mlir::OpOperand &operand, mlir::RankedTensorType type);

} // namespace gradc

#endif
