// Products between heads and the softmax of attention, grouped if query heads share keys.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/attention/AttentionParts.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static constexpr double infinity = std::numeric_limits<double>::infinity();

LogicalResult gradc::expectHeadShapes(Node &n, const Heads &h) {
  ArrayRef<int64_t> q = h.query.shape(), k = h.key.shape(), v = h.value.shape();
  if (q[0] == k[0] && k.drop_back() == v.drop_back() && q[3] == k[3] && q[1] > 0 && k[1] > 0 &&
      q[1] % k[1] == 0 && k[2] > 0)
    return success();
  return n.error() << "expected queries [B, H, S, D], keys [B, h, T, D] and values [B, h, T, E] "
                      "where h divides H and neither H nor T is 0, found "
                   << formatDims(q) << ", " << formatDims(k) << " and " << formatDims(v);
}

Expr gradc::splitHeads(Expr x, int64_t heads) {
  ArrayRef<int64_t> s = x.shape();
  return x.reshape({s[0], s[1], heads, s[2] / heads}).transpose({0, 2, 1, 3});
}

Expr gradc::mergeHeads(Expr x) {
  ArrayRef<int64_t> s = x.shape();
  return x.transpose({0, 2, 1, 3}).reshape({s[0], s[2], s[1] * s[3]});
}

LogicalResult gradc::expectHeads(Node &n, unsigned i, int64_t heads) {
  if (heads >= 1 && n.shape(i)[2] % heads == 0)
    return success();
  return n.error() << "expected a number of heads that divides dim 2 of " << n.describeOperand(i)
                   << ", found " << heads;
}

FailureOr<int64_t> gradc::expectPast(Node &n, unsigned first, const Heads &h) {
  if (bool(n.operand(first)) != bool(n.operand(first + 1)))
    return n.error() << "expected past keys and past values, found one of them";
  int64_t past = 0;
  for (auto [i, now] : {std::pair(first, h.key), std::pair(first + 1, h.value)}) {
    if (!n.operand(i))
      continue;
    if (failed(n.expectSameElement(0, i)) || failed(n.expectRank(i, 4)))
      return failure();
    ArrayRef<int64_t> was = n.shape(i), is = now.shape();
    if (was.take_front(2) != is.take_front(2) || was[3] != is[3])
      return n.error() << "expected past keys and values like " << formatDims(is) << ", found "
                       << n.describeOperand(i);
    if (i != first && was[2] != past)
      return n.error() << "expected " << past << " past values, as there are past keys, found "
                       << n.describeOperand(i);
    past = was[2];
  }
  return past;
}

LogicalResult gradc::prependPast(Node &n, unsigned first, Heads &h) {
  FailureOr<int64_t> past = expectPast(n, first, h);
  if (failed(past))
    return failure();
  for (auto [i, now] : {std::pair(first, &h.key), std::pair(first + 1, &h.value)})
    if (n.operand(i))
      *now = now->with(n.builder().createOrFold<ConcatenateOp>(
          n.loc(), ValueRange{n.operand(i), Value(*now)}, 2));
  h.past = *past;
  return success();
}

Expr gradc::multiply(Node &n, const Heads &h, Expr lhs, Expr rhs, bool transposeRhs) {
  ArrayRef<int64_t> s = lhs.shape();
  Expr rows = lhs.reshape({s[0], s[1] / h.group(), h.group() * s[2], s[3]});
  UnitAttr transposed = transposeRhs ? n.builder().getUnitAttr() : UnitAttr();
  Expr product =
      lhs.with(n.builder().createOrFold<MatmulOp>(n.loc(), rows, rhs, UnitAttr(), transposed));
  return product.reshape({s[0], s[1], s[2], product.shape()[3]});
}

Expr gradc::softmaxOverKeys(Node &n, Expr scores, bool mayBeEmpty) {
  OpBuilder &b = n.builder();
  auto softmax = [&](Expr x) {
    return x.with(b.createOrFold<SoftmaxOp>(n.loc(), x, b.getI64IntegerAttr(3)));
  };
  if (!mayBeEmpty)
    return softmax(scores);
  Expr top = scores.with(b.createOrFold<ReduceMaxOp>(n.loc(), scores, ArrayRef<int64_t>{3}));
  Expr isEmpty = top.compare(ComparePredicate::eq, top.splat(-infinity));
  isEmpty = isEmpty.broadcast(scores.type().clone(b.getI1Type()), {0, 1, 2});
  Expr zero = scores.splat(0);
  return isEmpty.select(zero, softmax(isEmpty.select(zero, scores)));
}

/// The softmax over keys and a score of each head, which takes its part of the weights.
static Expr softmaxBesideSink(Node &n, Expr scores, Expr sink) {
  OpBuilder &b = n.builder();
  SmallVector<int64_t> one(scores.shape());
  one[3] = 1;
  Expr column =
      sink.cast(scores.element()).broadcast(RankedTensorType::get(one, scores.element()), {1});
  Expr joined = scores.with(concatenate(b, n.loc(), {scores.get(), column.get()}, 3));
  Expr weights = joined.with(b.createOrFold<SoftmaxOp>(n.loc(), joined, b.getI64IntegerAttr(3)));
  return weights.slice(3, 0, scores.shape()[3]);
}

Weighed gradc::weigh(Node &n, const Heads &h, const Weighing &how) {
  // Each operand gets half of the scale, so that 16-bit products do not overflow.
  double half = std::sqrt(how.scale);
  Expr product = multiply(n, h, h.query * half, h.key * half, /*transposeRhs=*/true);
  Expr capped = how.cap > 0 ? (product / how.cap).apply<TanhOp>() * how.cap : product;
  Expr masked = capped, nothing = capped.splat(-infinity);
  for (Value seen : how.seen)
    masked = n.expr(n.broadcast(seen, masked.shape())).select(masked, nothing);
  if (how.added)
    masked = masked + n.expr(n.broadcast(how.added, masked.shape()));
  Expr scores = masked.cast(how.precision);
  Expr weights = how.sink ? softmaxBesideSink(n, scores, n.expr(how.sink))
                          : softmaxOverKeys(n, scores, how.mayBeEmpty);
  return {product, capped, masked, weights.cast(product.element())};
}

FailureOr<Type> gradc::softmaxType(Node &n, Type otherwise) {
  if (!n.has("softmax_precision"))
    return otherwise;
  int32_t number = int32_t(n.integer("softmax_precision", 0));
  Type element = elementType(*n.builder().getContext(), number);
  if (element && isa<FloatType>(element))
    return element;
  return n.error() << "expected a float type as softmax_precision, found " << dataTypeName(number);
}
