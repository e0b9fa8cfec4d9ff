// map { normalize { max mean deviation } }: (value / max - mean) / deviation per channel, as
// planes.
#include "runtime/base/Text.h"
#include "runtime/data/image/PictureMaps.h"
#include "runtime/data/image/PixelSteps.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gradc::runtime {

namespace {

class Normalize final : public PixelStep {
public:
  explicit Normalize(const PixelScale &scale) : scale(scale) {}

  Status plan(PixelPlan &plan, Random &) const override {
    plan.scale = scale;
    return {};
  }
  PixelStage leaves() const override { return PixelStage::scaled; }

private:
  PixelScale scale;
};

/// One number per channel, or one for all.
std::vector<double> numbers(Config config, std::string_view name, double fallback) {
  std::vector<double> values;
  for (Config value : config.children(name))
    values.push_back(value.real(fallback));
  if (values.empty())
    values.push_back(fallback);
  return values;
}

Status checkCount(std::string_view name, size_t count, int64_t channels) {
  if (count == 1 || int64_t(count) == channels)
    return {};
  return Status::invalid(text("normalize { ", name, " } has ", count,
                              " values, expected 1 or one for each of ", channels, " channels"));
}

} // namespace

Result<std::unique_ptr<const Transform>> makeNormalize(Config config, const Field *before) {
  std::vector<double> means = numbers(config, "mean", 0),
                      deviations = numbers(config, "deviation", 1);
  double most = config.real("max", 255);
  PixelScale scale;
  for (size_t c = 0; c < std::max({means.size(), deviations.size(), size_t(maxChannels)}); ++c) {
    double mean = means[c < means.size() ? c : 0],
           deviation = deviations[c < deviations.size() ? c : 0];
    auto factor = static_cast<float>(1 / (most * deviation)),
         shift = static_cast<float>(-mean / deviation);
    if (!(most > 0) || !(deviation > 0) || !std::isfinite(factor) || !std::isfinite(shift))
      return Status::invalid(text("normalize has max ", most, ", mean ", mean, " and deviation ",
                                  deviation,
                                  ", expected finite numbers, max and deviation above 0"));
    if (c < size_t(maxChannels)) {
      scale.scale[c] = factor;
      scale.shift[c] = shift;
    }
  }
  if (!before)
    return std::unique_ptr<const Transform>();
  auto picture = pictureField(*before, "normalize");
  if (!picture)
    return picture.status();
  for (auto [name, count] :
       {std::pair("mean", means.size()), std::pair("deviation", deviations.size())})
    if (Status status = checkCount(name, count, picture->channels); !status.ok())
      return status;
  picture->dtype = GRADC_F32;
  picture->isIndices = false;
  return makePixelPass(*before, *picture, std::make_shared<Normalize>(scale),
                       config.boolean("channels_first", true));
}

} // namespace gradc::runtime
