// Attentions that a CPU's kernel computes whole: what it works on at once, and in which memory.
#ifndef PASSES_ATTENTIONKERNEL_H
#define PASSES_ATTENTIONKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Attention.h"

namespace gradc {

/// Whether one kernel computes the op: an attention, or the gradient of one, of enough scores.
bool isAttentionKernel(mlir::Operation *op, const mlir::exec::KernelLimits &limits);
/// The op of a kernel that holds one whole; null for other kernels.
mlir::grad::AttentionOpInterface findAttention(mlir::exec::KernelOp kernel);

/// The scores that a kernel has at once. The queries of an attention run along the lanes, and the
/// keys of a gradient.
struct AttentionBlock {
  int64_t queries, keys;
};
/// Those that a schedule says: the tile of an attention has its queries, `block` its keys; of a
/// gradient `block` has both.
AttentionBlock attentionBlock(const mlir::grad::AttentionForm &form,
                              mlir::exec::ScheduleAttr schedule);

/// The schedule of such a kernel. A unit of an attention is a block of a head's queries, one of a
/// gradient all of a key head.
mlir::exec::ScheduleAttr scheduleAttention(mlir::exec::KernelOp kernel, int64_t lanes,
                                           const mlir::exec::Level &level);

/// The shapes of what a thread keeps in its scratch, one after the other, each from a cache line
/// on. Of an attention: queries, scores, their mask, sums of the result, three numbers per query.
/// Of a gradient: keys, values, probabilities, their gradients, one mean per query.
using AttentionScratch = std::array<std::array<int64_t, 2>, 5>;
AttentionScratch attentionScratch(const mlir::grad::AttentionForm &form,
                                  const AttentionBlock &block, int64_t lanes);
/// Whether a mask has a value of its own for each query, so that it is transposed in the scratch.
bool masksQueries(const mlir::grad::AttentionForm &form);
/// Bytes of one piece of it, of elements of that size.
int64_t scratchBytes(llvm::ArrayRef<int64_t> piece, int64_t elementBytes,
                     const mlir::exec::Level &level);
/// Bytes of all of it; 0 for kernels without an attention.
int64_t attentionScratchBytes(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

} // namespace gradc

#endif
