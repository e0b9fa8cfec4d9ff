// Attention in parts (two products around a softmax), and rotary position embeddings.
#include "dialects/Pch.h"

#include "compiler/import/onnx/AttentionParts.h"
#include "compiler/import/onnx/FlexAttention.h"
#include "compiler/import/onnx/Indices.h"
#include "compiler/import/onnx/LinearAttention.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Pick.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// [batch, positions, heads * size] as [batch, heads, positions, size].
static Expr splitHeads(Expr x, int64_t heads) {
  ArrayRef<int64_t> s = x.shape();
  return x.reshape({s[0], s[1], heads, s[2] / heads}).transpose({0, 2, 1, 3});
}

static Expr mergeHeads(Expr x) {
  ArrayRef<int64_t> s = x.shape();
  return x.transpose({0, 2, 1, 3}).reshape({s[0], s[2], s[1] * s[3]});
}

static LogicalResult expectHeads(Node &n, unsigned i, int64_t heads) {
  if (heads >= 1 && n.shape(i)[2] % heads == 0)
    return success();
  return n.error() << "expected a number of heads that divides dim 2 of " << n.describeOperand(i)
                   << ", found " << heads;
}

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
  if (bool(n.operand(4)) != bool(n.operand(5)))
    return n.error() << "expected past keys and past values, found one of them";
  for (auto [i, now] : {std::pair(4u, &h.key), std::pair(5u, &h.value)}) {
    if (!n.operand(i))
      continue;
    if (failed(n.expectSameElement(0, i)) || failed(n.expectRank(i, 4)))
      return failure();
    ArrayRef<int64_t> was = n.shape(i), is = now->shape();
    if (was.take_front(2) != is.take_front(2) || was[3] != is[3])
      return n.error() << "expected past keys and values like " << formatDims(is) << ", found "
                       << n.describeOperand(i);
    h.past = was[2];
    *now = now->with(
        n.builder().createOrFold<ConcatenateOp>(n.loc(), ValueRange{n.operand(i), Value(*now)}, 2));
  }
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
  // Each operand gets half of the scale, so that 16-bit products do not overflow.
  Expr scores = multiply(n, *heads, heads->query * std::sqrt(scale), heads->key * std::sqrt(scale),
                         /*transposeRhs=*/true);
  Expr shown = scores;
  if (cap > 0)
    scores = (scores / cap).apply<TanhOp>() * cap;
  shown = mode == 1 ? scores : shown;
  Expr nothing = scores.splat(-infinity);
  if (*allowed)
    scores = n.expr(n.broadcast(*allowed, scores.shape())).select(scores, nothing);
  if (*mask)
    scores = n.expr(3).element().isInteger(1) ? n.expr(*mask).select(scores, nothing)
                                              : scores + n.expr(*mask);
  shown = mode == 2 ? scores : shown;
  // Without masks, and with a causal mask only, each query sees at least one key.
  bool mayBeEmpty =
      *mask || n.operand(6) || n.has("left_window_size") || n.has("right_window_size");
  Expr weights = softmaxOverKeys(n, scores.cast(*precision), mayBeEmpty).cast(n.element(0));
  shown = mode == 3 ? weights : shown;
  Expr y = multiply(n, *heads, weights, heads->value, /*transposeRhs=*/false);
  (void)n.set(1, heads->key);
  (void)n.set(2, heads->value);
  (void)n.set(3, shown);
  return n.set(n.rank(0) == 3 ? mergeHeads(y) : y);
}

/// Rows of a table [positions, size / 2], selected by position_ids.
static FailureOr<Expr> pickAngles(Node &n, unsigned i, int64_t batch, int64_t positions) {
  if (failed(n.expectRank(i, 2)) || failed(n.expect(3, Kind::Int)))
    return failure();
  int64_t size = n.shape(i)[0];
  if (n.type(3).getNumElements() != batch * positions)
    return n.error() << "expected position_ids for " << batch << " rows of " << positions
                     << ", found " << n.describeOperand(3);
  Expr table = n.expr(i);
  if (auto known = n.tryKnown(3)) {
    SmallVector<int64_t> indices;
    for (int64_t k = 0; k < known->size(); ++k) {
      indices.push_back(known->getInt(k));
      if (indices.back() < 0 || indices.back() >= size)
        return n.error() << "expected position_ids from 0 to " << size - 1 << ", found "
                         << indices.back();
    }
    if (Value picked = pick(table, 0, indices))
      return table.with(picked).reshape({batch, positions, n.shape(i)[1]});
  }
  Expr ids = n.expr(3u).cast(n.builder().getI64Type()).reshape({batch, positions});
  if (failed(expectInRange(n, ids, size, "position_ids")))
    return failure();
  return table.with(n.builder().createOrFold<GatherOp>(
      n.loc(), table, ids.get(), ArrayRef<int64_t>{-1, 2}, ArrayRef<int64_t>{0, 1}));
}

