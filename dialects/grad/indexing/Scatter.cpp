// Scatter: every element of the result searches for its updates. So no two threads write the same
// element, and updates are combined in order of their positions.
#include "dialects/grad/Movement.h"
#include "dialects/grad/indexing/Index.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult ScatterOp::verify() {
  RankedTensorType init = getInit().getType(), updates = getUpdates().getType();
  SmallVector<int64_t> shape;
  IndexedDims indexed{getDims(), getIndexDims()};
  if (failed(indexed.infer(init, getIndices().getTypes(), shape,
                           [&](const Twine &text) { return emitOpError(text); })))
    return failure();
  if (updates != init.clone(shape))
    return emitOpError("expected updates ") << init.clone(shape) << ", found " << updates;
  if (getReduction() != ScatterReduction::replace && init.getElementType().isInteger(1))
    return emitOpError("expected numbers to combine, found ") << init;
  return success();
}

int64_t ScatterOp::getFlops() { return getUpdates().getType().getNumElements(); }
LoopKind ScatterOp::getLoopKind() { return LoopKind::reduction; }

// Evaluation --------------------------------------------------------------------------------------

static double combineFloats(ScatterReduction how, double a, double x) {
  switch (how) {
  case ScatterReduction::replace:
    return x;
  case ScatterReduction::add:
    return a + x;
  case ScatterReduction::mul:
    return a * x;
  case ScatterReduction::max:
    return std::isnan(a) || a > x ? a : x;
  case ScatterReduction::min:
    return std::isnan(a) || a < x ? a : x;
  }
  llvm_unreachable("all reductions are covered");
}

static int64_t combineInts(ScatterReduction how, int64_t a, int64_t x, bool isUnsigned) {
  bool isLess = isUnsigned ? uint64_t(a) < uint64_t(x) : a < x;
  switch (how) {
  case ScatterReduction::replace:
    return x;
  case ScatterReduction::add:
    return int64_t(uint64_t(a) + uint64_t(x));
  case ScatterReduction::mul:
    return int64_t(uint64_t(a) * uint64_t(x));
  case ScatterReduction::max:
    return isLess ? x : a;
  case ScatterReduction::min:
    return isLess ? a : x;
  }
  llvm_unreachable("all reductions are covered");
}

void ScatterOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &init = operands.front(), &updates = operands.back();
  IndexedDims indexed{getDims(), getIndexDims()};
  Type element = init.getElementType();
  bool isFloat = isa<FloatType>(element);
  std::vector<double> floats(isFloat ? init.size() : 0);
  for (auto [i, x] : llvm::enumerate(floats))
    x = init.getFloat(i);
  results[0] = init;
  SmallVector<int64_t> at;
  int64_t from = 0;
  forEachIndex(updates.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t position = from++;
    if (!indexed.locate(index, operands.drop_front().drop_back(), init.getShape(), at))
      return;
    int64_t to = linearize(at, init.getShape());
    if (isFloat)
      floats[to] = combineFloats(getReduction(), floats[to], updates.getFloat(position));
    else
      results[0].setInt(to, combineInts(getReduction(), results[0].getInt(to),
                                        updates.getInt(position), element.isUnsignedInteger()));
  });
  for (auto [i, x] : llvm::enumerate(floats))
    results[0].setFloat(i, x);
}

// Loops -------------------------------------------------------------------------------------------

static Scalar combineScalars(ScatterReduction how, Scalar a, Scalar x) {
  switch (how) {
  case ScatterReduction::replace:
    return x;
  case ScatterReduction::add:
    return a + x;
  case ScatterReduction::mul:
    return a * x;
  case ScatterReduction::max:
    return MaxOp::lowerScalar(a, x);
  case ScatterReduction::min:
    return MinOp::lowerScalar(a, x);
  }
  llvm_unreachable("all reductions are covered");
}

/// `value` in the type in which updates are combined.
static Value widen(OpBuilder &b, Location loc, Value value, Type accumulator) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == accumulator)
    return value;
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(b, loc, type.getShape(), accumulator);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), value, empty, {identity, identity}, iterators,
             [&](OpBuilder &nested, Location at, ValueRange args) {
               Value wide = arith::ExtFOp::create(nested, at, accumulator, args[0]);
               linalg::YieldOp::create(nested, at, wide);
             })
      .getResult(0);
}

/// Loops over the result's dims, then over the updates' dims that correspond to no dim of the
/// result.
SmallVector<Value> ScatterOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  RankedTensorType init = getInit().getType(), updates = getUpdates().getType();
  IndexedDims indexed{getDims(), getIndexDims()};
  int64_t rank = init.getRank();
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  SmallVector<AffineExpr> loops(updates.getRank()), at;
  SmallVector<int64_t> targets;
  for (auto [i, d] : llvm::enumerate(getDims()))
    indexed.isIndex(i) ? targets.push_back(i) : void(loops[d] = b.getAffineDimExpr(i));
  for (AffineExpr &loop : loops)
    if (!loop) {
      loop = b.getAffineDimExpr(iterators.size());
      iterators.push_back(utils::IteratorType::reduction);
    }
  for (int64_t d : getIndexDims())
    at.push_back(loops[d]);
  int64_t dims = iterators.size();
  SmallVector<AffineMap> maps(getIndices().size(), AffineMap::get(dims, 0, at, getContext()));
  maps.push_back(AffineMap::get(dims, 0, loops, getContext()));
  maps.push_back(b.getMultiDimIdentityMap(dims).getMajorSubMap(rank));

  ScatterReduction how = getReduction();
  Type element = signlessType(init).getElementType();
  Type accumulator = how == ScatterReduction::replace ? element : accumulatorOf(element);
  bool isUnsigned = init.getElementType().isUnsignedInteger();
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value update = args[args.size() - 2], hits;
    if (accumulator != element)
      update = arith::ExtFOp::create(nested, loc, accumulator, update);
    for (int64_t i : targets) {
      Scalar wanted = wrapIndex(nested, loc, args[indexed.indexOf(i)], init.getDimSize(i));
      Value own = linalg::IndexOp::create(nested, loc, i);
      Scalar hit = wanted == wanted.with(own).to<arith::IndexCastOp>(nested.getI64Type());
      hits = hits ? arith::AndIOp::create(nested, loc, hits, hit).getResult() : Value(hit);
    }
    Scalar old(nested, loc, args.back(), isUnsigned);
    Scalar combined = combineScalars(how, old, old.with(update));
    linalg::YieldOp::create(nested, loc, Value(old.with(hits).select(combined, old)));
  };
  Value start = widen(b, getLoc(), operands[0], accumulator);
  auto generic = linalg::GenericOp::create(b, getLoc(), start.getType(), operands.drop_front(),
                                           start, maps, iterators, body);
  generic->setAttr(indexedLoops, b.getDenseI64ArrayAttr(targets));
  return roundLoops(b, *this, generic.getResult(0));
}

