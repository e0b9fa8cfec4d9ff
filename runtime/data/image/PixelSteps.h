// Steps that change a picture's size, position, and scale. Consecutive steps form one pass.
#ifndef RUNTIME_DATA_IMAGE_PIXELSTEPS_H
#define RUNTIME_DATA_IMAGE_PIXELSTEPS_H

#include "runtime/data/image/Resample.h"
#include "runtime/data/transform/Transform.h"

namespace gradc::runtime {

/// The work of a pass on a single picture.
struct PixelPlan {
  Taps rows, columns;
  float fill = 0;
  PixelScale scale;
};

/// The progress of a pass; its steps have this order.
enum class PixelStage { cropped, selected, padded, scaled };

/// A step. Immutable: any thread may use it.
class PixelStep {
public:
  virtual ~PixelStep() = default;

  /// Adds itself to the plan. An error describes the problem with the picture.
  virtual Status plan(PixelPlan &plan, Random &random) const = 0;
  /// Whether the plan depends on more than the picture's size.
  virtual bool isRandom() const { return false; }
  /// Whether what it draws depends on the picture's size.
  virtual bool drawsBySize() const { return false; }
  /// Whether new pixels lie between old pixels.
  virtual bool interpolates() const { return false; }
  /// The latest stage of a pass after which the step may come, and the stage afterwards.
  virtual PixelStage follows() const { return PixelStage::padded; }
  virtual PixelStage leaves() const { return PixelStage::cropped; }
};

/// A field that holds pictures; a size may be Field::varying.
struct PictureField {
  gradc_dtype dtype = GRADC_U8; ///< u8 or f32
  int64_t height = 0, width = 0, channels = 0;
  bool isIndices = false; ///< as in Field
};

/// The field as pictures [height, width, channels], or the reason why it does not hold any. `step`
/// names the caller.
Result<PictureField> pictureField(const Field &field, std::string_view step);

/// A height or width in a step's block, from 1 to 32768.
Result<int64_t> pictureSide(Config config, std::string_view step, std::string_view side);

/// A transform with this single step. `after` receives its result.
Result<std::unique_ptr<const Transform>> makePixelPass(const Field &before,
                                                       const PictureField &after,
                                                       std::shared_ptr<const PixelStep> step,
                                                       bool channelsFirst = false);

} // namespace gradc::runtime

#endif
