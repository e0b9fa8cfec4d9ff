// A schedule with branches and loops as one graph, with IF and WHILE nodes.
#ifndef RUNTIME_DEVICE_CUDA_SCHEDULEGRAPH_H
#define RUNTIME_DEVICE_CUDA_SCHEDULEGRAPH_H

#include "runtime/device/cuda/Control.h"
#include "runtime/device/cuda/ControlArguments.h"
#include "runtime/device/cuda/Launches.h"

namespace gradc::runtime::cuda {

/// The graph, the device memory of its loops, and the place where it reports a failure. All calls
/// and the destructor in the current context.
class ScheduleGraph {
public:
  static Result<std::unique_ptr<ScheduleGraph>>
  build(const Driver &driver, Launches &launches, const Control &control, const Schedule &schedule);
  ScheduleGraph(const ScheduleGraph &) = delete;
  ~ScheduleGraph();

  Status launch(Handle stream) const;
  /// After the graph has ended: whether a loop counted more iterations than its maximum.
  Status failure() const;

private:
  friend class ScheduleGraphBuilder;
  explicit ScheduleGraph(const Driver &driver) : driver(driver) {}

  const Driver &driver;
  std::span<const Step> steps;
  std::vector<MovingOffset> moving; ///< copied to the device when the graph is built
  Address memory = 0;
  ControlBlock *failed = nullptr; ///< pinned; null if no loop reads its count
  Handle graph = nullptr, executable = nullptr;
};

} // namespace gradc::runtime::cuda

#endif
