// Operators that ONNX Runtime's optimizer writes into diffusion models: group normalization, of a
// tensor or a sum, and sums with a bias.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Norm.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Operand `i`, a vector, along dim `dim` of `x` and in its type.
static FailureOr<Expr> along(Node &n, unsigned i, Expr x, int64_t dim) {
  if (failed(n.expect(i, Kind::Float)))
    return failure();
  if (n.rank(i) != 1 || n.shape(i)[0] != x.shape()[dim])
    return n.error() << "expected " << x.shape()[dim] << " elements, found "
                     << n.describeOperand(i);
  return n.expr(i).cast(x.element()).broadcast(x.type(), {dim});
}

/// The dim with the channels of operand 0.
static FailureOr<int64_t> channelDim(Node &n) {
  int64_t dim = n.integer("channels_last", 1) ? n.rank(0) - 1 : 1;
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  if (n.rank(0) < 3)
    return n.error() << "expected rank 3 or more, found " << n.describeOperand(0);
  return dim;
}

/// The normalization of `x` over groups of its channels, dim `dim`, with scale and bias of operands
/// 1 and 2, and maybe SiLU.
static LogicalResult setNormalized(Node &n, Expr x, int64_t dim) {
  double epsilon = n.real("epsilon", 1e-5f);
  int64_t groups = n.integer("groups", 0), activation = n.integer("activation", 0);
  int64_t channels = x.shape()[dim];
  if (groups < 1 || channels % groups != 0)
    return n.error() << "expected groups that divide " << channels << " channels, found " << groups;
  if (activation != 0 && activation != 1)
    return n.error() << "expected activation 0 (none) or 1 (SiLU), found " << activation;
  SmallVector<int64_t> grouped(x.shape());
  grouped[dim] = channels / groups;
  grouped.insert(grouped.begin() + dim, groups);
  Expr wide = x.wide();
  auto normalized =
      normalize(n, wide.reshape(grouped), otherDims(int64_t(grouped.size()), {0, dim}), epsilon);
  if (failed(normalized))
    return failure();
  Expr y = normalized->result.reshape(x.shape());
  FailureOr<Expr> scale = along(n, 1, y, dim);
  FailureOr<Expr> bias = failed(scale) ? scale : along(n, 2, y, dim);
  if (failed(bias))
    return failure();
  y = y * *scale + *bias;
  return n.set((activation ? y.apply<SiluOp>() : y).cast(x.element()));
}

static LogicalResult importGroupNorm(Node &n) {
  FailureOr<int64_t> dim = channelDim(n);
  return failed(dim) ? failure() : setNormalized(n, n.expr(0u), *dim);
}

/// Of the sum of operand 0, operand 3, which may be one for all positions, and a bias; result 1 is
/// the sum.
static LogicalResult importSkipGroupNorm(Node &n) {
  constexpr unsigned skip = 3, bias = 4;
  FailureOr<int64_t> dim = channelDim(n);
  if (failed(dim) || failed(n.expectSameElement(0, skip)))
    return failure();
  Expr sum = n.expr(0u);
  SmallVector<int64_t> shape(n.shape(skip));
  if (shape == ArrayRef({sum.shape()[0], sum.shape()[*dim]})) { // of each row and channel
    shape.assign(sum.shape().size(), 1);
    shape[0] = sum.shape()[0];
    shape[*dim] = sum.shape()[*dim];
  }
  auto common = broadcastShape(sum.shape(), shape);
  if (!common || ArrayRef(*common) != sum.shape())
    return n.error() << "expected a tensor that broadcasts to " << n.describeOperand(0)
                     << ", found " << n.describeOperand(skip);
  sum = sum + n.expr(n.broadcast(n.expr(skip).reshape(shape), sum.shape()));
  if (n.operand(bias)) {
    FailureOr<Expr> added = along(n, bias, sum, *dim);
    if (failed(added))
      return failure();
    sum = sum + *added;
  }
  (void)n.set(1, sum);
  return setNormalized(n, sum, *dim);
}

/// Operand 0 and a bias along its last dim.
static FailureOr<Expr> biased(Node &n) {
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectRank(0, 3)))
    return failure();
  Expr x = n.expr(0u);
  FailureOr<Expr> bias = along(n, 1, x, 2);
  if (failed(bias))
    return failure();
  return x + *bias;
}

static LogicalResult importBiasAdd(Node &n) {
  constexpr unsigned skip = 2;
  FailureOr<Expr> sum = biased(n);
  if (failed(sum) || failed(n.expectSameElement(0, skip)))
    return failure();
  if (n.shape(skip) != n.shape(0))
    return n.error() << "expected operands of one shape, found " << n.describeOperand(0) << " and "
                     << n.describeOperand(skip);
  return n.set(*sum + n.expr(skip));
}

/// Of the sum's columns, the first half times GELU of the second.
static LogicalResult importBiasSplitGelu(Node &n) {
  FailureOr<Expr> sum = biased(n);
  if (failed(sum))
    return failure();
  int64_t half = n.shape(0)[2] / 2;
  if (n.shape(0)[2] % 2)
    return n.error() << "expected an even number of columns, found " << n.describeOperand(0);
  Expr gate = sum->slice(2, half, half);
  gate = gate.with(n.builder().createOrFold<GeluOp>(n.loc(), gate.get(), UnitAttr()));
  return n.set(sum->slice(2, 0, half) * gate);
}

void gradc::addDiffusionOps(OpTable &ops) {
  ops["com.microsoft::GroupNorm"] = {importGroupNorm, 3, 3};
  ops["com.microsoft::SkipGroupNorm"] = {importSkipGroupNorm, 4, 5};
  ops["com.microsoft::BiasAdd"] = {importBiasAdd, 3, 3};
  ops["com.microsoft::BiasSplitGelu"] = {importBiasSplitGelu, 2, 2};
}
