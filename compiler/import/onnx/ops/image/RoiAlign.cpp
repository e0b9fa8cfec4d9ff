// RoiAlign: regions of pictures, pooled over points between pixels.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Sampling.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
struct RoiAlign {
  bool halfPixel, max;
  double scale;
  int64_t samples; ///< in each bin, along a dim

  /// The parameters along one dim of the pictures.
  struct Dim {
    int64_t size, bins, coordinate; ///< a region's first coordinate in `rois`; its last is 2 on
  };
};
} // namespace

static FailureOr<RoiAlign> readRoiAlign(Node &n) {
  StringRef coordinates = n.string("coordinate_transformation_mode",
                                   n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  StringRef mode = n.string("mode", "avg");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return n.error() << "expected coordinate_transformation_mode half_pixel or output_half_pixel, "
                        "found \""
                     << coordinates << '"';
  if (mode != "avg" && mode != "max")
    return n.error() << "expected mode avg or max, found \"" << mode << '"';
  int64_t samples = n.integer("sampling_ratio", 0);
  if (samples < 1 || samples > 64)
    return n.error() << "with a sampling_ratio of " << samples
                     << " is not supported: expected 1 to 64; with 0, the number of points would "
                        "depend on a region's size, which is known at run time only";
  return RoiAlign{coordinates == "half_pixel", mode == "max", n.real("spatial_scale", 1), samples};
}

/// The points along one dim, [regions, bins * samples].
static Expr pointsAlong(const RoiAlign &r, Expr rois, RoiAlign::Dim dim) {
  OpBuilder &b = rois.getBuilder();
  int64_t count = rois.shape()[0];
  auto column = [&](int64_t i) {
    return rois.slice(1, i, 1).reshape({count}) * r.scale - (r.halfPixel ? 0.5 : 0.0);
  };
  Expr begin = column(dim.coordinate), length = column(dim.coordinate + 2) - begin;
  if (!r.halfPixel) // regions are at least one pixel wide
    length = length.apply<MaxOp>(length.splat(1));
  int64_t points = dim.bins * r.samples;
  HostTensor fractions(RankedTensorType::get({points}, rois.element()));
  for (int64_t i = 0; i < points; ++i)
    fractions.setFloat(i, (double(i) + 0.5) / double(points));
  auto type = rois.type().clone({count, points});
  Expr fraction = rois.with(constant(b, rois.getLoc(), fractions)).broadcast(type, {1});
  return begin.broadcast(type, {0}) + length.broadcast(type, {0}) * fraction;
}

/// The two pixels next to each point. Points up to one pixel outside count as points on the border;
/// points farther out have weight 0.
static PixelTaps tapsAlong(Expr points, int64_t size) {
  OpBuilder &b = points.getBuilder();
  double last = double(size - 1);
  Expr near = points.compare(ComparePredicate::ge, points.splat(-1))
                  .apply<AndOp>(points.compare(ComparePredicate::le, points.splat(last + 1)));
  Expr inside =
      points.with(b.createOrFold<ClampOp>(points.getLoc(), points, APFloat(0.0), APFloat(last)));
  PixelTaps taps = linearTaps(inside);
  for (Expr &weight : taps.weights)
    weight = near.select(weight, weight.splat(0));
  // No pixel follows the last one, whose weight is 1.
  taps.pixels[1] = taps.pixels[1].apply<MinOp>(taps.pixels[1].splat(last));
  return taps;
}

/// Broadcasts the taps of one dim's points to all points of a region, [regions, y, x].
static PixelTaps acrossPoints(PixelTaps taps, int64_t dim, ArrayRef<int64_t> shape) {
  for (auto *values : {&taps.pixels, &taps.weights})
    for (Expr &value : *values)
      value = value.broadcast(value.type().clone(shape), {0, dim});
  return taps;
}

/// The mean over the points of each bin, of 16-bit floats in f32, or the maximum over their
/// weighted pixels, as ONNX defines it. `bins` are [regions, channels, y, x], as the result.
static Expr pool(const RoiAlign &r, const Sampler &sampler, ArrayRef<PixelTaps> taps,
                 ArrayRef<int64_t> bins) {
  auto reduce = [&](Expr x, bool max) {
    Expr parts = x.reshape({bins[0], bins[2], r.samples, bins[3], r.samples, bins[1]});
    SmallVector<int64_t> points{2, 4};
    Expr pooled =
        max ? x.with(x.getBuilder().createOrFold<ReduceMaxOp>(x.getLoc(), parts, points))
            : (parts.wide().sum(points) / double(r.samples * r.samples)).cast(x.element());
    return pooled.transpose({0, 3, 1, 2});
  };
  if (!r.max)
    return reduce(sampler.sum(taps), false);
  std::optional<Expr> most;
  for (size_t y : {0, 1})
    for (size_t x : {0, 1}) {
      PixelTaps corner[] = {taps[0],
                            {{taps[1].pixels[y]}, {taps[1].weights[y]}},
                            {{taps[2].pixels[x]}, {taps[2].weights[x]}}};
      Expr term = sampler.sum(corner);
      most = most ? most->apply<MaxOp>(term) : term;
    }
  return reduce(*most, true);
}

static LogicalResult importRoiAlign(Node &n) {
  FailureOr<RoiAlign> read = readRoiAlign(n);
  int64_t height = n.integer("output_height", 1), width = n.integer("output_width", 1);
  if (failed(read) || failed(n.expect(0, Kind::Float)) || failed(n.expectRank(0, 4)) ||
      failed(n.expectSameElement(0, 1)) || failed(n.expectRank(1, 2)) ||
      failed(n.expect(2, Kind::Int)) || failed(n.expectRank(2, 1)))
    return failure();
  ArrayRef<int64_t> pictures = n.shape(0);
  int64_t count = n.shape(1)[0], samples = read->samples;
  if (n.shape(1)[1] != 4 || n.shape(2)[0] != count || pictures[2] < 1 || pictures[3] < 1)
    return n.error() << "expected pictures, four coordinates of each region and its picture, found "
                     << n.describeOperand(0) << ", " << n.describeOperand(1) << " and "
                     << n.describeOperand(2);
  SmallVector<int64_t> points{count, height * samples, width * samples};
  if (height < 1 || width < 1 || failed(n.expectSensible({height, width})) ||
      failed(n.expectSensible(points)))
    return n.error() << "expected an output_height and output_width of at least 1, found " << height
                     << " and " << width;
  for (unsigned i : {0u, 1u})
    if (auto extent = n.extent(i); extent && (i == 0 || extent->dim != 0))
      return n.refuseExtent(i);
  enum : int64_t { region, coordinate };
  SmallVector<int64_t> ofPictures(4, -1), ofRois{region, coordinate}, ofOwners{region};
  auto extent = n.commonExtent({ofPictures, ofRois, ofOwners});
  if (failed(extent))
    return failure();
  // Regions behind the count of the run have size 0 and lie in the first picture.
  FailureOr<Value> owners = expectIndices(n, n.neutralBehindExtent(2, n.expr(2u), {0}, 0), 0);
  if (failed(owners))
    return failure();
  Type wide = wideFloat(n.element(0));
  Expr rois = n.neutralBehindExtent(1, n.expr(1u), {0}, 0).cast(wide);
  PixelTaps owner{{n.expr(*owners).broadcast(n.type(2).clone(points), {0})}, {}};
  PixelTaps rows = tapsAlong(pointsAlong(*read, rois, {pictures[2], height, 1}), pictures[2]);
  PixelTaps columns = tapsAlong(pointsAlong(*read, rois, {pictures[3], width, 0}), pictures[3]);
  // With channels last, the dims that indices choose along are side by side, and a kernel adds up
  // the gradient by rows of channels; with channels between them, each pixel searches all updates.
  Expr channelsLast = n.expr(0u).cast(wide).transpose({0, 2, 3, 1});
  Sampler sampler{channelsLast, {-1, -2, -3, 3}, {0, 1, 2}, /*mayBeOutside=*/false};
  PixelTaps taps[] = {owner, acrossPoints(rows, 1, points), acrossPoints(columns, 2, points)};
  Expr y = pool(*read, sampler, taps, {count, pictures[1], height, width});
  y = y.cast(n.element(0));
  return *extent ? n.set(0, y, {0, (*extent)->count}) : n.set(y);
}

void gradc::addRoiAlignOps(OpTable &ops) {
  ops["RoiAlign"] = {importRoiAlign, 3, 3};
  takeExtents(ops, TakesExtents::itself, {"RoiAlign"});
}
