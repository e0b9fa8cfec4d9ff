// A graph's life: it is built, launched, asked for a failure, and released.
#include "runtime/device/cuda/ScheduleGraph.h"
#include "runtime/device/cuda/ScheduleGraphBuilder.h"

namespace gradc::runtime::cuda {

Result<std::unique_ptr<ScheduleGraph>> ScheduleGraph::build(const Driver &driver,
                                                            Launches &launches,
                                                            const Control &control,
                                                            const Schedule &schedule) {
  std::unique_ptr<ScheduleGraph> made(new ScheduleGraph(driver));
  if (Status s = ScheduleGraphBuilder(driver, launches, control, schedule, *made).build(); !s.ok())
    return s;
  return made;
}

ScheduleGraph::~ScheduleGraph() {
  if (executable)
    driver.graphExecDestroy(executable);
  if (graph)
    driver.graphDestroy(graph);
  if (memory)
    driver.memFree(memory);
  if (failed)
    driver.memFreeHost(failed);
}

Status ScheduleGraph::launch(Handle stream) const {
  return driver.check(driver.graphLaunch(executable, stream), "cannot launch a step");
}

Status ScheduleGraph::failure() const {
  if (!failed || failed->failedStep == 0)
    return {};
  return ScheduleWalk::tooManyIterations(steps[size_t(failed->failedStep) - 1],
                                         failed->failedTrips);
}

} // namespace gradc::runtime::cuda
