// map { normalize { max mean deviation } }: (value / max - mean) / deviation per channel, as
// planes.
#include "runtime/base/Text.h"
#include "runtime/data/image/PixelSteps.h"

#include <cmath>

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
Result<std::array<double, maxChannels>> perChannel(Config config, std::string_view name,
                                                   int64_t channels, double fallback) {
  std::array<double, maxChannels> values;
  values.fill(fallback);
  auto given = config.children(name);
  if (given.empty())
    return values;
  if (given.size() != 1 && int64_t(given.size()) != channels)
    return Status::invalid(text("normalize { ", name, " } has ", given.size(),
                                " values, expected 1 or one for each of ", channels, " channels"));
  for (size_t c = 0; c < size_t(channels); ++c)
    values[c] = given[given.size() == 1 ? 0 : c].real(fallback);
  return values;
}

} // namespace

Result<std::unique_ptr<const Transform>> makeNormalize(Config config, const Field &before) {
  auto picture = pictureField(before, "normalize");
  if (!picture)
    return picture.status();
  auto mean = perChannel(config, "mean", picture->channels, 0),
       deviation = perChannel(config, "deviation", picture->channels, 1);
  if (!mean || !deviation)
    return mean ? deviation.status() : mean.status();
  double most = config.real("max", 255);
  PixelScale scale;
  for (size_t c = 0; c < size_t(picture->channels); ++c) {
    scale.scale[c] = static_cast<float>(1 / (most * (*deviation)[c]));
    scale.shift[c] = static_cast<float>(-(*mean)[c] / (*deviation)[c]);
    if (!std::isfinite(scale.scale[c]) || !std::isfinite(scale.shift[c]))
      return Status::invalid(text("normalize has max ", most, ", mean ", (*mean)[c],
                                  " and deviation ", (*deviation)[c],
                                  ", expected finite numbers, max and deviation not 0"));
  }
  picture->dtype = GRADC_F32;
  return makePixelPass(before, *picture, std::make_shared<Normalize>(scale),
                       config.boolean("channels_first", true));
}

} // namespace gradc::runtime
