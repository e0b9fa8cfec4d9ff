// Watches how long steps wait for their batches, says how input works, and warns when it holds the
// training back.
#ifndef RUNTIME_TRAIN_INPUTWATCH_H
#define RUNTIME_TRAIN_INPUTWATCH_H

#include "runtime/data/Dataset.h"
#include "runtime/train/Log.h"
#include "runtime/train/Progress.h"

namespace gradc::runtime {

/// What holds the steps back, and what to do: "steps wait 43% of their time for input: ...". Empty
/// where nothing is to be said.
std::string inputWarning(const InputReport &report, double waitShare);

class InputWatch {
public:
  InputWatch(Log &log, Progress &progress) : log(log), progress(progress) {}

  /// After every step. Cheap, but every few seconds.
  void step(const StepReport &step, const Batch &batch, Iterator &iterator) {
    milliseconds += step.milliseconds;
    inputMilliseconds += step.inputMilliseconds;
    if (batch.skipped)
      skip(batch);
    if (milliseconds >= due)
      look(step.step, iterator);
  }
  /// At the end: what it came to in all.
  void finish(int64_t step, Iterator &iterator);

private:
  void skip(const Batch &batch);
  void look(int64_t step, Iterator &iterator);
  void warn(int64_t step, const InputReport &report, double share);
  void write(int64_t step, const InputReport &report, double share);

  Log &log;
  Progress &progress;
  double milliseconds = 0, inputMilliseconds = 0; ///< since the last look
  double allMilliseconds = 0, allInputMilliseconds = 0;
  double due = 1000;
  int workers = -1, depth = -1; ///< as written last
  int64_t changes = 0;          ///< of these
  bool hasWarned = false;
  int64_t skipped = 0, complaints = 0;
};

} // namespace gradc::runtime

#endif
