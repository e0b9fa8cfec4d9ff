// Attention in parts: two products around a softmax.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/attention/AttentionParts.h"
#include "compiler/import/onnx/ops/attention/FlexAttention.h"
#include "compiler/import/onnx/ops/attention/LinearAttention.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static FailureOr<Heads> readHeads(Node &n) {
  for (unsigned i : {0u, 1u, 2u})
    if (failed(n.expect(i, Kind::Float)) || failed(n.expectRank(i, n.rank(0))) ||
        failed(n.expectSameElement(0, i)))
      return failure();
  Heads h{n.expr(0u), n.expr(1u), n.expr(2u), 0};
  int64_t queries = n.integer("q_num_heads", 0), keys = n.integer("kv_num_heads", 0);
  if (n.rank(0) == 3) {
    if (failed(expectHeads(n, 0, queries)) || failed(expectHeads(n, 1, keys)) ||
        failed(expectHeads(n, 2, keys)))
      return failure();
    h = {splitHeads(h.query, queries), splitHeads(h.key, keys), splitHeads(h.value, keys), 0};
  } else if (n.rank(0) != 4) {
    return n.error() << "expected rank 3 or 4, found " << n.describeOperand(0);
  }
  if (failed(prependPast(n, 4, h)))
    return failure();
  if (failed(expectHeadShapes(n, h)))
    return failure();
  return h;
}

/// The keys that a query may see by position: no later keys (causal), no keys outside its window,
/// no padding. Null if it may see all keys.
static FailureOr<Value> visible(Node &n, const Heads &h) {
  bool causal = n.integer("is_causal", 0);
  int64_t left = n.integer("left_window_size", -1), right = n.integer("right_window_size", -1);
  SmallVector<int64_t> shape = h.scoresShape();
  shape[1] = 1;
  if (!n.operand(6))
    shape[0] = 1; // the same for all rows
  OpBuilder &b = n.builder();
  auto type = RankedTensorType::get(shape, b.getI64Type());
  std::optional<Expr> lengths;
  if (n.operand(6)) {
    if (failed(n.expect(6, Kind::Int)) || failed(n.expectRank(6, 1)))
      return failure();
    if (n.shape(6)[0] != shape[0] || n.operand(4))
      return n.error() << "expected a length for each of " << shape[0]
                       << " rows and no past keys, found " << n.describeOperand(6);
    lengths = n.expr(6).cast(b.getI64Type()).broadcast(type, {0});
  }
  if (left < -1 || right < -1)
    return n.error() << "expected window sizes of -1 or more, found " << left << " and " << right;
  std::optional<Expr> allowed;
  auto also = [&](Expr condition) {
    allowed = allowed ? allowed->apply<AndOp>(condition) : condition;
  };
  Expr key = n.expr(IotaOp::create(b, n.loc(), type, 3));
  if (causal || left >= 0 || right >= 0) {
    Expr query = n.expr(IotaOp::create(b, n.loc(), type, 2)) + double(h.past);
    if (lengths)
      query = query + (*lengths - double(shape[2]));
    Expr distance = query - key;
    if (causal)
      also(distance.compare(ComparePredicate::ge, distance.splat(0)));
    if (left >= 0)
      also(distance.compare(ComparePredicate::le, distance.splat(double(left))));
    if (right >= 0)
      also(distance.compare(ComparePredicate::ge, distance.splat(-double(right))));
  }
  if (lengths)
    also(key.compare(ComparePredicate::lt, *lengths));
  return allowed ? Value(*allowed) : Value();
}

/// attn_mask extended to all keys; keys that it does not cover are masked. Before opset 24, which
/// defined this, a mask of one key is broadcast. Null if there is no mask.
static FailureOr<Value> readMask(Node &n, const Heads &h) {
  if (!n.operand(3))
    return Value();
  SmallVector<int64_t> shape = h.scoresShape();
  bool isBool = n.element(3).isInteger(1);
  if (!isBool && failed(n.expectSameElement(0, 3)))
    return failure();
  Expr mask = n.expr(3);
  int64_t rank = n.rank(3), missing = rank ? shape[3] - n.shape(3)[rank - 1] : 0;
  if (missing > 0 && (n.opset() >= 24 || n.shape(3)[rank - 1] > 1)) {
    SmallVector<int64_t> none(rank, 0), high(rank, 0);
    high[rank - 1] = missing;
    mask = padAround(mask, none, high, isBool ? 0 : -infinity);
  }
  auto common = broadcastShape(mask.shape(), shape);
  if (!common || *common != shape)
    return n.error() << "expected a mask that broadcasts to " << formatDims(shape) << ", found "
                     << n.describeOperand(3);
  return n.broadcast(mask, shape);
}

static LogicalResult importAttention(Node &n) {
  FailureOr<Heads> heads = readHeads(n);
  if (failed(heads) || failed(n.expectSensible(heads->scoresShape())))
    return failure();
  double cap = n.real("softcap", 0);
  double scale = n.real("scale", 1 / std::sqrt(double(heads->query.shape()[3])));
  int64_t mode = n.integer("qk_matmul_output_mode", 0);
  FailureOr<Value> mask = readMask(n, *heads), allowed = visible(n, *heads);
  FailureOr<Type> precision = softmaxType(n, n.element(0));
  if (failed(mask) || failed(allowed) || failed(precision))
    return failure();
  if (!(scale >= 0) || mode < 0 || mode > 3)
    return n.error()
           << "expected a scale of at least 0 and qk_matmul_output_mode from 0 to 3, found "
           << scale << " and " << mode;
  Weighing how;
  how.scale = scale;
  how.cap = cap;
  how.precision = *precision;
  if (*allowed)
    how.seen.push_back(*allowed);
  if (*mask && n.expr(3).element().isInteger(1))
    how.seen.push_back(*mask);
  else
    how.added = *mask;
  // Without masks, and with a causal mask only, each query sees at least one key.
  how.mayBeEmpty = *mask || n.operand(6) || n.has("left_window_size") || n.has("right_window_size");
  Weighed w = weigh(n, *heads, how);
  Expr shown[] = {w.product, w.capped, w.masked, w.weights};
  Expr y = multiply(n, *heads, w.weights, heads->value, /*transposeRhs=*/false);
  (void)n.set(1, heads->key);
  (void)n.set(2, heads->value);
  (void)n.set(3, shown[mode]);
  return n.set(n.rank(0) == 3 ? mergeHeads(y) : y);
}

void gradc::addAttentionOps(OpTable &ops) {
  ops["Attention"] = {importAttention, 3, 7};
  ops["ai.onnx.preview::FlexAttention"] = {importFlexAttention, 3, 3};
  ops["LinearAttention"] = {importLinearAttention, 3, 6};
}
