// ONNX's reductions and argmax. Reduced dims stay with size 1 unless keepdims is 0.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/ops/Norm.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
template <typename Op> Expr reduce(Expr x, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return x;
  return x.with(x.getBuilder().createOrFold<Op>(x.getLoc(), x, dims));
}

Expr square(Expr x) { return x * x; }
Expr sumOf(Expr x, ArrayRef<int64_t> dims) { return x.sum(dims); }
Expr l1(Expr x, ArrayRef<int64_t> dims) { return x.apply<AbsOp>().sum(dims); }
Expr l2(Expr x, ArrayRef<int64_t> dims) { return normOf(square(x.wide()).sum(dims), 2); }
Expr sumSquare(Expr x, ArrayRef<int64_t> dims) { return square(x.wide()).sum(dims); }
Expr logSum(Expr x, ArrayRef<int64_t> dims) { return x.wide().sum(dims).apply<LogOp>(); }
/// Subtracts the maximum first, if it is finite.
Expr logSumExp(Expr x, ArrayRef<int64_t> dims) {
  x = x.wide();
  Expr top = reduce<ReduceMaxOp>(x, dims);
  OpBuilder &b = x.getBuilder();
  Expr finite = x.with(b.createOrFold<IsFiniteOp>(x.getLoc(), top));
  Expr shift = finite.select(top, top.splat(0));
  Expr spread = shift.broadcast(x.type(), otherDims(x.type().getRank(), dims));
  return (x - spread).apply<ExpOp>().sum(dims).apply<LogOp>() + shift;
}

/// The result of a reduction over no elements: by the formula, an error, or a limit of the type.
enum class Empty { Formula, Error, Lowest, Highest };

constexpr double infinity = std::numeric_limits<double>::infinity();

/// ReduceMean without dims is the identity, which needs no division.
Expr mean(Expr x, ArrayRef<int64_t> dims) { return reduce<ReduceMeanOp>(x, dims); }

/// The mean over the number of elements that a run has.
Expr meanOf(Expr x, ArrayRef<int64_t> dims, RunExtent extent) {
  Type element = x.element();
  x = x.wide();
  double others = 1;
  for (int64_t d : dims)
    others *= d == extent.dim ? 1 : double(x.shape()[d]);
  Expr sum = x.sum(dims), count = x.with(extent.count).cast(x.element()) * others;
  return (sum / count.broadcastScalar(sum.type())).cast(element);
}

/// `neutral`: an element that changes no result.
template <Expr (*formula)(Expr, ArrayRef<int64_t>), Kind kind, double neutral = 0.0,
          Empty empty = Empty::Formula>
LogicalResult reduction(Node &n) {
  bool keep = n.integer("keepdims", 1), identity = n.integer("noop_with_empty_axes", 0);
  if (failed(n.expect(0, kind)))
    return failure();
  auto given = n.integersOrOperand("axes", 1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> dims;
  if (*given && !(*given)->empty()) {
    auto checked = n.axes(**given, n.rank(0));
    if (failed(checked))
      return failure();
    dims = *checked;
  } else if (!identity) {
    dims = llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0)));
  }
  SmallVector<int64_t> kept(n.shape(0)), left;
  bool hasElements = true;
  for (int64_t d : dims) {
    if (empty == Empty::Error && kept[d] == 0)
      return n.error() << "expected elements along dim " << d << " of " << n.describeOperand(0);
    hasElements &= kept[d] > 0;
    kept[d] = 1;
  }
  for (int64_t d : otherDims(n.rank(0), dims))
    left.push_back(n.shape(0)[d]);
  Expr x = n.expr(0u);
  if (n.element(0).isInteger(1)) // false < true
    x = x.cast(n.builder().getIntegerType(8, /*isSigned=*/false));
  auto extent = n.extent(0);
  bool isPart = extent && llvm::is_contained(dims, extent->dim);
  x = n.neutralBehindExtent(0, x, dims, neutral);
  // The logarithm of padding, which may be 0, times the gradient 0 is NaN.
  if (formula == logSum && extent && !isPart && n.mayDifferentiate())
    x = n.neutralBehindExtent(0, x, extent->dim, 1);
  Expr result = x;
  if (isPart && formula == mean)
    result = meanOf(x, dims, *extent);
  else if (hasElements || empty == Empty::Formula)
    result = formula(x, dims);
  else // for integers, the limit of the type
    result = x.with(splat(n.builder(), n.loc(), x.type().clone(left),
                          empty == Empty::Lowest ? -infinity : infinity));
  result = result.cast(n.element(0));
  if (keep)
    result = result.reshape(kept);
  if (!extent || isPart)
    return n.set(result);
  auto isBefore = [&](int64_t d) { return d < extent->dim; };
  return n.setLike(0, result, keep ? extent->dim : extent->dim - llvm::count_if(dims, isBefore));
}

