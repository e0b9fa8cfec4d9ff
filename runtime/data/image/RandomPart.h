// A random rectangle of a picture, as torchvision draws it.
#ifndef RUNTIME_DATA_IMAGE_RANDOMPART_H
#define RUNTIME_DATA_IMAGE_RANDOMPART_H

#include "runtime/base/Status.h"
#include "runtime/core/artifact/Config.h"
#include "runtime/data/Random.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace gradc::runtime {

/// The share of a picture's area that a part has, and its width divided by its height.
struct PartReach {
  double leastArea, mostArea, leastRatio, mostRatio;
};

struct PicturePart {
  int64_t top, left, height, width;
};

/// Reads least_area, most_area, least_ratio and most_ratio of a step's block; what it lacks is as
/// in `usual`. `step` names the block in messages.
Result<PartReach> readPartReach(Config config, std::string_view step, const PartReach &usual);

/// Draws up to ten parts; none if they do not fit into the picture.
std::optional<PicturePart> drawPart(const PartReach &reach, int64_t rows, int64_t columns,
                                    Random &random);

} // namespace gradc::runtime

#endif
