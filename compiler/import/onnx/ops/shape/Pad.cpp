// Pad in every mode.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/ops/Pick.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// The amounts before and after each dim; negative amounts crop.
struct Pads {
  SmallVector<int64_t> low, high;
};
} // namespace

/// Reads the amounts: an attribute (up to opset 10) or an operand, for all dims or (from opset 18
/// on) for some.
static FailureOr<Pads> readPads(Node &n) {
  auto amounts = n.integersOrOperand("pads", 1);
  if (failed(amounts))
    return failure();
  n.fixRows(1);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0)));
  if (n.operand(3)) {
    auto given = n.knownInts(3, "axes");
    if (failed(given) || failed(n.axes(*given, n.rank(0))))
      return failure();
    axes = *given;
  }
  if (!*amounts || (*amounts)->size() != 2 * axes.size())
    return n.error() << "expected " << 2 * axes.size() << " pads, found "
                     << (*amounts ? (*amounts)->size() : 0);
  Pads pads{SmallVector<int64_t>(n.rank(0), 0), SmallVector<int64_t>(n.rank(0), 0)};
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t dim = *n.axis(axis, n.rank(0)), size = n.shape(0)[dim];
    int64_t low = (**amounts)[i], high = (**amounts)[i + axes.size()];
    bool leavesRest = low >= -size && high >= -size &&
                      std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0) >= -size;
    if (!leavesRest || !fits({std::max<int64_t>(low, 0), std::max<int64_t>(high, 0)}))
      return n.error() << "expected pads that fit " << n.describeOperand(0) << ", found " << low
                       << " and " << high << " for dim " << dim;
    pads.low[dim] = low;
    pads.high[dim] = high;
  }
  return pads;
}

/// Reads a number: an attribute (up to opset 10) or an operand.
static FailureOr<double> readValue(Node &n) {
  double value = n.real("value", 0);
  if (!n.operand(2))
    return value;
  if (failed(n.expectSameElement(0, 2)))
    return failure();
  auto known = n.known(2, "the padding value");
  if (failed(known))
    return failure();
  if (known->size() > 1)
    return n.error() << "expected a scalar padding value, found " << n.describeOperand(2);
  return known->size() ? known->getFloat(0) : value;
}

static Expr padWithConstant(Node &n, Expr x, const Pads &pads, double value) {
  SmallVector<int64_t> low, high, from, sizes(n.shape(0)), ones(n.rank(0), 1);
  for (auto [before, after, size] : llvm::zip(pads.low, pads.high, sizes)) {
    low.push_back(std::max<int64_t>(before, 0));
    high.push_back(std::max<int64_t>(after, 0));
    from.push_back(std::max<int64_t>(-before, 0));
    size += std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
  }
  if (sizes != n.shape(0))
    x = x.with(n.builder().createOrFold<SliceOp>(n.loc(), x, from, sizes, ones));
  return padAround(x, low, high, value);
}

/// The element of a dim of `size` that is repeated at the outside position `position`.
static int64_t source(StringRef mode, int64_t position, int64_t size) {
  if (mode == "edge")
    return std::clamp<int64_t>(position, 0, size - 1);
  int64_t period = mode == "wrap" ? size : std::max<int64_t>(2 * (size - 1), 1);
  int64_t within = (position % period + period) % period;
  return mode == "wrap" ? within : std::min(within, period - within);
}

static LogicalResult importPad(Node &n) {
  StringRef mode = n.string("mode", "constant");
  static constexpr StringRef modes[] = {"constant", "reflect", "edge", "wrap"};
  LogicalResult known = success();
  if (!llvm::is_contained(modes, mode))
    known = n.error() << "expected mode \"constant\", \"reflect\", \"edge\" or \"wrap\", found \""
                      << mode << "\"";
  FailureOr<double> value = readValue(n);
  FailureOr<Pads> pads = readPads(n);
  if (failed(known) || failed(value) || failed(pads))
    return failure();
  if (n.extent(0) && (pads->low[0] != 0 || pads->high[0] != 0))
    return n.refuseExtent(0);
  SmallVector<int64_t> shape;
  for (auto [size, low, high] : llvm::zip(n.shape(0), pads->low, pads->high))
    if (shape.push_back(0); llvm::AddOverflow(size, low, shape.back()) ||
                            llvm::AddOverflow(shape.back(), high, shape.back()))
      return n.error() << "expected pads below 2^63";
  if (failed(n.expectSensible(shape)))
    return failure();

  Expr x = n.expr(0u);
  if (mode == "constant") {
    bool isExact = isa<FloatType>(n.element(0)) || std::abs(*value) < 0x1p53;
    if (isExact || !n.operand(2))
      return n.set(padWithConstant(n, x, *pads, *value));
    // Large integers are not exact in f64, PadOp's type, so zeros are padded between - and +.
    Expr scalar = n.expr(2).reshape({});
    Expr y = padWithConstant(n, x - n.expr(n.broadcast(scalar, x.shape())), *pads, 0);
    return n.set(y + n.expr(n.broadcast(scalar, shape)));
  }
  for (int64_t d = 0; d < n.rank(0); ++d) {
    int64_t size = n.shape(0)[d], low = pads->low[d], high = pads->high[d];
    if (low == 0 && high == 0)
      continue;
    if (size == 0)
      return n.error() << "expected elements along dim " << d << " of " << n.describeOperand(0)
                       << " in mode \"" << mode << "\"";
    if (size + low + high > maxIndices)
      return n.error() << "expected at most " << maxIndices << " elements along dim " << d
                       << " in mode \"" << mode << "\", found " << size + low + high;
    SmallVector<int64_t> indices;
    for (int64_t i = -low; i < size + high; ++i)
      indices.push_back(source(mode, i, size));
    Value picked = pick(x, d, indices);
    if (!picked)
      return n.error() << "in mode \"" << mode << "\" of " << low << " and " << high
                       << " elements around " << size << " is not supported";
    x = x.with(picked);
  }
  return n.set(x);
}

void gradc::addPadOps(OpTable &ops) {
  ops["Pad"] = {importPad, 1, 4};
  takeExtents(ops, TakesExtents::rows, {"Pad"});
}
