// A training log as files that TensorBoard reads.
#ifndef TOOLS_GRADC_REPORT_TENSORBOARD_H
#define TOOLS_GRADC_REPORT_TENSORBOARD_H

#include "tools/gradc/report/TrainingLog.h"

namespace gradc {

/// The scalars of a log as records of TensorFlow's Event messages: "train/loss",
/// "evaluation/accuracy", "watch/fc1.weight weight_norm". Logs contain no dates: steps are dated
/// back from `endSeconds` (Unix time) by their durations.
std::string tensorBoardEvents(const TrainingLog &log, double endSeconds);

/// The name of a run's file in its folder, by which TensorBoard recognizes it.
inline constexpr const char *tensorBoardFile = "events.out.tfevents.gradc";

} // namespace gradc

#endif
