// GridSample: reads pictures at the positions of a grid.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Sampling.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
enum class Interpolation { nearest, linear, cubic };
enum class Outside { zeros, border, reflection };

struct GridSample {
  Interpolation mode;
  Outside outside;
  bool alignCorners;
};
} // namespace

static FailureOr<GridSample> readGridSample(Node &n) {
  StringRef mode = n.string("mode", n.opset() < 20 ? "bilinear" : "linear");
  StringRef outside = n.string("padding_mode", "zeros");
  GridSample read{Interpolation::nearest, Outside::zeros, n.integer("align_corners", 0) != 0};
  if (mode == "linear" || mode == "bilinear")
    read.mode = Interpolation::linear;
  else if (mode == "cubic" || mode == "bicubic")
    read.mode = Interpolation::cubic;
  else if (mode != "nearest")
    return n.error() << "expected mode nearest, linear or cubic, found \"" << mode << '"';
  if (outside == "border")
    read.outside = Outside::border;
  else if (outside == "reflection")
    read.outside = Outside::reflection;
  else if (outside != "zeros")
    return n.error() << "expected padding_mode zeros, border or reflection, found \"" << outside
                     << '"';
  return read;
}

static Expr isOutside(Expr x, double low, double high) {
  Expr below = x.compare(ComparePredicate::lt, x.splat(low));
  return below.apply<OrOp>(x.compare(ComparePredicate::gt, x.splat(high)));
}

/// Reflects x at both ends of [low, high], repeatedly if necessary.
static Expr reflect(Expr x, double low, double high) {
  double width = high - low;
  if (width == 0)
    return x * 0.0 + low;
  Expr away = (x - low).apply<AbsOp>();
  Expr period = away.apply<RemOp>(away.splat(2 * width));
  Expr isBack = period.compare(ComparePredicate::gt, period.splat(width));
  Expr folded = isBack.select(2 * width - period, period) + low;
  return isOutside(x, low, high).select(folded, x);
}

/// Converts a pixel's coordinate to an integer index in the dim, if the mode maps coordinates
/// outside to pixels.
static Expr pixelIndex(const GridSample &g, Expr x, int64_t size) {
  if (g.outside == Outside::reflection)
    x = g.alignCorners ? reflect(x, 0, double(size - 1)) : reflect(x, -0.5, double(size) - 0.5);
  Expr index = x.cast(x.getBuilder().getI64Type());
  if (g.outside == Outside::zeros)
    return index;
  return index.with(index.getBuilder().createOrFold<ClampOp>(index.getLoc(), index, APFloat(0.0),
                                                             APFloat(double(size - 1))));
}

/// The cubic kernel by Keys with a = -0.75, at distances 1 + t, t, 1 - t, and 2 - t.
static SmallVector<Expr> cubicWeights(Expr t) {
  constexpr double a = -0.75;
  auto near = [](Expr d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
  auto far = [](Expr d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)};
}

/// A coordinate in [-1, 1] as pixels with weights.
static PixelTaps tapsAt(const GridSample &g, Expr x, int64_t size) {
  double n = double(size), low = g.alignCorners ? 0 : -0.5, high = g.alignCorners ? n - 1 : n - 0.5;
  x = g.alignCorners ? (x + 1.0) / 2.0 * (n - 1) : ((x + 1.0) * n - 1.0) / 2.0;
  if (g.mode == Interpolation::nearest)
    x = x.apply<RoundOp>();
  if (g.outside == Outside::reflection)
    x = reflect(x, low, high);
  bool isCubic = g.mode == Interpolation::cubic;
  if (g.outside == Outside::border) {
    // Each of the four pixels of a cubic kernel moves to the border by itself, as in PyTorch and
    // ONNX Runtime. From three pixels outside on, all four are that of the border.
    double first = isCubic ? -3 : 0, last = n - 1 - first;
    Expr inside =
        x.with(x.getBuilder().createOrFold<ClampOp>(x.getLoc(), x, APFloat(first), APFloat(last)));
    x = isOutside(x, low + first, high - first).select(inside, x);
  }
  if (g.mode == Interpolation::nearest)
    return {{pixelIndex(g, x, size)}, {}};
  Expr first = floorOf(x), rest = x - first;
  PixelTaps taps;
  for (int64_t i = isCubic ? -1 : 0; i < (isCubic ? 3 : 2); ++i)
    taps.pixels.push_back(pixelIndex(g, first + double(i), size));
  taps.weights = isCubic ? cubicWeights(rest) : SmallVector<Expr>{1.0 - rest, rest};
  return taps;
}

