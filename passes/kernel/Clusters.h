// Partitions the ops of a block into kernels.
#ifndef PASSES_KERNEL_CLUSTERS_H
#define PASSES_KERNEL_CLUSTERS_H

#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

struct Cluster {
  std::vector<mlir::Operation *> ops; ///< in program order
};

/// How kernels form around `op`; ops without loops count as views: never inside a kernel.
mlir::grad::LoopKind loopKind(mlir::Operation *op);

/// Whether the op moves elements so that lanes along its result's last dim read an operand along
/// another dim.
bool movesLanes(mlir::Operation *op);
/// Whether an op is repeated wherever it is needed: constants and broadcasts.
bool isFree(mlir::Operation *op);

/// Whether an op reduces the last dims of its operand.
bool reducesTrailing(mlir::Operation *op);
/// Whether an op repeats its operand along new last dims.
bool broadcastsRows(mlir::Operation *op);

/// Bytes of the widest float in a kernel; 4 without floats (index arithmetic is legalized).
int64_t widestElement(mlir::Operation *kernel);

/// Partitions the compute ops of `block` into clusters without cyclic dependences. Clones free ops
/// (constants, broadcasts), so that every user has its own copy.
mlir::FailureOr<std::vector<Cluster>> formClusters(mlir::Block &block,
                                                   const mlir::exec::KernelLimits &limits);

} // namespace gradc

#endif
