// ONNX Runtime's MultiHeadAttention and Attention, which its optimizer makes of attention in parts,
// and QAttention, which its quantization makes of Attention.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Products.h"
#include "compiler/import/onnx/ops/attention/AttentionParts.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// The operands of Attention and of MultiHeadAttention that hide keys or change scores.
struct Masks {
  unsigned padding, bias; ///< operands
};
} // namespace

/// Which keys operand `i` lets see, as [batch, 1, 1 or queries, keys]: those of ones in a mask, or
/// those before the ends (and from the starts) of the rows, which follow each other in a vector.
static FailureOr<Expr> readPadding(Node &n, unsigned i, const Heads &h) {
  SmallVector<int64_t> scores = h.scoresShape();
  int64_t batch = scores[0], queries = scores[2], keys = scores[3];
  if (failed(n.expect(i, Kind::Int)))
    return failure();
  Expr mask = n.expr(i);
  OpBuilder &b = n.builder();
  ArrayRef<int64_t> shape = mask.shape();
  int64_t length = n.rank(i) == 1 ? shape[0] : 0;
  // Of 3 * batch + 2 numbers, which serve ONNX Runtime's GPU code, the first ones are ends.
  if (batch > 0 && llvm::is_contained({batch, 2 * batch, 3 * batch + 2}, length)) {
    auto type = RankedTensorType::get({batch, 1, 1, keys}, b.getI64Type());
    Expr key = n.expr(IotaOp::create(b, n.loc(), type, 3));
    auto each = [&](int64_t from) {
      return mask.slice(0, from, batch).cast(b.getI64Type()).broadcast(type, {0});
    };
    Expr seen = key.compare(ComparePredicate::lt, each(0));
    if (length == 2 * batch)
      seen = seen.apply<AndOp>(key.compare(ComparePredicate::ge, each(batch)));
    return seen;
  }
  Expr seen = mask.compare(ComparePredicate::gt, mask.splat(0));
  if (shape == ArrayRef({batch, keys}))
    return seen.reshape({batch, 1, 1, keys});
  if (shape == ArrayRef({batch, queries, keys}))
    return seen.reshape({batch, 1, queries, keys});
  return n.error() << "expected a length for each of " << batch << " rows or a mask of "
                   << formatDims({batch, keys}) << " or " << formatDims({batch, queries, keys})
                   << ", found " << n.describeOperand(i);
}

/// Returns the sum of operand `bias` and mask_filter_value where a row pads keys, which is added to
/// the scores; null: neither is given.
static FailureOr<Value> readAdded(Node &n, const Masks &masks, const Heads &h) {
  double filter = n.real("mask_filter_value", -10000);
  SmallVector<int64_t> scores = h.scoresShape();
  std::optional<Expr> added;
  if (n.operand(masks.bias)) {
    if (failed(n.expectSameElement(0, masks.bias)) || failed(n.expectRank(masks.bias, 4)))
      return failure();
    auto common = broadcastShape(n.shape(masks.bias), scores);
    if (!common || *common != scores)
      return n.error() << "expected an attention_bias that broadcasts to " << formatDims(scores)
                       << ", found " << n.describeOperand(masks.bias);
    added = n.expr(masks.bias);
  }
  if (n.operand(masks.padding)) {
    FailureOr<Expr> seen = readPadding(n, masks.padding, h);
    if (failed(seen))
      return failure();
    Expr zero = n.expr(splat(n.builder(), n.loc(), seen->type().clone(h.query.element()), 0));
    Expr padding = seen->select(zero, zero.splat(filter));
    if (added)
      padding = n.expr(n.broadcast(*added, scores)) + n.expr(n.broadcast(padding, scores));
    added = padding;
  }
  return added ? Value(*added) : Value();
}

/// The node's attention over `h`, whose past keys and values are prepended. Output `scores` shows
/// what the softmax is of.
static FailureOr<Expr> attend(Node &n, const Heads &h, const Masks &masks,
                              std::optional<unsigned> scores) {
  if (failed(expectHeadShapes(n, h)) || failed(n.expectSensible(h.scoresShape())))
    return failure();
  double scale = n.real("scale", 0);
  bool causal = n.integer("unidirectional", 0);
  if (!(scale >= 0))
    return n.error() << "expected a scale of at least 0, found " << scale;
  FailureOr<Value> added = readAdded(n, masks, h);
  if (failed(added))
    return failure();
  Weighing how;
  how.scale = scale == 0 ? 1 / std::sqrt(double(h.query.shape()[3])) : scale;
  how.precision = accumulatorOf(h.query.element());
  how.added = *added;
  if (causal) {
    OpBuilder &b = n.builder();
    auto type = RankedTensorType::get({1, 1, h.query.shape()[2], h.key.shape()[2]}, b.getI64Type());
    Expr query = n.expr(IotaOp::create(b, n.loc(), type, 2)) + double(h.past);
    how.seen.push_back(
        query.compare(ComparePredicate::ge, n.expr(IotaOp::create(b, n.loc(), type, 3))));
  }
  Weighed w = weigh(n, h, how);
  if (scores)
    (void)n.set(*scores, w.masked);
  return mergeHeads(multiply(n, h, w.weights, h.value, /*transposeRhs=*/false));
}

