// Reductions: one shape rule, one evaluator and one loop builder for all; each op adds its formula.
#include "dialects/grad/math/Reduction.h"
#include "dialects/grad/Permute.h"
#include "dialects/grad/math/Count.h"
#include "dialects/grad/math/Sampling.h"

using namespace mlir;
using namespace mlir::grad;

static RankedTensorType operandType(Operation *op) {
  return cast<RankedTensorType>(op->getOperand(0).getType());
}

static bool isFloat(Operation *op) { return isa<FloatType>(operandType(op).getElementType()); }

/// Number of elements reduced into one result.
static int64_t countReduced(RankedTensorType type, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t d : dims)
    count *= type.getDimSize(d);
  return count;
}

// Types -------------------------------------------------------------------------------------------

LogicalResult grad::inferReduced(std::optional<Location> loc, Value operand, ArrayRef<int64_t> dims,
                                 bool empty, SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(operand.getType());
  for (auto [i, d] : llvm::enumerate(dims)) {
    if (d < 0 || d >= type.getRank())
      return emitOptionalError(loc, "expected dims in [0, ", type.getRank(), "), found ", d);
    if (i && d <= dims[i - 1])
      return emitOptionalError(loc, "expected sorted and distinct dims, found ", d, " after ",
                               dims[i - 1]);
    if (!empty && type.getDimSize(d) == 0)
      return emitOptionalError(loc, "expected at least one element to reduce, found dim ", d,
                               " of size 0");
  }
  SmallVector<int64_t> shape;
  for (int64_t d : otherDims(type.getRank(), dims))
    shape.push_back(type.getDimSize(d));
  types.push_back(type.clone(shape));
  return success();
}

// Evaluation --------------------------------------------------------------------------------------

/// Calls `body(result position, operand position, operand index)` for every operand element that
/// the wanted results depend on.
static void forEachReduced(const HostTensor &operand, const HostTensor &result,
                           ArrayRef<int64_t> dims,
                           llvm::function_ref<void(int64_t, int64_t, ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> kept = otherDims(operand.getType().getRank(), dims);
  SmallVector<int64_t> reduced =
      llvm::map_to_vector(dims, [&](int64_t d) { return operand.getShape()[d]; });
  SmallVector<int64_t> index(operand.getType().getRank());
  int64_t to = 0;
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> at) {
    int64_t position = to++;
    if (!SamplingScope::wants(position))
      return;
    for (auto [d, i] : llvm::zip_equal(kept, at))
      index[d] = i;
    forEachIndex(reduced, [&](ArrayRef<int64_t> inner) {
      for (auto [d, i] : llvm::zip_equal(dims, inner))
        index[d] = i;
      body(position, linearize(index, operand.getShape()), index);
    });
  });
}

/// Folds in f64 or i64, starting from `neutral` if given, else from the first element.
static void evaluateReduction(const HostTensor &operand, HostTensor &result, ArrayRef<int64_t> dims,
                              double neutral, llvm::function_ref<double(double, double)> foldFloat,
                              llvm::function_ref<int64_t(int64_t, int64_t)> foldInt,
                              bool fromFirst = false) {
  bool floating = isa<FloatType>(operand.getElementType());
  std::vector<double> floats(result.size(), neutral);
  std::vector<int64_t> ints(result.size(), int64_t(neutral));
  std::vector<bool> started(result.size(), !fromFirst);
  forEachReduced(operand, result, dims, [&](int64_t to, int64_t from, ArrayRef<int64_t>) {
    if (floating)
      floats[to] =
          started[to] ? foldFloat(floats[to], operand.getFloat(from)) : operand.getFloat(from);
    else
      ints[to] = started[to] ? foldInt(ints[to], operand.getInt(from)) : operand.getInt(from);
    started[to] = true;
  });
  for (int64_t i = 0; i < result.size(); ++i)
    floating ? result.setFloat(i, floats[i]) : result.setInt(i, ints[i]);
}

// Loops -------------------------------------------------------------------------------------------

using ReductionBody =
    llvm::function_ref<Value(OpBuilder &, Location, Value element, Value reduced)>;

