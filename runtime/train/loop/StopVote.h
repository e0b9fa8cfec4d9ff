// A signal ends a training of several processes after the same step on each.
#ifndef RUNTIME_TRAIN_LOOP_STOPVOTE_H
#define RUNTIME_TRAIN_LOOP_STOPVOTE_H

#include "runtime/train/job/TrainOptions.h"

namespace gradc::runtime {

/// Counts, concurrently with each step, the ranks that received a signal before it. If workers run
/// steps independently, their server decides after which step all ranks stop.
class StopVote {
public:
  /// `options` and the ranks must outlive this object.
  explicit StopVote(const TrainOptions &options) : options(options) {}

  /// Called before a step, and after it. Both do nothing if a process trains alone.
  Status begin(int64_t step);
  Status end();
  /// The signal that ends the training, on all ranks or none; 0 if there is none.
  int signal() const;
  /// Whether this process has received a signal.
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
