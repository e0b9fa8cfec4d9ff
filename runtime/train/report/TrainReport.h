// The facts that a training reports: about each step, and about the whole at its end.
#ifndef RUNTIME_TRAIN_REPORT_TRAINREPORT_H
#define RUNTIME_TRAIN_REPORT_TRAINREPORT_H

#include "runtime/train/entry/Metric.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradc::runtime {

/// The facts about one step.
struct StepReport {
  int64_t step = 0;       ///< from 1
  int64_t epoch = 0;      ///< that the step belongs to, from 1
  std::string_view entry; ///< the `train` block's name; "": there is none
  float loss = 0;         ///< mean over the batch
  float learningRate = 0;
  std::optional<float> momentum;     ///< if the schedule changes it
  std::optional<float> gradientNorm; ///< before clipping
  std::span<const Metric> metrics;   ///< of the batch
  std::optional<float> lossScale;    ///< if gradients are scaled
  int64_t skipped = 0;               ///< updates skipped before this step
  double milliseconds = 0;           ///< including the wait for the batch
  double inputMilliseconds = 0;      ///< the wait alone
};

struct TrainSummary {
  int64_t steps = 0; ///< of the whole training, including those before a resume
  double seconds = 0;
  double samplesPerSecond = 0;
  std::optional<float> lastLoss;  ///< of the steps made here
  std::vector<Metric> evaluation; ///< the last one: loss, then metrics, then the same of each set;
                                  ///< empty: none
  size_t ownMetrics = 0;          ///< of `evaluation`, those before the first set's
  std::string checkpoint;         ///< the last one written; "": none
  int signal = 0;                 ///< that ended the training
};

} // namespace gradc::runtime

#endif
