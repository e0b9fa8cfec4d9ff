// Bounds of loops over taps: constant inside a picture, computed once per tile at its edge.
#include "compiler/codegen/tile/Window.h"

#include "compiler/codegen/tile/TileEmitter.h"

using namespace mlir;
using namespace gradc::tile;

/// A copy into padding, if the value is one: reductions ignore the elements around and between.
static linalg::GenericOp spreadOut(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  return op && op->hasAttr("grad.nothing") && isAssembly(op) ? op : linalg::GenericOp();
}

WindowReads::WindowReads(LoopNest &nest, linalg::GenericOp op,
                         ArrayRef<SmallVector<LinearExpr>> domains, bool isOne)
    : nest(nest), op(op) {
  auto isShifted = [](const auto &axis) {
    return llvm::any_of(axis.second.shifts, [](int64_t shift) { return shift != 0; });
  };
  for (OpOperand *operand : op.getDpsInputOperands())
    if (std::optional<Read> read = inspect(*operand, domains))
      if (!isOne || llvm::none_of(read->axes, isShifted))
        reads[operand->getOperandNumber()] = *read;
  // One loop serves all operands, so their windows over a reduced dim must be equal.
  std::map<unsigned, Axis> loops;
  bool windowsDiffer = false;
  for (auto &[number, read] : reads)
    for (auto &[dim, axis] : read.axes)
      if (!loops.insert({axis.reduced, axis}).second && loops.at(axis.reduced) != axis)
        windowsDiffer = true;
  if (windowsDiffer)
    reads.clear();
}

std::optional<WindowReads::Read> WindowReads::inspect(OpOperand &operand,
                                                      ArrayRef<SmallVector<LinearExpr>> domains) {
  linalg::GenericOp around = spreadOut(operand.get());
  if (!around)
    return std::nullopt;
  Read read{around->getOperand(0), {}};
  AffineMap map = op.getMatchingIndexingMap(&operand);
  AffineMap inner = around.getMatchingIndexingMap(around.getDpsInputOperand(0));
  auto iterators = op.getIteratorTypesArray();
  auto pieces = *piecesOf(around);
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    auto begin = evaluate(inner.getResult(i), SmallVector<LinearExpr>(around.getNumLoops()));
    if (!begin || piece.dim != i)
      return std::nullopt;
    if (piece.isWhole && begin->constant == 0)
      continue;
    Axis axis{~0u, {}, 0, piece.stride, piece.size, begin->constant, {}};
    for (unsigned d = 0; d < op.getNumLoops(); ++d) {
      if (!map.getResult(i).isFunctionOfDim(d) || iterators[d] != utils::IteratorType::reduction)
        continue;
      SmallVector<LinearExpr> unit(op.getNumLoops());
      auto origin = evaluate(map.getResult(i), unit);
      unit[d] = LinearExpr(1);
      auto next = evaluate(map.getResult(i), unit);
      if (axis.reduced != ~0u || !origin || !next)
        return std::nullopt;
      axis.reduced = d;
      axis.step = next->constant - origin->constant;
    }
    if (axis.reduced == ~0u || axis.step < 1 || (axis.step > 1 && axis.base > 1))
      return std::nullopt;
    for (const SmallVector<LinearExpr> &domain : domains) {
      auto position = evaluate(map.getResult(i), domain);
      if (!position || position->lane != 0)
        return std::nullopt;
      *position += LinearExpr(-piece.offset);
      if (&domain == domains.begin())
        axis.position = *position;
      LinearExpr shift = *position + axis.position * -1;
      if (!shift.isConstant() || shift.constant % axis.base != 0)
        return std::nullopt;
      axis.shifts.push_back(shift.constant);
    }
    read.axes[i] = axis;
  }
  return read;
}

bool WindowReads::has(OpOperand &operand) const {
  return reads.contains(operand.getOperandNumber());
}

const WindowReads::Axis *WindowReads::axisOf(unsigned reduced) const {
  for (auto &[number, read] : reads)
    for (auto &[i, axis] : read.axes)
      if (axis.reduced == reduced)
        return &axis;
  return nullptr;
}

