// map { resize { height width filter antialias } } takes a whole picture, map { random_resized_crop
// { height width least_area most_area least_ratio most_ratio } } a random part of it.
#include "runtime/base/Text.h"
#include "runtime/data/image/PictureMaps.h"
#include "runtime/data/image/PixelSteps.h"
#include "runtime/data/image/RandomPart.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace gradc::runtime {

namespace {

/// How a picture is resampled, by `resize` and `random_resized_crop` alike.
struct Sampling {
  Filter filter = Filter::bilinear;
  bool antialias = true;

  bool interpolates() const { return filter != Filter::nearest; }
  /// An earlier step may have cropped the side.
  void resize(Taps &side, int64_t to) const { side.resizeOutputs(to, filter, antialias); }
};

class Resize final : public PixelStep {
public:
  Resize(int64_t height, int64_t width, int64_t shorter, Sampling sampling)
      : height(height), width(width), shorter(shorter), sampling(sampling) {}

  Status plan(PixelPlan &plan, Random &) const override {
    int64_t toHeight = height, toWidth = width;
    if (shorter) {
      double scale =
          double(shorter) / double(std::min(plan.rows.outputs(), plan.columns.outputs()));
      toHeight = scaled(plan.rows.outputs(), scale);
      toWidth = scaled(plan.columns.outputs(), scale);
      if (std::max(toHeight, toWidth) > 32768)
        return Status::error(text("has ", plan.columns.outputs(), " x ", plan.rows.outputs(),
                                  " pixels, which would become ", toWidth, " x ", toHeight));
    }
    sampling.resize(plan.rows, toHeight);
    sampling.resize(plan.columns, toWidth);
    return {};
  }
  bool interpolates() const override { return sampling.interpolates(); }
  PixelStage follows() const override { return PixelStage::cropped; }
  PixelStage leaves() const override { return PixelStage::selected; }

private:
  int64_t scaled(int64_t side, double scale) const {
    return std::max(int64_t(std::llround(double(side) * scale)), shorter);
  }

  int64_t height, width, shorter;
  Sampling sampling;
};

/// torchvision.transforms.RandomResizedCrop.
class RandomResizedCrop final : public PixelStep {
public:
  RandomResizedCrop(int64_t height, int64_t width, const PartReach &reach, Sampling sampling)
      : height(height), width(width), reach(reach), sampling(sampling) {}

  Status plan(PixelPlan &plan, Random &random) const override {
    int64_t rows = plan.rows.outputs(), columns = plan.columns.outputs();
    auto drawn = isRandom() ? drawPart(reach, rows, columns, random) : std::nullopt;
    PicturePart part = drawn.value_or(middle(rows, columns));
    plan.rows.crop(part.top, part.height);
    plan.columns.crop(part.left, part.width);
    sampling.resize(plan.rows, height);
    sampling.resize(plan.columns, width);
    return {};
  }
  /// A part of all of the area has one place, as where predictions leave nothing to chance.
  bool isRandom() const override { return reach.leastArea < 1; }
  bool drawsBySize() const override { return isRandom(); }
  bool interpolates() const override { return sampling.interpolates(); }
  PixelStage follows() const override { return PixelStage::cropped; }
  PixelStage leaves() const override { return PixelStage::selected; }

private:
  /// Where no part was drawn: the largest one in the middle whose ratio is allowed.
  PicturePart middle(int64_t rows, int64_t columns) const {
    double ratio = std::clamp(double(columns) / double(rows), reach.leastRatio, reach.mostRatio);
    int64_t wide = std::clamp<int64_t>(std::llround(double(rows) * ratio), 1, columns),
            high = std::clamp<int64_t>(std::llround(double(columns) / ratio), 1, rows);
    return {(rows - high) / 2, (columns - wide) / 2, high, wide};
  }

  int64_t height, width;
  PartReach reach;
  Sampling sampling;
};

std::optional<Filter> filterNamed(std::string_view name) {
  if (name == "BILINEAR")
    return Filter::bilinear;
  if (name == "NEAREST")
    return Filter::nearest;
  if (name == "BICUBIC")
    return Filter::bicubic;
  if (name == "AREA")
    return Filter::area;
  return std::nullopt;
}

} // namespace

/// `step` names the block in messages.
static Result<Sampling> readSampling(Config config, std::string_view step, const Field *before) {
  bool isIndices = before && before->isIndices;
  auto filter = filterNamed(config.string("filter", isIndices ? "NEAREST" : "BILINEAR"));
  if (!filter)
    return Status::invalid(text(step, " { filter } is '", config.string("filter"),
                                "', expected BILINEAR, BICUBIC, NEAREST or AREA"));
  if (isIndices && *filter != Filter::nearest)
    return Status::invalid(
        text(step, " { filter: ", config.string("filter"), " } of field '", before->name,
             "' would mix classes: its pixels are indices, and what lies between "
             "two of them is another class; leave filter out, or write NEAREST"));
  return Sampling{*filter, config.boolean("antialias", true)};
}

/// Interpolated pixels are f32 unless the block has them rounded.
static gradc_dtype typeAfter(Config config, Sampling sampling, gradc_dtype before) {
  return sampling.interpolates() && !config.boolean("round", false) ? GRADC_F32 : before;
}

Result<std::unique_ptr<const Transform>> makeResize(Config config, const Field *before) {
  auto sampling = readSampling(config, "resize", before);
  if (!sampling)
    return sampling.status();
  // One side, or both.
  bool hasShorter = bool(config.child("shorter"));
  if (hasShorter && (config.child("height") || config.child("width")))
    return Status::invalid("resize has shorter and height or width, expected one or the other");
  auto first = pictureSide(config, "resize", hasShorter ? "shorter" : "height"),
       second = hasShorter ? first : pictureSide(config, "resize", "width");
  if (!first || !second)
    return first ? second.status() : first.status();
  if (!before)
    return std::unique_ptr<const Transform>();
  auto picture = pictureField(*before, "resize");
  if (!picture)
    return picture.status();
  picture->height = hasShorter ? Field::varying : *first;
  picture->width = hasShorter ? Field::varying : *second;
  picture->dtype = typeAfter(config, *sampling, picture->dtype);
  return makePixelPass(*before, *picture,
                       std::make_shared<Resize>(picture->height, picture->width,
                                                hasShorter ? *first : 0, *sampling));
}

Result<std::unique_ptr<const Transform>> makeRandomResizedCrop(Config config, const Field *before) {
  constexpr std::string_view name = "random_resized_crop";
  auto sampling = readSampling(config, name, before);
  if (!sampling)
    return sampling.status();
  auto height = pictureSide(config, name, "height"), width = pictureSide(config, name, "width");
  if (!height || !width)
    return height ? width.status() : height.status();
  auto reach = readPartReach(config, name, {0.08, 1, 3.0 / 4, 4.0 / 3});
  if (!reach)
    return reach.status();
  if (!before)
    return std::unique_ptr<const Transform>();
  auto picture = pictureField(*before, name);
  if (!picture)
    return picture.status();
  picture->height = *height;
  picture->width = *width;
  picture->dtype = typeAfter(config, *sampling, picture->dtype);
  return makePixelPass(*before, *picture,
                       std::make_shared<RandomResizedCrop>(*height, *width, *reach, *sampling));
}

} // namespace gradc::runtime
