// Selects the decoder, if one is linked.
#include "runtime/data/image/Decode.h"

#include "runtime/base/Text.h"

#include <cstring>

/// Defined by the decoders' objects; null in programs that do not link them.
extern "C" __attribute__((weak)) const gradc::runtime::PictureDecoders *gradc_picture_decoders();

namespace gradc::runtime {

namespace {

const PictureDecoders *findDecoders() {
  return gradc_picture_decoders ? gradc_picture_decoders() : nullptr;
}

enum class Format { unknown, jpeg, png };

Format formatOf(std::span<const std::byte> file) {
  auto beginsWith = [&](const char *magic, size_t size) {
    return file.size() >= size && std::memcmp(file.data(), magic, size) == 0;
  };
  if (beginsWith("\xff\xd8\xff", 3))
    return Format::jpeg;
  return beginsWith("\x89PNG\r\n\x1a\n", 8) ? Format::png : Format::unknown;
}

Status cannotDecode(std::span<const std::byte> file) {
  if (!canDecodePictures())
    return Status::invalid(withoutDecoders);
  return Status::error(file.empty() ? "is empty" : "is neither a JPEG nor a PNG file");
}

} // namespace

bool canDecodePictures() { return findDecoders() != nullptr; }

Status decodePicture(std::span<const std::byte> file, const DecodeOptions &options,
                     PixelRoom &out) {
  const PictureDecoders *decoders = findDecoders();
  Format format = formatOf(file);
  if (!decoders || format == Format::unknown)
    return cannotDecode(file);
  if (options.indices && format == Format::jpeg)
    return Status::error("is a JPEG file, whose pixels are not stored exactly: expected a PNG file "
                         "of indices");
  return (format == Format::jpeg ? decoders->decodeJpeg : decoders->decodePng)(file, options, out);
}

Status checkPictureSize(const PictureSize &size, const DecodeOptions &options) {
  if (size.height < 1 || size.width < 1)
    return Status::error(text("has ", size.width, " x ", size.height, " pixels"));
  if (size.height > options.maxPixels / size.width)
    return Status::error(text("has ", size.width, " x ", size.height, " pixels, expected at most ",
                              options.maxPixels, " in all"));
  return {};
}

} // namespace gradc::runtime