SmallVector<TapRange> WindowReads::tapsOf(unsigned dim, LinearExpr begin, LinearExpr end) {
  const Axis &axis = *axisOf(dim);
  if (axis.base == 1)
    return denseTaps(axis, begin, end);
  if (llvm::any_of(axis.shifts, [](int64_t shift) { return shift != 0; }))
    return spacedTaps(axis, begin, end);
  return {sparseTaps(axis, begin, end)};
}

std::pair<LinearExpr, LinearExpr> WindowReads::denseBounds(const Axis &axis, int64_t shift) {
  OpBuilder &b = nest.builder;
  LinearExpr before = (axis.position + LinearExpr(shift)) * -1;
  LinearExpr last = before + LinearExpr(axis.size - 1);
  if (axis.step != 1) {
    Value step = nest.constant(axis.step);
    before = computed(before, [&](Value x) {
      return arith::CeilDivSIOp::create(b, nest.location, x, step).getResult();
    });
    last = computed(last, [&](Value x) {
      return arith::FloorDivSIOp::create(b, nest.location, x, step).getResult();
    });
  }
  return {before, last + LinearExpr(1)};
}

/// The loop variable is the tap.
SmallVector<TapRange> WindowReads::denseTaps(const Axis &axis, LinearExpr begin, LinearExpr end) {
  return rangesOf(axis, begin, end, TapRange(),
                  [&](int64_t shift) { return denseBounds(axis, shift); });
}

SmallVector<TapRange> WindowReads::rangesOf(const Axis &axis, LinearExpr begin, LinearExpr end,
                                            const TapRange &like, Bounds bounds) {
  auto [least, most] = std::minmax_element(axis.shifts.begin(), axis.shifts.end());
  auto range = [&](Value lower, Value upper, bool isPartial) {
    return TapRange{lower, upper, like.firstTap, like.step, isPartial};
  };
  auto [firstOfAll, endOfAny] = bounds(*least);
  if (*least == *most)
    return {range(larger(begin, firstOfAll), smaller(end, endOfAny), false)};
  auto [firstOfAny, endOfAll] = bounds(*most);
  LinearExpr stop = nest.variable(smaller(end, endOfAny));
  Value all = smaller(nest.variable(larger(begin, firstOfAll)), stop);
  Value rest = larger(nest.variable(all), nest.variable(smaller(end, endOfAll)));
  return {range(larger(begin, firstOfAny), all, true), range(all, rest, false),
          range(rest, nest.index(stop), true)};
}

/// x modulo `base`, not negative.
static Value remainder(LoopNest &nest, Value x, Value base) {
  OpBuilder &b = nest.builder;
  Value signedOne = arith::RemSIOp::create(b, nest.location, x, base);
  return arith::RemSIOp::create(b, nest.location,
                                arith::AddIOp::create(b, nest.location, signedOne, base), base);
}

/// Points that are multiples of `base` apart: the same taps fall on elements, or on padding where
/// elements would be. The loop variable counts them.
SmallVector<TapRange> WindowReads::spacedTaps(const Axis &axis, LinearExpr begin, LinearExpr end) {
  OpBuilder &b = nest.builder;
  Value base = nest.constant(axis.base);
  LinearExpr first = begin + computed(axis.position * -1 + begin * -1,
                                      [&](Value x) { return remainder(nest, x, base); });
  LinearExpr element = computed(first + axis.position, [&](Value x) {
    return arith::DivSIOp::create(b, nest.location, x, base).getResult();
  });
  firstElements[axis.reduced] = element;
  LinearExpr taps = computed(end + first * -1, [&](Value x) {
    return arith::CeilDivSIOp::create(b, nest.location, x, base).getResult();
  });
  TapRange like;
  like.firstTap = first;
  like.step = axis.base;
  return rangesOf(axis, LinearExpr(0), taps, like, [&](int64_t shift) {
    LinearExpr before = (element + LinearExpr(shift / axis.base)) * -1;
    return std::pair(before, before + LinearExpr(axis.size));
  });
}