// Gradients ---------------------------------------------------------------------------------------

namespace {

/// Builds gathers and scatters at the op's indices.
struct AtIndices {
  ScatterOp op;
  OpBuilder &b;

  Expr expr(Value v) { return Expr(b, op.getLoc(), v); }
  /// The elements at the positions of the updates.
  Expr gather(Value from) {
    return expr(b.createOrFold<GatherOp>(op.getLoc(), from, op.getIndices(), op.getDims(),
                                         op.getIndexDims()));
  }
  Expr scatter(Value init, ScatterReduction how, Value updates) {
    return expr(ScatterOp::create(b, op.getLoc(), init.getType(), init, op.getIndices(), updates,
                                  how, op.getDims(), op.getIndexDims()));
  }
};

} // namespace

static Expr isZero(Expr x) { return x.compare(ComparePredicate::eq, x.splat(0)); }
static Expr toFloat(Expr flag, Expr like) { return flag.cast(like.element()); }

/// The number of each element in row-major order.
static Expr positions(Expr like) {
  OpBuilder &b = like.getBuilder();
  RankedTensorType type = like.type().clone(b.getI64Type());
  Expr position = like.with(splat(b, like.getLoc(), type, 0));
  for (int64_t d = 0; d < type.getRank(); ++d)
    position = position * double(type.getDimSize(d)) +
               like.with(IotaOp::create(b, like.getLoc(), type, d));
  return position;
}

/// The last of several updates wins, and only it gets the gradient.
static void replaceGradient(AtIndices &at, Expr g, Expr updates,
                            SmallVectorImpl<Value> &gradients) {
  gradients.front() = at.scatter(g, ScatterReduction::replace, updates.splat(0));
  Expr position = positions(updates);
  RankedTensorType targets = g.type().clone(position.element());
  Value none = splat(at.b, at.op.getLoc(), targets, -1);
  Expr last = at.gather(at.scatter(none, ScatterReduction::max, position));
  Expr wins = last.compare(ComparePredicate::eq, position);
  gradients.back() = wins.select(at.gather(g), updates.splat(0));
}

/// The product of all other factors, computed from the product of the nonzero factors and the
/// number of zeros.
static Expr otherFactors(Expr x, Expr product, Expr zeros) {
  Expr none = x.splat(0), some = isZero(x);
  Expr quotient = product / some.select(x.splat(1), x);
  Expr ofZero = zeros.compare(ComparePredicate::eq, x.splat(1)).select(product, none);
  return some.select(ofZero, isZero(zeros).select(quotient, none));
}

static void productGradient(AtIndices &at, Expr g, Expr init, Expr updates,
                            SmallVectorImpl<Value> &gradients) {
  auto factors = [](Expr x) { return isZero(x).select(x.splat(1), x); };
  Expr product = at.scatter(factors(init), ScatterReduction::mul, factors(updates));
  Expr zeros = at.scatter(toFloat(isZero(init), init), ScatterReduction::add,
                          toFloat(isZero(updates), updates));
  gradients.front() = g * otherFactors(init, product, zeros);
  gradients.back() = at.gather(g) * otherFactors(updates, at.gather(product), at.gather(zeros));
}

/// All elements that equal the extreme share its gradient.
static void extremeGradient(AtIndices &at, Expr g, Expr init, Expr updates,
                            SmallVectorImpl<Value> &gradients) {
  Expr extreme = at.expr(at.op.getResult());
  Expr stays = init.compare(ComparePredicate::eq, extreme);
  Expr wins = updates.compare(ComparePredicate::eq, at.gather(extreme));
  Expr ties = at.scatter(toFloat(stays, init), ScatterReduction::add, toFloat(wins, updates));
  Expr share = g / ties;
  gradients.front() = stays.select(share, init.splat(0));
  gradients.back() = wins.select(at.gather(share), updates.splat(0));
}

LogicalResult ScatterOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  if (!isFloatTensor(getType()))
    return success();
  AtIndices at{*this, b};
  Expr g = at.expr(resultGradients[0]), init = at.expr(getInit()), updates = at.expr(getUpdates());
  switch (getReduction()) {
  case ScatterReduction::replace:
    replaceGradient(at, g, updates, operandGradients);
    break;
  case ScatterReduction::add:
    operandGradients.front() = g;
    operandGradients.back() = at.gather(g);
    break;
  case ScatterReduction::mul:
    productGradient(at, g, init, updates, operandGradients);
    break;
  case ScatterReduction::max:
  case ScatterReduction::min:
    extremeGradient(at, g, init, updates, operandGradients);
    break;
  }
  return success();
}
