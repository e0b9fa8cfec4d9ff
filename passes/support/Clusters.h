// Which ops of a block run together in one kernel.
#ifndef PASSES_CLUSTERS_H
#define PASSES_CLUSTERS_H

#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

struct Cluster {
  std::vector<mlir::Operation *> ops; ///< in program order
};

/// How kernels form around `op`; ops without loops count as views: never inside a kernel.
mlir::grad::LoopKind loopKind(mlir::Operation *op);

/// Bytes of the widest float in a kernel; 4 without floats (index arithmetic is legalized).
int64_t widestElement(mlir::Operation *kernel);

/// A contraction that each tile would stream through its operands from end to end, a cache line or
/// more a step (a filter gradient): it walks blocks of them instead, and so is a kernel of its own.
/// So is an attention.
bool walksBlocks(mlir::Operation *op, const mlir::exec::KernelLimits &limits);

/// Partitions the ops of `block` that compute into clusters without cyclic dependences. Clones
/// free ops (constants, broadcasts), so that every user has its own.
mlir::FailureOr<std::vector<Cluster>> formClusters(mlir::Block &block,
                                                   const mlir::exec::KernelLimits &limits);

} // namespace gradc

#endif
