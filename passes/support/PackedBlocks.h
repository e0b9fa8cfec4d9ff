// The factors of a product in blocks of its sum that are packed block by block.
#ifndef PASSES_PACKEDBLOCKS_H
#define PASSES_PACKEDBLOCKS_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// The units of a product in blocks whose results stay in cache from block to block; 0: all units
/// take a block together, since more tiles than those of a unit read the same operands.
int64_t unitsPerWalk(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

/// Both factors run across the sum, C = A^T B. For each block of the sum, the steps of the units
/// that are walked together are copied to scratch memory in panels as wide as a register tile, and
/// so are those of the other factor if they stay in cache. Tiles then read adjacent elements: rows
/// of the factors may be pages apart, and as many lines of one cache set.
struct PackedBlocks {
  int64_t outer;    ///< the root's dim of the units; its factor is the operand of that number
  int64_t units;    ///< that are walked together
  int64_t bytes[2]; ///< of each factor's panels; 0: it is read where it is
  int64_t scratch() const { return bytes[0] + bytes[1]; }
};

/// None for other kernels.
std::optional<PackedBlocks> packedBlocks(mlir::exec::KernelOp kernel,
                                         const mlir::exec::Level &level);

} // namespace gradc

#endif
