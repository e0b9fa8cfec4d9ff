// Random changes to a picture's colors.
#ifndef RUNTIME_DATA_IMAGE_JITTER_H
#define RUNTIME_DATA_IMAGE_JITTER_H

#include "runtime/data/Random.h"

#include <array>
#include <cstddef>

namespace gradc::runtime {

/// One adjustment of colors, as torchvision defines it.
enum class Adjustment {
  brightness, ///< times the factor
  contrast,   ///< away from the mean gray by the factor
  saturation, ///< away from each pixel's gray by the factor
  hue         ///< around the color circle by the factor, whole circles
};

/// Changes `count` pixels in place. Values between 0 and `limit` stay in that range. Saturation and
/// hue affect three- and four-channel pictures; alpha, the second or fourth channel, stays.
void adjustColors(Adjustment adjustment, float factor, float *pixels, int64_t count,
                  int64_t channels, float limit);

/// The maximum distance of each factor from the neutral one, in the order of Adjustment.
using JitterReach = std::array<float, 4>;

/// Draws a factor uniformly for each adjustment whose maximum is above 0, and applies them in
/// random order.
void jitterColors(const JitterReach &reach, Random &random, float *pixels, int64_t count,
                  int64_t channels, float limit);

} // namespace gradc::runtime

#endif
