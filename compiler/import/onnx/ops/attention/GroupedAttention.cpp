// ONNX Runtime's GroupQueryAttention: causal attention that rotates queries and keys and writes
// keys and values to a cache.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/attention/AttentionParts.h"
#include "compiler/import/onnx/ops/attention/Rotary.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// The operator's operands.
enum Operand : unsigned {
  query,
  key,
  value,
  pastKey,
  pastValue,
  lengths, ///< for each row, the position of its last key
  total,   ///< the largest number of keys of a row, past ones included
  cosines,
  sines,
  positions,
  bias,
  sinks,
  operandsTaken
};
} // namespace

/// Query, key and value, or all three in operand 0, whose heads follow each other.
static FailureOr<Heads> readHeads(Node &n) {
  int64_t queries = n.integer("num_heads", 0), keys = n.integer("kv_num_heads", 0);
  if (bool(n.operand(key)) != bool(n.operand(value)))
    return n.error() << "expected keys and values, found one of them";
  for (unsigned i : {query, key, value})
    if (n.operand(i) && (failed(n.expect(i, Kind::Float)) || failed(n.expectRank(i, 3)) ||
                         failed(n.expectSameElement(query, i))))
      return failure();
  if (queries < 1 || keys < 1 || queries % keys != 0)
    return n.error() << "expected kv_num_heads that divides num_heads, found " << keys << " and "
                     << queries;
  if (n.operand(key)) {
    if (failed(expectHeads(n, query, queries)) || failed(expectHeads(n, key, keys)) ||
        failed(expectHeads(n, value, keys)))
      return failure();
    return Heads{splitHeads(n.expr(query), queries), splitHeads(n.expr(key), keys),
                 splitHeads(n.expr(value), keys), 0};
  }
  int64_t all = queries + 2 * keys;
  if (failed(expectHeads(n, query, all)))
    return failure();
  Expr x = splitHeads(n.expr(query), all);
  return Heads{x.slice(1, 0, queries), x.slice(1, queries, keys), x.slice(1, queries + keys, keys),
               0};
}

namespace {
/// Where the node's steps are in the cache.
struct Steps {
  int64_t capacity;           ///< of the cache that results
  std::optional<Expr> starts; ///< i64 [batch]; without, all rows start the cache
};
} // namespace

static FailureOr<Steps> readSteps(Node &n, const Heads &h) {
  int64_t batch = h.query.shape()[0], steps = h.query.shape()[2];
  for (unsigned i : {lengths, total})
    if (!n.operand(i))
      return n.error() << "operand " << i << " is missing";
  if (failed(n.expect(lengths, Kind::Int)))
    return failure();
  if (n.type(lengths).getNumElements() != batch)
    return n.error() << "expected a length for each of " << batch << " rows, found "
                     << n.describeOperand(lengths);
  auto known = n.knownInts(total, "the total sequence length");
  FailureOr<int64_t> past = expectPast(n, pastKey, h);
  if (failed(known) || failed(past))
    return failure();
  if (known->size() != 1 || known->front() < steps)
    return n.error() << "expected a total sequence length of at least " << steps << ", found "
                     << formatDims(*known);
  if (known->front() == steps)
    return Steps{std::max(*past, steps), std::nullopt};
  if (!n.operand(pastKey))
    return n.error() << "expected past keys and values for a total sequence length of "
                     << known->front() << ", which exceeds the " << steps << " steps of "
                     << n.describeOperand(query);
  Type i64 = n.builder().getI64Type();
  Expr last = n.expr(lengths).cast(i64).reshape({batch});
  Expr starts = last - double(steps - 1);
  int64_t capacity = std::max(*past, known->front());
  // Fewer keys than steps would otherwise be written at the end of the cache.
  if (failed(expectFromFront(n, starts, capacity, "the cache, from seqlens_k")))
    return failure();
  return Steps{capacity, starts};
}

