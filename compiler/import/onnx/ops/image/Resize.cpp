// Resize and Upsample, dim by dim: nearest moves elements; linear and cubic multiply by a constant
// matrix or, along long dims, read the few elements that contribute to each result.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/image/ResizeTaps.h"
#include "dialects/grad/indexing/Index.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Multiplies the matrix [result, size] by dim `d` of x; other dims stay in place.
static Expr multiplyAlong(Expr x, int64_t d, Expr matrix) {
  int64_t before = 1, after = 1, size = x.shape()[d], result = matrix.shape()[0];
  for (auto [i, n] : llvm::enumerate(x.shape()))
    (int64_t(i) < d ? before : after) *= int64_t(i) == d ? 1 : n;
  SmallVector<int64_t> shape(x.shape());
  shape[d] = result;
  OpBuilder &b = x.getBuilder();
  Expr rows = x.reshape({before, size, after});
  if (after > 1)
    rows = rows.transpose({0, 2, 1});
  Value product = b.createOrFold<MatmulOp>(x.getLoc(), rows.reshape({before * after, size}), matrix,
                                           UnitAttr(), b.getUnitAttr());
  Expr y = x.with(product).reshape({before, after, result});
  return (after > 1 ? y.transpose({0, 2, 1}) : y).reshape(shape);
}

/// Whether to read the taps of a dim with `row` elements behind each of its own: where that takes
/// less time than a product with a matrix, on one core of a CPU. The product takes 2 * size
/// operations a result at 100 a nanosecond, a read 1 ns, or 0.1 ns if vectors read along a later
/// dim. A gradient is a second product, or a gather for each tap and reader of an element.
static bool readsTaps(Node &n, const ResizedDim &along, int64_t row) {
  // Products of a training step take as long for small dims; each read of a tap is an op.
  constexpr int64_t smallDim = 128, mostReads = 32, vector = 16;
  if (along.isPicked() && !isa<FloatType>(n.element(0)))
    return true;
  int64_t count = int64_t(along.results.size()), reads = along.reads(), gathers = 0, products = 1;
  if (reads > mostReads)
    return false;
  if (n.mayDifferentiate()) {
    for (int64_t k = 0; k < reads; ++k) {
      int64_t readers = mostReaders(along.indices(size_t(k)), along.size);
      gathers += readers;
      if (!areReadsCheap(readers, along.size, count) || gathers > mostReads)
        return false;
    }
    products = 2;
  }
  if (along.isPicked())
    return true;
  if (n.mayDifferentiate() && std::max(count, along.size) <= smallDim)
    return false;
  double perRead = row < vector ? 1 : 0.1, perElement = 0.02;
  return double(count * reads + along.size * gathers) * perRead <
         double(products * count * along.size) * perElement;
}

/// The sum of each result's taps; 0 for a result without taps.
static Expr sumTaps(Node &n, Expr x, const ResizedDim &along) {
  int64_t d = along.dim, count = int64_t(along.results.size());
  auto type = RankedTensorType::get({count}, accumulatorOf(x.element()));
  std::optional<Expr> sum;
  for (size_t k = 0, reads = size_t(along.reads()); k < reads; ++k) {
    HostTensor weights(type), hasTap(type.clone(n.builder().getI1Type()));
    bool haveAll = true;
    for (auto [i, t] : llvm::enumerate(along.results)) {
      bool has = k < t.size();
      haveAll &= has;
      hasTap.setInt(int64_t(i), has);
      weights.setFloat(int64_t(i), has ? t[k].second : 0);
    }
    Expr tap = gatherAlong(x, d, n.constantInts(along.indices(k))).wide();
    tap = tap * x.with(n.constant(weights)).broadcast(tap.type(), {d});
    // A result without this tap must not depend on what is read: 0 times infinity is NaN.
    if (!haveAll)
      tap = x.with(n.constant(hasTap))
                .broadcast(tap.type().clone(n.builder().getI1Type()), {d})
                .select(tap, tap.splat(0));
    sum = sum ? *sum + tap : tap;
  }
  return sum->cast(x.element());
}

