// How a schedule maps to a GPU's thread blocks.
#ifndef DIALECTS_EXEC_BLOCKS_H
#define DIALECTS_EXEC_BLOCKS_H

#include "dialects/exec/Exec.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::exec {

/// A part of a GPU kernel: the results that its own thread blocks compute, and how their threads
/// share the work.
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

/// The parts of a kernel with `blocks` (a single part) or `parts`.
SmallVector<KernelPart> partsOf(KernelOp kernel);

/// Whether two parts can share code: their ops are identical up to a one-to-one mapping of operands
/// and results.
bool isSameCode(const KernelPart &a, const KernelPart &b);

/// The type of the largest of some tensors.
RankedTensorType largestOf(ValueRange tensors);

/// The number of thread blocks of a GPU kernel as a function of the run's rows: a run of n rows
/// has max(1, ceil(ceil(rows * n / tile) * times / per)) blocks. `rows` is 0 if every run needs all
/// blocks: the batch is not the outermost dim, or the kernel has several parts.
struct BlocksOfRows {
  int64_t rows = 0, tile = 1, times = 1, per = 1;
};
BlocksOfRows blocksOfRows(KernelOp kernel);

/// The slices of GPU kernels that move with the iterations of a loop in some launch, operands
/// first, then results: by kernel name, for kernels with such slices. These kernels take offsets.
llvm::StringMap<llvm::BitVector> movingSlices(ModuleOp module);

/// The rows and columns that one block computes of the root space, viewed as a matrix. Requires a
/// schedule with a contraction through shared memory.
std::pair<int64_t, int64_t> blockTile(KernelOp kernel);

} // namespace mlir::exec

#endif
