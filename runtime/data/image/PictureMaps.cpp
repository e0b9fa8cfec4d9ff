// The kinds of picture maps. A program that uses one links this file, and with it all of them.
#include "runtime/data/image/PictureMaps.h"

namespace gradc::runtime {

std::span<const MapKind> pictureMaps() {
  static constexpr MapKind kinds[] = {{"color_jitter", makeColorJitter},
                                      {"crop", makeCrop},
                                      {"decode", makeDecode},
                                      {"flip", makeFlip},
                                      {"normalize", makeNormalize},
                                      {"random_crop", makeRandomCrop},
                                      {"random_erase", makeRandomErase},
                                      {"random_resized_crop", makeRandomResizedCrop},
                                      {"resize", makeResize}};
  return kinds;
}

} // namespace gradc::runtime
