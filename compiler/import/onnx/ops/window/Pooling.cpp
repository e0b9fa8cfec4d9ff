// Pools: reductions over windows. Internally, spatial dims come first, as in convolutions. Averages
// and norms of 16-bit floats are computed in f32: f16 has no sum of 1000 elements of 100.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Norm.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/window/Pooling.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// A pool's window over operand 0, and its padding before ceil_mode widened it.
struct Pool {
  Window window;
  SmallVector<int64_t> pads; ///< after each dim
  SmallVector<int64_t> results;
};
} // namespace

static FailureOr<Pool> readPool(Node &n) {
  bool roundUp = n.integer("ceil_mode", 0);
  FailureOr<Window> window = readWindow(n);
  if (failed(window))
    return failure();
  Pool pool{*window, {}, {}};
  Window &w = pool.window;
  padToSame(w, n.shape(0).drop_front(2));
  bool ok = true;
  int64_t taps = 1;
  if (llvm::any_of(w.kernel, [&](int64_t k) { return (taps *= k) >> 31 != 0; })) {
    n.error() << "expected a window of less than 2^31 elements, found " << formatDims(w.kernel);
    return failure();
  }
  for (int64_t d = 0; d < w.rank(); ++d)
    if (std::max(w.low[d], w.high[d]) >= w.extent(d)) {
      n.error() << "expected pads smaller than the window, found " << w.low[d] << " and "
                << w.high[d] << " for a window of " << w.extent(d) << " in dim " << d + 2;
      ok = false;
    }
  if (!ok || failed(expectFits(n, w)))
    return failure();
  pool.pads = w.high;
  for (int64_t d = 0; d < w.rank(); ++d) {
    int64_t size = n.shape(0)[d + 2], windows = w.positions(d, size);
    int64_t room = size + w.low[d] + w.high[d] - w.extent(d);
    // The remainder adds one window, unless that window would start in the padding.
    if (roundUp && room % w.strides[d] != 0)
      ++windows;
    if (roundUp && (windows - 1) * w.strides[d] >= size + w.low[d])
      --windows;
    if (roundUp)
      w.high[d] = (windows - 1) * w.strides[d] + w.extent(d) - size - w.low[d];
    pool.results.push_back(windows);
  }
  return pool;
}

/// The number of taps of each window of dim `d` that count in an average.
static SmallVector<int64_t> countTaps(Node &n, const Pool &pool, int64_t d, bool countPads) {
  const Window &w = pool.window;
  int64_t size = n.shape(0)[d + 2];
  int64_t begin = countPads ? -w.low[d] : 0, end = countPads ? size + pool.pads[d] : size;
  SmallVector<int64_t> counts;
  for (int64_t o = 0; o < pool.results[d]; ++o) {
    int64_t first = o * w.strides[d] - w.low[d];
    auto before = [&](int64_t position) {
      return std::clamp<int64_t>(llvm::divideCeilSigned(position - first, w.dilations[d]), 0,
                                 w.kernel[d]);
    };
    // With dilations, a window may miss all elements.
    counts.push_back(std::max<int64_t>(before(end) - before(begin), 1));
  }
  return counts;
}

/// The number of taps of each window, as a constant with the windows' shape, broadcast to `like`.
static Expr divisor(Node &n, const Pool &pool, bool countPads, Expr like) {
  int64_t rank = pool.window.rank();
  HostTensor taps(RankedTensorType::get(pool.results, like.element()));
  SmallVector<SmallVector<int64_t>> counts;
  for (int64_t d = 0; d < rank; ++d)
    counts.push_back(countTaps(n, pool, d, countPads));
  int64_t i = 0;
  bool same = true;
  forEachIndex(pool.results, [&](ArrayRef<int64_t> index) {
    int64_t product = 1;
    for (int64_t d = 0; d < rank; ++d)
      product *= counts[d][index[d]];
    taps.setInt(i, product);
    same &= taps.getFloat(i++) == taps.getFloat(0);
  });
  if (same)
    return like.splat(taps.getFloat(0));
  return like.with(n.constant(taps))
      .broadcast(like.type(), llvm::to_vector(llvm::seq<int64_t>(0, rank)));
}

