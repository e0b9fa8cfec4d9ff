// Resizes, crops, flips, pads, normalizes, and transposes a picture in one pass.
#ifndef RUNTIME_DATA_IMAGE_RESAMPLE_H
#define RUNTIME_DATA_IMAGE_RESAMPLE_H

#include "runtime/data/image/Pixels.h"
#include "runtime/data/image/Taps.h"

#include <array>

namespace gradc::runtime {

/// The change to each value: value * scale + shift, per channel.
struct PixelScale {
  std::array<float, maxChannels> scale = {1, 1, 1, 1}, shift = {0, 0, 0, 0};
  bool operator==(const PixelScale &) const = default;
};

/// The destination of the result: u8 (rounded to nearest, clamped to 0..255) or f32.
struct PixelTarget {
  std::byte *pixels = nullptr;
  gradc_dtype dtype = GRADC_F32;
  bool channelsFirst = false; ///< [C, H, W] instead of [H, W, C]
};

/// Owns its work memory; supports one thread at a time.
class Resampler {
public:
  /// Writes rows.outputs() x columns.outputs() pixels. Sums are computed in f32, down each column
  /// first, with the same bits on every processor. `fill` is the value of padding before scaling.
  void run(const PixelView &in, const Taps &rows, const Taps &columns, float fill,
           const PixelScale &scale, const PixelTarget &out);

private:
  void planColumns(const Taps &columns, int64_t channels);

  std::vector<float> row;
  std::vector<float> weights;
  std::vector<int32_t> offsets, padding;
  int64_t firstColumn = 0, columnCount = 0;
  bool hasPadding = false;
};

} // namespace gradc::runtime

#endif
