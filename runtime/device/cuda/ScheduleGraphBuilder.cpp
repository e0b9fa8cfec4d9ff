// Pieces of a schedule are captured into their graph; conditional nodes and the kernels that set
// their conditions go between them.
#include "runtime/device/cuda/ScheduleGraphBuilder.h"

#include <algorithm>

namespace gradc::runtime::cuda {

/// The failed step and its count: what a graph reports.
constexpr size_t reportBytes = 2 * sizeof(int64_t);

/// Adds to `graph`, behind `tail`, what `enqueue` puts into the stream.
template <typename Enqueue>
Status ScheduleGraphBuilder::capture(Handle graph, Tail &tail, Enqueue &&enqueue) {
  const Handle *nodes = nullptr;
  const void *edges = nullptr;
  size_t count = tail.nodes.size();
  Status s = check(
      driver.streamBeginCaptureToGraph(launches.stream, graph, count ? tail.nodes.data() : nullptr,
                                       count ? tail.edges.data() : nullptr, count, captureRelaxed));
  if (!s.ok())
    return s;
  s = enqueue();
  int status = 0;
  unsigned long long id = 0;
  if (s.ok())
    s = check(driver.streamGetCaptureInfo(launches.stream, &status, &id, nullptr, &nodes, &edges,
                                          &count));
  if (s.ok()) {
    tail.nodes.assign(nodes, nodes + count);
    tail.edges.assign(count, 0);
    if (edges)
      std::copy_n(static_cast<const uint64_t *>(edges), count, tail.edges.begin());
  }
  Handle ended = nullptr;
  Status end = check(driver.streamEndCapture(launches.stream, &ended));
  return s.ok() ? end : s;
}

template <typename Arguments>
Status ScheduleGraphBuilder::addKernel(Handle graph, Tail &tail, Handle function,
                                       const Arguments &arguments) {
  return capture(graph, tail, [&] {
    return launches.enqueueKernel(function, 1, controlThreads, &arguments, sizeof arguments);
  });
}

Status ScheduleGraphBuilder::build() {
  for (const MovingSlice &slice : schedule.moving)
    movesAt[slice.slice] = true;
  Status s = allocate();
  if (s.ok())
    s = check(driver.graphCreate(&made.graph, 0));
  Tail tail;
  bool reports = mayFail(0, uint32_t(schedule.steps.size()));
  if (s.ok() && reports)
    s = capture(made.graph, tail, [&] {
      return check(driver.memset(addressOf(block), 0, reportBytes, launches.stream));
    });
  if (s.ok())
    s = addSteps(made.graph, tail, 0, uint32_t(schedule.steps.size()), 0);
  if (s.ok() && reports)
    s = capture(made.graph, tail, [&] {
      return check(driver.copyOut(made.failed, addressOf(block), reportBytes, launches.stream));
    });
  return s.ok() ? check(driver.graphInstantiate(&made.executable, made.graph, 0)) : s;
}

/// Whether these steps have a loop that may count too many iterations.
bool ScheduleGraphBuilder::mayFail(uint32_t begin, uint32_t end) const {
  return std::any_of(
      &schedule.steps[begin], &schedule.steps[begin] + (end - begin),
      [](const Step &step) { return step.kind == Step::Kind::loop && step.value != GRADC_NONE; });
}

Status ScheduleGraphBuilder::addSteps(Handle graph, Tail &tail, uint32_t begin, uint32_t end,
                                      unsigned depth) {
  for (uint32_t at = begin; at < end; at = schedule.steps[at].end) {
    const Step &step = schedule.steps[at];
    Status s = step.kind == Step::Kind::piece    ? addPiece(graph, tail, step)
               : step.kind == Step::Kind::branch ? addBranch(graph, tail, at, depth)
                                                 : addLoop(graph, tail, at, depth);
    if (!s.ok())
      return s;
    if (step.end < end && mayFail(at, step.end))
      return addRest(graph, tail, step.end, end, depth);
  }
  return {};
}

Status ScheduleGraphBuilder::addPiece(Handle graph, Tail &tail, const Step &piece) {
  return capture(graph, tail, [&] {
    Status s;
    for (const Launch &launch : piece.launches)
      if (s.ok())
        s = moves(launch) ? enqueueMoving(launch) : launches.enqueue(launch, launch.slices);
    return s;
  });
}

/// Two IF nodes, each with its own condition: a driver before 12.8 has no else body.
Status ScheduleGraphBuilder::addBranch(Handle graph, Tail &tail, uint32_t at, unsigned depth) {
  const Step &step = schedule.steps[at];
  BranchArguments arguments{0, 0, schedule.slices[step.value], offsets + step.value};
  Status s;
  if (at + 1 < step.otherwise)
    s = createHandle(graph, arguments.handle);
  if (s.ok() && step.otherwise < step.end)
    s = createHandle(graph, arguments.otherwise);
  if (s.ok())
    s = addKernel(graph, tail, control.branch, arguments);
  auto addBody = [&](uint64_t handle, uint32_t begin, uint32_t end) {
    Handle body = nullptr;
    Tail inside;
    Status added = addConditional(graph, tail, handle, ConditionalKind::once, body);
    return added.ok() ? addSteps(body, inside, begin, end, depth) : added;
  };
  if (s.ok() && arguments.handle)
    s = addBody(arguments.handle, at + 1, step.otherwise);
  if (s.ok() && arguments.otherwise)
    s = addBody(arguments.otherwise, step.otherwise, step.end);
  return s;
}

Status ScheduleGraphBuilder::addLoop(Handle graph, Tail &tail, uint32_t at, unsigned depth) {
  uint64_t handle = 0;
  Handle body = nullptr;
  Tail inside;
  Status s = createHandle(graph, handle);
  if (!s.ok())
    return s;
  LoopArguments arguments = argumentsOf(at, handle, depth);
  s = addKernel(graph, tail, control.beginLoop, arguments);
  if (s.ok())
    s = addConditional(graph, tail, handle, ConditionalKind::again, body);
  if (s.ok())
    s = addSteps(body, inside, at + 1, schedule.steps[at].end, depth + 1);
  return s.ok() ? addKernel(body, inside, control.nextIteration, arguments) : s;
}

LoopArguments ScheduleGraphBuilder::argumentsOf(uint32_t at, uint64_t handle,
                                                unsigned depth) const {
  const Step &loop = schedule.steps[at];
  LoopArguments arguments{};
  arguments.handle = handle;
  arguments.block = block;
  arguments.offsets = offsets;
  if (!loop.moving.empty())
    arguments.moving = moving + (loop.moving.data() - schedule.moving.data());
  arguments.movingCount = int64_t(loop.moving.size());
  arguments.depth = depth;
  if (loop.value != GRADC_NONE) {
    arguments.count = schedule.slices[loop.value];
    arguments.moved = offsets + loop.value;
  }
  arguments.countBytes = loop.valueBytes;
  arguments.maxTrips = loop.trips;
  arguments.step = at;
  if (loop.condition != GRADC_NONE) {
    arguments.condition = schedule.slices[loop.condition];
    arguments.conditionMoved = offsets + loop.condition;
  }
  return arguments;
}

/// Adds the nodes after a loop that may fail. As on the host, none of them runs if it has failed.
Status ScheduleGraphBuilder::addRest(Handle graph, Tail &tail, uint32_t begin, uint32_t end,
                                     unsigned depth) {
  GuardArguments arguments{0, block};
  Handle body = nullptr;
  Tail inside;
  Status s = createHandle(graph, arguments.handle);
  if (s.ok())
    s = addKernel(graph, tail, control.guard, arguments);
  if (s.ok())
    s = addConditional(graph, tail, arguments.handle, ConditionalKind::once, body);
  return s.ok() ? addSteps(body, inside, begin, end, depth) : s;
}

Status ScheduleGraphBuilder::createHandle(Handle graph, uint64_t &handle) {
  unsigned long long made = 0;
  Status s = check(driver.graphConditionalHandleCreate(&made, graph, nullptr, /*default*/ 0,
                                                       assignDefaultAtLaunch));
  handle = made;
  return s;
}

Status ScheduleGraphBuilder::addConditional(Handle graph, Tail &tail, uint64_t handle,
                                            ConditionalKind kind, Handle &body) {
  ConditionalNode node;
  node.handle = handle;
  node.kind = kind;
  Handle added = nullptr;
  Status s = check(driver.graphAddNode(&added, graph, tail.nodes.data(), tail.edges.data(),
                                       tail.nodes.size(), &node));
  if (!s.ok())
    return s;
  body = node.bodies[0];
  tail = {{added}, {0}};
  return {};
}

} // namespace gradc::runtime::cuda