static SmallVector<AffineMap> reductionMaps(OpBuilder &b, int64_t rank, ArrayRef<int64_t> dims,
                                            int64_t results) {
  SmallVector<AffineExpr> kept;
  for (int64_t d : otherDims(rank, dims))
    kept.push_back(b.getAffineDimExpr(d));
  SmallVector<AffineMap> maps(results + 1, AffineMap::get(rank, 0, kept, b.getContext()));
  maps[0] = b.getMultiDimIdentityMap(rank);
  return maps;
}

static SmallVector<utils::IteratorType> reductionIterators(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  for (int64_t d : dims)
    iterators[d] = utils::IteratorType::reduction;
  return iterators;
}

/// One generic; sums and products of 16-bit floats run in f32 and are rounded at the end (`widen`).
static SmallVector<Value> reductionLoops(OpBuilder &b, Operation *op, Value operand,
                                         ArrayRef<int64_t> dims, bool widen,
                                         llvm::function_ref<TypedAttr(Type)> neutral,
                                         ReductionBody body) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(operand.getType());
  Type element = type.getElementType(), accumulator = widen ? accumulatorOf(element) : element;
  Value initial = fillLoops(b, loc, cast<RankedTensorType>(op->getResult(0).getType()).getShape(),
                            neutral(accumulator));
  Value reduced =
      linalg::GenericOp::create(b, loc, initial.getType(), operand, initial,
                                reductionMaps(b, type.getRank(), dims, 1),
                                reductionIterators(type.getRank(), dims),
                                [&](OpBuilder &nested, Location at, ValueRange args) {
                                  Value x = args[0];
                                  if (accumulator != element)
                                    x = arith::ExtFOp::create(nested, at, accumulator, x);
                                  linalg::YieldOp::create(nested, at, body(nested, at, x, args[1]));
                                })
          .getResult(0);
  return roundLoops(b, op, reduced);
}

TypedAttr grad::extreme(OpBuilder &b, Type type, bool greatest, bool isUnsigned) {
  if (auto f = dyn_cast<FloatType>(type))
    return b.getFloatAttr(f, APFloat::getInf(f.getFloatSemantics(), !greatest));
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value =
      isUnsigned ? (greatest ? APInt::getMaxValue(width) : APInt::getMinValue(width))
                 : (greatest ? APInt::getSignedMaxValue(width) : APInt::getSignedMinValue(width));
  return b.getIntegerAttr(type, value);
}

Value grad::isBeyond(OpBuilder &b, Location loc, Value x, Value best, bool maximum,
                     bool isUnsigned) {
  if (isa<FloatType>(x.getType())) {
    auto order = maximum ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
    Value beyond = arith::CmpFOp::create(b, loc, order, x, best);
    Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
    Value wasNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, best, best);
    return arith::OrIOp::create(b, loc, beyond, arith::AndIOp::create(b, loc, isNan, wasNumber));
  }
  using P = arith::CmpIPredicate;
  P order = maximum ? (isUnsigned ? P::ugt : P::sgt) : (isUnsigned ? P::ult : P::slt);
  return arith::CmpIOp::create(b, loc, order, x, best);
}

bool grad::isBeyond(const HostTensor &x, int64_t candidate, int64_t best) {
  if (isa<FloatType>(x.getElementType())) {
    double a = x.getFloat(candidate), b = x.getFloat(best);
    return a > b || (std::isnan(a) && !std::isnan(b));
  }
  int64_t a = x.getInt(candidate), b = x.getInt(best);
  return x.getElementType().isUnsignedInteger() ? uint64_t(a) > uint64_t(b) : a > b;
}

/// For an arith.maximumf of either zero, LLVM takes other instructions in vectors than in one lane,
/// so that bits would depend on the number of rows. NaN is a constant, since LLVM merges selections
/// of one value.
Value grad::extremeOf(OpBuilder &b, Location loc, Value x, Value best, bool maximum,
                      bool isUnsigned) {
  if (!x.getType().isF32() && !x.getType().isF64())
    return arith::SelectOp::create(b, loc, isBeyond(b, loc, x, best, maximum, isUnsigned), x, best);
  auto order = maximum ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
  Value beyond = arith::CmpFOp::create(b, loc, order, x, best);
  Value number = arith::SelectOp::create(b, loc, beyond, x, best);
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value nan = arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), NAN));
  return arith::SelectOp::create(b, loc, isNan, nan, number);
}

