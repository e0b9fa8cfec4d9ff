// How averages of weights are named.
#ifndef PASSES_SUPPORT_AVERAGES_H
#define PASSES_SUPPORT_AVERAGES_H

namespace gradc {

/// The name of a weight's average is the weight's with this behind it.
constexpr char averageSuffix[] = ".ema";

} // namespace gradc

#endif
