// The decoders, each a wrapper of its library.
#ifndef RUNTIME_DATA_IMAGE_DECODERS_H
#define RUNTIME_DATA_IMAGE_DECODERS_H

#include "runtime/data/image/Decode.h"

namespace gradc::runtime {

Status decodeJpeg(std::span<const std::byte> file, const DecodeOptions &options, PixelRoom &out);
Status decodePng(std::span<const std::byte> file, const DecodeOptions &options, PixelRoom &out);

} // namespace gradc::runtime

#endif
