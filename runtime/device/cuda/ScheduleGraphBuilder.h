// Makes the graph of a schedule: its memory, its nodes, and its executable form.
#ifndef RUNTIME_DEVICE_CUDA_SCHEDULEGRAPHBUILDER_H
#define RUNTIME_DEVICE_CUDA_SCHEDULEGRAPHBUILDER_H

#include "runtime/device/cuda/ScheduleGraph.h"

namespace gradc::runtime::cuda {

/// Builds a graph in four steps: 1. device memory: the loops' state, the offsets of all slices,
/// their strides, and room for the slices of library calls that move; 2. the nodes, body by body;
/// 3. a copy of the report to the host; 4. the executable.
class ScheduleGraphBuilder {
public:
  ScheduleGraphBuilder(const Driver &driver, Launches &launches, const Control &control,
                       const Schedule &schedule, ScheduleGraph &made)
      : driver(driver), launches(launches), control(control), schedule(schedule), made(made),
        movesAt(schedule.slices.size()) {}

  Status build();

private:
  /// The nodes that the next node of a graph follows.
  struct Tail {
    std::vector<Handle> nodes;
    std::vector<uint64_t> edges; ///< CUgraphEdgeData of each
  };

  Status check(int code) const { return driver.check(code, "cannot make a step's graph"); }
  Status allocate();
  uint64_t stagingBytes() const;
  bool mayFail(uint32_t begin, uint32_t end) const;
  size_t indexOf(const Launch &launch) const {
    return size_t(launch.slices - schedule.slices.data());
  }
  Address offsetOf(size_t slice) const { return addressOf(offsets + slice); }
  bool moves(const Launch &launch) const;

  Status addSteps(Handle graph, Tail &tail, uint32_t begin, uint32_t end, unsigned depth);
  Status addPiece(Handle graph, Tail &tail, const Step &piece);
  Status addBranch(Handle graph, Tail &tail, uint32_t at, unsigned depth);
  Status addLoop(Handle graph, Tail &tail, uint32_t at, unsigned depth);
  Status addRest(Handle graph, Tail &tail, uint32_t begin, uint32_t end, unsigned depth);
  LoopArguments argumentsOf(uint32_t loop, uint64_t handle, unsigned depth) const;

  template <typename Enqueue> Status capture(Handle graph, Tail &tail, Enqueue &&enqueue);
  template <typename Arguments>
  Status addKernel(Handle graph, Tail &tail, Handle function, const Arguments &arguments);
  Status createHandle(Handle graph, uint64_t &handle);
  Status addConditional(Handle graph, Tail &tail, uint64_t handle, ConditionalKind kind,
                        Handle &body);
  Status enqueueMoving(const Launch &launch);
  Status enqueueStaged(const Launch &launch);
  Status enqueueCopy(void *to, const int64_t *moveTo, const void *from, const int64_t *moveFrom,
                     uint64_t bytes);

  const Driver &driver;
  Launches &launches;
  const Control &control;
  const Schedule &schedule;
  ScheduleGraph &made;
  std::vector<bool> movesAt; ///< of each slice
  ControlBlock *block = nullptr;
  int64_t *offsets = nullptr;
  MovingOffset *moving = nullptr;
  std::byte *staging = nullptr;
};

} // namespace gradc::runtime::cuda

#endif
