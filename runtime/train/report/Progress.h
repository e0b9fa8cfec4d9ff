// Progress for the user: a single line that is rewritten on a terminal, plain lines elsewhere.
#ifndef RUNTIME_TRAIN_REPORT_PROGRESS_H
#define RUNTIME_TRAIN_REPORT_PROGRESS_H

#include "runtime/train/report/TrainReport.h"

#include <chrono>

namespace gradc::runtime {

class Progress {
public:
  using Clock = std::chrono::steady_clock;

  /// A negative descriptor prints nothing.
  Progress(int descriptor, bool quiet, int64_t totalSteps, int64_t batchSize);

  /// Cheap: a line is composed only when it is due.
  void step(const StepReport &report, Clock::time_point now);
  /// Prints a permanent line.
  void print(const std::string &line);
  /// Prints the message on standard error, even in a quiet run.
  void warn(const std::string &message);

private:
  void write(const std::string &bytes) const;
  std::string bar(int64_t step, Clock::time_point now) const;

  int descriptor;
  bool quiet, terminal, colours;
  bool rewriting = false; ///< the cursor is after a line that the next one replaces
  int64_t totalSteps, batchSize;
  Clock::duration interval;
  Clock::time_point begin;
  int64_t allSteps = 0; ///< made here

  // Measured since the last line.
  Clock::time_point since;
  int64_t steps = 0;
  double milliseconds = 0, inputMilliseconds = 0;
};

/// For example "508k".
std::string shortCount(double value);

} // namespace gradc::runtime

#endif