/// Positions in a cache as i64 [batch, steps], if not all rows start it.
static Expr positionsOf(Node &n, const Heads &h, Expr starts) {
  auto type = starts.type().clone({h.query.shape()[0], h.query.shape()[2]});
  return n.expr(IotaOp::create(n.builder(), n.loc(), type, 1)) + starts.broadcast(type, {0});
}

/// Rotates queries and keys by their positions.
static LogicalResult rotateHeads(Node &n, Heads &h, const Steps &s) {
  bool interleaved = n.integer("rotary_interleaved", 0);
  if (n.integer("do_rotary", 0) == 0)
    return success();
  markTables(n, cosines, sines);
  int64_t batch = h.query.shape()[0], steps = h.query.shape()[2], size = h.query.shape()[3];
  std::optional<Expr> ids;
  if (n.operand(positions)) {
    if (failed(n.expect(positions, Kind::Int)))
      return failure();
    if (n.shape(positions) != ArrayRef({batch, steps}))
      return n.error() << "expected position_ids for " << batch << " rows of " << steps
                       << ", found " << n.describeOperand(positions);
    ids = n.expr(positions);
  } else if (s.starts) {
    ids = positionsOf(n, h, *s.starts);
  }
  SmallVector<Expr> angles;
  for (unsigned i : {cosines, sines}) {
    if (!n.operand(i))
      return n.error() << "operand " << i << " is missing";
    if (failed(n.expectSameElement(query, i)) || failed(n.expectRank(i, 2)))
      return failure();
    if (n.shape(i)[1] < 1 || 2 * n.shape(i)[1] > size || n.shape(i)[1] != n.shape(cosines)[1])
      return n.error() << "expected two tables with 1 to " << size / 2 << " columns, found "
                       << n.describeOperand(i);
    FailureOr<Expr> read = ids ? pickAngles(n, i, *ids) : sliceAngles(n, i, 0, steps, batch);
    if (failed(read))
      return failure();
    angles.push_back(*read);
  }
  h.query = rotate(h.query, angles[0], angles[1], interleaved);
  h.key = rotate(h.key, angles[0], angles[1], interleaved);
  return success();
}

/// The cache, operand `past`, with `now` in its place. What is past a row's last key is
/// unspecified.
static FailureOr<Expr> writeCache(Node &n, unsigned past, Expr now, const Heads &h,
                                  const Steps &s) {
  OpBuilder &b = n.builder();
  int64_t steps = now.shape()[2], length = n.operand(past) ? n.shape(past)[2] : 0;
  if (!s.starts) {
    if (length <= steps)
      return now;
    Expr rest = n.expr(past).slice(2, steps, length - steps);
    return now.with(concatenate(b, n.loc(), {now.get(), rest.get()}, 2));
  }
  Expr cache = padAround(n.expr(past), {0, 0, 0, 0}, {0, 0, s.capacity - length, 0});
  Expr indices = positionsOf(n, h, *s.starts);
  if (failed(expectInRange(n, indices, s.capacity, "the cache, from seqlens_k")))
    return failure();
  return now.with(b.createOrFold<ScatterOp>(n.loc(), cache.type(), cache.get(), indices.get(), now,
                                            ScatterReduction::replace, elementDims(4, 2),
                                            ArrayRef<int64_t>{0, 2}));
}

/// The keys up to a query's own position, and in its window.
static Expr seenKeys(Node &n, const Heads &h, const Steps &s, int64_t window) {
  OpBuilder &b = n.builder();
  int64_t rows = s.starts ? h.query.shape()[0] : 1;
  auto type =
      RankedTensorType::get({rows, 1, h.query.shape()[2], h.key.shape()[2]}, b.getI64Type());
  Expr at = n.expr(IotaOp::create(b, n.loc(), type, 2));
  if (s.starts)
    at = at + s.starts->broadcast(type, {0});
  Expr distance = at - n.expr(IotaOp::create(b, n.loc(), type, 3));
  Expr seen = distance.compare(ComparePredicate::ge, distance.splat(0));
  if (window > 0)
    seen =
        seen.apply<AndOp>(distance.compare(ComparePredicate::lt, distance.splat(double(window))));
  return seen;
}

