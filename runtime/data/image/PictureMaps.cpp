// The kinds of map for pictures. Programs that use one link this file, and with it all of them.
#include "runtime/data/image/PictureMaps.h"

namespace gradc::runtime {

std::span<const MapKind> pictureMaps() {
  static constexpr MapKind kinds[] = {{"color_jitter", makeColorJitter},
                                      {"crop", makeCrop},
                                      {"decode", makeDecode},
                                      {"flip", makeFlip},
                                      {"normalize", makeNormalize},
                                      {"random_crop", makeRandomCrop},
                                      {"resize", makeResize}};
  return kinds;
}

} // namespace gradc::runtime