/// Only every base-th tap falls on an element; the loop variable counts those taps.
TapRange WindowReads::sparseTaps(const Axis &axis, LinearExpr begin, LinearExpr end) {
  OpBuilder &b = nest.builder;
  Value base = nest.constant(axis.base), zero = nest.constant(0);
  // The distance from `begin` to the first element, or across the gap to the next one.
  LinearExpr skipped = computed(axis.position * -1 + begin * -1, [&](Value x) -> Value {
    return arith::MaxSIOp::create(b, nest.location, x, remainder(nest, x, base));
  });
  LinearExpr first = begin + skipped;
  LinearExpr stop = axis.position * -1 + LinearExpr(axis.base * (axis.size - 1) + 1);
  Value taps = arith::SubIOp::create(b, nest.location, smaller(end, stop), nest.index(first));
  taps = arith::MaxSIOp::create(b, nest.location, taps, zero);
  firstElements[axis.reduced] = computed(first + axis.position, [&](Value x) {
    return arith::DivSIOp::create(b, nest.location, x, base).getResult();
  });
  return {zero, arith::CeilDivSIOp::create(b, nest.location, taps, base), first, axis.base};
}

SmallVector<Value> WindowReads::loop(unsigned dim, LinearExpr begin, LinearExpr end,
                                     ValueRange carried, LoopNest::LoopBody body) {
  SmallVector<Value> values(carried);
  for (const TapRange &taps : tapsOf(dim, begin, end))
    values = nest.loop(taps.lower, taps.upper, values, [&](LinearExpr i, ValueRange inner) {
      enter(dim, taps, i);
      return body(taps.firstTap + i * taps.step, inner);
    });
  return values;
}

void WindowReads::enter(unsigned dim, const TapRange &taps, LinearExpr variable) {
  const Axis &axis = *axisOf(dim);
  OpBuilder &b = nest.builder;
  auto &current = elements[dim];
  current.clear();
  for (int64_t shift : axis.shifts) {
    LinearExpr at = axis.base == 1 ? axis.position + LinearExpr(shift) + variable * axis.step
                                   : firstElements[dim] + LinearExpr(shift / axis.base) + variable;
    auto [place, isNew] = current.insert({shift, {at, Value()}});
    if (!taps.isPartial || !isNew)
      continue;
    // A single unsigned comparison checks both ends. Outside, an arbitrary element is loaded and
    // ignored.
    Value position = nest.index(at), last = nest.constant(axis.size - 1);
    place->second.exists =
        arith::CmpIOp::create(b, nest.location, arith::CmpIPredicate::ule, position, last);
    place->second.at = nest.variable(arith::MinUIOp::create(b, nest.location, position, last));
  }
}

Value WindowReads::isInside(size_t point) const {
  Value inside;
  for (auto &[dim, current] : elements) {
    Value exists = current.at(axisOf(dim)->shifts[point]).exists;
    if (exists && inside)
      inside = arith::AndIOp::create(nest.builder, nest.location, inside, exists);
    else if (exists)
      inside = exists;
  }
  return inside;
}

std::pair<Value, Point> WindowReads::read(OpOperand &operand, size_t point,
                                          ArrayRef<LinearExpr> domain, int64_t valid) const {
  const Read &read = reads.at(operand.getOperandNumber());
  Point p = *evaluate(op.getMatchingIndexingMap(&operand), domain, valid);
  for (auto &[i, axis] : read.axes)
    p.coordinates[i] = elements.at(axis.reduced).at(axis.shifts[point]).at + LinearExpr(axis.begin);
  return {read.inside, p};
}

/// Applies `compute` to an expression if all its variables are known.
LinearExpr WindowReads::computed(const LinearExpr &e, llvm::function_ref<Value(Value)> compute) {
  Value at = nest.index(e);
  LinearExpr result;
  nest.atDepth(nest.depthOf(e), [&] { result = nest.variable(compute(at)); });
  return result;
}

Value WindowReads::larger(const LinearExpr &x, const LinearExpr &y) {
  return arith::MaxSIOp::create(nest.builder, nest.location, nest.index(x), nest.index(y));
}

Value WindowReads::smaller(const LinearExpr &x, const LinearExpr &y) {
  return arith::MinSIOp::create(nest.builder, nest.location, nest.index(x), nest.index(y));
}
