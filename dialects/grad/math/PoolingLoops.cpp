// Pools as linalg whose reduction dims are a window's taps. Going back from windows to elements is
// also a reduction, over the adjoint windows, so no op scatters.
#include "dialects/grad/Scalar.h"
#include "dialects/grad/math/Reduction.h"
#include "dialects/grad/math/Window.h"

using namespace mlir;
using namespace mlir::grad;

using TapBody = llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)>;

/// One generic over the dims of `initial`, then over the window's taps. The body sees, in this
/// order, an element of each of `onTaps` (as windows see them, see spreadOut), of each of
/// `onWindows`, and of each of `initial`.
static SmallVector<Value> tapLoops(OpBuilder &b, Location loc, WindowAttr window, ValueRange onTaps,
                                   ValueRange onWindows, ValueRange initial, TapBody body) {
  int64_t parallel = cast<RankedTensorType>(initial[0].getType()).getRank(),
          spatial = window.getRank(), dims = parallel + spatial;
  SmallVector<AffineExpr> places = tapPositions(b, window, 0, parallel), windows, taps;
  for (int64_t d = 0; d < dims; ++d) {
    (d < parallel ? windows : taps).push_back(b.getAffineDimExpr(d));
    if (d >= spatial && d < parallel)
      places.push_back(b.getAffineDimExpr(d));
  }
  auto mapOf = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(dims, 0, results, b.getContext());
  };
  // Never read: linalg takes the number of taps from its shape.
  Value shape = tensor::EmptyOp::create(b, loc, window.getSize(), b.getI1Type());
  SmallVector<Value> inputs(onTaps);
  inputs.append(onWindows.begin(), onWindows.end());
  inputs.push_back(shape);
  SmallVector<AffineMap> maps(onTaps.size(), mapOf(places));
  maps.append(onWindows.size(), mapOf(windows));
  maps.push_back(mapOf(taps));
  maps.append(initial.size(), mapOf(windows));
  SmallVector<utils::IteratorType> iterators(dims, utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), parallel, utils::IteratorType::parallel);
  size_t read = inputs.size() - 1;
  auto generic =
      linalg::GenericOp::create(b, loc, initial.getTypes(), inputs, initial, maps, iterators,
                                [&](OpBuilder &nested, Location at, ValueRange args) {
                                  SmallVector<Value> seen(args.take_front(read));
                                  llvm::append_range(seen, args.drop_front(read + 1));
                                  linalg::YieldOp::create(nested, at, body(nested, at, seen));
                                });
  return SmallVector<Value>(generic.getResults());
}

/// Loop dim `d`, as an integer.
static Scalar loopIndex(OpBuilder &b, Location loc, int64_t d, Type type) {
  Value index = linalg::IndexOp::create(b, loc, d);
  return Scalar(b, loc, arith::IndexCastOp::create(b, loc, type, index));
}

/// Row-major number of the tap given by the loop dims from `taps` on.
static Scalar tapNumber(OpBuilder &b, Location loc, WindowAttr window, int64_t taps) {
  Type type = tapNumberType(window);
  std::optional<Scalar> number;
  for (int64_t d = 0; d < window.getRank(); ++d) {
    Scalar tap = loopIndex(b, loc, taps + d, type);
    if (window.getReversed())
      tap = tap.integer(window.getSize()[d] - 1) - tap;
    number = number ? *number * double(window.getSize()[d]) + tap : tap;
  }
  if (number)
    return *number;
  return Scalar(b, loc, arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 0)));
}

static Scalar widened(OpBuilder &b, Location loc, Value x, Type accumulator) {
  Scalar scalar(b, loc, x);
  return x.getType() == accumulator ? scalar : scalar.to<arith::ExtFOp>(accumulator);
}

static HostTensor scalarOf(Type element, int64_t number = 0) {
  HostTensor value(RankedTensorType::get({}, element));
  value.setFloat(0, double(number));
  return value;
}

