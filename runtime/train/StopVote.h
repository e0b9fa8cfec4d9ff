// Signals end a training of several processes after the same step of each.
#ifndef RUNTIME_TRAIN_STOPVOTE_H
#define RUNTIME_TRAIN_STOPVOTE_H

#include "runtime/train/Trainer.h"

namespace gradc::runtime {

/// Counts, beside each step, the ranks that have got a signal before it. If workers run steps
/// independently of each other, their server decides after which step all ranks stop.
class StopVote {
public:
  /// Both outlive it.
  explicit StopVote(const TrainOptions &options) : options(options) {}

  /// Before a step, and after it. Both do nothing where a process trains alone.
  Status begin(int64_t step);
  Status end();
  /// The signal that ends the training, on all ranks or none; 0: none.
  int signal() const;
  /// Whether this process has got a signal.
  bool asks() const { return own() != 0; }

private:
  int own() const { return options.interrupt ? options.interrupt->load() : 0; }

  const TrainOptions &options;
  int64_t step = 0;
  int64_t signalled = 0; ///< ranks
  uint64_t sum = 0;
};

} // namespace gradc::runtime

#endif
