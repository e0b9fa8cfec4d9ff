// Pieces of a schedule are captured into their graph; conditional nodes and the kernels that set
// their conditions go between them.
#include "runtime/device/cuda/ScheduleGraph.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace gradc::runtime::cuda {

namespace {

/// The failed step and its count: what a graph reports.
constexpr size_t reportBytes = 2 * sizeof(int64_t);

constexpr uint64_t alignUp(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

} // namespace

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

Status ScheduleGraphBuilder::allocate() {
  made.steps = schedule.steps;
  for (const MovingSlice &slice : schedule.moving) {
    MovingOffset &entry = made.moving.emplace_back();
    entry = {int64_t(slice.slice), {}};
    std::copy(slice.strides.begin(), slice.strides.end(), entry.strides);
  }
  uint64_t atOffsets = alignUp(sizeof(ControlBlock));
  uint64_t atMoving = alignUp(atOffsets + schedule.slices.size() * sizeof(int64_t));
  uint64_t movingBytes = made.moving.size() * sizeof(MovingOffset);
  uint64_t atStaging = alignUp(atMoving + movingBytes), bytes = atStaging + stagingBytes();
  Status s = check(driver.memAlloc(&made.memory, bytes));
  if (s.ok())
    s = check(driver.memset(made.memory, 0, atMoving, launches.stream));
  if (s.ok() && movingBytes)
    s = check(
        driver.copyIn(made.memory + atMoving, made.moving.data(), movingBytes, launches.stream));
  void *report = nullptr;
  if (s.ok() && mayFail(0, uint32_t(schedule.steps.size())))
    s = check(driver.memAllocHost(&report, sizeof(ControlBlock)));
  made.failed = static_cast<ControlBlock *>(report);
  auto *base = reinterpret_cast<std::byte *>(made.memory);
  block = reinterpret_cast<ControlBlock *>(base);
  offsets = reinterpret_cast<int64_t *>(base + atOffsets);
  moving = reinterpret_cast<MovingOffset *>(base + atMoving);
  staging = base + atStaging;
  return s;
}

/// Calls follow each other, so they share the room.
uint64_t ScheduleGraphBuilder::stagingBytes() const {
  uint64_t most = 0;
  for (const Launch &launch : schedule.launches) {
    uint64_t bytes = 0;
    for (size_t i = 0; launch.kind == Launch::Kind::call && i < launch.sliceCount; ++i)
      if (movesAt[indexOf(launch) + i])
        bytes += alignUp(schedule.bytes[indexOf(launch) + i]);
    most = std::max(most, bytes);
  }
  return most;
}

/// Whether these steps have a loop that may count too many iterations.
bool ScheduleGraphBuilder::mayFail(uint32_t begin, uint32_t end) const {
  return std::any_of(
      &schedule.steps[begin], &schedule.steps[begin] + (end - begin),
      [](const Step &step) { return step.kind == Step::Kind::loop && step.value != GRADC_NONE; });
}

bool ScheduleGraphBuilder::moves(const Launch &launch) const {
  auto first = movesAt.begin() + int64_t(indexOf(launch));
  return std::find(first, first + int64_t(launch.sliceCount), true) !=
         first + int64_t(launch.sliceCount);
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
  return arguments;
}

/// What follows a loop that may fail: nothing of it runs if the loop has failed, as on the host.
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

/// A launch with slices that move: it gets their offsets when it runs.
Status ScheduleGraphBuilder::enqueueMoving(const Launch &launch) {
  size_t first = indexOf(launch);
  switch (launch.kind) {
  case Launch::Kind::copy:
    return enqueueCopy(launch.slices[1], offsets + first + 1, launch.slices[0], offsets + first,
                       uint64_t(launch.units));
  case Launch::Kind::call:
    return enqueueStaged(launch);
  default:
    if (!launch.takesOffsets)
      return Status::error("the artifact's kernels take no offsets: compile it again");
    return launches.enqueue(launch, launch.slices, offsetOf(first));
  }
}

/// A library call knows its addresses when it is captured, so slices that move are copied to a
/// fixed place before it, and from there after it.
Status ScheduleGraphBuilder::enqueueStaged(const Launch &launch) {
  size_t first = indexOf(launch);
  std::vector<void *> slices(launch.slices, launch.slices + launch.sliceCount);
  std::byte *free = staging;
  Status s;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!movesAt[first + i])
      continue;
    slices[i] = free;
    free += alignUp(schedule.bytes[first + i]);
    if (s.ok() && i < launch.operandCount)
      s = enqueueCopy(slices[i], nullptr, launch.slices[i], offsets + first + i,
                      schedule.bytes[first + i]);
  }
  if (s.ok())
    s = launches.enqueue(launch, slices.data());
  for (size_t i = launch.operandCount; i < slices.size(); ++i)
    if (s.ok() && movesAt[first + i])
      s = enqueueCopy(launch.slices[i], offsets + first + i, slices[i], nullptr,
                      schedule.bytes[first + i]);
  return s;
}

Status ScheduleGraphBuilder::enqueueCopy(void *to, const int64_t *moveTo, const void *from,
                                         const int64_t *moveFrom, uint64_t bytes) {
  constexpr uint64_t bytesPerBlock = controlThreads * 16;
  uint64_t blocks =
      std::clamp<uint64_t>((bytes + bytesPerBlock - 1) / bytesPerBlock, 1, maxCopyBlocks);
  CopyArguments arguments{to, from, int64_t(bytes), int64_t(blocks), moveTo, moveFrom};
  return launches.enqueueKernel(control.copy, unsigned(blocks), controlThreads, &arguments,
                                sizeof arguments);
}

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