SmallVector<Value> WindowSumOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  RankedTensorType type = signlessType(getType());
  Type accumulator = accumulatorOf(type.getElementType());
  Type element = signlessType(getOperand().getType()).getElementType();
  Value x = spreadOut(b, getLoc(), operands[0], getWindow(), scalarOf(element));
  Value zero = fillLoops(b, getLoc(), type.getShape(), b.getZeroAttr(accumulator));
  auto sums = tapLoops(b, getLoc(), getWindow(), x, {}, zero,
                       [&](OpBuilder &nested, Location loc, ValueRange args) -> SmallVector<Value> {
                         Scalar sum(nested, loc, args[1]);
                         return {sum + widened(nested, loc, args[0], accumulator)};
                       });
  return roundLoops(b, *this, sums[0]);
}

bool grad::allReach(WindowAttr window, ArrayRef<int64_t> shape) {
  for (int64_t d = 0; d < window.getRank(); ++d)
    for (int64_t o = 0, n = window.getOutputSize(d, shape[d]); o < n; ++o) {
      auto reaches = [&](int64_t k) { return window.getElement(d, shape[d], o, k).has_value(); };
      if (llvm::none_of(llvm::seq<int64_t>(window.getSize()[d]), reaches))
        return false;
    }
  return true;
}

/// Whether a tap may fall outside the operand in dim `d`.
static bool isPadded(WindowAttr window, int64_t d) {
  return window.getLow()[d] > 0 || window.getHigh()[d] > 0;
}

/// Whether the tap of the current iteration falls on the operand.
static Value isOnOperand(OpBuilder &b, Location loc, WindowAttr window, ArrayRef<int64_t> shape,
                         int64_t taps) {
  Value all;
  for (int64_t d = 0; d < window.getRank(); ++d) {
    if (!isPadded(window, d))
      continue;
    Scalar place = loopIndex(b, loc, d, b.getI32Type()) * double(window.getStride()[d]) +
                   loopIndex(b, loc, taps + d, b.getI32Type()) * double(window.getDilation()[d]) +
                   double(-window.getLow()[d]);
    // As unsigned, a position before the first element exceeds the last.
    Scalar unsignedPlace(b, loc, place, /*isUnsigned=*/true);
    Value inside = unsignedPlace < unsignedPlace.integer(shape[d]);
    all = all ? b.createOrFold<arith::AndIOp>(loc, all, inside) : inside;
  }
  return all;
}

/// A pointwise generic of `x` whose elements become `element`s.
static Value mapLoops(OpBuilder &b, Location loc, Value x, Type element,
                      llvm::function_ref<Value(Scalar)> body) {
  auto type = cast<RankedTensorType>(x.getType());
  Value empty = tensor::EmptyOp::create(b, loc, type.getShape(), element);
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, loc, empty.getType(), x, empty, maps, iterators,
                                   [&](OpBuilder &nested, Location at, ValueRange args) {
                                     linalg::YieldOp::create(nested, at,
                                                             body(Scalar(nested, at, args[0])));
                                   })
      .getResult(0);
}

