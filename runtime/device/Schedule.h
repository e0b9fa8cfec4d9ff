// A schedule bound to memory, and the one way through it: every device, and every replay launch by
// launch, follows a ScheduleWalk.
#ifndef RUNTIME_DEVICE_SCHEDULE_H
#define RUNTIME_DEVICE_SCHEDULE_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"
#include "runtime/ranks/Communicator.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gradc::runtime {

/// What a launch does with the values of all ranks.
struct Collective {
  /// Values of one slice of the launch.
  struct Piece {
    size_t slice;
    uint64_t offset; ///< bytes
    int64_t count;
  };
  std::vector<Piece> pieces;   ///< those of a rank follow those of the rank before it
  std::vector<int64_t> begins; ///< of each rank's, as `exchange` has them
  Communicator::Exchange exchange;
};

/// One launch, with nothing left to look up.
struct Launch {
  enum class Kind : uint8_t {
    kernel,
    call,      ///< of a library, in the kernel's place
    copy,      ///< of `units` bytes from the first slice to the second
    collective ///< of all ranks; only begins there
  };
  Kind kind = Kind::kernel;
  bool waits = false;   ///< for all earlier launches of its piece; else independent of those since
                        ///< the last wait
  uint32_t awaits = 0;  ///< so many collectives, the first of its piece, must have ended before
  uint32_t threads = 0; ///< of a unit, where that is a GPU's block
  void *kernel = nullptr;     ///< from Image::findKernel
  const void *call = nullptr; ///< from Device::prepareCalls
  const Collective *collective = nullptr;
  void *const *slices = nullptr; ///< operands, then results, in device memory; part of the
                                 ///< schedule's slices
  size_t sliceCount = 0;
  int64_t first = 0;            ///< of its units
  int64_t units = 0;            ///< independent pieces of work
  int64_t shares = 1;           ///< how many workers it is worth to split them over
  int64_t rows = 0;             ///< of the run, for kernels
  std::byte *scratch = nullptr; ///< of all threads of a CPU
  uint64_t scratchBytes = 0;    ///< of one thread
  uint32_t node = 0;            ///< its index in the entry's schedule
};

/// A slice that moves with the iterations of the loops around it.
struct MovingSlice {
  uint32_t slice;                   ///< index into the schedule's slices
  std::span<const int64_t> strides; ///< bytes per iteration, outermost loop first
};

/// A step of a schedule. Steps are a tree in preorder: the steps of its bodies follow a step.
struct Step {
  enum class Kind : uint8_t {
    piece, ///< a straight list of launches
    branch,
    loop
  };
  Kind kind = Kind::piece;
  bool moves = false;                  ///< a piece: slices of its launches move
  uint32_t end = 0;                    ///< index of the first step behind this one and its bodies
  uint32_t otherwise = 0;              ///< a branch: the first step of the else body
  std::span<const Launch> launches;    ///< of the step and its bodies
  std::span<const MovingSlice> moving; ///< a loop: of its body
  int64_t trips = 0;                   ///< a loop: iterations, or the most that it may count
  uint32_t value = GRADC_NONE;         ///< slice of a branch's condition or a loop's count; none
  uint32_t valueBytes = 0;             ///< 1, 4 or 8
  std::string_view node;               ///< source node
};

struct Schedule {
  std::span<const Step> steps;
  std::span<const Launch> launches;    ///< of all pieces, in their order
  std::span<void *const> slices;       ///< of all launches; where they are in each first iteration
  std::span<const MovingSlice> moving; ///< empty: slices stay where they are
  Communicator *ranks = nullptr;       ///< that share the run; null: there is one
};

/// A launch of a run, by its node and the iteration of each loop around it.
struct LaunchPath {
  uint32_t node = 0;
  uint32_t loops = 0; ///< around it
  uint32_t iterations[GRADC_MAX_LOOPS] = {};
};