/// The product of the dim with the matrix of all taps.
static Expr multiplyByTaps(Node &n, Expr x, const ResizedDim &along) {
  HostTensor matrix(
      RankedTensorType::get({int64_t(along.results.size()), along.size}, x.element()));
  for (auto [i, t] : llvm::enumerate(along.results))
    for (auto [k, share] : t) {
      int64_t at = int64_t(i) * along.size + k;
      matrix.setFloat(at, matrix.getFloat(at) + share);
    }
  return multiplyAlong(x, along.dim, x.with(n.constant(matrix)));
}

static FailureOr<Expr> resizeDim(Node &n, const Resize &r, Expr x, const ResizedDim &along) {
  int64_t d = along.dim, count = int64_t(along.results.size());
  if (along.isPicked()) {
    SmallVector<int64_t> indices = along.indices(0);
    bool gathers = along.isRead && n.mayDifferentiate() && isa<FloatType>(x.element());
    int64_t most = gathers ? mostSlicesWithGradient(indices, along.size) : maxPieces;
    if (Value picked = pick(x, d, indices, most))
      return x.with(picked);
    if (along.isRead)
      return gatherAlong(x, d, n.constantInts(indices));
  }
  Type element = x.element();
  if (!isa<FloatType>(element) || (!along.isRead && !fits({count, along.size, 8})))
    return n.error() << "of dim " << d << " of " << n.describeOperand(0) << " to " << count
                     << " is not supported in mode \"" << r.mode << "\"";
  HostTensor outside(RankedTensorType::get({count}, element));
  bool anyOutside = false;
  for (auto [i, t] : llvm::enumerate(along.results)) {
    outside.setFloat(i, t.empty() ? r.extrapolation : 0);
    anyOutside |= t.empty();
  }
  Expr y = along.isRead ? sumTaps(n, x, along) : multiplyByTaps(n, x, along);
  if (!anyOutside)
    return y;
  return y + x.with(n.constant(outside)).broadcast(y.type(), {d});
}

static FailureOr<SmallVector<double>> knownFloats(Node &n, unsigned i, StringRef what) {
  if (failed(n.expect(i, Kind::Float)))
    return failure();
  auto known = n.known(i, what);
  if (failed(known))
    return failure();
  SmallVector<double> values;
  for (int64_t k = 0; k < known->size(); ++k)
    values.push_back(known->getFloat(k));
  return values;
}

static LogicalResult expectCount(Node &n, StringRef what, size_t found, size_t expected) {
  if (found == expected)
    return success();
  return n.error() << "expected " << expected << " " << what << ", found " << found;
}

/// Sets the scales, or sizes, of `axes`; result sizes are rounded down.
static LogicalResult setScales(Node &n, Resize &r, ArrayRef<int64_t> axes,
                               ArrayRef<double> scales) {
  if (failed(expectCount(n, "scales", scales.size(), axes.size())))
    return failure();
  for (auto [axis, scale] : llvm::zip(axes, scales)) {
    DimResize &dim = r.dims[axis];
    if (!(scale > 0) || !std::isfinite(scale))
      return n.error() << "expected scales above 0, found " << scale << " for dim " << axis;
    double result = std::floor(double(dim.size) * (dim.end - dim.begin) * scale);
    if (!(result >= 0 && result < 0x1p40))
      return n.error() << "expected a result size from 0 to below 2^40, found " << result
                       << " for dim " << axis;
    dim.scale = scale;
    dim.result = int64_t(result);
  }
  return success();
}

/// ONNX's own test cases align corners of results whose size is not rounded. PyTorch, whose
/// exporter writes scales as they are given, and ONNX Runtime align those of the results that there
/// are.
static void alignWholeResults(Node &n, Resize &r) {
  if (r.coordinates == "align_corners" && n.getEntry().getModel().producer() == "pytorch")
    for (DimResize &dim : r.dims)
      if (dim.size > 0)
        dim.scale = double(dim.result) / double(dim.size);
}

