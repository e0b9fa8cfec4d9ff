// Runs a phase's entries on successive batches.
#ifndef RUNTIME_TRAIN_LOOP_PHASEWALK_H
#define RUNTIME_TRAIN_LOOP_PHASEWALK_H

#include "runtime/train/loop/Phase.h"

#include <optional>

namespace gradc::runtime {

/// If the device computes concurrently with the host, the next batch is fetched and copied
/// meanwhile.
class PhaseWalk {
public:
  explicit PhaseWalk(const Phase &phase)
      : phase(phase), batches(phase.dataset->iterate()), now(phase.dataset->allocate()) {
    if (phase.session->runsBeside())
      next = phase.dataset->allocate();
  }

  Iterator &iterator() { return *batches; }
  Status restore(Position position);

  /// Ensures that a batch is available.
  Status fetch();
  const Batch &batch() const { return now; }
  /// Selects the entries that run on this batch and on the next, as numbered by the phase.
  void choose(size_t entryNow, size_t entryNext) {
    entry = entryNow;
    nextEntry = entryNext;
  }
  EntryCall &call() const { return phase.callFor(now, entry); }
  /// Runs the entry on the batch. `goesOn`: another batch will be needed.
  Status run(const StepScalars &scalars, bool goesOn);

  /// The position after the last batch that was run.
  Position position() const { return at; }
  /// An upper bound for how long the last run kept the device waiting for the next batch, in
  /// seconds.
  double held() const { return heldSeconds; }

private:
  Status fetchAhead();

  const Phase &phase;
  std::unique_ptr<Iterator> batches;
  Batch now, next;
  size_t entry = 0, nextEntry = 0;
  std::optional<Status> ahead; ///< result of fetching `next`, reported in its own step
  PrefetchedInputs prefetched; ///< of the batch that runs next
  Position at;
  double heldSeconds = 0;
};

} // namespace gradc::runtime

#endif
