// DeformConv: a convolution with an individual offset per tap and place.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Sampling.h"
#include "compiler/import/onnx/ops/Window.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
struct DeformConvolution {
  Window window;
  int64_t groups, offsetGroups, taps, places;
  SmallVector<int64_t> results; ///< the sizes of the result's picture
  /// The shape of offsets and masks: [N, offset groups, taps, places].
  SmallVector<int64_t> shape;
};
} // namespace

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

static LogicalResult expectOperand(Node &n, unsigned i, ArrayRef<int64_t> shape, StringRef what) {
  if (!n.operand(i) || n.shape(i) == shape)
    return success();
  return n.error() << "expected " << what << ' ' << formatDims(shape) << ", found "
                   << n.describeOperand(i);
}

static FailureOr<DeformConvolution> readDeformConvolution(Node &n) {
  int64_t groups = n.integer("group", 1), offsetGroups = n.integer("offset_group", 1);
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  if (n.rank(0) < 3 || n.rank(1) != n.rank(0))
    return n.error() << "expected pictures [N, C, d...] and a filter of the same rank, found "
                     << n.describeOperand(0) << " and " << n.describeOperand(1);
  for (unsigned i = 1; i < n.operandCount(); ++i)
    if (n.operand(i) && failed(n.expectSameElement(0, i)))
      return failure();
  ArrayRef<int64_t> kernel = n.shape(1).drop_front(2);
  if (auto given = n.integers("kernel_shape"); given && ArrayRef(*given) != kernel)
    return n.error() << "expected kernel_shape " << formatDims(kernel) << ", as "
                     << n.describeOperand(1) << " has, found " << formatDims(*given);
  FailureOr<Window> window = readWindow(n, kernel);
  if (failed(window) || failed(expectFits(n, *window)))
    return failure();
  int64_t channels = n.shape(0)[1], features = n.shape(1)[0];
  if (groups < 1 || offsetGroups < 1 || channels % offsetGroups != 0 || features % groups != 0 ||
      channels != n.shape(1)[1] * groups)
    return n.error() << "expected channels for " << groups << " groups and " << offsetGroups
                     << " groups of offsets, found " << n.describeOperand(0) << " and "
                     << n.describeOperand(1);
  DeformConvolution c{*window, groups, offsetGroups, product(kernel), 1, {}, {}};
  for (int64_t d = 0; d < window->rank(); ++d)
    c.results.push_back(window->positions(d, n.shape(0)[d + 2]));
  c.places = product(c.results);
  c.shape = {n.shape(0)[0], offsetGroups, c.taps, c.places};
  SmallVector<int64_t> mask{n.shape(0)[0], offsetGroups * c.taps};
  llvm::append_range(mask, c.results);
  SmallVector<int64_t> offset(mask);
  offset[1] *= window->rank();
  if (failed(expectOperand(n, 2, offset, "offsets")) ||
      failed(expectOperand(n, 3, {features}, "a bias")) ||
      failed(expectOperand(n, 4, mask, "a mask")))
    return failure();
  return c;
}

/// The position along `dim` of each tap of each place, before offsets: [taps, places].
static HostTensor basePositions(const DeformConvolution &c, int64_t dim, Type element) {
  HostTensor base(RankedTensorType::get({c.taps, c.places}, element));
  int64_t to = 0;
  forEachIndex(c.window.kernel, [&](ArrayRef<int64_t> tap) {
    forEachIndex(c.results, [&](ArrayRef<int64_t> place) {
      base.setInt(to++, place[dim] * c.window.strides[dim] + tap[dim] * c.window.dilations[dim] -
                            c.window.low[dim]);
    });
  });
  return base;
}

/// The pixels around each offset tap along `dim`.
static PixelTaps movedTaps(Node &n, const DeformConvolution &c, int64_t dim, Type wide) {
  Expr offsets =
      n.expr(2u).reshape({c.shape[0], c.offsetGroups, c.taps, c.window.rank(), c.places});
  Expr offset = offsets.slice(3, dim, 1).reshape(c.shape).cast(wide);
  Expr base = n.expr(n.constant(basePositions(c, dim, wide)));
  return linearTaps(offset + base.broadcast(offset.type(), {2, 3}));
}

/// The pixels of the pictures at all taps, [N, offset groups, channels per group, taps, places].
static Expr movedPictures(Node &n, const DeformConvolution &c, Type wide) {
  ArrayRef<int64_t> x = n.shape(0);
  SmallVector<int64_t> shape{x[0], c.offsetGroups, x[1] / c.offsetGroups};
  llvm::append_range(shape, x.drop_front(2));
  Sampler sampler{n.expr(0u).reshape(shape).cast(wide),
                  {0, 1, 2},
                  {0, 1, 3, 4},
                  /*mayBeOutside=*/true};
  SmallVector<PixelTaps> taps;
  for (int64_t d = 0; d < c.window.rank(); ++d) {
    sampler.dims.push_back(-1 - d);
    taps.push_back(movedTaps(n, c, d, wide));
  }
  Expr columns = sampler.sum(taps);
  if (!n.operand(4))
    return columns;
  Expr mask = n.expr(4u).reshape(c.shape).cast(wide);
  return columns * mask.broadcast(columns.type(), {0, 1, 3, 4});
}

/// Multiplies rows of columns [rows, groups, depth] by each group's part of the filter: [rows,
/// features].
static Expr multiplyGroups(Expr columns, Expr filter) {
  OpBuilder &b = columns.getBuilder();
  int64_t rows = columns.shape()[0], groups = columns.shape()[1], depth = columns.shape()[2];
  int64_t each = filter.shape()[0] / groups;
  SmallVector<Value> products;
  for (int64_t g = 0; g < groups; ++g) {
    Expr part = columns.slice(1, g, 1).reshape({rows, depth});
    Expr weights = filter.slice(0, g * each, each);
    products.push_back(
        b.createOrFold<MatmulOp>(columns.getLoc(), part, weights, UnitAttr(), b.getUnitAttr()));
  }
  return columns.with(concatenate(b, columns.getLoc(), products, 1));
}

static LogicalResult importDeformConv(Node &n) {
  FailureOr<DeformConvolution> read = readDeformConvolution(n);
  if (failed(read))
    return failure();
  const DeformConvolution &c = *read;
  int64_t batch = n.shape(0)[0], features = n.shape(1)[0], depth = n.shape(1)[1] * c.taps;
  Type wide = wideFloat(n.element(0));
  Expr columns = movedPictures(n, c, wide).reshape({batch, c.groups, depth, c.places});
  columns = columns.transpose({0, 3, 1, 2}).reshape({batch * c.places, c.groups, depth});
  Expr y = multiplyGroups(columns, n.expr(1u).cast(wide).reshape({features, depth}));
  if (n.operand(3))
    y = y + n.expr(3u).cast(wide).broadcast(y.type(), {1});
  SmallVector<int64_t> shape{batch, features};
  llvm::append_range(shape, c.results);
  y = y.reshape({batch, c.places, features}).transpose({0, 2, 1}).reshape(shape);
  return n.set(y.cast(n.element(0)));
}

void gradc::addDeformConvolutionOps(OpTable &ops) { ops["DeformConv"] = {importDeformConv, 3, 5}; }
