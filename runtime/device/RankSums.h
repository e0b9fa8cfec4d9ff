// The collectives over ranks that are in flight in a run.
#ifndef RUNTIME_DEVICE_RANKSUMS_H
#define RUNTIME_DEVICE_RANKSUMS_H

#include "runtime/device/Schedule.h"

namespace gradc::runtime {

/// Runs the collectives of a walk, on one of its threads. After a failure, later collectives are
/// skipped: the walk continues to its end, where `status` has the failure, so that no thread waits
/// for another.
class RankSums {
public:
  explicit RankSums(Communicator *ranks) : ranks(ranks && ranks->size() > 1 ? ranks : nullptr) {}
  /// False: there is a single rank, and collectives do nothing.
  bool needed() const { return ranks; }

  /// Starts the collective of a launch; `slices` are the launch's slices.
  void start(const Launch &launch, void *const *slices) {
    if (!ranks || !status_.ok())
      return;
    pieces.clear();
    for (const Collective::Piece &piece : launch.collective->pieces)
      pieces.push_back({static_cast<std::byte *>(slices[piece.slice]) + piece.offset, piece.count,
                        piece.leavesZeros});
    auto started = ranks->start(pieces, launch.collective->exchange);
    if (started)
      numbers.push_back(*started);
    else
      status_ = started.status();
  }
  /// Advances collectives in flight.
  void progress() {
    if (ended < numbers.size() && status_.ok())
      status_ = ranks->progress();
  }
  /// Waits for the first collectives of the current piece.
  void waitFor(size_t count) {
    for (; ended < count && ended < numbers.size() && status_.ok(); ++ended)
      status_ = ranks->waitFor(numbers[ended]);
  }
  /// Waits for all collectives of the current piece, and begins the next piece.
  void endPiece() {
    waitFor(numbers.size());
    numbers.clear();
    ended = 0;
  }
  const Status &status() const { return status_; }

private:
  Communicator *ranks;
  std::vector<uint64_t> numbers; ///< of the piece's collectives
  size_t ended = 0;              ///< how many have ended, in order
  std::vector<Communicator::Piece> pieces;
  Status status_;
};

} // namespace gradc::runtime

#endif
