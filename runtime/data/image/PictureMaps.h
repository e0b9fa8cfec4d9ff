// One function per kind of picture map.
#ifndef RUNTIME_DATA_IMAGE_PICTUREMAPS_H
#define RUNTIME_DATA_IMAGE_PICTUREMAPS_H

#include "runtime/data/transform/Transform.h"

namespace gradc::runtime {

Result<std::unique_ptr<const Transform>> makeColorJitter(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeCrop(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeDecode(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeFlip(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeNormalize(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeRandomCrop(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeRandomErase(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeRandomResizedCrop(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeResize(Config config, const Field *before);

} // namespace gradc::runtime

#endif
