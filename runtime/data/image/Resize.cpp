// map { resize { height width filter antialias } }.
#include "runtime/base/Text.h"
#include "runtime/data/image/PictureMaps.h"
#include "runtime/data/image/PixelSteps.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace gradc::runtime {

namespace {

class Resize final : public PixelStep {
public:
  Resize(int64_t height, int64_t width, int64_t shorter, Filter filter, bool antialias)
      : height(height), width(width), shorter(shorter), filter(filter), antialias(antialias) {}

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
    resize(plan.rows, toHeight);
    resize(plan.columns, toWidth);
    return {};
  }
  bool interpolates() const override { return filter != Filter::nearest; }
  PixelStage follows() const override { return PixelStage::cropped; }
  PixelStage leaves() const override { return PixelStage::selected; }

private:
  int64_t scaled(int64_t side, double scale) const {
    return std::max(int64_t(std::llround(double(side) * scale)), shorter);
  }

  /// An earlier step may have cropped the side.
  void resize(Taps &side, int64_t to) const {
    int64_t from = side.outputs(), before = side.first(0);
    Taps taps = Taps::resize(from, to, filter, antialias);
    taps.widenInput(before, side.inputs() - from - before);
    side = std::move(taps);
  }

  int64_t height, width, shorter;
  Filter filter;
  bool antialias;
};

std::optional<Filter> filterNamed(std::string_view name) {
  if (name == "BILINEAR")
    return Filter::bilinear;
  if (name == "NEAREST")
    return Filter::nearest;
  if (name == "AREA")
    return Filter::area;
  return std::nullopt;
}

} // namespace

Result<std::unique_ptr<const Transform>> makeResize(Config config, const Field *before) {
  bool isIndices = before && before->isIndices;
  auto filter = filterNamed(config.string("filter", isIndices ? "NEAREST" : "BILINEAR"));
  if (!filter)
    return Status::invalid(text("resize { filter } is '", config.string("filter"),
                                "', expected BILINEAR, NEAREST or AREA"));
  if (isIndices && *filter != Filter::nearest)
    return Status::invalid(
        text("resize { filter: ", config.string("filter"), " } of field '", before->name,
             "' would mix classes: its pixels are indices, and what lies between "
             "two of them is another class; leave filter out, or write NEAREST"));
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
  bool staysBytes = *filter == Filter::nearest || config.boolean("round", false);
  if (!staysBytes)
    picture->dtype = GRADC_F32;
  return makePixelPass(*before, *picture,
                       std::make_shared<Resize>(picture->height, picture->width,
                                                hasShorter ? *first : 0, *filter,
                                                config.boolean("antialias", true)));
}

} // namespace gradc::runtime
