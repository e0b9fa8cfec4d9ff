// Recomputes pointwise values in the kernels that read them, where that is cheaper than memory.
#ifndef PASSES_KERNEL_REPEATEDVALUES_H
#define PASSES_KERNEL_REPEATEDVALUES_H

#include "passes/kernel/Clusters.h"

namespace gradc {

/// Lets clusters recompute a pointwise value of another cluster, such as the tanh of a GELU for its
/// gradient, if they read all of its operands anyway and no cluster needs it from memory. The
/// arithmetic may cost no more than the bytes saved. The copies compute the same bits.
void repeatValues(std::vector<Cluster> &clusters, const mlir::exec::KernelLimits &limits);

} // namespace gradc

#endif
