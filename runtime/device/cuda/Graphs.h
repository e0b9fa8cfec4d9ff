// Straight pieces of schedules as CUDA graphs: one driver call starts a piece.
#ifndef RUNTIME_DEVICE_CUDA_GRAPHS_H
#define RUNTIME_DEVICE_CUDA_GRAPHS_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Driver.h"

#include <functional>
#include <list>

namespace gradc::runtime::cuda {

/// Launches of pieces, captured with their slices for a number of rows. Call in the current
/// context.
class Graphs {
public:
  /// `enqueue` puts one launch, on the given slices, into a stream.
  Graphs(const Driver &driver, std::function<Status(const Launch &, void *const *)> enqueue)
      : driver(driver), enqueue(std::move(enqueue)) {}
  Graphs(const Graphs &) = delete;

  /// Starts a piece's launches in order. The first time, launches run one by one because libraries
  /// initialize themselves. The first time with another number of rows, they do so too, because
  /// that number may never recur. After that, the piece is captured. Launches that cannot be
  /// captured continue one by one.
  Status start(std::span<const Launch> launches, Handle stream);
  /// Releases the graphs of launches that are about to be destroyed.
  void forget(std::span<const Launch> launches);
  void clear();
  /// Why a piece is not captured; empty if there is no problem.
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