/// One half of the table, [batch, positions, size / 2], selected by position_ids if there are any.
static FailureOr<Expr> readAngles(Node &n, unsigned i, int64_t batch, int64_t positions,
                                  int64_t half) {
  FailureOr<Expr> read = n.operand(3) ? pickAngles(n, i, batch, positions) : n.expr(i);
  if (failed(read))
    return failure();
  Expr table = *read;
  if (table.shape() != ArrayRef({batch, positions, half}))
    return n.error() << "expected a table of " << formatDims({batch, positions, half}) << ", found "
                     << n.describeOperand(i);
  return table;
}

/// Rotates pairs of numbers, (x[i], x[i + half]) or, if interleaved, (x[2 i], x[2 i + 1]), by
/// angles that depend on the position. Numbers past rotary_embedding_dim stay unchanged.
static LogicalResult importRotaryEmbedding(Node &n) {
  bool interleaved = n.integer("interleaved", 0);
  int64_t heads = n.integer("num_heads", 0), width = n.integer("rotary_embedding_dim", 0);
  for (unsigned i : {0u, 1u, 2u})
    if (failed(n.expect(i, Kind::Float)) || failed(n.expectSameElement(0, i)))
      return failure();
  if (n.rank(0) != 3 && failed(n.expectRank(0, 4)))
    return failure();
  if (n.rank(0) == 3 && failed(expectHeads(n, 0, heads)))
    return failure();
  Expr x = n.rank(0) == 3 ? splitHeads(n.expr(0u), heads) : n.expr(0u);
  SmallVector<int64_t> shape(x.shape());
  width = width ? width : shape[3];
  if (width < 2 || width % 2 || width > shape[3])
    return n.error() << "expected an even number of at most " << shape[3]
                     << " elements to rotate, found " << width;
  int64_t half = width / 2;
  FailureOr<Expr> cosine = readAngles(n, 1, shape[0], shape[2], half),
                  sine = readAngles(n, 2, shape[0], shape[2], half);
  if (failed(cosine) || failed(sine))
    return failure();

  OpBuilder &b = n.builder();
  auto join = [&](ArrayRef<Value> parts, int64_t dim) {
    return x.with(b.createOrFold<ConcatenateOp>(n.loc(), parts, dim));
  };
  Expr first = x.slice(3, 0, half, interleaved ? 2 : 1);
  Expr second = x.slice(3, interleaved ? 1 : half, half, interleaved ? 2 : 1);
  Expr c = cosine->broadcast(first.type(), {0, 2, 3}), s = sine->broadcast(first.type(), {0, 2, 3});
  Expr real = c * first - s * second, imaginary = s * first + c * second;
  SmallVector<int64_t> pairs{shape[0], shape[1], shape[2], half, 1};
  Expr rotated = interleaved ? join({real.reshape(pairs), imaginary.reshape(pairs)}, 4)
                                   .reshape({shape[0], shape[1], shape[2], width})
                             : join({real, imaginary}, 3);
  if (width < shape[3])
    rotated = join({rotated, x.slice(3, width, shape[3] - width)}, 3);
  return n.set(n.rank(0) == 3 ? mergeHeads(rotated) : rotated);
}

void gradc::addAttentionOps(OpTable &ops) {
  ops["Attention"] = {importAttention, 3, 7};
  ops["ai.onnx.preview::FlexAttention"] = {importFlexAttention, 3, 3};
  ops["LinearAttention"] = {importLinearAttention, 3, 6};
  ops["RotaryEmbedding"] = {importRotaryEmbedding, 3, 4};
}