static SmallVector<Value> extremeLoops(OpBuilder &b, Operation *op, Value operand,
                                       ArrayRef<int64_t> dims, bool maximum) {
  bool isUnsigned = operandType(op).getElementType().isUnsignedInteger();
  return reductionLoops(
      b, op, operand, dims, /*widen=*/false,
      [&](Type t) { return extreme(b, t, !maximum, isUnsigned); },
      [&](OpBuilder &nested, Location loc, Value x, Value best) {
        return extremeOf(nested, loc, x, best, maximum, isUnsigned);
      });
}

// Gradients ---------------------------------------------------------------------------------------

static Expr spread(Expr reduced, RankedTensorType type, ArrayRef<int64_t> dims) {
  return reduced.broadcast(type.clone(reduced.element()), otherDims(type.getRank(), dims));
}

/// g / ties where x is the extreme, else 0.
static Value extremeGradient(OpBuilder &b, Operation *op, Value g, ArrayRef<int64_t> dims) {
  RankedTensorType type = operandType(op);
  Expr x(b, op->getLoc(), op->getOperand(0)), y = x.with(op->getResult(0));
  Expr chosen = x.compare(ComparePredicate::eq, spread(y, type, dims));
  Expr ties = chosen.cast(type.getElementType()).sum(dims);
  return chosen.select(spread(x.with(g) / ties, type, dims), x.splat(0));
}

/// The products of all elements before (after, if `reversed`) each element along `dim`.
static Expr exclusiveProducts(Expr x, int64_t dim, bool reversed) {
  return x.with(CumulativeOp::create(x.getBuilder(), x.getLoc(), x, CumulativeKind::prod, dim,
                                     /*exclusive=*/true, reversed));
}

LogicalResult ReduceSumOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] =
      spread(Expr(b, getLoc(), resultGradients[0]), operandType(*this), getDims());
  return success();
}

// The product of all other elements, as (product before) * (product after), of 16-bit floats in
// f32. Unlike a division, it is exact with zeros in the input and, being made of products only, in
// every higher derivative.
LogicalResult ReduceProdOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                          SmallVectorImpl<Value> &operandGradients) {
  RankedTensorType type = operandType(*this);
  if (type.getNumElements() == 0)
    return success();
  Expr operand = Expr(b, getLoc(), getOperand()).wide();
  Expr g = operand.with(resultGradients[0]).wide();
  auto productOfOthers = [](Expr x, int64_t dim) {
    return exclusiveProducts(x, dim, false) * exclusiveProducts(x, dim, true);
  };
  std::optional<Expr> others;
  if (getDims().size() == 1) {
    others = productOfOthers(operand, getDims()[0]);
  } else { // several dims become one
    SmallVector<int64_t> order = otherDims(type.getRank(), getDims());
    llvm::append_range(order, getDims());
    SmallVector<int64_t> back(order.size());
    for (auto [i, d] : llvm::enumerate(order))
      back[d] = i;
    int64_t n = countReduced(type, getDims());
    Expr moved = operand.transpose(order);
    Expr rows = moved.reshape({type.getNumElements() / n, n});
    others = productOfOthers(rows, 1).reshape(moved.shape()).transpose(back);
  }
  Expr product = spread(g, type, getDims()) * *others;
  operandGradients[0] = product.cast(type.getElementType());
  return success();
}

LogicalResult ReduceMaxOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] = extremeGradient(b, *this, resultGradients[0], getDims());
  return success();
}

LogicalResult ReduceMinOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] = extremeGradient(b, *this, resultGradients[0], getDims());
  return success();
}

LogicalResult ReduceMeanOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                          SmallVectorImpl<Value> &operandGradients) {
  RankedTensorType type = operandType(*this);
  Expr g(b, getLoc(), resultGradients[0]);
  operandGradients[0] = spread(overCount(g, getOperand(), getDims()), type, getDims());
  return success();
}

