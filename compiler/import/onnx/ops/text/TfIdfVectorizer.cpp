// TfIdfVectorizer: how often the n-grams of a pool occur in a list of integers.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// The maximum size of a result.
constexpr int64_t maxWidth = 1 << 24;

struct Pool {
  SmallVector<int64_t> numbers, begins,
      columns; // begins: where the n-grams of each n start, from n = 1 on
  int64_t shortest, longest, mostSkipped, width = 0;

  int64_t begin(int64_t n) const { return begins[n - 1]; }
  int64_t end(int64_t n) const {
    return n < int64_t(begins.size()) ? begins[n] : int64_t(numbers.size());
  }
};

} // namespace

static FailureOr<Pool> readPool(Node &n) {
  auto numbers = n.integers("pool_int64s"), begins = n.integers("ngram_counts"),
       columns = n.integers("ngram_indexes");
  if (!numbers || !begins || !columns || begins->empty() || columns->empty())
    return n.error() << "expected pool_int64s, ngram_counts and ngram_indexes; pools of strings "
                        "are not supported";
  Pool pool{*numbers,
            *begins,
            *columns,
            n.integer("min_gram_length", 1),
            n.integer("max_gram_length", 1),
            n.integer("max_skip_count", 0)};
  if (pool.shortest < 1 || pool.longest < pool.shortest || pool.longest > int64_t(begins->size()) ||
      pool.mostSkipped < 0)
    return n.error() << "expected 1 <= min_gram_length <= max_gram_length <= " << begins->size()
                     << ", the length of ngram_counts, and skips of 0 or more, found "
                     << pool.shortest << ", " << pool.longest << " and " << pool.mostSkipped;
  int64_t grams = 0;
  for (int64_t length = 1; length <= int64_t(begins->size()); ++length) {
    int64_t begin = pool.begin(length), end = pool.end(length);
    if (begin < 0 || end < begin || end > int64_t(numbers->size()) || (end - begin) % length != 0)
      return n.error() << "expected whole " << length << "-grams of the pool's " << numbers->size()
                       << " numbers, found those from " << begin << " to " << end;
    grams += (end - begin) / length;
  }
  if (grams != int64_t(columns->size()))
    return n.error() << "expected an index for each of the " << grams << " n-grams, found "
                     << columns->size();
  for (int64_t column : *columns) {
    if (column < 0 || column >= maxWidth)
      return n.error() << "expected indices from 0 to " << maxWidth - 1 << ", found " << column;
    pool.width = std::max(pool.width, column + 1);
  }
  return pool;
}

/// Counts the pool's n-grams in each row of x, with `skipped` numbers between adjacent numbers of
/// an n-gram: f32 [rows, n-grams].
static Expr countGrams(Expr x, const Pool &pool, int64_t length, int64_t skipped) {
  OpBuilder &b = x.getBuilder();
  int64_t rows = x.shape()[0], grams = (pool.end(length) - pool.begin(length)) / length;
  int64_t windows = x.shape()[1] - (length - 1) * (skipped + 1);
  if (windows <= 0)
    return x.with(splat(b, x.getLoc(), RankedTensorType::get({rows, grams}, b.getF32Type()), 0));
  auto type = x.type().clone({rows, windows, grams});
  Expr all = x.with(splat(b, x.getLoc(), type.clone(b.getI1Type()), 1));
  for (int64_t k = 0; k < length; ++k) {
    HostTensor wanted(x.type().clone({grams}));
    for (int64_t g = 0; g < grams; ++g)
      wanted.setInt(g, pool.numbers[pool.begin(length) + g * length + k]);
    Expr found = x.slice(1, k * (skipped + 1), windows);
    Expr own = x.with(constant(b, x.getLoc(), wanted)).broadcast(type, {2});
    all = all.apply<AndOp>(found.broadcast(type, {0, 1}).compare(ComparePredicate::eq, own));
  }
  return all.cast(b.getF32Type()).sum({1});
}

/// Depending on the mode: the counts, 1 for each nonzero count, or the counts; the last two times
/// the column's weight.
static FailureOr<Expr> weigh(Node &n, Expr counts) {
  StringRef mode = n.string("mode", "");
  const onnx::AttributeProto *given = n.attribute("weights", AttributeType::reals);
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return n.error() << "expected mode TF, IDF or TFIDF, found \"" << mode << "\"";
  if (mode == "IDF")
    counts = counts.compare(ComparePredicate::gt, counts.splat(0)).cast(n.builder().getF32Type());
  if (mode == "TF" || !given)
    return counts;
  if (given->floats_size() != counts.shape()[1])
    return n.error() << "expected a weight for each of the " << counts.shape()[1]
                     << " results, found " << given->floats_size();
  HostTensor weights(counts.type().clone({counts.shape()[1]}));
  for (int i = 0; i < given->floats_size(); ++i)
    weights.setFloat(i, given->floats(i));
  return counts * n.expr(n.constant(weights)).broadcast(counts.type(), {1});
}

static LogicalResult importTfIdfVectorizer(Node &n) {
  if (failed(n.expect(0, Kind::Int)))
    return failure();
  if (n.rank(0) < 1 || n.rank(0) > 2)
    return n.error() << "expected rank 1 or 2, found " << n.describeOperand(0);
  FailureOr<Pool> pool = readPool(n);
  if (failed(pool))
    return failure();
  OpBuilder &b = n.builder();
  int64_t rows = n.rank(0) == 2 ? n.shape(0)[0] : 1;
  Expr x = n.expr(0u).reshape({rows, n.shape(0).back()});
  SmallVector<Value> parts;
  for (int64_t length = 1; length <= int64_t(pool->begins.size()); ++length) {
    int64_t grams = (pool->end(length) - pool->begin(length)) / length;
    if (grams == 0)
      continue;
    Expr counts =
        x.with(splat(b, n.loc(), RankedTensorType::get({rows, grams}, b.getF32Type()), 0));
    // A single number has no gaps, and past the end of the row there is nothing to find.
    int64_t most = length == 1 ? 0 : std::min(pool->mostSkipped, x.shape()[1]);
    if (failed(n.expectSensible({rows, x.shape()[1], grams})))
      return failure();
    if (length >= pool->shortest && length <= pool->longest)
      for (int64_t skipped = 0; skipped <= most; ++skipped)
        counts = counts + countGrams(x, *pool, length, skipped);
    parts.push_back(counts);
  }
  Value counts = concatenate(b, n.loc(), parts, 1);
  auto type = RankedTensorType::get({rows, pool->width}, b.getF32Type());
  Value columns = b.createOrFold<ScatterOp>(
      n.loc(), type, splat(b, n.loc(), type, 0), n.constantInts(pool->columns), counts,
      ScatterReduction::add, elementDims(2, 1), ArrayRef<int64_t>{1});
  FailureOr<Expr> result = weigh(n, n.expr(columns));
  if (failed(result))
    return failure();
  return n.set(n.rank(0) == 2 ? *result : result->reshape({pool->width}));
}

void gradc::addTfIdfVectorizerOps(OpTable &ops) {
  ops["TfIdfVectorizer"] = {importTfIdfVectorizer, 1, 1};
}
