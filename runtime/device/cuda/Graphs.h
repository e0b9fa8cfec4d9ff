// Schedules as CUDA graphs: one graph of the whole, or one per straight piece.
#ifndef RUNTIME_DEVICE_CUDA_GRAPHS_H
#define RUNTIME_DEVICE_CUDA_GRAPHS_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/ScheduleGraph.h"

#include <list>

namespace gradc::runtime::cuda {

/// Schedules and pieces, captured with their slices for a number of rows. To be called in the
/// current context.
class Graphs {
public:
  Graphs(const Driver &driver, Launches &launches)
      : driver(driver), launches(launches), control(driver) {}
  Graphs(const Graphs &) = delete;

  /// Starts a schedule with branches or loops as one graph, so that the host does not wait for
  /// conditions. False: its pieces must be started. So it is the first time, when libraries
  /// initialize themselves, and the first time with other rows, which may never come again; and
  /// where the driver or this program lacks what conditional nodes need.
  Result<bool> startWhole(const Schedule &schedule);
  /// Starts a piece's launches in order: one by one the first time, and the first time with other
  /// rows; captured from then on. Launches that cannot be captured continue one by one.
  Status startPiece(std::span<const Launch> launches);
  /// After all that was started has ended: the failure of a loop, if any.
  Status takeFailure();
  /// Releases the graphs of this schedule, which is about to be destroyed.
  void forget(const Schedule &schedule);
  void clear();
  /// Why there are more or smaller graphs than there could be, or empty.
  std::string problem() const;

private:
  struct Captured {
    int64_t rows;
    std::vector<const void *> slices;
    Handle executable;                    ///< of a piece; null for a whole schedule
    std::unique_ptr<ScheduleGraph> whole; ///< null for a piece
  };
  /// A piece or a schedule.
  struct Unit {
    const void *key; ///< its first launch, or its first step
    bool captures = true;
    std::list<int64_t> rows = {};    ///< of the latest runs, each once, the latest last
    std::list<Captured> graphs = {}; ///< the latest used last
  };

  /// Inputs have two copies, one for the current step and one for the next. Training has two
  /// numbers of rows, a whole batch and a smaller last one; inference may have any number.
  static constexpr size_t maxGraphs = 8, maxRows = maxGraphs / 2;

  Unit &unitOf(const void *key);
  void release(Captured &graph);
  void release(Unit &unit);
  static bool noteRows(Unit &unit, int64_t rows);
  Status startOneByOne(std::span<const Launch> launches);
  Captured *find(Unit &unit, int64_t rows, std::span<void *const> slices);
  Captured &add(Unit &unit, Captured graph);
  Result<Captured *> wholeOf(Unit &unit, const Schedule &schedule);
  Result<Captured *> pieceOf(Unit &unit, std::span<const Launch> launches);
  Result<Handle> capture(std::span<const Launch> launches);

  const Driver &driver;
  Launches &launches;
  Control control;
  std::list<Unit> units; ///< those that have run
  std::vector<const ScheduleGraph *> started;
  std::string whyNoGraph, whyPieces;
};

} // namespace gradc::runtime::cuda

#endif
