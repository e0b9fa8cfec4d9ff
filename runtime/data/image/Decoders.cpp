// What a program that links the decoders finds.
#include "runtime/data/image/Decoders.h"

extern "C" const gradc::PictureDecoders *gradc_picture_decoders();
const gradc::PictureDecoders *gradc_picture_decoders() {
  static constexpr gradc::PictureDecoders decoders = {gradc::decodeJpeg, gradc::decodePng,
                                                      gradc::readJpegSize, gradc::readPngSize};
  return &decoders;
}
