// The kernels between the pieces of a schedule that runs as one graph: they count iterations, move
// slices, and set the conditions of IF and WHILE nodes. The simulated device compiles this file as
// C++.
#include "runtime/device/cuda/ControlArguments.h"

#ifdef __CUDACC__
#define GRADC_DEVICE __device__
#define GRADC_KERNEL extern "C" __global__
#define GRADC_ROLLED _Pragma("unroll 1")
GRADC_DEVICE static int threadNumber() { return int(threadIdx.x); }
GRADC_DEVICE static int blockNumber() { return int(blockIdx.x); }
GRADC_DEVICE static void waitForBlock() { __syncthreads(); }
#endif

using namespace gradc::runtime::cuda;

namespace {

template <typename T> GRADC_DEVICE T &at(T *base, const int64_t *moved) {
  return *reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(base) + uintptr_t(*moved));
}

/// The offset of each slice that moves, in iteration `iteration` of this loop.
GRADC_DEVICE void moveSlices(const LoopArguments &a, int64_t iteration) {
  GRADC_ROLLED
  for (int64_t i = threadNumber(); i < a.movingCount; i += controlThreads) {
    const MovingOffset &slice = a.moving[i];
    int64_t offset = iteration * slice.strides[a.depth];
    GRADC_ROLLED
    for (int64_t outer = 0; outer < a.depth; ++outer)
      offset += a.block->iterations[outer] * slice.strides[outer];
    a.offsets[slice.slice] = offset;
  }
}

/// Whether the loop's condition lets another iteration begin.
GRADC_DEVICE bool goesOn(const LoopArguments &a) {
  return !a.condition || at(static_cast<const unsigned char *>(a.condition), a.conditionMoved) != 0;
}

} // namespace

/// Before a WHILE node.
GRADC_KERNEL void gradc_begin_loop(LoopArguments a) {
  int64_t trips = a.maxTrips;
  if (a.count)
    trips = a.countBytes == 4 ? at(static_cast<const int32_t *>(a.count), a.moved)
                              : at(static_cast<const int64_t *>(a.count), a.moved);
  moveSlices(a, 0);
  if (threadNumber() != 0)
    return;
  bool counts = trips <= a.maxTrips;
  if (!counts) {
    a.block->failedStep = a.step + 1;
    a.block->failedTrips = trips;
  }
  a.block->iterations[a.depth] = 0;
  a.block->trips[a.depth] = trips;
  cudaGraphSetConditional(a.handle, counts && trips > 0 && goesOn(a));
}

/// The end of a WHILE node's body.
GRADC_KERNEL void gradc_next_iteration(LoopArguments a) {
  int64_t iteration = a.block->iterations[a.depth] + 1;
  waitForBlock(); // all threads have read it
  moveSlices(a, iteration);
  if (threadNumber() != 0)
    return;
  a.block->iterations[a.depth] = iteration;
  cudaGraphSetConditional(a.handle, iteration < a.block->trips[a.depth] &&
                                        a.block->failedStep == 0 && goesOn(a));
}

/// Before the IF nodes of a branch.
GRADC_KERNEL void gradc_branch(BranchArguments a) {
  if (threadNumber() != 0)
    return;
  bool holds = at(static_cast<const unsigned char *>(a.condition), a.moved) != 0;
  if (a.handle)
    cudaGraphSetConditional(a.handle, holds);
  if (a.otherwise)
    cudaGraphSetConditional(a.otherwise, !holds);
}

/// Before an IF node that runs unless a loop has failed.
GRADC_KERNEL void gradc_guard(GuardArguments a) {
  if (threadNumber() == 0)
    cudaGraphSetConditional(a.handle, a.block->failedStep == 0);
}

/// Copies a slice. Slices begin at multiples of 64 bytes.
GRADC_KERNEL void gradc_copy(CopyArguments a) {
  struct alignas(16) Line {
    int64_t halves[2];
  };
  int64_t stays = 0;
  auto *from = &at(static_cast<const unsigned char *>(a.from), a.moveFrom ? a.moveFrom : &stays);
  auto *to = &at(static_cast<unsigned char *>(a.to), a.moveTo ? a.moveTo : &stays);
  int64_t lines = a.bytes / int64_t(sizeof(Line)), all = a.blocks * controlThreads;
  int64_t first = int64_t(blockNumber()) * controlThreads + threadNumber();
  GRADC_ROLLED
  for (int64_t i = first; i < lines; i += all)
    reinterpret_cast<Line *>(to)[i] = reinterpret_cast<const Line *>(from)[i];
  GRADC_ROLLED
  for (int64_t i = lines * int64_t(sizeof(Line)) + first; i < a.bytes; i += all)
    to[i] = from[i];
}