// MultiHeadAttention ------------------------------------------------------------------------------

/// Operand `i` [batch, positions, heads, parts, size] as heads, of each part.
static FailureOr<SmallVector<Expr>> readPacked(Node &n, unsigned i, int64_t heads, int64_t parts) {
  ArrayRef<int64_t> s = n.shape(i);
  if (s[2] != heads || s[3] != parts)
    return n.error() << "expected " << heads << " heads of " << parts << " vectors, found "
                     << n.describeOperand(i);
  SmallVector<Expr> read;
  for (int64_t k = 0; k < parts; ++k)
    read.push_back(
        n.expr(i).slice(3, k, 1).reshape({s[0], s[1], s[2], s[4]}).transpose({0, 2, 1, 3}));
  return read;
}

static LogicalResult wrongBias(Node &n, unsigned bias) {
  return n.error() << "expected a bias for queries, keys and values, found "
                   << n.describeOperand(bias);
}

/// Adds `bias`, from element `first` on, to operand `i`, if there is a bias, and splits its heads.
/// Of rank 4, it is heads already, and has no bias.
static FailureOr<Expr> readHeads(Node &n, unsigned i, int64_t heads, int64_t &first) {
  constexpr unsigned bias = 3;
  if (n.rank(i) == 4 && i > 0 && !n.operand(bias))
    return n.expr(i);
  if (failed(n.expectRank(i, 3)) || failed(expectHeads(n, i, heads)))
    return failure();
  Expr x = n.expr(i);
  int64_t size = x.shape()[2];
  if (n.operand(bias)) {
    if (failed(n.expectSameElement(0, bias)) || failed(n.expectRank(bias, 1)))
      return failure();
    if (n.shape(bias)[0] < first + size)
      return wrongBias(n, bias);
    x = x + n.expr(bias).slice(0, first, size).broadcast(x.type(), {2});
    first += size;
  }
  return splitHeads(x, heads);
}

static FailureOr<Heads> readHeads(Node &n, int64_t heads) {
  constexpr unsigned query = 0, key = 1, value = 2, bias = 3;
  for (unsigned i : {query, key, value})
    if (n.operand(i) && (failed(n.expect(i, Kind::Float)) || failed(n.expectSameElement(0, i))))
      return failure();
  bool packsAll = n.rank(query) == 5, packsKeys = n.operand(key) && n.rank(key) == 5;
  if (packsAll || packsKeys) {
    if (n.operand(bias) || n.operand(value) || (packsAll && n.operand(key)))
      return n.error() << "expected packed operands without others and without a bias, found "
                       << n.describeOperand(packsAll ? query : key);
    FailureOr<SmallVector<Expr>> parts =
        readPacked(n, packsAll ? query : key, heads, packsAll ? 3 : 2);
    if (failed(parts))
      return failure();
    if (packsAll)
      return Heads{(*parts)[0], (*parts)[1], (*parts)[2], 0};
    int64_t first = 0;
    FailureOr<Expr> q = readHeads(n, query, heads, first);
    if (failed(q))
      return failure();
    return Heads{*q, (*parts)[0], (*parts)[1], 0};
  }
  for (unsigned i : {key, value})
    if (!n.operand(i))
      return n.error() << "operand " << i << " is missing";
  int64_t first = 0;
  FailureOr<Expr> q = readHeads(n, query, heads, first);
  FailureOr<Expr> k = failed(q) ? q : readHeads(n, key, heads, first);
  FailureOr<Expr> v = failed(k) ? k : readHeads(n, value, heads, first);
  if (failed(v))
    return failure();
  if (n.operand(bias) && n.shape(bias)[0] != first)
    return wrongBias(n, bias);
  return Heads{*q, *k, *v, 0};
}

static LogicalResult importMultiHeadAttention(Node &n) {
  constexpr unsigned padding = 4, bias = 5, past = 6, scores = 3;
  FailureOr<Heads> heads = readHeads(n, n.integer("num_heads", 0));
  if (failed(heads) || failed(prependPast(n, past, *heads)))
    return failure();
  FailureOr<Expr> y = attend(n, *heads, {padding, bias}, scores);
  if (failed(y))
    return failure();
  (void)n.set(1, heads->key);
  (void)n.set(2, heads->value);
  return n.set(*y);
}

// Attention ---------------------------------------------------------------------------------------

namespace {
/// The operands of Attention and of QAttention behind the bias. `like` has the type of the result.
struct AttentionOperands {
  Masks masks;
  unsigned past, like;
};
} // namespace

/// Operands 0, 1 and 2 of Attention and QAttention.
enum Projected : unsigned { input, weight, bias };

/// Queries, keys and values: a product of operands 0 and 1.
static FailureOr<Expr> project(Node &n) {
  for (unsigned i : {input, weight, bias})
    if (n.operand(i) && (failed(n.expect(i, Kind::Float)) || failed(n.expectSameElement(input, i))))
      return failure();
  if (failed(n.expectRank(input, 3)) || failed(n.expectRank(weight, 2)))
    return failure();
  return numpyMatmul(n, n.expr(input), n.expr(weight), input, weight);
}

