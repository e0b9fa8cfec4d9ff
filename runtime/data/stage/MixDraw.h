// The random choices of a mixed batch.
#ifndef RUNTIME_DATA_STAGE_MIXDRAW_H
#define RUNTIME_DATA_STAGE_MIXDRAW_H

#include "runtime/data/Random.h"

namespace gradc::runtime {

/// Uniform in (0, 1).
double drawShare(Random &random);

/// Beta(alpha, alpha), for alpha > 0; from 0 to 1.
double drawBeta(Random &random, double alpha);

/// A part of a picture: `bottom` and `right` are outside.
struct Box {
  int64_t top, bottom, left, right;
  int64_t area() const { return (bottom - top) * (right - left); }
};

/// A box around a random pixel, with the proportions of the picture and 1 - `kept` of its area
/// before it is cut at the picture's border, as torchvision's CutMix draws it.
Box drawBox(Random &random, double kept, int64_t height, int64_t width);

} // namespace gradc::runtime

#endif