/// Vectors run along the last dim of the positions; with fewer than the 16 lanes of most, all
/// positions are one list.
static bool areList(ArrayRef<int64_t> grid) { return grid.size() > 3 && *(grid.end() - 2) < 16; }

/// Coordinate `i` of each position of a grid [N, d..., coordinates].
static Expr coordinate(Expr grid, int64_t i) {
  return grid.slice(grid.type().getRank() - 1, i, 1).reshape(grid.shape().drop_back());
}

/// The extent of dim 0 of the pictures and of the grid: a run may have fewer pictures.
static FailureOr<std::optional<RunExtent>> picturesOfRun(Node &n) {
  SmallVector<SmallVector<int64_t>> places;
  for (unsigned i : {0u, 1u}) {
    if (auto extent = n.extent(i); extent && extent->dim != 0)
      return n.refuseExtent(i);
    places.push_back(SmallVector<int64_t>(n.rank(i), -1));
    places.back()[0] = 0;
  }
  return n.commonExtent(places);
}

static LogicalResult importGridSample(Node &n) {
  FailureOr<GridSample> read = readGridSample(n);
  if (failed(read) || failed(n.expect(1, Kind::Float)) || failed(n.expectRank(1, n.rank(0))))
    return failure();
  int64_t rank = n.rank(0) - 2;
  ArrayRef<int64_t> picture = n.shape(0), grid = n.shape(1);
  if (rank < 1 || grid.back() != rank || grid[0] != picture[0])
    return n.error() << "expected pictures [N, C, d...] and a grid [N, d..., " << rank
                     << "], found " << n.describeOperand(0) << " and " << n.describeOperand(1);
  if (rank > (read->mode == Interpolation::cubic ? 3 : 6))
    return n.error() << "of " << rank
                     << " spatial dims is not supported: expected at most 6, and 3 "
                     << "with mode cubic";
  bool moves = read->mode == Interpolation::nearest;
  if (!moves && failed(n.expect(0, Kind::Float)))
    return failure();
  if (n.type(0).getNumElements() == 0)
    return n.error() << "expected a picture, found " << n.describeOperand(0);
  FailureOr<std::optional<RunExtent>> pictures = picturesOfRun(n);
  if (failed(pictures))
    return failure();
  Expr data = n.expr(0u), positions = n.expr(1u);
  if (isa<FloatType>(n.element(0)))
    data = data.cast(wideFloat(n.element(0)));
  positions = positions.cast(wideFloat(n.element(1)));
  ArrayRef<int64_t> dims = grid.drop_front().drop_back();
  if (areList(grid))
    positions = positions.reshape({grid[0], llvm::product_of(dims), rank});
  Sampler sampler{data, {0, 1}, {0}, /*mayBeOutside=*/read->outside == Outside::zeros};
  for (int64_t d = 1; d + 1 < positions.type().getRank(); ++d)
    sampler.indexDims.push_back(d + 1);
  SmallVector<PixelTaps> taps;
  for (int64_t d = 0; d < rank; ++d) {
    sampler.dims.push_back(-1 - d);
    taps.push_back(tapsAt(*read, coordinate(positions, rank - 1 - d), picture[d + 2]));
  }
  SmallVector<int64_t> shape(picture.take_front(2));
  llvm::append_range(shape, dims);
  Expr y = sampler.sum(taps).reshape(shape).cast(n.element(0));
  return *pictures ? n.set(0, y, **pictures) : n.set(y);
}

void gradc::addGridSampleOps(OpTable &ops) {
  ops["GridSample"] = {importGridSample, 2, 2};
  ops["com.microsoft::GridSample"] = {importGridSample, 2, 2};
  takeExtents(ops, TakesExtents::itself, {"GridSample"});
}
