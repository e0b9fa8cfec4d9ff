// Products between heads and the softmax of attention, grouped if query heads share keys.
#include "dialects/Pch.h"

#include "compiler/import/onnx/AttentionParts.h"

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

FailureOr<Type> gradc::softmaxType(Node &n, Type otherwise) {
  if (!n.has("softmax_precision"))
    return otherwise;
  int32_t number = int32_t(n.integer("softmax_precision", 0));
  Type element = elementType(*n.builder().getContext(), number);
  if (element && isa<FloatType>(element))
    return element;
  return n.error() << "expected a float type as softmax_precision, found " << dataTypeName(number);
}