// A tap is chosen if it exceeds the best so far. A tap outside the operand reads the lowest value
// but must never be chosen, so the first tap on the operand is chosen too; until then the number is
// -1.
SmallVector<Value> WindowMaxOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  WindowAttr window = getWindow();
  Type number = tapNumberType(window), element = getOperand().getType().getElementType(),
       signless = signlessType(getOperand().getType()).getElementType(),
       accumulator = accumulatorOf(signless);
  ArrayRef<int64_t> shape = getOperand().getType().getShape(),
                    windows = getResult().getType().getShape();
  bool isUnsigned = element.isUnsignedInteger(), isFloat = isa<FloatType>(element);
  bool padded = llvm::any_of(llvm::seq<int64_t>(window.getRank()),
                             [&](int64_t d) { return isPadded(window, d); });
  TypedAttr lowest = extreme(b, accumulator, /*greatest=*/false, isUnsigned);
  HostTensor nothing(RankedTensorType::get({}, element));
  if (isFloat)
    nothing.setFloat(0, cast<FloatAttr>(lowest).getValueAsDouble());
  else
    nothing.setInt(0, cast<IntegerAttr>(lowest).getValue().getSExtValue());
  Value x = spreadOut(b, getLoc(), operands[0], window, nothing);
  Value least = fillLoops(b, getLoc(), windows, lowest);
  Value none = fillLoops(b, getLoc(), windows, b.getIntegerAttr(number, padded ? -1 : 0));
  auto best = tapLoops(
      b, getLoc(), window, x, {}, {least, none},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> SmallVector<Value> {
        Scalar candidate = widened(nested, loc, args[0], accumulator), index(nested, loc, args[2]);
        Scalar take = index.with(isBeyond(nested, loc, candidate, args[1], true, isUnsigned));
        if (padded) {
          Scalar on = take.with(isOnOperand(nested, loc, window, shape, windows.size()));
          take = take | (index < index.integer(0)).apply<arith::AndIOp>(Value(on));
        }
        // Apart from the number, which is seldom read without a gradient.
        Value greater = extremeOf(nested, loc, candidate, args[1], true, isUnsigned);
        return {greater, take.select(tapNumber(nested, loc, window, windows.size()), index)};
      });
  if (accumulator != signless)
    best[0] = mapLoops(b, getLoc(), best[0], signless,
                       [&](Scalar wide) { return wide.to<arith::TruncFOp>(signless); });
  if (!allReach(window, shape))
    best[1] = mapLoops(b, getLoc(), best[1], number, [](Scalar index) {
      Scalar zero = index.integer(0);
      return (index < zero).select(zero, index);
    });
  return best;
}

SmallVector<Value> WindowGatherOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  RankedTensorType type = signlessType(getType());
  Type accumulator = accumulatorOf(type.getElementType());
  WindowAttr window = getWindow();
  Value x = spreadOut(b, getLoc(), operands[0], window, scalarOf(type.getElementType()));
  Value zero = fillLoops(b, getLoc(), type.getShape(), b.getZeroAttr(accumulator));
  auto found = tapLoops(
      b, getLoc(), window, x, operands[1], zero,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> SmallVector<Value> {
        Scalar chosen(nested, loc, args[1]);
        Scalar isIt = chosen == tapNumber(nested, loc, window, type.getRank());
        return {isIt.select(widened(nested, loc, args[0], accumulator), isIt.with(args[2]))};
      });
  return roundLoops(b, *this, found[0]);
}

// The adjoint's taps have the numbers of the window's taps and run over windows in row-major order.
SmallVector<Value> WindowScatterOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  RankedTensorType type = signlessType(getType());
  Type element = type.getElementType(), accumulator = accumulatorOf(element);
  WindowAttr adjoint = getWindow().getAdjoint(type.getShape(), getOperand().getType().getShape());
  Value x = spreadOut(b, getLoc(), operands[0], adjoint, scalarOf(element));
  Value index = spreadOut(b, getLoc(), operands[1], adjoint,
                          scalarOf(tapNumberType(getWindow()), /*number=*/-1));
  Value zero = fillLoops(b, getLoc(), type.getShape(), b.getZeroAttr(accumulator));
  auto sums = tapLoops(b, getLoc(), adjoint, {x, index}, {}, zero,
                       [&](OpBuilder &nested, Location loc, ValueRange args) -> SmallVector<Value> {
                         Scalar value = widened(nested, loc, args[0], accumulator);
                         Scalar isIt =
                             value.with(args[1]) == tapNumber(nested, loc, adjoint, type.getRank());
                         return {value.with(args[2]) + isIt.select(value, value.number(0))};
                       });
  return roundLoops(b, *this, sums[0]);
}
