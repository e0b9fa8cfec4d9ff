// Predicts how long a CPU kernel computes.
#ifndef PASSES_SCHEDULE_KERNELTIME_H
#define PASSES_SCHEDULE_KERNELTIME_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Seconds that one thread takes for a scheduled kernel's arithmetic, if all operands are in
/// cache. `core`: the level with the rates of the machine's core. `inFlight`: the independent
/// multiply-adds that reach its peak, four per unit.
double computingSeconds(mlir::exec::KernelOp kernel, const mlir::exec::Level &core,
                        double inFlight);

/// Seconds of vector instructions in a loop. `elements`: of all vectors that they compute.
double loopSeconds(double elements, const mlir::exec::Level &core);
/// The peak of multiply-adds of elements of 32 bits or more, in flops per second.
double peakFlops(int64_t lanes, const mlir::exec::Level &core);

/// Whether a kernel is a product of so few rows that it waits for its weights.
bool streamsWeights(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
