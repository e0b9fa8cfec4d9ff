// ONNX Runtime's MoE: all experts compute all tokens in two products, and those that a token does
// not choose have the weight 0.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/product/Experts.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

FailureOr<Experts> gradc::readExperts(Node &n, unsigned first) {
  constexpr unsigned router = 1;
  StringRef activation = n.string("activation_type", "relu");
  if (!llvm::is_contained({"relu", "gelu", "silu", "swiglu", "identity"}, activation))
    return n.error() << "expected activation_type relu, gelu, silu, swiglu or identity, found \""
                     << activation << "\"";
  for (StringRef name : {"use_sparse_mixer", "swiglu_limit_after_activation"})
    if (n.integer(name, 0))
      return n.error() << "cannot take " << name;
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectSameElement(0, router)) ||
      failed(n.expectRank(router, 2)) || failed(n.expectRank(first, 3)))
    return failure();
  if (n.rank(0) != 2 && n.rank(0) != 3)
    return n.error() << "expected rank 2 or 3, found " << n.describeOperand(0);
  bool isGated = activation == "swiglu";
  Experts e{llvm::product_of(n.shape(0).drop_back()),
            n.shape(0).back(),
            n.shape(first)[0],
            n.shape(first)[1],
            0,
            activation};
  e.inner = isGated ? e.wide / 2 : e.wide;
  if (llvm::is_contained({e.tokens, e.hidden, e.count, e.inner}, 0) || (isGated && e.wide % 2) ||
      n.shape(router) != ArrayRef({e.tokens, e.count}))
    return n.error() << "expected a number for each token and expert, and layers with elements, "
                        "found "
                     << n.describeOperand(router) << " and " << n.describeOperand(first);
  if (failed(n.expectSensible({e.tokens, e.count, e.wide})) ||
      failed(n.expectSensible({e.tokens, e.count, e.count})))
    return failure();
  return e;
}

static Expr multiply(Expr lhs, Expr rhs) {
  OpBuilder &b = lhs.getBuilder();
  return lhs.with(b.createOrFold<MatmulOp>(lhs.getLoc(), lhs, rhs, UnitAttr(),
                                           /*transpose_rhs=*/b.getUnitAttr()));
}

/// What activates the first layer x [tokens, experts, wide].
static FailureOr<Expr> activate(Node &n, const Experts &e, Expr x) {
  OpBuilder &b = n.builder();
  double slope = n.real("activation_alpha", 1), shift = n.real("activation_beta", 0);
  double limit = n.real("swiglu_limit", std::numeric_limits<double>::infinity());
  int64_t fusion = n.integer("swiglu_fusion", 0);
  if (e.activation == "relu")
    return x.apply<ReluOp>();
  if (e.activation == "gelu")
    return x.with(b.createOrFold<GeluOp>(n.loc(), x.get(), /*approximate=*/b.getUnitAttr()));
  if (e.activation == "silu")
    return x.apply<SiluOp>();
  if (e.activation == "identity")
    return x;
  if (fusion != 1 && fusion != 2)
    return n.error() << "expected swiglu_fusion 1 or 2, found " << fusion;
  if (!(limit >= 0))
    return n.error() << "expected a swiglu_limit of 0 or more, found " << limit;
  bool alternates = fusion == 1;
  Expr gate = x.slice(2, 0, e.inner, alternates ? 2 : 1);
  Expr linear = x.slice(2, alternates ? 1 : e.inner, e.inner, alternates ? 2 : 1);
  auto clamp = [&](Expr value, double low) {
    return value.with(
        b.createOrFold<ClampOp>(n.loc(), value, b.getF64FloatAttr(low), b.getF64FloatAttr(limit)));
  };
  if (n.has("swiglu_limit")) {
    gate = clamp(gate, -std::numeric_limits<double>::infinity());
    linear = clamp(linear, -limit);
  }
  Expr swish = gate.with(b.createOrFold<SwishOp>(n.loc(), gate.get(), b.getF64FloatAttr(slope)));
  return swish * (linear + shift);
}

namespace {
/// Which experts a token chooses, and their weights: [tokens, experts].
struct Routing {
  Expr isChosen, weights;
};
} // namespace

