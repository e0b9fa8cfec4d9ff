// Areas are uniform, and so are logarithms of ratios.
#include "runtime/data/image/RandomPart.h"

#include "runtime/base/Text.h"

#include <cmath>

namespace gradc::runtime {

Result<PartReach> readPartReach(Config config, std::string_view step, const PartReach &usual) {
  PartReach reach = {
      config.real("least_area", usual.leastArea), config.real("most_area", usual.mostArea),
      config.real("least_ratio", usual.leastRatio), config.real("most_ratio", usual.mostRatio)};
  if (!(reach.leastArea > 0 && reach.leastArea <= reach.mostArea && reach.mostArea <= 1))
    return Status::invalid(text(step, " has least_area ", reach.leastArea, " and most_area ",
                                reach.mostArea,
                                ", expected shares above 0 and up to 1, the smaller one first"));
  if (!(reach.leastRatio >= 1e-5 && reach.leastRatio <= reach.mostRatio && reach.mostRatio <= 1e5))
    return Status::invalid(text(step, " has least_ratio ", reach.leastRatio, " and most_ratio ",
                                reach.mostRatio, ", expected 1e-5 to 1e5, the smaller one first"));
  return reach;
}

static double between(double least, double most, Random &random) {
  return least + (most - least) * double(random.uniform());
}

std::optional<PicturePart> drawPart(const PartReach &reach, int64_t rows, int64_t columns,
                                    Random &random) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    double share = between(reach.leastArea, reach.mostArea, random);
    double ratio = std::exp(between(std::log(reach.leastRatio), std::log(reach.mostRatio), random));
    double area = share * double(rows) * double(columns);
    int64_t width = std::llround(std::sqrt(area * ratio)),
            height = std::llround(std::sqrt(area / ratio));
    if (width < 1 || width > columns || height < 1 || height > rows)
      continue;
    auto top = int64_t(random.below(uint64_t(rows - height) + 1)),
         left = int64_t(random.below(uint64_t(columns - width) + 1));
    return PicturePart{top, left, height, width};
  }
  return std::nullopt;
}

} // namespace gradc::runtime
