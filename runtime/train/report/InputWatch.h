// Measures how long steps wait for their batches, reports on the input, and warns if the input
// slows down training.
#ifndef RUNTIME_TRAIN_REPORT_INPUTWATCH_H
#define RUNTIME_TRAIN_REPORT_INPUTWATCH_H

#include "runtime/data/Dataset.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/report/Progress.h"

namespace gradc::runtime {

/// The cause of the wait and a remedy: "steps wait 43% of their time for input: ..."; empty if
/// there is nothing to report.
std::string inputWarning(const InputReport &report, double waitShare);

class InputWatch {
public:
  InputWatch(Log &log, Progress &progress) : log(log), progress(progress) {}

  /// Must be called after each step; only does work every few seconds.
  void step(const StepReport &step, const Batch &batch, Iterator &iterator) {
    milliseconds += step.milliseconds;
    inputMilliseconds += step.inputMilliseconds;
    // Of batches that are handed over together, the first one carries the complaints of all.
    if (batch.skipped || !batch.complaints.empty())
      skip(batch);
    if (milliseconds >= due)
      look(step.step, iterator);
  }
  /// Prints the summary at the end.
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
  int workers = -1, depth = -1; ///< as last written
  int64_t changes = 0;          ///< of these
  bool hasWarned = false;
  int64_t skipped = 0, complaints = 0;
};

} // namespace gradc::runtime

#endif