/// attention_bias for all keys of the cache: what it does not cover is not seen.
static FailureOr<Value> readBias(Node &n, const Heads &h) {
  if (!n.operand(bias))
    return Value();
  if (failed(n.expectSameElement(query, bias)) || failed(n.expectRank(bias, 4)))
    return failure();
  SmallVector<int64_t> scores = h.scoresShape();
  int64_t missing = scores[3] - n.shape(bias)[3];
  Expr all = n.expr(bias);
  if (missing > 0)
    all = padAround(all, {0, 0, 0, 0}, {0, 0, 0, missing});
  auto common = broadcastShape(all.shape(), scores);
  if (!common || *common != scores)
    return n.error() << "expected an attention_bias that broadcasts to " << formatDims(scores)
                     << ", found " << n.describeOperand(bias);
  return Value(all);
}

/// Scores of the softmax that belong to no key: one per head, or 0 with smooth_softmax.
static FailureOr<Value> readSinks(Node &n, int64_t heads) {
  bool smooth = n.integer("smooth_softmax", 0) == 1;
  if (n.operand(sinks)) {
    if (failed(n.expect(sinks, Kind::Float)) || failed(n.expectRank(sinks, 1)))
      return failure();
    if (n.shape(sinks)[0] != heads)
      return n.error() << "expected a sink for each of " << heads << " heads, found "
                       << n.describeOperand(sinks);
    return n.operand(sinks);
  }
  if (!smooth)
    return Value();
  return splat(n.builder(), n.loc(), RankedTensorType::get({heads}, n.element(query)), 0);
}

static LogicalResult importGroupQueryAttention(Node &n) {
  for (StringRef type : {"k_quant_type", "v_quant_type"})
    if (n.string(type, "NONE") != "NONE")
      return n.error() << "cannot take quantized keys and values";
  for (StringRef unused : {"kv_cache_bit_width", "qk_output"})
    n.ignore(unused);
  FailureOr<Heads> heads = readHeads(n);
  if (failed(heads) || failed(expectHeadShapes(n, *heads)))
    return failure();
  Heads &h = *heads;
  FailureOr<Steps> steps = readSteps(n, h);
  if (failed(steps) || failed(rotateHeads(n, h, *steps)))
    return failure();
  FailureOr<Expr> keys = writeCache(n, pastKey, h.key, h, *steps),
                  values = writeCache(n, pastValue, h.value, h, *steps);
  if (failed(keys) || failed(values))
    return failure();
  h.key = *keys;
  h.value = *values;
  if (failed(expectHeadShapes(n, h)) || failed(n.expectSensible(h.scoresShape())))
    return failure();
  Weighing how;
  how.scale = n.real("scale", 0);
  how.cap = n.real("softcap", 0);
  how.precision = accumulatorOf(n.element(query));
  if (how.scale == 0)
    how.scale = 1 / std::sqrt(double(h.query.shape()[3]));
  if (!(how.scale > 0))
    return n.error() << "expected a scale of at least 0, found " << how.scale;
  FailureOr<Value> added = readBias(n, h), sink = readSinks(n, h.query.shape()[1]);
  if (failed(added) || failed(sink))
    return failure();
  how.seen.push_back(seenKeys(n, h, *steps, n.integer("local_window_size", -1)));
  how.added = *added;
  how.sink = *sink;
  Expr y = multiply(n, h, weigh(n, h, how).weights, h.value, /*transposeRhs=*/false);
  (void)n.set(1, h.key);
  (void)n.set(2, h.value);
  return n.set(mergeHeads(y));
}

void gradc::addGroupedAttentionOps(OpTable &ops) {
  ops["com.microsoft::GroupQueryAttention"] = {importGroupQueryAttention, 1, operandsTaken};
}
