// Pools: reductions over windows. Internally, spatial dims come first, as in convolutions. Averages
// and norms of 16-bit floats are computed in f32: f16 has no sum of 1000 elements of 100.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Norm.h"
#include "compiler/import/onnx/Window.h"

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

/// Of 16-bit floats, the sum is one of f32.
static Expr windowSum(Node &n, Expr x, const Window &window) {
  Type element = x.element();
  return x.with(n.builder().createOrFold<WindowSumOp>(n.loc(), x, windowAttribute(n, window),
                                                      accumulatorOf(element) != element));
}

static LogicalResult importAveragePool(Node &n) {
  bool countPads = n.integer("count_include_pad", 0);
  FailureOr<Pool> pool = readPool(n);
  if (failed(n.expect(0, Kind::Float)) || failed(pool))
    return failure();
  Expr sum = windowSum(n, spatialFirst(n.expr(0u)), pool->window);
  Expr average = sum / divisor(n, *pool, countPads, sum);
  return n.set(channelsSecond(average.cast(n.element(0))));
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
  Expr norm = normOf(windowSum(n, power(x, *p), pool->window), *p);
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
  auto max = WindowMaxOp::create(n.builder(), n.loc(), spatialFirst(n.expr(0u)),
                                 windowAttribute(n, pool->window));
  if (n.wants(1)) {
    Expr tap = n.expr(max.getIndex()).cast(n.builder().getI64Type());
    if (failed(n.set(1, channelsSecond(flatPosition(n, tap, pool->window, columnMajor)))))
      return failure();
  }
  return n.set(channelsSecond(n.expr(max.getResult())));
}

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
  ops["AveragePool"] = {importAveragePool, 1, 1};
  ops["LpPool"] = {importLpPool, 1, 1};
  ops["GlobalAveragePool"] = {importGlobalPool<ReduceMeanOp>, 1, 1};
  ops["GlobalMaxPool"] = {importGlobalPool<ReduceMaxOp>, 1, 1};
  ops["GlobalLpPool"] = {importGlobalPool<ReduceSumOp>, 1, 1};
}