// Separable pools ---------------------------------------------------------------------------------
//
// A maximum or sum over a window is one along each dim in turn, and one along a dim combines slices
// of the operand: k + k slices instead of k * k taps. Long windows take two steps: 15 neighbours
// are 5 of 3 neighbours.

namespace {
/// A window along one dim as `copies` of `first` neighbours each, and `rest` single elements.
struct Steps {
  int64_t first, copies, rest;
};
/// Slices of a tensor along a dim: `count` of them, whose starts are `step` apart, each with `size`
/// elements that are `stride` apart.
struct Slices {
  int64_t start, step, count, size, stride;
};
} // namespace

/// Up to this length, one step is faster than two.
static constexpr int64_t maxSlices = 7;
/// Longer windows would need too many slices.
static constexpr int64_t maxSeparable = 1 << 10;

static Steps splitWindow(int64_t kernel) {
  int64_t first = kernel <= maxSlices ? 1 : int64_t(std::sqrt(double(kernel)));
  return {first, kernel / first, kernel % first};
}

/// The operations of a pool that is computed tap by tap, and of one that is computed dim by dim: in
/// each dim with the slices of its steps, or with `taps` as one window.
static std::pair<double, double> countOperations(Node &n, const Pool &pool, bool taps) {
  const Window &w = pool.window;
  SmallVector<int64_t> sizes(n.shape(0).drop_front(2));
  double byDim = 0, byTap = 1;
  for (int64_t d = w.rank() - 1; d >= 0; --d) {
    Steps steps = taps ? Steps{1, w.kernel[d], 0} : splitWindow(w.kernel[d]);
    double others = 1;
    for (int64_t other = 0; other < w.rank(); ++other)
      others *= other == d ? 1 : double(sizes[other]);
    if (steps.first > 1)
      byDim += others * double(steps.first) * double(sizes[d] + w.low[d] + w.high[d]);
    byDim += others * double(steps.copies + steps.rest) * double(pool.results[d]);
    byTap *= double(w.kernel[d]) * double(pool.results[d]);
    sizes[d] = pool.results[d];
  }
  return {byTap, byDim};
}

/// Whether a pool without a gradient needs at most two thirds of the operations if it is computed
/// dim by dim. A gradient needs the tap of each maximum: at ties it goes to the window's first.
static bool isSeparable(Node &n, const Pool &pool) {
  if (n.mayDifferentiate() ||
      llvm::any_of(pool.window.kernel, [](int64_t k) { return k > maxSeparable; }))
    return false;
  auto [byTap, byDim] = countOperations(n, pool, /*taps=*/false);
  return byTap > 0 && 3 * byDim <= 2 * byTap;
}

/// The windows of a pool with a gradient, in the order in which to take them: one for each dim if
/// that more than halves the operations of both passes, which pays for the tensors between.
/// The last dim is first, so that of equal maxima the row-major first is chosen: the first in its
/// row, and of these the one in the first row.
static SmallVector<WindowAttr> windowsOf(Node &n, const Pool &pool) {
  const Window &w = pool.window;
  auto [byTap, byDim] = countOperations(n, pool, /*taps=*/true);
  if (!n.mayDifferentiate() || w.rank() < 2 || 2 * byDim >= byTap)
    return {windowAttribute(n, w)};
  SmallVector<WindowAttr> windows;
  for (int64_t d = w.rank() - 1; d >= 0; --d) {
    SmallVector<int64_t> ones(w.rank(), 1), zeros(w.rank(), 0);
    Window along{ones, ones, ones, zeros, zeros, {}};
    along.kernel[d] = w.kernel[d];
    along.strides[d] = w.strides[d];
    along.dilations[d] = w.dilations[d];
    along.low[d] = w.low[d];
    along.high[d] = w.high[d];
    windows.push_back(windowAttribute(n, along));
  }
  return windows;
}

/// Combines slices of `x` along `dim`, and `result` if there is one.
template <typename Op>
static std::optional<Expr> combine(std::optional<Expr> result, Expr x, int64_t dim,
                                   const Slices &slices) {
  for (int64_t i = 0; i < slices.count; ++i) {
    Expr slice = x.slice(dim, slices.start + i * slices.step, slices.size, slices.stride);
    result = result ? result->apply<Op>(slice) : slice;
  }
  return result;
}

