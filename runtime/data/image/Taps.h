// Along one side of a picture: the input pixels that contribute to each output pixel.
#ifndef RUNTIME_DATA_IMAGE_TAPS_H
#define RUNTIME_DATA_IMAGE_TAPS_H

#include <cstdint>
#include <span>
#include <vector>

namespace gradc::runtime {

/// How a picture is resized.
enum class Filter {
  nearest,  ///< the pixel under the center of the new one
  bilinear, ///< between the two nearest pixels; with antialias a triangle as wide as the new pixel
  bicubic,  ///< Keys' cubic, a = -0.5, over 4 pixels; with antialias, stretched to the new pixel
  area      ///< the mean over the new pixel's area
};

/// Resizing, cropping, flipping, and padding are lists of weights, and so are their combinations.
class Taps {
public:
  static constexpr int32_t outside = -1; ///< the `first` of a pixel that is padding

  Taps() = default;
  /// Keeps every pixel.
  static Taps identity(int64_t size);
  /// Pixel centers are at halves, as in TensorFlow 2, PyTorch (align_corners=False), and Pillow.
  static Taps resize(int64_t from, int64_t to, Filter filter, bool antialias);

  int64_t inputs() const { return inputCount; }
  int64_t outputs() const { return int64_t(firsts.size()); }
  /// The number of adjacent pixels in the sum of each output.
  int64_t width() const { return tapCount; }
  /// The first of these pixels.
  int32_t first(int64_t output) const { return firsts[size_t(output)]; }
  std::span<const float> weights(int64_t output) const {
    return std::span(weightList).subspan(size_t(output * tapCount), size_t(tapCount));
  }
  /// Whether outputs are single pixels.
  bool isSelection() const { return tapCount == 1; }

  /// Adapts the taps to a larger input, with `before` pixels before and `after` pixels after the
  /// current one.
  void widenInput(int64_t before, int64_t after);
  /// Resizes the outputs, which are neighbouring input pixels.
  void resizeOutputs(int64_t to, Filter filter, bool antialias);
  /// Keeps `count` outputs from `begin` on.
  void crop(int64_t begin, int64_t count);
  void flip();
  void pad(int64_t before, int64_t after);

private:
  int64_t inputCount = 0, tapCount = 1;
  std::vector<int32_t> firsts;
  std::vector<float> weightList;
};

} // namespace gradc::runtime

#endif
