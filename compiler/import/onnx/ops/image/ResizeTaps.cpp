// Positions and kernels of the modes of Resize.
#include "compiler/import/onnx/ops/image/ResizeTaps.h"

using namespace mlir;
using namespace gradc;

int64_t ResizedDim::reads() const {
  size_t most = 1;
  for (const Taps &t : results)
    most = std::max(most, t.size());
  return int64_t(most);
}

SmallVector<int64_t> ResizedDim::indices(size_t k) const {
  SmallVector<int64_t> all;
  int64_t count = int64_t(results.size());
  for (auto [i, t] : llvm::enumerate(results))
    all.push_back(k < t.size() ? t[k].first : int64_t(i) * size / count);
  return all;
}

/// The position of result `i` between the operand's elements. The scale is not rounded to whole
/// elements, as in ONNX's own test cases.
static double position(const Resize &r, const DimResize &dim, int64_t i) {
  double last = double(dim.size - 1), width = dim.scale * double(dim.size), x = double(i);
  if (r.coordinates == "align_corners")
    return width == 1 ? 0 : x * last / (width - 1);
  if (r.coordinates == "asymmetric")
    return x / dim.scale;
  if (r.coordinates == "tf_half_pixel_for_nn")
    return (x + 0.5) / dim.scale;
  if (r.crops())
    return dim.begin * last + (dim.result == 1
                                   ? (dim.end - dim.begin) * last / 2
                                   : x * (dim.end - dim.begin) * last / double(dim.result - 1));
  if (r.coordinates == "pytorch_half_pixel" && dim.result == 1)
    return 0;
  double center = 0;
  if (r.coordinates == "half_pixel_symmetric")
    center = double(dim.size) / 2 * (1 - double(dim.result) / width);
  return center + (x + 0.5) / dim.scale - 0.5;
}

static int64_t nearestTo(StringRef mode, double x) {
  double below = std::floor(x), rest = x - below;
  bool up = mode == "ceil"                 ? rest > 0
            : mode == "round_prefer_floor" ? rest > 0.5
            : mode == "round_prefer_ceil"  ? rest >= 0.5
                                           : false;
  return int64_t(below) + up;
}

/// The weight of an element at distance `d` from a position.
static double kernel(const Resize &r, double d) {
  double a = r.cubicA;
  d = std::abs(d);
  if (r.mode == "linear")
    return std::max(1 - d, 0.0);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps gradc::tapsOf(const Resize &r, const DimResize &dim, int64_t i) {
  double x = position(r, dim, i);
  if (r.crops() && (x < 0 || x > double(dim.size - 1)))
    return {};
  auto inside = [&](int64_t k) { return std::clamp<int64_t>(k, 0, dim.size - 1); };
  if (r.mode == "nearest") {
    StringRef rounding = r.nearest == "simple" ? (dim.scale < 1 ? "ceil" : "floor") : r.nearest;
    return {{inside(nearestTo(rounding, x)), 1.0}};
  }
  // If the result shrinks, antialiasing stretches the kernel over all elements that it covers.
  double shrink = r.antialias ? std::min(dim.scale, 1.0) : 1, sum = 0;
  int64_t below = int64_t(std::floor(x)), reach = int64_t(std::ceil(r.support() / shrink));
  Taps result;
  for (int64_t k = below - reach + 1; k <= below + reach; ++k) {
    double share = kernel(r, (double(k) - x) * shrink);
    if (r.excludeOutside && k != inside(k))
      continue;
    result.push_back({inside(k), share});
    sum += share;
  }
  for (auto &[k, share] : result)
    share /= sum;
  return result;
}
