// map { decode { channels max_pixels min_height min_width indices } }: decodes files to pictures of
// bytes.
#include "runtime/base/Text.h"
#include "runtime/data/image/Decode.h"
#include "runtime/data/image/PictureMaps.h"
#include "runtime/data/image/PixelSteps.h"
#include "runtime/data/transform/Transform.h"

namespace gradc::runtime {

namespace {

class OutputRoom final : public PixelRoom {
public:
  explicit OutputRoom(Output &out) : out(out) {}
  Result<std::byte *> room(int64_t height, int64_t width, int64_t channels) override {
    return out.room({height, width, channels});
  }

private:
  Output &out;
};

class DecodeMap final : public Transform {
public:
  DecodeMap(std::string name, const DecodeOptions &options)
      : Transform(resultOf(std::move(name), options)), options(options) {}

  Status apply(const Value &in, Random &, ScratchSlot &, Output &out) const override {
    OutputRoom room(out);
    return decodePicture({in.data, in.bytes}, options, room);
  }

private:
  static Field resultOf(std::string name, const DecodeOptions &options) {
    Field field = {std::move(name), GRADC_U8, {Field::varying, Field::varying, options.channels}};
    field.isIndices = options.indices;
    return field;
  }

  DecodeOptions options;
};

} // namespace

Result<std::unique_ptr<const Transform>> makeDecode(Config config, const Field *before) {
  DecodeOptions options;
  options.indices = config.boolean("indices", false);
  options.channels = config.integer("channels", options.indices ? 1 : 3);
  if (options.indices && options.channels != 1)
    return Status::invalid(
        text("decode { indices } has 1 channel, found channels: ", options.channels));
  if (options.channels != 1 && options.channels != 3 && options.channels != 4)
    return Status::invalid(
        text("decode { channels } is ", options.channels, ", expected 1, 3 or 4"));
  options.maxPixels = config.integer("max_pixels", options.maxPixels);
  if (options.maxPixels < 1)
    return Status::invalid(
        text("decode { max_pixels } is ", options.maxPixels, ", expected 1 or more"));
  bool isScaled = bool(config.child("min_height"));
  if (isScaled != bool(config.child("min_width")))
    return Status::invalid("decode has min_height or min_width, expected both or none");
  if (isScaled) {
    auto height = pictureSide(config, "decode", "min_height"),
         width = pictureSide(config, "decode", "min_width");
    if (!height || !width)
      return height ? width.status() : height.status();
    options.scaledHeight = *height;
    options.scaledWidth = *width;
  }
  if (!before)
    return std::unique_ptr<const Transform>();
  if (before->dtype != GRADC_U8 || before->shape.size() != 1)
    return Status::invalid(text("decode of field '", before->name,
                                "' expects files, u8 [varying], found ",
                                findDataType(before->dtype)->name, ' ', shapeText(before->shape)));
  if (!canDecodePictures())
    return Status::invalid(text("decode of field '", before->name,
                                "': this program was built without image decoders (libjpeg, "
                                "libpng)"));
  return std::unique_ptr<const Transform>(std::make_unique<DecodeMap>(before->name, options));
}

} // namespace gradc::runtime