/// The maximum or sum over the windows of spatial dim `d`. `nothing` is the value of padding.
template <typename Op> static Expr alongDim(Expr x, int64_t d, const Pool &pool, double nothing) {
  const Window &w = pool.window;
  int64_t dilation = w.dilations[d], stride = w.strides[d], windows = pool.results[d];
  SmallVector<int64_t> low(x.type().getRank(), 0), high(low);
  low[d] = w.low[d];
  high[d] = std::max<int64_t>(w.high[d], 0); // ceil_mode may end before the last element
  x = padAround(x, low, high, nothing);
  Steps steps = splitWindow(w.kernel[d]);
  Expr several = x;
  if (steps.first > 1) {
    int64_t size = x.shape()[d] - (steps.first - 1) * dilation;
    several = *combine<Op>(std::nullopt, x, d, {0, dilation, steps.first, size, 1});
  }
  auto result = combine<Op>(std::nullopt, several, d,
                            {0, steps.first * dilation, steps.copies, windows, stride});
  int64_t start = steps.first * steps.copies * dilation;
  return *combine<Op>(result, x, d, {start, dilation, steps.rest, windows, stride});
}

/// The same over windows of all spatial dims, which come first.
template <typename Op> static Expr dimByDim(Expr x, const Pool &pool, double nothing) {
  for (int64_t d = pool.window.rank() - 1; d >= 0; --d)
    x = alongDim<Op>(x, d, pool, nothing);
  return x;
}

/// Of 16-bit floats, the sum is one of f32.
static Expr windowSum(Node &n, Expr x, const Pool &pool) {
  for (WindowAttr window : windowsOf(n, pool)) {
    Type element = x.element();
    x = x.with(n.builder().createOrFold<WindowSumOp>(n.loc(), x, window,
                                                     accumulatorOf(element) != element));
  }
  return x;
}

/// The lowest value of a type.
static double lowestOf(Type element) {
  if (isa<FloatType>(element))
    return -std::numeric_limits<double>::infinity();
  return element.isUnsignedInteger() ? 0 : -std::ldexp(1.0, element.getIntOrFloatBitWidth() - 1);
}

// Pools -------------------------------------------------------------------------------------------

FailureOr<Expr> gradc::averageWindows(Node &n, Expr x, CountedPads pads) {
  bool countPads = n.integer("count_include_pad", 0);
  FailureOr<Pool> pool = readPool(n);
  if (failed(pool))
    return failure();
  if (pads == CountedPads::widened)
    pool->pads = pool->window.high;
  Type element = x.element();
  x = spatialFirst(x);
  Expr sum = isSeparable(n, *pool) ? dimByDim<AddOp>(x.wide(), *pool, 0) : windowSum(n, x, *pool);
  Expr average = sum / divisor(n, *pool, countPads, sum);
  return channelsSecond(average.cast(element));
}

static LogicalResult importAveragePool(Node &n) {
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  FailureOr<Expr> average = averageWindows(n, n.expr(0u), CountedPads::given);
  if (failed(average))
    return failure();
  return n.set(*average);
}

/// |x|^p for an integer p.
static Expr power(Expr x, int64_t p) {
  if (p == 1)
    return x.apply<AbsOp>();
  if (p == 2)
    return x * x;
  return x.apply<AbsOp>().apply<PowOp>(x.splat(double(p)));
}

static FailureOr<int64_t> readPower(Node &n) {
  int64_t p = n.integer("p", 2);
  if (p < 1)
    return n.error() << "expected p of at least 1, found " << p;
  return p;
}

static LogicalResult importLpPool(Node &n) {
  FailureOr<int64_t> p = readPower(n);
  FailureOr<Pool> pool = readPool(n);
  if (failed(n.expect(0, Kind::Float)) || failed(p) || failed(pool))
    return failure();
  Expr x = spatialFirst(n.expr(0u)).wide();
  Expr norm = normOf(windowSum(n, power(x, *p), *pool), *p);
  return n.set(channelsSecond(norm.cast(n.element(0))));
}