/// With a `policy` other than "stretch", all dims share one scale, the smallest or the largest.
static LogicalResult setSizes(Node &n, Resize &r, ArrayRef<int64_t> axes, ArrayRef<int64_t> sizes,
                              StringRef policy) {
  if (failed(expectCount(n, "sizes", sizes.size(), axes.size())))
    return failure();
  SmallVector<double> scales;
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    DimResize &dim = r.dims[axis];
    if (size < 0 || !fits({size}))
      return n.error() << "expected sizes from 0 to below 2^40, found " << size << " for dim "
                       << axis;
    dim.result = size;
    dim.scale = double(size) / double(std::max<int64_t>(dim.size, 1));
    scales.push_back(dim.scale);
  }
  if (policy == "stretch" || scales.empty())
    return success();
  if (policy != "not_larger" && policy != "not_smaller")
    return n.error() << "expected keep_aspect_ratio_policy \"stretch\", \"not_larger\" or "
                        "\"not_smaller\", found \""
                     << policy << "\"";
  double scale = policy == "not_larger" ? *llvm::min_element(scales) : *llvm::max_element(scales);
  for (int64_t axis : axes) {
    r.dims[axis].scale = scale;
    r.dims[axis].result = int64_t(std::floor(scale * double(r.dims[axis].size) + 0.5));
  }
  return success();
}

static bool isUnchanged(const DimResize &dim) {
  return dim.scale == 1 && dim.size == dim.result && dim.begin == 0 && dim.end == 1;
}

/// The dims to resize, in order. Reads along the last of them are the slow ones, so it comes after
/// those that shrink and before those that grow. Products need no transposition along the last dim,
/// which also often shrinks, so it is their first.
static FailureOr<SmallVector<ResizedDim>> dimsInOrder(Node &n, const Resize &r) {
  SmallVector<ResizedDim> early, late;
  for (int64_t d = n.rank(0) - 1; d >= 0; --d) {
    const DimResize &dim = r.dims[d];
    if (isUnchanged(dim))
      continue;
    if (dim.size == 0 || dim.result > maxIndices)
      return n.error() << "expected a dim of at least one element and at most " << maxIndices
                       << " results, found " << dim.size << " and " << dim.result << " for dim "
                       << d;
    ResizedDim along{d, dim.size, {}};
    for (int64_t i = 0; i < dim.result; ++i)
      along.results.push_back(tapsOf(r, dim, i));
    along.isRead = readsTaps(n, along, llvm::product_of(n.shape(0).drop_front(d + 1)));
    bool isEarly =
        (along.isRead || !n.mayDifferentiate()) && !late.empty() && dim.result < dim.size;
    (isEarly ? early : late).push_back(std::move(along));
  }
  early.append(std::make_move_iterator(late.begin()), std::make_move_iterator(late.end()));
  return early;
}

static LogicalResult build(Node &n, const Resize &r) {
  if (n.extent(0) && !isUnchanged(r.dims[0]))
    return n.refuseExtent(0);
  SmallVector<int64_t> shape;
  for (const DimResize &dim : r.dims)
    shape.push_back(dim.result);
  if (failed(n.expectSensible(shape)))
    return failure();
  FailureOr<SmallVector<ResizedDim>> dims = dimsInOrder(n, r);
  if (failed(dims))
    return failure();
  Expr x = n.expr(0u);
  for (const ResizedDim &along : *dims) {
    FailureOr<Expr> resized = resizeDim(n, r, x, along);
    if (failed(resized))
      return failure();
    x = *resized;
  }
  return n.set(x);
}

static SmallVector<DimResize> unchanged(Node &n) {
  SmallVector<DimResize> dims;
  for (int64_t size : n.shape(0))
    dims.push_back({size, size, 1.0, 0.0, 1.0});
  return dims;
}

/// Upsample, and Resize of opset 10. Both pick the nearest element by "simple" rounding.
static LogicalResult importUpsample(Node &n) {
  Resize r{n.string("mode", "nearest"), "asymmetric", "simple", 0, 0, false, false, unchanged(n)};
  if (r.mode == "bilinear")
    r.mode = "linear";
  if (r.mode != "nearest" && r.mode != "linear")
    return n.error() << "expected mode \"nearest\" or \"linear\", found \"" << r.mode << "\"";
  SmallVector<double> scales;
  if (const onnx::AttributeProto *a = n.attribute("scales", AttributeType::reals)) {
    scales.assign(a->floats().begin(), a->floats().end());
  } else if (!n.operand(1)) {
    return n.error() << "has no scales";
  } else {
    auto known = knownFloats(n, 1, "the scales");
    if (failed(known))
      return failure();
    scales = *known;
  }
  if (failed(setScales(n, r, llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0))), scales)))
    return failure();
  return build(n, r);
}

