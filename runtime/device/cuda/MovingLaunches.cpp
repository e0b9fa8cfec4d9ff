// The device memory of a schedule's graph, and the launches whose slices move with the iterations.
#include "runtime/device/cuda/ScheduleGraphBuilder.h"

#include <algorithm>

namespace gradc::runtime::cuda {

static constexpr uint64_t alignUp(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

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

bool ScheduleGraphBuilder::moves(const Launch &launch) const {
  auto first = movesAt.begin() + int64_t(indexOf(launch));
  return std::find(first, first + int64_t(launch.sliceCount), true) !=
         first + int64_t(launch.sliceCount);
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

} // namespace gradc::runtime::cuda
