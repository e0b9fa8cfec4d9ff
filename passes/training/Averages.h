// The naming of averages of weights.
#ifndef PASSES_TRAINING_AVERAGES_H
#define PASSES_TRAINING_AVERAGES_H

namespace gradc {

/// The suffix that makes the name of a weight's average from the weight's name.
constexpr char averageSuffix[] = ".ema";

} // namespace gradc

#endif
