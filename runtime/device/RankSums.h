// The collectives of ranks that a run has under way.
#ifndef RUNTIME_DEVICE_RANKSUMS_H
#define RUNTIME_DEVICE_RANKSUMS_H

#include "runtime/device/Schedule.h"

namespace gradc::runtime {

/// Follows a walk, on one of its threads. Once a collective has failed, those behind it are left
/// out: the walk goes on to its end, where `status` has the failure, so that no thread waits for
/// another.
class RankSums {
public:
  explicit RankSums(Communicator *ranks) : ranks(ranks && ranks->size() > 1 ? ranks : nullptr) {}
  /// False: there is one rank, whose values stay as they are.
  bool needed() const { return ranks; }

  /// Begins the collective of a launch, whose slices are there.
  void start(const Launch &launch, void *const *slices) {
    if (!ranks || !status_.ok())
      return;
    pieces.clear();
    for (const Collective::Piece &piece : launch.collective->pieces)
      pieces.push_back({static_cast<std::byte *>(slices[piece.slice]) + piece.offset, piece.count});
    auto started = ranks->start(pieces, launch.collective->exchange);
    if (started)
      numbers.push_back(*started);
    else
      status_ = started.status();
  }
  /// Moves on what is under way.
  void progress() {
    if (ended < numbers.size() && status_.ok())
      status_ = ranks->progress();
  }
  /// Waits for the first ones of the current piece.
  void waitFor(size_t count) {
    for (; ended < count && ended < numbers.size() && status_.ok(); ++ended)
      status_ = ranks->waitFor(numbers[ended]);
  }
  /// Waits for all of them: the next ones are another piece's.
  void endPiece() {
    waitFor(numbers.size());
    numbers.clear();
    ended = 0;
  }
  const Status &status() const { return status_; }

private:
  Communicator *ranks;
  std::vector<uint64_t> numbers; ///< of the piece
  size_t ended = 0;              ///< of those, the first
  std::vector<Communicator::Piece> pieces;
  Status status_;
};

} // namespace gradc::runtime

#endif