LogicalResult ArgmaxOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}

// The ops -----------------------------------------------------------------------------------------

#define GRAD_REDUCTION(OP, EMPTY)                                                                  \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,  \
                                     SmallVectorImpl<Type> &types) {                               \
    return inferReduced(loc, adaptor.getOperand(), adaptor.getDims(), EMPTY, types);               \
  }
GRAD_REDUCTION(ReduceSumOp, true)
GRAD_REDUCTION(ReduceProdOp, true)
GRAD_REDUCTION(ReduceMaxOp, false)
GRAD_REDUCTION(ReduceMinOp, false)
GRAD_REDUCTION(ReduceMeanOp, true)
#undef GRAD_REDUCTION

int64_t ReduceSumOp::getFlops() { return operandType(*this).getNumElements(); }
int64_t ReduceProdOp::getFlops() { return operandType(*this).getNumElements(); }
int64_t ReduceMaxOp::getFlops() { return operandType(*this).getNumElements(); }
int64_t ReduceMinOp::getFlops() { return operandType(*this).getNumElements(); }

LoopKind ReduceSumOp::getLoopKind() { return LoopKind::reduction; }
LoopKind ReduceProdOp::getLoopKind() { return LoopKind::reduction; }
LoopKind ReduceMaxOp::getLoopKind() { return LoopKind::reduction; }
LoopKind ReduceMinOp::getLoopKind() { return LoopKind::reduction; }
LoopKind ArgmaxOp::getLoopKind() { return LoopKind::reduction; }
SmallVector<int64_t> ArgmaxOp::getReducedDims() { return {int64_t(getDim())}; }
bool ArgmaxOp::isSharable() { return false; }
Operation *ArgmaxOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                   ArrayRef<int64_t> permutation) {
  return create(b, getLoc(), operands[0], permuteDim(getDim(), permutation));
}

void ReduceSumOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  evaluateReduction(
      operands[0], results[0], getDims(), 0, [](double a, double x) { return a + x; },
      [](int64_t a, int64_t x) { return int64_t(uint64_t(a) + uint64_t(x)); });
}
void ReduceProdOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  evaluateReduction(
      operands[0], results[0], getDims(), 1, [](double a, double x) { return a * x; },
      [](int64_t a, int64_t x) { return int64_t(uint64_t(a) * uint64_t(x)); });
}
void ReduceMaxOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  bool isUnsigned = operands[0].getElementType().isUnsignedInteger();
  evaluateReduction(
      operands[0], results[0], getDims(), 0,
      [](double a, double x) { return x > a || std::isnan(x) ? x : a; },
      [&](int64_t a, int64_t x) {
        return isUnsigned ? int64_t(std::max(uint64_t(a), uint64_t(x))) : std::max(a, x);
      },
      /*fromFirst=*/true);
}
void ReduceMinOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  bool isUnsigned = operands[0].getElementType().isUnsignedInteger();
  evaluateReduction(
      operands[0], results[0], getDims(), 0,
      [](double a, double x) { return x < a || std::isnan(x) ? x : a; },
      [&](int64_t a, int64_t x) {
        return isUnsigned ? int64_t(std::min(uint64_t(a), uint64_t(x))) : std::min(a, x);
      },
      /*fromFirst=*/true);
}
void ReduceMeanOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  std::vector<double> sums(results[0].size(), 0.0);
  forEachReduced(
      operands[0], results[0], getDims(),
      [&](int64_t to, int64_t from, ArrayRef<int64_t>) { sums[to] += operands[0].getFloat(from); });
  for (auto [i, sum] : llvm::enumerate(sums))
    results[0].setFloat(i, sum / countReduced(operandType(*this), getDims()));
}

