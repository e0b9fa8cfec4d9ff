// Adjusts colors in f32.
#include "runtime/data/image/Jitter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gradc::runtime {

namespace {

float grayOf(const float *pixel, int64_t channels) {
  return channels < 3 ? pixel[0] : 0.2989f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

float meanGray(const float *pixels, int64_t count, int64_t channels) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += double(grayOf(pixels + i * channels, channels));
  return float(sum / double(count));
}

/// Rotates a color's hue by converting to hue, saturation, and value, and back.
void rotateHue(float *pixel, float turn, float limit) {
  float r = pixel[0] / limit, g = pixel[1] / limit, b = pixel[2] / limit;
  float value = std::max({r, g, b}), chroma = value - std::min({r, g, b});
  if (chroma <= 0)
    return;
  float sixth = value == r   ? (g - b) / chroma
                : value == g ? 2 + (b - r) / chroma
                             : 4 + (r - g) / chroma;
  float hue = sixth / 6 + turn;
  sixth = (hue - std::floor(hue)) * 6;
  // Each color is at its maximum for two sixths of the circle, and falls to zero within one sixth.
  constexpr float shifts[] = {5, 3, 1};
  for (int c = 0; c < 3; ++c) {
    float k = std::fmod(shifts[c] + sixth, 6.0f);
    pixel[c] = (value - chroma * std::clamp(std::min(k, 4 - k), 0.0f, 1.0f)) * limit;
  }
}

/// Blends with a gray value: color * factor + gray * (1 - factor).
void blend(float *pixel, int64_t colors, float gray, float factor, float limit) {
  for (int64_t c = 0; c < colors; ++c)
    pixel[c] = std::clamp(pixel[c] * factor + gray * (1 - factor), 0.0f, limit);
}

} // namespace

void adjustColors(Adjustment adjustment, float factor, float *pixels, int64_t count,
                  int64_t channels, float limit) {
  int64_t colors = channels < 3 ? 1 : 3;
  bool needsColor = adjustment == Adjustment::saturation || adjustment == Adjustment::hue;
  if (needsColor && colors == 1)
    return;
  float gray = adjustment == Adjustment::contrast ? meanGray(pixels, count, channels) : 0;
  for (float *pixel = pixels, *end = pixels + count * channels; pixel != end; pixel += channels)
    if (adjustment == Adjustment::hue)
      rotateHue(pixel, factor, limit);
    else
      blend(pixel, colors, adjustment == Adjustment::saturation ? grayOf(pixel, channels) : gray,
            factor, limit);
}

void jitterColors(const JitterReach &reach, Random &random, float *pixels, int64_t count,
                  int64_t channels, float limit) {
  std::array order = {Adjustment::brightness, Adjustment::contrast, Adjustment::saturation,
                      Adjustment::hue};
  for (size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[random.below(left)]);
  for (Adjustment adjustment : order) {
    float most = reach[size_t(adjustment)];
    if (most <= 0)
      continue;
    float place = float(random.next() >> 8) * 0x1p-23f - 1; // in [-1, 1)
    float neutral = adjustment == Adjustment::hue ? 0.0f : 1.0f;
    float factor = neutral + most * place;
    adjustColors(adjustment, adjustment == Adjustment::hue ? factor : std::max(factor, 0.0f),
                 pixels, count, channels, limit);
  }
}

} // namespace gradc::runtime
