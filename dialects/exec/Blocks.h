// The meaning of a schedule for a GPU.
#ifndef DIALECTS_EXEC_BLOCKS_H
#define DIALECTS_EXEC_BLOCKS_H

#include "dialects/exec/Exec.h"

namespace mlir::exec {

/// Results of a GPU's kernel that some blocks of its own compute, and how their threads share that.
struct KernelPart {
  Block::BlockArgListType operands;
  OperandRange results;
  ScheduleAttr schedule;
  BlocksAttr blocks;

  /// The part's root space: the type of its largest result.
  RankedTensorType getRoot() const;
  /// Number of blocks of a schedule without a contraction through shared memory.
  int64_t blockCount() const;
};

/// The parts of a kernel with `blocks` or `parts`: one where it does a single thing.
SmallVector<KernelPart> partsOf(KernelOp kernel);

/// Whether two parts are the same code: the same ops, with the one's operands and results in the
/// places of the other's.
bool isSameCode(const KernelPart &a, const KernelPart &b);

/// The type of the largest of some tensors.
RankedTensorType largestOf(ValueRange tensors);

/// How the blocks of a GPU's kernel follow from the rows of a run: in a run of n rows
/// ceil(ceil(rows * n / tile) * times / per) of them, at least one. `rows` is 0 where all blocks
/// run in every run: the batch is not the outermost dim, or parts have blocks of their own.
struct BlocksOfRows {
  int64_t rows = 0, tile = 1, times = 1, per = 1;
};
BlocksOfRows blocksOfRows(KernelOp kernel);

/// Rows and columns of the root space, taken as a matrix, that one block computes. The schedule has
/// a contraction through shared memory.
std::pair<int64_t, int64_t> blockTile(KernelOp kernel);

} // namespace mlir::exec

#endif
