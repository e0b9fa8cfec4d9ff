// A schedule bound to memory, and ScheduleWalk, which traverses it. Every device and the
// launch-by-launch replay use the same traversal.
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

/// The collective operation over ranks that a launch starts.
struct Collective {
  /// Values of one slice of the launch.
  struct Piece {
    size_t slice;
    uint64_t offset; ///< bytes
    int64_t count;
    bool leavesZeros; ///< as in Communicator::Piece
  };
  std::vector<Piece> pieces;   ///< ordered by the rank that owns them
  std::vector<int64_t> begins; ///< storage for `exchange.begins`
  Communicator::Exchange exchange;
};

/// One launch with all addresses and sizes resolved.
struct Launch {
  enum class Kind : uint8_t {
    kernel,
    call,      ///< a library call instead of the kernel
    copy,      ///< copies `units` bytes from the first slice to the second
    collective ///< starts a collective over all ranks
  };
  Kind kind = Kind::kernel;
  bool waits = false;     ///< waits for all earlier launches of its piece; otherwise independent of
                          ///< all launches since the last wait
  uint32_t awaits = 0;    ///< the piece's first `awaits` collectives must end before this launch
  uint32_t threads = 0;   ///< threads per block on a GPU, where a unit is a block
  void *kernel = nullptr; ///< from Image::findKernel
  const void *call = nullptr; ///< from Device::prepareCalls
  const Collective *collective = nullptr;
  void *const *slices = nullptr; ///< operands, then results, in device memory; a subrange of the
                                 ///< schedule's slices
  size_t sliceCount = 0;
  int64_t first = 0;            ///< number of the first unit
  int64_t units = 0;            ///< number of units, which are independent of each other
  int64_t shares = 1;           ///< max workers that it pays to split the units over
  uint32_t together = 0;        ///< up to so many units take less time in one call
  int64_t rows = 0;             ///< rows of the run, for kernels
  std::byte *scratch = nullptr; ///< scratch memory of all CPU threads
  uint64_t scratchBytes = 0;    ///< scratch bytes per thread
  uint32_t node = 0;            ///< index of its node in the entry's schedule
  uint32_t operandCount = 0;    ///< the first slices, which are read
  bool takesOffsets = false; ///< the kernel's last parameter is the address of the offsets of its
                             ///< slices, or null
};

/// A slice whose address depends on the iterations of the loops around it.
struct MovingSlice {
  uint32_t slice;                   ///< index into the schedule's slices
  std::span<const int64_t> strides; ///< bytes per iteration, outermost loop first
};

/// A step of a schedule. Steps form a tree, stored in preorder: a step, then the steps of its
/// bodies.
struct Step {
  enum class Kind : uint8_t {
    piece, ///< a straight list of launches
    branch,
    loop
  };
  Kind kind = Kind::piece;
  bool moves = false;                  ///< piece: slices of its launches move
  uint32_t end = 0;                    ///< index of the first step after this one and its bodies
  uint32_t otherwise = 0;              ///< branch: the first step of the else body
  std::span<const Launch> launches;    ///< launches of the step and its bodies
  std::span<const MovingSlice> moving; ///< loop: moving slices of its body
  int64_t trips = 0;                   ///< loop: iterations, or the max if it reads a number
  uint32_t value = GRADC_NONE;         ///< slice of a branch's condition or of a loop's count
  uint32_t valueBytes = 0;             ///< size of that value: 1, 4 or 8
  uint32_t condition = GRADC_NONE;     ///< loop: slice of the bool that each iteration requires
  std::string_view node;               ///< source node
};

struct Schedule {
  std::span<const Step> steps;
  std::span<const Launch> launches;     ///< of all pieces, in order
  std::span<void *const> slices;        ///< of all launches: addresses in the first iterations
  std::span<const MovingSlice> moving;  ///< empty: no slice moves
  std::span<const uint64_t> bytes = {}; ///< of each slice; may be empty if no slice moves
  Communicator *ranks = nullptr;        ///< the ranks that share the run; null for a single process
};

