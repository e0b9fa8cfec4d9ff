// What the kernels of ControlKernels.cu are given: shared by nvcc, the runtime and the simulated
// device. All members have 8 bytes, so a structure is the bytes of a launch's parameters.
#ifndef RUNTIME_DEVICE_CUDA_CONTROLARGUMENTS_H
#define RUNTIME_DEVICE_CUDA_CONTROLARGUMENTS_H

#include "runtime/include/gradc/artifact.h"

#include <stdint.h>

namespace gradc::runtime::cuda {

constexpr unsigned controlThreads = 128; ///< per block of every kernel
constexpr unsigned maxCopyBlocks = 1024; ///< a larger copy takes several rounds

/// The state of a graph's loops, in device memory. One loop per depth runs at a time.
struct ControlBlock {
  int64_t failedStep; ///< 1 + the step of a loop that counts too many iterations; 0: none
  int64_t failedTrips;
  int64_t iterations[GRADC_MAX_LOOPS], trips[GRADC_MAX_LOOPS];
};

/// A slice of a loop's body that moves.
struct MovingOffset {
  int64_t slice;
  int64_t strides[GRADC_MAX_LOOPS]; ///< bytes per iteration, outermost loop first
};

/// Of begin_loop and next_iteration.
struct LoopArguments {
  uint64_t handle; ///< of the conditional node
  ControlBlock *block;
  int64_t *offsets; ///< of all slices of the schedule, in bytes
  const MovingOffset *moving;
  int64_t movingCount;
  int64_t depth;                 ///< number of loops around this one
  const void *count;             ///< the number of iterations, or null
  const int64_t *moved;          ///< the offset of `count`
  int64_t countBytes;            ///< 4 or 8
  int64_t maxTrips;              ///< the number of iterations if `count` is null
  int64_t step;                  ///< the loop's index in the schedule
  const void *condition;         ///< the bool that each iteration requires, or null
  const int64_t *conditionMoved; ///< the offset of `condition`
};

struct BranchArguments {
  uint64_t handle, otherwise; ///< of the nodes of both bodies; 0: there is none
  const void *condition;
  const int64_t *moved; ///< the offset of `condition`
};

/// Of the rest of a body behind a loop that may count too many iterations.
struct GuardArguments {
  uint64_t handle;
  const ControlBlock *block;
};

struct CopyArguments {
  void *to;
  const void *from;
  int64_t bytes, blocks;
  const int64_t *moveTo, *moveFrom; ///< offsets; null: the slice stays
};

} // namespace gradc::runtime::cuda

#endif