static LogicalResult oneOf(Node &n, StringRef attribute, StringRef found,
                           ArrayRef<StringRef> known) {
  if (llvm::is_contained(known, found))
    return success();
  return n.error() << "expected " << attribute << " to be one of " << llvm::join(known, ", ")
                   << ", found \"" << found << "\"";
}

/// The sizes of `axes`. Where only a run knows the number of rows of operand 0, the size of its dim
/// 0, if it is given, is that number.
static FailureOr<SmallVector<int64_t>> readSizes(Node &n, ArrayRef<int64_t> axes) {
  FailureOr<RunShape> sizes = n.knownShape(3, "the sizes");
  if (failed(sizes))
    return failure();
  n.fixRowsOfSizes(3);
  std::optional<RunExtent> rows = n.extent(0), given = sizes->extent;
  int64_t own = rows ? llvm::find(axes, 0) - axes.begin() : int64_t(axes.size());
  bool isOfRows = rows && given && given->dim == own && given->count == rows->count;
  if (given && !isOfRows)
    return n.error()
           << "expected the sizes to be known at compile time, but only a run knows element "
           << given->dim << " of " << n.describeOperand(3);
  if (isOfRows)
    sizes->sizes[own] = n.shape(0)[0];
  else if (own < int64_t(axes.size()))
    return n.refuseExtent(0);
  return sizes->sizes;
}

static LogicalResult importResize(Node &n) {
  if (n.opset() < 11)
    return importUpsample(n);
  Resize r{n.string("mode", "nearest"),
           n.string("coordinate_transformation_mode", "half_pixel"),
           n.string("nearest_mode", "round_prefer_floor"),
           n.real("cubic_coeff_a", -0.75),
           n.real("extrapolation_value", 0),
           n.integer("exclude_outside", 0) != 0,
           n.integer("antialias", 0) != 0,
           unchanged(n)};
  StringRef policy = n.string("keep_aspect_ratio_policy", "stretch");
  bool ok = succeeded(oneOf(n, "mode", r.mode, {"nearest", "linear", "cubic"}));
  ok &=
      succeeded(oneOf(n, "coordinate_transformation_mode", r.coordinates,
                      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                       "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  ok &= succeeded(oneOf(n, "nearest_mode", r.nearest,
                        {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  auto inOrder = n.axesInOrder(n.integers("axes"));
  if (failed(inOrder) || !ok)
    return failure();
  ArrayRef<int64_t> axes = *inOrder;
  if (r.crops()) {
    if (!n.operand(1))
      return n.error() << "in mode tf_crop_and_resize has no region of interest";
    auto roi = knownFloats(n, 1, "the region of interest");
    if (failed(roi) ||
        failed(expectCount(n, "numbers as region of interest", roi->size(), 2 * axes.size())))
      return failure();
    for (auto [i, axis] : llvm::enumerate(axes)) {
      r.dims[axis].begin = (*roi)[i];
      r.dims[axis].end = (*roi)[i + axes.size()];
    }
  }
  // Up to opset 12, scales are present but empty if sizes are used.
  if (n.operand(2) && n.type(2).getNumElements() > 0) {
    auto scales = knownFloats(n, 2, "the scales");
    if (failed(scales) || failed(setScales(n, r, axes, *scales)))
      return failure();
    alignWholeResults(n, r);
  } else if (n.operand(3)) {
    FailureOr<SmallVector<int64_t>> sizes = readSizes(n, axes);
    if (failed(sizes) || failed(setSizes(n, r, axes, *sizes, policy)))
      return failure();
  } else {
    return n.error() << "has neither scales nor sizes";
  }
  return build(n, r);
}

void gradc::addResizeOps(OpTable &ops) {
  ops["Resize"] = {importResize, 1, 4};
  ops["Upsample"] = {importUpsample, 1, 2};
  takeExtents(ops, TakesExtents::rows, {"Resize", "Upsample"});
}
