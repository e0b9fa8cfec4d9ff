// Decodes JPEG and PNG files, and runs a pass over the result.
#include "runtime/data/image/Decode.h"
#include "runtime/data/image/Resample.h"

#include <cstdlib>

using namespace gradc::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span file(reinterpret_cast<const std::byte *>(data), size);
  int64_t height = 0, width = 0; // at its own size
  for (int64_t channels : {0, 1, 3, 4}) {
    DecodeOptions options;
    options.channels = channels;
    options.maxPixels = 1 << 16;
    if (channels == 3)
      options.scaledHeight = options.scaledWidth = 8;
    Picture picture;
    if (!decodePicture(file, options, picture).ok())
      continue;
    if (channels == 0) {
      height = picture.height;
      width = picture.width;
    }
    if (height > 0 && (picture.height > height || picture.width > width))
      std::abort();
    Picture resized;
    resized.resize(5, 7, picture.channels, GRADC_U8);
    Resampler().run(picture.view(), Taps::resize(picture.height, 5, Filter::bilinear, true),
                    Taps::resize(picture.width, 7, Filter::area, false), 0, {},
                    {resized.data(), GRADC_U8, channels == 1});
  }
  return 0;
}
