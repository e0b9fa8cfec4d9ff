// The decoders, each a wrapper of its library.
#ifndef RUNTIME_DATA_IMAGE_DECODERS_H
#define RUNTIME_DATA_IMAGE_DECODERS_H

#include "runtime/data/image/Decode.h"

namespace gradc::runtime {

Status decodeJpeg(std::span<const std::byte> file, const DecodeOptions &options, PixelRoom &out);
Result<PictureSize> readJpegSize(std::span<const std::byte> file);

Status decodePng(std::span<const std::byte> file, const DecodeOptions &options, PixelRoom &out);
Result<PictureSize> readPngSize(std::span<const std::byte> file);

} // namespace gradc::runtime

#endif