static FailureOr<Routing> route(Node &n, const Experts &e, bool normalizes) {
  OpBuilder &b = n.builder();
  int64_t chosen = n.integer("k", 1);
  if (chosen < 1 || chosen > e.count)
    return n.error() << "expected k from 1 to " << e.count << ", found " << chosen;
  Expr numbers = n.expr(1u).wide();
  auto pairs = RankedTensorType::get({e.tokens, chosen, e.count}, b.getI64Type());
  Expr top =
      numbers.with(argsort(numbers, 1, chosen, /*descending=*/true)).broadcast(pairs, {0, 1});
  Expr isChosen =
      any(top.compare(ComparePredicate::eq, n.expr(IotaOp::create(b, n.loc(), pairs, 2))), 1);
  Expr weights = numbers.with(b.createOrFold<SoftmaxOp>(n.loc(), numbers, b.getI64IntegerAttr(1)));
  weights = isChosen.select(weights, weights.splat(0));
  if (normalizes)
    weights = weights / weights.sum({1}).broadcast(weights.type(), {0});
  return Routing{isChosen, weights.cast(n.element(0))};
}

/// Operand `i`, if there is one: a bias [experts, size].
static LogicalResult expectBias(Node &n, unsigned i, ArrayRef<int64_t> shape) {
  if (!n.operand(i))
    return success();
  if (failed(n.expectSameElement(0, i)))
    return failure();
  if (n.shape(i) == shape)
    return success();
  return n.error() << "expected a bias " << formatDims(shape) << ", found " << n.describeOperand(i);
}

LogicalResult gradc::setMixture(Node &n, const Experts &e, const ExpertLayer &first,
                                const ExpertLayer &second, bool normalizes) {
  if (failed(expectBias(n, first.bias, {e.count, e.wide})) ||
      failed(expectBias(n, second.bias, {e.count, e.hidden})))
    return failure();
  FailureOr<Routing> routing = route(n, e, normalizes);
  if (failed(routing))
    return failure();
  Expr x = n.expr(0u).reshape({e.tokens, e.hidden});
  Expr y = multiply(x, first.weights.reshape({e.count * e.wide, e.hidden}))
               .reshape({e.tokens, e.count, e.wide});
  if (n.operand(first.bias))
    y = y + n.expr(first.bias).broadcast(y.type(), {1, 2});
  FailureOr<Expr> activated = activate(n, e, y);
  if (failed(activated))
    return failure();
  Expr a = *activated;
  a = a * routing->weights.broadcast(a.type(), {0, 1});
  // An expert without weight adds nothing, even if its numbers are infinite.
  Expr isChosen = routing->isChosen.broadcast(a.type().clone(n.builder().getI1Type()), {0, 1});
  a = isChosen.select(a, a.splat(0)).reshape({e.tokens, e.count * e.inner});
  Expr columns = second.weights.transpose({1, 0, 2}).reshape({e.hidden, e.count * e.inner});
  Expr sum = multiply(a, columns);
  if (n.operand(second.bias))
    sum = sum + multiply(routing->weights, n.expr(second.bias).transpose({1, 0}));
  return n.set(sum.reshape(n.shape(0)));
}

static LogicalResult importMoE(Node &n) {
  constexpr unsigned first = 2, firstBias = 3, second = 4, secondBias = 5, third = 6;
  if (n.operand(third))
    return n.error() << "cannot take a third layer, found " << n.describeOperand(third);
  if (!n.operand(second))
    return n.error() << "operand " << second << " is missing";
  FailureOr<Experts> e = readExperts(n, first);
  if (failed(e))
    return failure();
  for (auto [i, shape] : {std::pair(first, e->firstShape()), std::pair(second, e->secondShape())}) {
    if (failed(n.expectSameElement(0, i)))
      return failure();
    if (n.shape(i) != ArrayRef(shape))
      return n.error() << "expected weights " << formatDims(shape) << ", found "
                       << n.describeOperand(i);
  }
  bool normalizes = n.integer("normalize_routing_weights", 0);
  return setMixture(n, *e, {n.expr(first), firstBias}, {n.expr(second), secondBias}, normalizes);
}

void gradc::addExpertsOps(OpTable &ops) { ops["com.microsoft::MoE"] = {importMoE, 3, 8}; }
