// Attentions that one CPU kernel computes: block sizes and scratch memory.
#ifndef PASSES_SCHEDULE_ATTENTIONKERNEL_H
#define PASSES_SCHEDULE_ATTENTIONKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/math/Attention.h"

namespace gradc {

/// The attention op of a kernel; null for other kernels.
mlir::grad::AttentionOpInterface findAttention(mlir::exec::KernelOp kernel);

/// The block of scores that a kernel computes at a time. Vector lanes run along the queries of an
/// attention, and along the keys of a gradient.
struct AttentionBlock {
  int64_t queries, keys;
};
/// Blocks along the lanes are multiples of this: whole register tiles in columns and in rows.
int64_t attentionStep(int64_t lanes, const mlir::exec::Level &level);
/// The block in a schedule: for an attention `tile` has the queries and `block` the keys; for a
/// gradient `block` has both.
AttentionBlock attentionBlock(const mlir::grad::AttentionForm &form,
                              mlir::exec::ScheduleAttr schedule);

/// The shapes of a thread's scratch tensors, which follow each other, each aligned to a cache line.
/// Attention: queries, scores, their mask, sums of the result, three numbers per query. Gradient:
/// keys, values, probabilities, their gradients, one mean per query.
using AttentionScratch = std::array<std::array<int64_t, 2>, 5>;
AttentionScratch attentionScratch(const mlir::grad::AttentionForm &form,
                                  const AttentionBlock &block, int64_t lanes);
/// Whether a mask differs between queries, so that it is transposed in the scratch.
bool masksQueries(const mlir::grad::AttentionForm &form);
/// Bytes of one scratch tensor with elements of that size.
int64_t scratchBytes(llvm::ArrayRef<int64_t> piece, int64_t elementBytes,
                     const mlir::exec::Level &level);

} // namespace gradc

#endif
