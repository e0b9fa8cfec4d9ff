// Searches for a learning rate: one run whose rate grows with each step.
#ifndef RUNTIME_TRAIN_RATEFINDER_H
#define RUNTIME_TRAIN_RATEFINDER_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/train/job/TrainOptions.h"

namespace gradc::runtime {

/// Trains from the model's initial weights while the rate grows exponentially over `rateRange`, and
/// writes the losses as a curve to the file `findRate`. Ends early when the loss explodes. Writes
/// neither checkpoint nor export.
Result<TrainSummary> findLearningRate(std::shared_ptr<const Artifact> artifact,
                                      const TrainOptions &options);

struct RatePoint {
  double rate = 0, loss = 0, smoothed = 0;
};

/// Whether the smoothed loss is not finite or far above the best one: four times a positive loss,
/// and as far above a negative one. If the best loss is near 0, a tenth of the first one's size
/// stands for its size.
bool hasExploded(double smoothed, double best, double first);

/// The point where the smoothed loss falls most steeply over the logarithm of the rate; null if it
/// falls nowhere. Ignores the first tenth, before the mean has settled.
const RatePoint *steepest(std::span<const RatePoint> curve);

} // namespace gradc::runtime

#endif