SmallVector<Value> ReduceSumOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  return reductionLoops(
      b, *this, operands[0], getDims(), /*widen=*/true, [&](Type t) { return b.getZeroAttr(t); },
      [&](OpBuilder &nested, Location loc, Value x, Value sum) -> Value {
        if (isFloat(*this))
          return arith::AddFOp::create(nested, loc, sum, x);
        return arith::AddIOp::create(nested, loc, sum, x);
      });
}
SmallVector<Value> ReduceProdOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  return reductionLoops(
      b, *this, operands[0], getDims(), /*widen=*/true, [&](Type t) { return b.getOneAttr(t); },
      [&](OpBuilder &nested, Location loc, Value x, Value product) -> Value {
        if (isFloat(*this))
          return arith::MulFOp::create(nested, loc, product, x);
        return arith::MulIOp::create(nested, loc, product, x);
      });
}
SmallVector<Value> ReduceMaxOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  return extremeLoops(b, *this, operands[0], getDims(), /*maximum=*/true);
}
SmallVector<Value> ReduceMinOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  return extremeLoops(b, *this, operands[0], getDims(), /*maximum=*/false);
}

SmallVector<Value> ReduceMeanOp::decompose(OpBuilder &b) {
  Expr x(b, getLoc(), getOperand());
  return {overCount(x.wide().sum(getDims()), x, getDims()).cast(x.element())};
}

LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  SmallVector<Type> reduced;
  if (failed(inferReduced(loc, adaptor.getOperand(), adaptor.getDim(), /*empty=*/false, reduced)))
    return failure();
  types.push_back(cast<RankedTensorType>(reduced[0]).clone(IntegerType::get(context, 64)));
  return success();
}

void ArgmaxOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &x = operands[0];
  std::vector<int64_t> best(results[0].size(), -1);
  int64_t dim = getDim();
  forEachReduced(x, results[0], dim, [&](int64_t to, int64_t from, ArrayRef<int64_t> index) {
    if (best[to] >= 0 && !isBeyond(x, from, best[to]))
      return;
    best[to] = from;
    results[0].setInt(to, index[dim]);
  });
}

SmallVector<Value> ArgmaxOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  auto type = cast<RankedTensorType>(operands[0].getType());
  ArrayRef<int64_t> shape = cast<RankedTensorType>(getResult().getType()).getShape();
  int64_t dim = getDim();
  bool isUnsigned = operandType(*this).getElementType().isUnsignedInteger();
  Value least = fillLoops(b, getLoc(), shape,
                          extreme(b, type.getElementType(), /*greatest=*/false, isUnsigned));
  Value first = fillLoops(b, getLoc(), shape, b.getI64IntegerAttr(0));
  auto generic = linalg::GenericOp::create(
      b, getLoc(), TypeRange{least.getType(), first.getType()}, operands[0],
      ValueRange{least, first}, reductionMaps(b, type.getRank(), dim, 2),
      reductionIterators(type.getRank(), dim),
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value take = isBeyond(nested, loc, args[0], args[1], /*maximum=*/true, isUnsigned);
        Value at = arith::IndexCastOp::create(nested, loc, nested.getI64Type(),
                                              linalg::IndexOp::create(nested, loc, dim));
        Value best = arith::SelectOp::create(nested, loc, take, args[0], args[1]);
        Value index = arith::SelectOp::create(nested, loc, take, at, args[2]);
        linalg::YieldOp::create(nested, loc, ValueRange{best, index});
      });
  return {generic.getResult(1)};
}

// Count -------------------------------------------------------------------------------------------

LogicalResult CountOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  SmallVector<Type> reduced;
  if (failed(inferReduced(loc, adaptor.getOperand(), adaptor.getDims(), /*empty=*/true, reduced)))
    return failure();
  bool isDouble = getElementTypeOrSelf(adaptor.getOperand().getType()).isF64();
  Type element = isDouble ? Type(Float64Type::get(context)) : Type(Float32Type::get(context));
  types.push_back(RankedTensorType::get({}, element));
  return success();
}
void CountOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  results[0].setFloat(0, double(countReduced(operandType(*this), getDims())));
}
SmallVector<Value> CountOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  HostTensor count(getType());
  count.setFloat(0, double(countReduced(operandType(*this), getDims())));
  return {fillLoops(b, getLoc(), getType(), count)};
}
LogicalResult CountOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}
LoopKind CountOp::getLoopKind() { return LoopKind::elementwise; }