Expr prod(Expr x, ArrayRef<int64_t> dims) { return reduce<ReduceProdOp>(x, dims); }
Expr maximum(Expr x, ArrayRef<int64_t> dims) { return reduce<ReduceMaxOp>(x, dims); }
Expr minimum(Expr x, ArrayRef<int64_t> dims) { return reduce<ReduceMinOp>(x, dims); }

/// ArgMin reverses the order of elements; select_last_index reverses their positions.
template <bool minimum> LogicalResult arg(Node &n) {
  bool keep = n.integer("keepdims", 1), last = n.integer("select_last_index", 0);
  if (failed(n.expect(0, Kind::Number)))
    return failure();
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 0), n.rank(0));
  if (failed(dim))
    return failure();
  int64_t size = n.shape(0)[*dim];
  if (size == 0)
    return n.error() << "expected elements along dim " << *dim << " of " << n.describeOperand(0);
  Expr x = n.expr(0u);
  if (minimum) // ~x is -1 - x, or the largest number - x if unsigned, and never overflows
    x = isa<FloatType>(n.element(0)) ? -x : x.apply<NotOp>();
  std::optional<RunExtent> extent = n.extent(0);
  bool isAmongExtent = extent && extent->dim == *dim;
  if (isAmongExtent && last) // the last element has another index in each run
    return n.refuseExtent(0);
  x = n.neutralBehindExtent(0, x, {*dim}, -infinity);
  OpBuilder &b = n.builder();
  if (last)
    x = x.slice(*dim, size - 1, size, -1);
  Expr index = x.with(b.createOrFold<ArgmaxOp>(n.loc(), x, b.getI64IntegerAttr(*dim)));
  if (last)
    index = double(size - 1) - index;
  SmallVector<int64_t> kept(n.shape(0));
  kept[*dim] = 1;
  Expr result = keep ? index.reshape(kept) : index;
  if (!extent || isAmongExtent)
    return n.set(result);
  return n.setLike(0, result, keep || extent->dim < *dim ? extent->dim : extent->dim - 1);
}
} // namespace

void gradc::addReductionOps(OpTable &ops) {
  ops["ReduceSum"] = {reduction<sumOf, Kind::Number>, 1, 2};
  ops["ReduceMean"] = {reduction<mean, Kind::Float, 0.0, Empty::Error>, 1, 2};
  ops["ReduceProd"] = {reduction<prod, Kind::Number, 1.0>, 1, 2};
  ops["ReduceMax"] = {reduction<maximum, Kind::Any, -infinity, Empty::Lowest>, 1, 2};
  ops["ReduceMin"] = {reduction<minimum, Kind::Any, infinity, Empty::Highest>, 1, 2};
  ops["ReduceL1"] = {reduction<l1, Kind::Number>, 1, 2};
  ops["ReduceL2"] = {reduction<l2, Kind::Float>, 1, 2};
  ops["ReduceSumSquare"] = {reduction<sumSquare, Kind::Number>, 1, 2};
  ops["ReduceLogSum"] = {reduction<logSum, Kind::Float>, 1, 2};
  ops["ReduceLogSumExp"] = {reduction<logSumExp, Kind::Float, -infinity, Empty::Lowest>, 1, 2};
  takeExtents(ops, TakesExtents::itself,
              {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1",
               "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"});
  ops["ArgMax"] = {arg<false>, 1, 1};
  ops["ArgMin"] = {arg<true>, 1, 1};
  takeExtents(ops, TakesExtents::itself, {"ArgMax", "ArgMin"});
}