/// The same of codes, in the type of their scales.
static FailureOr<Expr> projectCodes(Node &n, unsigned scale) {
  if (failed(n.expectRank(input, 3)) || failed(n.expectRank(weight, 2)))
    return failure();
  FailureOr<Expr> all = multiplyCodes(n, {input, scale, scale + 3}, {weight, scale + 1, scale + 4});
  if (failed(all) || (n.operand(bias) && failed(n.expectSameElement(scale, bias))))
    return failure();
  return all->cast(n.element(scale));
}

/// Adds the bias to queries, keys and values, and cuts them along the columns of `all`.
static FailureOr<Heads> cutHeads(Node &n, Expr all) {
  int64_t heads = n.integer("num_heads", 0), columns = all.shape()[2];
  if (n.operand(bias)) {
    if (failed(n.expectRank(bias, 1)))
      return failure();
    if (n.shape(bias)[0] != columns)
      return n.error() << "expected a bias of " << columns << " elements, found "
                       << n.describeOperand(bias);
    all = all + n.expr(bias).broadcast(all.type(), {2});
  }
  auto given = n.integers("qkv_hidden_sizes");
  SmallVector<int64_t> sizes = given ? *given : SmallVector<int64_t>(3, columns / 3);
  auto isCut = [&](int64_t size) { return size >= 1 && size <= columns && size % heads == 0; };
  if (heads < 1 || sizes.size() != 3 || !llvm::all_of(sizes, isCut) ||
      sizes[0] + sizes[1] + sizes[2] != columns)
    return n.error() << "expected queries, keys and values of sizes that num_heads (" << heads
                     << ") divides and that add up to " << columns << ", found "
                     << formatDims(sizes);
  auto part = [&](int64_t from, int64_t size) {
    return splitHeads(all.slice(2, from, size), heads);
  };
  return Heads{part(0, sizes[0]), part(sizes[0], sizes[1]), part(sizes[0] + sizes[1], sizes[2]), 0};
}

/// The attention of the heads in the columns of `all`.
static LogicalResult attendProjected(Node &n, Expr all, const AttentionOperands &operands) {
  unsigned past = operands.past;
  if (n.integer("do_rotary", 0) || n.integer("past_present_share_buffer", 0))
    return n.error() << "cannot take do_rotary and past_present_share_buffer";
  n.ignore("rotary_embedding_dim");
  FailureOr<Heads> heads = cutHeads(n, all);
  if (failed(heads))
    return failure();
  Heads &h = *heads;
  // Past keys and values are one tensor, [2, batch, heads, positions, size], and so are those now.
  SmallVector<int64_t> both{2};
  llvm::append_range(both, h.key.shape());
  OpBuilder &b = n.builder();
  if (n.operand(past)) {
    if (failed(n.expectSameElement(operands.like, past)) || failed(n.expectRank(past, 5)))
      return failure();
    both[3] = n.shape(past)[3];
    if (h.key.shape() != h.value.shape() || n.shape(past) != ArrayRef(both))
      return n.error() << "expected past keys and values " << formatDims(both)
                       << ", keys like values, found " << n.describeOperand(past);
    h.past = both[3];
    for (auto [k, now] : {std::pair(0, &h.key), std::pair(1, &h.value)}) {
      Expr was = n.expr(past).slice(0, k, 1).reshape(ArrayRef(both).drop_front());
      *now = now->with(concatenate(b, n.loc(), {was.get(), now->get()}, 2));
    }
  }
  FailureOr<Expr> y = attend(n, h, operands.masks, std::nullopt);
  if (failed(y))
    return failure();
  if (n.wants(1) && h.key.shape() == h.value.shape()) {
    SmallVector<int64_t> one{1};
    llvm::append_range(one, h.key.shape());
    Value parts[] = {h.key.reshape(one), h.value.reshape(one)};
    (void)n.set(1, concatenate(b, n.loc(), parts, 0));
  }
  return n.set(*y);
}

static LogicalResult importRuntimeAttention(Node &n) {
  constexpr unsigned padding = 3, past = 4, added = 5;
  FailureOr<Expr> all = project(n);
  return failed(all) ? failure() : attendProjected(n, *all, {{padding, added}, past, input});
}

static LogicalResult importQAttention(Node &n) {
  constexpr unsigned scale = 3, padding = 5, past = 8, none = ~0u;
  FailureOr<Expr> all = projectCodes(n, scale);
  return failed(all) ? failure() : attendProjected(n, *all, {{padding, none}, past, scale});
}

void gradc::addMultiHeadAttentionOps(OpTable &ops) {
  ops["com.microsoft::MultiHeadAttention"] = {importMultiHeadAttention, 1, 8};
  ops["com.microsoft::Attention"] = {importRuntimeAttention, 2, 6};
  ops["com.microsoft::QAttention"] = {importQAttention, 5, 9};
}
