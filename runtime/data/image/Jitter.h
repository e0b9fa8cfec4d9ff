// Random changes of a picture's colors.
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
/// hue change three and four channels; alpha, the second or fourth channel, stays.
void adjustColors(Adjustment adjustment, float factor, float *pixels, int64_t count,
                  int64_t channels, float limit);

/// Maximum distance of each factor from having no effect, in the order of Adjustment.
using JitterReach = std::array<float, 4>;

/// Draws a factor for each adjustment with a maximum above 0, uniformly, and applies them in a
/// random order.
void jitterColors(const JitterReach &reach, Random &random, float *pixels, int64_t count,
                  int64_t channels, float limit);

} // namespace gradc::runtime

#endif
