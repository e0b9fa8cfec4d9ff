// Straight pieces of schedules as CUDA graphs: a piece is one call of the driver's.
#ifndef RUNTIME_DEVICE_CUDA_GRAPHS_H
#define RUNTIME_DEVICE_CUDA_GRAPHS_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Driver.h"

#include <functional>
#include <list>

namespace gradc::runtime::cuda {

/// The launches of pieces, captured with their slices for a number of rows. To be called in the
/// current context.
class Graphs {
public:
  /// `enqueue` puts one launch on its slices into a stream.
  Graphs(const Driver &driver, std::function<Status(const Launch &, void *const *)> enqueue)
      : driver(driver), enqueue(std::move(enqueue)) {}
  Graphs(const Graphs &) = delete;

  /// Starts a piece's launches in order: one by one the first time, when libraries initialize
  /// themselves, and the first time with other rows, which may never come again; captured from then
  /// on. Launches that cannot be captured continue one by one.
  Status start(std::span<const Launch> launches, Handle stream);
  /// Releases the graphs of these launches, which are about to be destroyed.
  void forget(std::span<const Launch> launches);
  void clear();
  /// Why a piece is not captured, or empty.
  const std::string &problem() const { return whyNot; }

private:
  struct Captured {
    int64_t rows;
    std::vector<const void *> slices;
    Handle executable;
  };
  struct Piece {
    const Launch *launches;
    bool captures = true;
    std::list<int64_t> rows = {};    ///< of the latest runs, each once, the latest last
    std::list<Captured> graphs = {}; ///< the latest used last
  };

  /// Inputs have two copies, one for the current step and one for the next. Training has two
  /// numbers of rows, a whole batch and a smaller last one; inference may have any number.
  static constexpr size_t maxGraphs = 8, maxRows = maxGraphs / 2;

  void release(const Piece &piece);
  static bool noteRows(Piece &piece, int64_t rows);
  Status startOneByOne(std::span<const Launch> launches);
  Result<Handle> graphOf(Piece &piece, std::span<const Launch> launches, Handle stream);
  Result<Handle> capture(std::span<const Launch> launches, Handle stream);

  const Driver &driver;
  const std::function<Status(const Launch &, void *const *)> enqueue;
  std::list<Piece> pieces; ///< those that have run
  std::string whyNot;
};

} // namespace gradc::runtime::cuda

#endif
