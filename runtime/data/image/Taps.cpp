// Filters as weights, with the windows and precision of PyTorch and TensorFlow.
#include "runtime/data/image/Taps.h"

#include <algorithm>
#include <cmath>

namespace gradc::runtime {

namespace {

/// The pixels [begin, end) that contribute to a new pixel.
struct Window {
  int64_t begin, end;
};

Window nearestWindow(double center, int64_t size) {
  int64_t pixel = std::clamp(int64_t(std::floor(center)), int64_t(0), size - 1);
  return {pixel, pixel + 1};
}

Window windowAround(double center, double reach, int64_t size) {
  Window window = {std::max(int64_t(center - reach + 0.5), int64_t(0)),
                   std::min(int64_t(center + reach + 0.5), size)};
  return window.begin < window.end ? window : nearestWindow(center, size);
}

Window areaWindow(double center, double scale, int64_t size) {
  // Rounding may move an edge slightly off an integer.
  constexpr double slack = 1e-9;
  return {std::max(int64_t(std::floor(center - scale / 2 + slack)), int64_t(0)),
          std::min(int64_t(std::ceil(center + scale / 2 - slack)), size)};
}

double triangle(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

/// Keys' cubic with a = -0.5, as Pillow, TensorFlow, and PyTorch's antialiasing have it.
double cubic(double distance) {
  double x = std::abs(distance);
  return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

/// The fraction of the pixel inside the new pixel.
double overlap(int64_t pixel, double center, double scale) {
  return std::max(0.0, std::min(double(pixel + 1), center + scale / 2) -
                           std::max(double(pixel), center - scale / 2));
}

} // namespace

Taps Taps::identity(int64_t size) {
  Taps taps;
  taps.inputCount = size;
  taps.firsts.resize(size_t(size));
  for (int64_t i = 0; i < size; ++i)
    taps.firsts[size_t(i)] = int32_t(i);
  taps.weightList.assign(size_t(size), 1.0f);
  return taps;
}

Taps Taps::resize(int64_t from, int64_t to, Filter filter, bool antialias) {
  double scale = double(from) / double(to);
  double stretch = antialias ? std::max(scale, 1.0) : 1.0;          // of the filter
  double reach = filter == Filter::bicubic ? 2 * stretch : stretch; // on either side
  std::vector<Window> windows(static_cast<size_t>(to));
  Taps taps;
  taps.inputCount = from;
  for (int64_t i = 0; i < to; ++i) {
    double center = (double(i) + 0.5) * scale;
    Window &window = windows[size_t(i)];
    int64_t nearest =
        (2 * i + 1) * from / (2 * to); // exact, since a center may lie on a pixel's edge
    window = filter == Filter::nearest ? Window{nearest, nearest + 1}
             : filter == Filter::area  ? areaWindow(center, scale, from)
                                       : windowAround(center, reach, from);
    taps.tapCount = std::max(taps.tapCount, window.end - window.begin);
  }

  taps.firsts.resize(size_t(to));
  taps.weightList.resize(size_t(to * taps.tapCount));
  std::vector<double> weights;
  for (int64_t i = 0; i < to; ++i) {
    double center = (double(i) + 0.5) * scale, sum = 0;
    Window window = windows[size_t(i)];
    weights.clear();
    for (int64_t pixel = window.begin; pixel < window.end; ++pixel) {
      double distance = (double(pixel) + 0.5 - center) / stretch;
      double weight = filter == Filter::nearest   ? 1
                      : filter == Filter::area    ? overlap(pixel, center, scale)
                      : filter == Filter::bicubic ? cubic(distance)
                                                  : triangle(distance);
      weights.push_back(weight);
      sum += weight;
    }
    // A window narrower than the widest one is filled with zero weights, inside the picture.
    int64_t first = std::min(window.begin, from - taps.tapCount);
    taps.firsts[size_t(i)] = int32_t(first);
    float *out = &taps.weightList[size_t(i * taps.tapCount + window.begin - first)];
    for (size_t k = 0; k < weights.size(); ++k)
      out[k] = float(weights[k] / sum);
  }
  return taps;
}

void Taps::widenInput(int64_t before, int64_t after) {
  inputCount += before + after;
  for (int32_t &first : firsts)
    first += first == outside ? 0 : int32_t(before);
}

void Taps::resizeOutputs(int64_t to, Filter filter, bool antialias) {
  int64_t inputs = inputCount, from = outputs(), before = first(0);
  *this = resize(from, to, filter, antialias);
  widenInput(before, inputs - from - before);
}

void Taps::crop(int64_t begin, int64_t count) {
  firsts = {firsts.begin() + begin, firsts.begin() + begin + count};
  weightList = {weightList.begin() + begin * tapCount,
                weightList.begin() + (begin + count) * tapCount};
}

void Taps::flip() {
  std::reverse(firsts.begin(), firsts.end());
  // Groups are reversed; the order within a group stays.
  std::reverse(weightList.begin(), weightList.end());
  for (auto group = weightList.begin(); group != weightList.end(); group += tapCount)
    std::reverse(group, group + tapCount);
}

void Taps::pad(int64_t before, int64_t after) {
  firsts.insert(firsts.begin(), size_t(before), outside);
  firsts.insert(firsts.end(), size_t(after), outside);
  weightList.insert(weightList.begin(), size_t(before * tapCount), 0.0f);
  weightList.insert(weightList.end(), size_t(after * tapCount), 0.0f);
}

} // namespace gradc::runtime