/// Identifies a launch of a run by its node and the iteration of each loop around the node.
struct LaunchPath {
  uint32_t node = 0;
  uint32_t loops = 0; ///< number of loops around the node
  uint32_t iterations[GRADC_MAX_LOOPS] = {};
};

/// Traverses a schedule in execution order: piece by piece, through the bodies that conditions and
/// counts select. The only allocation is a copy of the slices, made before the first run of a
/// schedule with moving slices.
class ScheduleWalk {
public:
  ScheduleWalk() = default;
  /// `copy`: storage for the slices of a schedule with moving slices. The caller keeps it, so the
  /// next walk reuses the allocation.
  ScheduleWalk(const Schedule &schedule, std::vector<void *> &copy) : schedule(schedule) {
    if (schedule.moving.empty())
      return;
    copy.assign(schedule.slices.begin(), schedule.slices.end());
    moved = copy.data();
  }

  /// The next piece to run; null at the end or after a failure (see `status`).
  /// `read(address, bytes)`: reads a condition or a count; returns 0 if it cannot be read.
  /// `iterate(loop)`: called before each iteration of a loop.
  template <typename Read, typename Iterate> const Step *next(Read &&read, Iterate &&iterate) {
    while (status_.ok()) {
      if (depth && at == frames[depth - 1].end) {
        leaveBody(read, iterate);
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
        enterLoop(step, value, read, iterate);
    }
    return nullptr;
  }

  /// The launch's slices in the current iteration.
  void *const *slices(const Launch &launch) const {
    return moved ? moved + (launch.slices - schedule.slices.data()) : launch.slices;
  }
  /// The path of a launch of the current piece.
  LaunchPath path(const Launch &launch) const {
    LaunchPath path;
    path.node = launch.node;
    eachLoop(
        [&](const Frame &frame) { path.iterations[path.loops++] = uint32_t(frame.iteration); });
    return path;
  }
  /// The distance in bytes that a slice with these strides has moved.
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
  /// The error of a loop that counts more iterations than its maximum.
  static Status tooManyIterations(const Step &step, int64_t trips);
  /// Ends the walk.
  void fail(Status status) { status_ = std::move(status); }

private:
  /// A body that the walk has entered and not yet left.
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
  template <typename Read, typename Iterate>
  void enterLoop(const Step &step, int64_t trips, Read &&read, Iterate &&iterate) {
    if (trips > step.trips)
      return fail(tooManyIterations(step, trips));
    if (trips <= 0 || !goesOn(step, read)) {
      at = step.end;
      return;
    }
    enter({at, step.end, 0, trips}, at + 1);
    iterate(step);
    moveSlices(step);
  }
  template <typename Read, typename Iterate> void leaveBody(Read &&read, Iterate &&iterate) {
    Frame &frame = frames[depth - 1];
    const Step &step = schedule.steps[frame.step];
    if (++frame.iteration == frame.trips || !goesOn(step, read)) {
      at = step.end;
      --depth;
      return;
    }
    at = frame.step + 1;
    iterate(step);
    moveSlices(step);
  }
  /// Whether another iteration of the loop may begin.
  template <typename Read> bool goesOn(const Step &loop, Read &&read) {
    return loop.condition == GRADC_NONE || read(slices()[loop.condition], /*bytes=*/1) != 0;
  }
  void moveSlices(const Step &loop) {
    for (const MovingSlice &slice : loop.moving)
      moved[slice.slice] =
          static_cast<std::byte *>(schedule.slices[slice.slice]) + offset(slice.strides);
  }

  Schedule schedule;
  void **moved = nullptr;
  uint32_t at = 0;
  unsigned depth = 0;
  Frame frames[GRADC_MAX_DEPTH];
  Status status_;
};

/// Reads the integer in a condition or a count.
int64_t numberIn(const void *bytes, uint32_t size);

} // namespace gradc::runtime

#endif
