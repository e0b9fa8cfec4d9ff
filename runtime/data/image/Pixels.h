// Pictures in memory: rows of pixels whose channels are adjacent.
#ifndef RUNTIME_DATA_IMAGE_PIXELS_H
#define RUNTIME_DATA_IMAGE_PIXELS_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace gradc::runtime {

inline constexpr int64_t maxChannels = 4;

/// A picture owned elsewhere.
struct PixelView {
  const std::byte *pixels = nullptr; ///< may have any alignment
  gradc_dtype dtype = GRADC_U8;      ///< u8 or f32
  int64_t height = 0, width = 0;
  int64_t channels = 0; ///< 1 gray, 2 gray and alpha, 3 red, green, blue, 4 and alpha
};

/// Receives a decoded picture: provides memory for [H, W, C] pixels of u8, or an error.
class PixelRoom {
public:
  virtual Result<std::byte *> room(int64_t height, int64_t width, int64_t channels) = 0;

protected:
  ~PixelRoom() = default;
};

/// A picture that owns its pixels, and reuses their memory for the next picture.
class Picture final : public PixelRoom {
public:
  int64_t height = 0, width = 0, channels = 0;

  Result<std::byte *> room(int64_t height, int64_t width, int64_t channels) override {
    if (!resize(height, width, channels, GRADC_U8))
      return Status::error("has more pixels than there is memory for");
    return data();
  }
  /// Leaves the pixels undefined. Returns false if memory is exhausted.
  bool resize(int64_t newHeight, int64_t newWidth, int64_t newChannels, gradc_dtype newDtype) {
    height = newHeight, width = newWidth, channels = newChannels, dtype = newDtype;
    size_t bytes = size_t(height * width * channels) * (dtype == GRADC_F32 ? sizeof(float) : 1);
    if (bytes > capacity) {
      // Not allocated by `new`, which ends a program without unwinding tables.
      memory.reset(static_cast<std::byte *>(std::malloc(bytes)));
      capacity = memory ? bytes : 0;
    }
    return bytes <= capacity;
  }
  std::byte *data() { return memory.get(); }
  PixelView view() const { return {memory.get(), dtype, height, width, channels}; }

private:
  struct Free {
    void operator()(std::byte *bytes) const { std::free(bytes); }
  };
  gradc_dtype dtype = GRADC_U8;
  std::unique_ptr<std::byte[], Free> memory;
  size_t capacity = 0;
};

} // namespace gradc::runtime

#endif
