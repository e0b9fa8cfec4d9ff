// map { random_erase { probability least_area most_area least_ratio most_ratio value } }: covers a
// random part of a picture.
#include "runtime/base/Text.h"
#include "runtime/data/image/PictureMaps.h"
#include "runtime/data/image/PixelSteps.h"
#include "runtime/data/image/RandomPart.h"

#include <cstring>
#include <vector>

namespace gradc::runtime {

namespace {

class RandomErase final : public Transform {
public:
  /// `pixel`: the bytes of the pixel that covers the part.
  RandomErase(const Field &before, float probability, const PartReach &reach,
              std::vector<std::byte> pixel)
      : Transform(before), probability(probability), reach(reach), pixel(std::move(pixel)) {}

  Status apply(const Value &in, Random &random, ScratchSlot &, Output &out) const override {
    auto room = out.room(in.shape);
    if (!room)
      return room.status();
    if (in.bytes == 0)
      return {};
    std::memcpy(*room, in.data, in.bytes);
    if (random.uniform() >= probability)
      return {};
    auto part = drawPart(reach, in.shape[0], in.shape[1], random);
    if (!part)
      return {};
    for (int64_t y = part->top; y < part->top + part->height; ++y) {
      std::byte *at = *room + size_t(y * in.shape[1] + part->left) * pixel.size();
      for (int64_t x = 0; x < part->width; ++x, at += pixel.size())
        std::memcpy(at, pixel.data(), pixel.size());
    }
    return {};
  }

  void tell(const Field &, TensorSteps &steps) const override { steps.random(); }

private:
  float probability;
  PartReach reach;
  std::vector<std::byte> pixel;
};

/// One value, or one for each channel, in the type of the picture.
Result<std::vector<std::byte>> readPixel(Config config, const PictureField &picture) {
  std::vector<Config> values = config.children("value");
  if (values.size() > 1 && int64_t(values.size()) != picture.channels)
    return Status::invalid(text("random_erase { value } has ", values.size(),
                                " values, expected 1 or one for each of ", picture.channels,
                                " channels"));
  std::vector<std::byte> pixel;
  for (size_t c = 0; c < size_t(picture.channels); ++c) {
    double value = values.empty() ? 0 : values[values.size() > 1 ? c : 0].real(0);
    bool isByte = picture.dtype == GRADC_U8;
    if (!(isByte ? value >= 0 && value <= 255 : value >= -3e38 && value <= 3e38))
      return Status::invalid(text("random_erase { value } is ", value, ", expected ",
                                  isByte ? "0 to 255" : "a finite number"));
    if (isByte) {
      pixel.push_back(static_cast<std::byte>(value + 0.5));
      continue;
    }
    auto number = static_cast<float>(value);
    auto bytes = reinterpret_cast<const std::byte *>(&number);
    pixel.insert(pixel.end(), bytes, bytes + sizeof number);
  }
  return pixel;
}

} // namespace

Result<std::unique_ptr<const Transform>> makeRandomErase(Config config, const Field *before) {
  double probability = config.real("probability", 0.5);
  if (!(probability >= 0 && probability <= 1))
    return Status::invalid(
        text("random_erase { probability } is ", probability, ", expected 0 to 1"));
  auto reach = readPartReach(config, "random_erase", {0.02, 0.33, 0.3, 3.3});
  if (!reach)
    return reach.status();
  if (!before)
    return std::unique_ptr<const Transform>();
  auto picture = pictureField(*before, "random_erase");
  if (!picture)
    return picture.status();
  if (before->isIndices)
    return Status::invalid(text("random_erase of field '", before->name,
                                "' would change its pixels, which are classes: name fields of "
                                "colors only"));
  auto pixel = readPixel(config, *picture);
  if (!pixel)
    return pixel.status();
  return std::unique_ptr<const Transform>(std::make_unique<RandomErase>(
      *before, static_cast<float>(probability), *reach, std::move(*pixel)));
}

} // namespace gradc::runtime