/// The position in operand 0 of tap `index` [o..., N, C] of each window: row-major, or with spatial
/// dims in column-major order.
static Expr flatPosition(Node &n, Expr tap, const Window &w, bool columnMajor) {
  ArrayRef<int64_t> s = n.shape(0);
  auto iota = [&](int64_t d) {
    return tap.with(IotaOp::create(n.builder(), n.loc(), tap.type(), d));
  };
  int64_t rank = w.rank(), image = 1;
  for (int64_t size : s.drop_front(2))
    image *= size;
  Expr position = (iota(rank) * double(s[1]) + iota(rank + 1)) * double(image);
  int64_t taps = 1, width = columnMajor ? image : 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    Expr k = (tap / double(taps)).apply<RemOp>(tap.splat(double(w.kernel[d])));
    Expr at = iota(d) * double(w.strides[d]) + k * double(w.dilations[d]) - double(w.low[d]);
    if (columnMajor)
      width /= s[d + 2];
    position = position + at * double(width);
    if (!columnMajor)
      width *= s[d + 2];
    taps *= w.kernel[d];
  }
  return position;
}

static LogicalResult importMaxPool(Node &n) {
  bool columnMajor = n.integer("storage_order", 0);
  FailureOr<Pool> pool = readPool(n);
  if (failed(n.expect(0, Kind::Number)) || failed(pool))
    return failure();
  Expr x = spatialFirst(n.expr(0u));
  if (!n.wants(1) && isSeparable(n, *pool))
    return n.set(channelsSecond(dimByDim<MaxOp>(x, *pool, lowestOf(n.element(0)))));
  if (!n.wants(1)) {
    for (WindowAttr window : windowsOf(n, *pool))
      x = x.with(WindowMaxOp::create(n.builder(), n.loc(), x, window).getResult());
    return n.set(channelsSecond(x));
  }
  auto max = WindowMaxOp::create(n.builder(), n.loc(), x, windowAttribute(n, pool->window));
  Expr tap = n.expr(max.getIndex()).cast(n.builder().getI64Type());
  if (failed(n.set(1, channelsSecond(flatPosition(n, tap, pool->window, columnMajor)))))
    return failure();
  return n.set(channelsSecond(n.expr(max.getResult())));
}

static LogicalResult importNhwcMaxPool(Node &n) { return importChannelsLast(n, importMaxPool); }

/// [N, C, d...] to [N, C, 1...].
template <typename Op> static LogicalResult importGlobalPool(Node &n) {
  int64_t p = 1;
  if (std::is_same_v<Op, ReduceSumOp>) {
    FailureOr<int64_t> power = readPower(n);
    if (failed(power))
      return failure();
    p = *power;
  }
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  if (n.rank(0) < 3 || llvm::is_contained(n.shape(0).drop_front(2), 0))
    return n.error() << "expected rank 3 or more and elements to pool, found "
                     << n.describeOperand(0);
  Expr x = spatialFirst(n.expr(0u));
  if (std::is_same_v<Op, ReduceSumOp>)
    x = power(x.wide(), p);
  x = x.with(n.builder().createOrFold<Op>(n.loc(), x,
                                          llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0) - 2))));
  if (std::is_same_v<Op, ReduceSumOp>)
    x = normOf(x, p);
  SmallVector<int64_t> shape(n.rank(0), 1);
  shape[0] = n.shape(0)[0];
  shape[1] = n.shape(0)[1];
  return n.set(x.cast(n.element(0)).reshape(shape));
}

void gradc::addPoolingOps(OpTable &ops) {
  ops["MaxPool"] = {importMaxPool, 1, 1};
  ops["com.microsoft::NhwcMaxPool"] = {importNhwcMaxPool, 1, 1};
  ops["AveragePool"] = {importAveragePool, 1, 1};
  ops["LpPool"] = {importLpPool, 1, 1};
  ops["GlobalAveragePool"] = {importGlobalPool<ReduceMeanOp>, 1, 1};
  ops["GlobalMaxPool"] = {importGlobalPool<ReduceMaxOp>, 1, 1};
  ops["GlobalLpPool"] = {importGlobalPool<ReduceSumOp>, 1, 1};
  takeExtents(
      ops, TakesExtents::rows,
      {"MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"});
}