/// Goes through a schedule as a run does: one piece after the other, through the bodies that
/// conditions and counts choose. Nothing is allocated but, before the first run of a schedule whose
/// slices move, a copy of its slices.
class ScheduleWalk {
public:
  ScheduleWalk() = default;
  /// `copy`: room for the slices of a schedule in which some move; kept by the caller, so that the
  /// next walk finds it.
  ScheduleWalk(const Schedule &schedule, std::vector<void *> &copy) : schedule(schedule) {
    if (schedule.moving.empty())
      return;
    copy.assign(schedule.slices.begin(), schedule.slices.end());
    moved = copy.data();
  }

  /// The next piece to run; null at the end, or where `status` has failed.
  /// `read(address, bytes)`: the number behind a condition or a count, 0 where it cannot be read.
  /// `iterate(loop)`: called before each iteration of a loop.
  template <typename Read, typename Iterate> const Step *next(Read &&read, Iterate &&iterate) {
    while (status_.ok()) {
      if (depth && at == frames[depth - 1].end) {
        leaveBody(iterate);
        continue;
      }
      if (at == schedule.steps.size())
        return nullptr;
      const Step &step = schedule.steps[at];
      if (step.kind == Step::Kind::piece) {
        at = step.end;
        return &step;
      }
      int64_t value = step.trips;
      if (step.value != GRADC_NONE)
        value = read(slices()[step.value], step.valueBytes);
      if (step.kind == Step::Kind::branch)
        enter({at, value ? step.otherwise : step.end, 0, 1}, value ? at + 1 : step.otherwise);
      else
        enterLoop(step, value, iterate);
    }
    return nullptr;
  }

  /// The launch's slices in this iteration.
  void *const *slices(const Launch &launch) const {
    return moved ? moved + (launch.slices - schedule.slices.data()) : launch.slices;
  }
  /// Where a launch of the current piece stands.
  LaunchPath path(const Launch &launch) const {
    LaunchPath path;
    path.node = launch.node;
    eachLoop(
        [&](const Frame &frame) { path.iterations[path.loops++] = uint32_t(frame.iteration); });
    return path;
  }
  /// How far a slice with these strides has moved.
  int64_t offset(std::span<const int64_t> strides) const {
    int64_t sum = 0;
    size_t loop = 0;
    eachLoop([&](const Frame &frame) {
      if (loop < strides.size())
        sum += frame.iteration * strides[loop++];
    });
    return sum;
  }
  const Status &status() const { return status_; }
  /// Ends the walk.
  void fail(Status status) { status_ = std::move(status); }

private:
  /// A body that the walk is in.
  struct Frame {
    uint32_t step, end;
    int64_t iteration, trips;
  };

  void *const *slices() const { return moved ? moved : schedule.slices.data(); }

  template <typename Visit> void eachLoop(Visit &&visit) const {
    for (unsigned i = 0; i < depth; ++i)
      if (schedule.steps[frames[i].step].kind == Step::Kind::loop)
        visit(frames[i]);
  }

  void enter(Frame frame, uint32_t begin) {
    frames[depth++] = frame;
    at = begin;
  }
  template <typename Iterate> void enterLoop(const Step &step, int64_t trips, Iterate &&iterate) {
    if (trips > step.trips)
      return fail(tooManyIterations(step, trips));
    if (trips <= 0) {
      at = step.end;
      return;
    }
    enter({at, step.end, 0, trips}, at + 1);
    iterate(step);
    moveSlices(step);
  }
  template <typename Iterate> void leaveBody(Iterate &&iterate) {
    Frame &frame = frames[depth - 1];
    const Step &step = schedule.steps[frame.step];
    if (++frame.iteration == frame.trips) {
      at = step.end;
      --depth;
      return;
    }
    at = frame.step + 1;
    iterate(step);
    moveSlices(step);
  }
  void moveSlices(const Step &loop) {
    for (const MovingSlice &slice : loop.moving)
      moved[slice.slice] =
          static_cast<std::byte *>(schedule.slices[slice.slice]) + offset(slice.strides);
  }
  static Status tooManyIterations(const Step &step, int64_t trips);

  Schedule schedule;
  void **moved = nullptr;
  uint32_t at = 0;
  unsigned depth = 0;
  Frame frames[GRADC_MAX_DEPTH];
  Status status_;
};

/// The number in a condition or a count.
int64_t numberIn(const void *bytes, uint32_t size);

} // namespace gradc::runtime

#endif
