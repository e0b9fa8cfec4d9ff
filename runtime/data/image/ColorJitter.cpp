// map { color_jitter { brightness contrast saturation hue max } }: random color changes.
#include "runtime/base/Text.h"
#include "runtime/data/image/Jitter.h"
#include "runtime/data/image/PictureMaps.h"
#include "runtime/data/image/PixelSteps.h"

#include <cmath>
#include <cstring>

namespace gradc::runtime {

namespace {

class ColorJitter final : public Transform {
public:
  ColorJitter(const Field &before, const JitterReach &reach, float limit)
      : Transform(before), reach(reach), limit(limit) {}

  Status apply(const Value &in, Random &random, ScratchSlot &own, Output &out) const override {
    auto room = out.room(in.shape);
    if (!room)
      return room.status();
    int64_t channels = in.shape[2], count = in.shape[0] * in.shape[1], values = count * channels;
    if (values == 0)
      return {};
    if (result.dtype == GRADC_F32) {
      std::memcpy(*room, in.data, in.bytes);
      jitterColors(reach, random, reinterpret_cast<float *>(*room), count, channels, limit);
      return {};
    }
    auto reserved = own.tryReserve(size_t(values) * sizeof(float));
    if (!reserved)
      return reserved.status();
    auto *colors = reinterpret_cast<float *>(*reserved);
    for (int64_t i = 0; i < values; ++i)
      colors[i] = static_cast<float>(in.data[i]);
    jitterColors(reach, random, colors, count, channels, limit);
    for (int64_t i = 0; i < values; ++i)
      (*room)[i] = static_cast<std::byte>(colors[i] + 0.5f); // the range is 0 to 255
    return {};
  }

  void tell(const Field &, TensorSteps &steps) const override { steps.random(); }

private:
  JitterReach reach;
  float limit;
};

} // namespace

Result<std::unique_ptr<const Transform>> makeColorJitter(Config config, const Field *before) {
  JitterReach reach;
  constexpr std::string_view names[] = {"brightness", "contrast", "saturation", "hue"};
  for (size_t i = 0; i < reach.size(); ++i) {
    double most = names[i] == "hue" ? 0.5 : 100, value = config.real(names[i], 0);
    if (!(value >= 0 && value <= most))
      return Status::invalid(
          text("color_jitter { ", names[i], " } is ", value, ", expected 0 to ", most));
    reach[i] = static_cast<float>(value);
  }
  double limit = config.real("max", 255);
  bool isByte = before && before->dtype == GRADC_U8;
  if (!(limit > 0) || !std::isfinite(limit) || (isByte && limit != 255))
    return Status::invalid(text("color_jitter { max } is ", limit, ", expected ",
                                isByte ? "255 for bytes" : "above 0"));
  if (!before)
    return std::unique_ptr<const Transform>();
  auto picture = pictureField(*before, "color_jitter");
  if (!picture)
    return picture.status();
  if (before->isIndices)
    return Status::invalid(text("color_jitter of field '", before->name,
                                "' would change its pixels, which are classes: name fields of "
                                "colors only"));
  return std::unique_ptr<const Transform>(
      std::make_unique<ColorJitter>(*before, reach, static_cast<float>(limit)));
}

} // namespace gradc::runtime
