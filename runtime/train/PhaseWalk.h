// Runs a phase's entries on one batch after the other.
#ifndef RUNTIME_TRAIN_PHASEWALK_H
#define RUNTIME_TRAIN_PHASEWALK_H

#include "runtime/train/Phase.h"

#include <optional>

namespace gradc::runtime {

/// Where the device computes beside the host, the next batch is fetched and copied there while it
/// does.
class PhaseWalk {
public:
  explicit PhaseWalk(const Phase &phase)
      : phase(phase), batches(phase.dataset->iterate()), now(phase.dataset->allocate()) {
    if (phase.session->runsBeside())
      next = phase.dataset->allocate();
  }

  Iterator &iterator() { return *batches; }
  Status restore(Position position);

  /// Sees to it that there is a batch.
  Status fetch();
  const Batch &batch() const { return now; }
  EntryCall &call() const { return phase.callFor(now); }
  /// Runs the batch's entry. `goesOn`: another batch is wanted after it.
  Status run(const StepScalars &scalars, bool goesOn);

  /// Behind the last batch that was run.
  Position position() const { return at; }
  /// How long the last run held the device back for the next batch; at most: seconds.
  double held() const { return heldSeconds; }

private:
  Status fetchAhead();

  const Phase &phase;
  std::unique_ptr<Iterator> batches;
  Batch now, next;
  std::optional<Status> ahead; ///< what came of fetching `next`, for its own step
  PrefetchedInputs prefetched; ///< of the batch that runs next
  Position at;
  double heldSeconds = 0;
};

} // namespace gradc::runtime

#endif
