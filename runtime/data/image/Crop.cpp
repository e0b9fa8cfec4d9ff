// map { crop { height width } } takes the middle of a picture, map { random_crop { height width
// padding fill mask_fill } } a random place.
#include "runtime/base/Text.h"
#include "runtime/data/image/PictureMaps.h"
#include "runtime/data/image/PixelSteps.h"

#include <cmath>

namespace gradc::runtime {

namespace {

class Crop final : public PixelStep {
public:
  Crop(int64_t height, int64_t width, bool random, int64_t padding, float fill)
      : height(height), width(width), random(random), padding(padding), fill(fill) {}

  Status plan(PixelPlan &plan, Random &numbers) const override {
    if (padding) {
      plan.rows.pad(padding, padding);
      plan.columns.pad(padding, padding);
      plan.fill = fill;
    }
    int64_t down = plan.rows.outputs() - height, across = plan.columns.outputs() - width;
    if (down < 0 || across < 0)
      return Status::error(text("has ", plan.columns.outputs() - 2 * padding, " x ",
                                plan.rows.outputs() - 2 * padding, " pixels, expected at least ",
                                width - 2 * padding, " x ", height - 2 * padding, " to crop"));
    plan.rows.crop(begin(down, numbers), height);
    plan.columns.crop(begin(across, numbers), width);
    return {};
  }

  bool isRandom() const override { return random; }
  bool drawsBySize() const override { return random; }
  PixelStage follows() const override {
    return padding ? PixelStage::selected : PixelStage::padded;
  }
  PixelStage leaves() const override { return padding ? PixelStage::padded : PixelStage::cropped; }

private:
  int64_t begin(int64_t rest, Random &numbers) const {
    return random ? int64_t(numbers.below(uint64_t(rest) + 1)) : rest / 2;
  }

  int64_t height, width;
  bool random;
  int64_t padding;
  float fill;
};

Result<std::unique_ptr<const Transform>> make(Config config, const Field *before, bool random) {
  std::string_view name = random ? "random_crop" : "crop";
  auto height = pictureSide(config, name, "height"), width = pictureSide(config, name, "width");
  if (!height || !width)
    return height ? width.status() : height.status();
  int64_t padding = config.integer("padding", 0);
  if (padding < 0 || padding > 32768)
    return Status::invalid(text(name, " { padding } is ", padding, ", expected 0 to 32768"));
  double maskFill = config.real("mask_fill", 0);
  if (!(maskFill >= 0 && maskFill <= 255))
    return Status::invalid(
        text(name, " { mask_fill } is ", maskFill, ", expected a class, 0 to 255"));
  bool takesMaskFill = before && before->isIndices && config.child("mask_fill");
  double fill = takesMaskFill ? maskFill : config.real("fill", 0);
  bool isByte = before && before->dtype == GRADC_U8;
  if (!std::isfinite(fill) || (isByte && !(fill >= 0 && fill <= 255)))
    return Status::invalid(
        text(name, " { fill } is ", fill, ", expected ", isByte ? "0 to 255" : "a finite number"));
  if (!before)
    return std::unique_ptr<const Transform>();
  auto picture = pictureField(*before, name);
  if (!picture)
    return picture.status();
  for (auto [side, wanted, found] : {std::tuple("height", *height, &picture->height),
                                     std::tuple("width", *width, &picture->width)}) {
    if (*found != Field::varying && wanted > *found + 2 * padding)
      return Status::invalid(text(name, " { ", side, " } is ", wanted, ", expected at most ",
                                  *found + 2 * padding, " for field '", before->name, "' of shape ",
                                  shapeText(before->shape)));
    *found = wanted;
  }
  return makePixelPass(
      *before, *picture,
      std::make_shared<Crop>(*height, *width, random, padding, static_cast<float>(fill)));
}

} // namespace

Result<std::unique_ptr<const Transform>> makeCrop(Config config, const Field *before) {
  return make(config, before, false);
}
Result<std::unique_ptr<const Transform>> makeRandomCrop(Config config, const Field *before) {
  return make(config, before, true);
}

} // namespace gradc::runtime
