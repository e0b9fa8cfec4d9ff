// The table of decoders in programs that link them.
#include "runtime/data/image/Decoders.h"

extern "C" const gradc::runtime::PictureDecoders *gradc_picture_decoders();
const gradc::runtime::PictureDecoders *gradc_picture_decoders() {
  static constexpr gradc::runtime::PictureDecoders decoders = {gradc::runtime::decodeJpeg,
                                                               gradc::runtime::decodePng};
  return &decoders;
}
